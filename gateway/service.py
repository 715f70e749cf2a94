"""The one loop: inbox → admission → conversation → desk → store → outbox → radio. It owns the clock and never blocks.

Events come from the radio's and the desk's threads into one bounded queue. Each is handled to its end: what changed is
written to the store in one transaction, and only then acted on (a packet handed over, the desk asked).
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.clock import Clock
from gateway.delivery import Delivery
from gateway.desk import Desk
from gateway.dialogue import Dialogue
from gateway.inbox import Event, Inbox
from gateway.intake import Intake
from gateway.protocol.admission import AccessRules, PrivacyRules, check_channels, open_channels
from gateway.protocol.airtime import TRANSMISSIONS
from gateway.protocol.answers import Question
from gateway.protocol.budget import AirtimeBudget, AirtimeRules, minutes_to_wait
from gateway.protocol.inert import for_log
from gateway.protocol.limits import QuestionLimits
from gateway.protocol.messages import (
    ClientNotice,
    DeliveryReport,
    IncomingText,
    LinkDown,
    LinkUp,
    NodeHeard,
    NodeSeen,
    OddPacket,
    QueueStatus,
    RadioInfo,
    RadioTelemetry,
    SendFailed,
)
from gateway.protocol.outbox import DeliveryRules, Outbox
from gateway.protocol.replies import Redact
from gateway.protocol.requests import DeskOutcome
from gateway.questions import Questions
from gateway.radio.port import Radio
from gateway.status import Board
from gateway.store import Store
from search_core.notes import Answer

log = logging.getLogger("meshseek.service")

Publish = Callable[[dict[str, object], dict[str, int], float], None]
"""Takes the status report, the counters and the time."""

EVENTS_PER_STEP = 100
IDLE_SECONDS = 1.0
"""Longest sleep of the loop, so that it stops when it is told to, and feeds the watchdog."""
PRUNE_SECONDS = 600.0
FAULTS_IN_A_ROW = 20
"""Turns that may fail one after another before the process gives up."""


@dataclass(frozen=True, slots=True)
class ServiceRules:
    """Everything that the owner may set."""

    access: AccessRules = field(default_factory=AccessRules)
    privacy: PrivacyRules = field(default_factory=PrivacyRules)
    airtime: AirtimeRules = field(default_factory=AirtimeRules)
    delivery: DeliveryRules = field(default_factory=DeliveryRules)
    questions: QuestionLimits = field(default_factory=QuestionLimits)
    desk_seconds: float = 90.0
    """A search that takes longer gets an honest line instead of an answer."""
    protect: bool = True
    """Make the configured handhelds favourites of the radio, so that it does not forget their keys."""


def random_packet_id() -> int:
    """As the official clients choose them: 32 bits, not 0."""
    return secrets.randbelow(0xFFFFFFFF) + 1


class Service:
    """The gateway, but for the outside world."""

    def __init__(  # noqa: PLR0913 - the composition root hands in every collaborator once
        self,
        radio: Radio,
        desk: Desk,
        store: Store,
        clock: Clock,
        rules: ServiceRules,
        *,
        redact: Redact = str,
        heartbeat: Callable[[], None] = lambda: None,
        new_packet_id: Callable[[], int] = random_packet_id,
        publish: Publish = lambda _report, _counters, _now: None,
    ) -> None:
        """`heartbeat` is called at each turn of the loop, `publish` with each status written; neither raises."""
        self._publish = publish
        self._radio = radio
        self._clock = clock
        self._rules = rules
        self._heartbeat = heartbeat
        self._inbox = Inbox()
        self.budget = AirtimeBudget(rules.airtime)
        self.outbox = Outbox(rules.delivery, self.budget, new_packet_id)
        self._board = Board(clock.now(), frozenset(handheld.node for handheld in rules.access.handhelds))
        self._delivery = Delivery(self.outbox, radio, store, clock, self._on_over)
        self._intake = Intake(rules.access, rules.questions, self._delivery.is_open)
        self._questions = Questions(
            self._intake,
            Dialogue(self.budget, rules.privacy, self._delivery.journal.session, redact),
            self._delivery,
            desk,
            self._board,
            clock,
            per_hour=rules.questions.per_hour,
            desk_seconds=rules.desk_seconds,
        )
        self._info: RadioInfo | None = None
        self.refusals: tuple[str, ...] | None = None
        """Why the gateway must not run on this radio, in sentences for its owner; None until the first link."""
        self._pruned_at = float("-inf")
        self._faults = 0

    # Start, turn, stop

    def start(self) -> None:
        """Take up what the last run owed, then start the radio."""
        self._resume(self._clock.now())
        self._delivery.settle()
        self._radio.start(self.deliver)

    def _resume(self, now: float) -> None:
        owed = self._delivery.journal.owed(now)
        self._intake.restore(owed)
        for attempt, transmissions in owed.attempts:
            count = TRANSMISSIONS if transmissions is None else transmissions
            self.budget.restore(attempt.node, attempt.seconds * count, min(attempt.sent_at, now))
        kept = self._questions.may_still_have(owed.answering)
        self.outbox.restore([a for a in owed.answers if a.question in kept], owed.in_flight(), now)
        self._questions.restore(owed, now)
        log.info("event=started owed_questions=%d owed_answers=%d", len(owed.questions), len(owed.answers))

    def deliver(self, event: Event) -> None:
        """Put an event into the inbox; may be called from any thread, and never blocks."""
        self._inbox.put(event)

    def run(self, stop: threading.Event) -> None:
        """Turn until told to stop, or until the radio is refused; then write what is only in memory."""
        while not stop.is_set() and not self.refusals:
            delay = self.step()
            self._heartbeat()
            if delay > 0 and (event := self._inbox.get_or_none(min(delay, IDLE_SECONDS))) is not None:
                self.handle(event)
        self.close()

    def close(self) -> None:
        """Write what is only in memory; radio, desk and store are closed by whoever opened them."""
        self._board.note_stopped()
        self._write_status(self._clock.now())
        self._delivery.journal.commit()

    def step(self) -> float:
        """Handle what waits in the inbox, then do what is due. Returns the seconds until something is due again."""
        for _ in range(EVENTS_PER_STEP):
            if (event := self._inbox.get_or_none()) is None:
                break
            self.handle(event)
        wake = self._turn_or_fault()
        return 0.0 if not self._inbox.is_empty() else max(wake - self._clock.now(), 0.0)

    def handle(self, event: Event) -> None:
        """One event, to its end. Never raises: a fault of ours costs this event, not the gateway."""
        try:
            self._dispatch(event, self._clock.now())
        except Exception as error:
            log.error("event=bug in=%s error=%s", type(event).__name__, type(error).__name__)
            log.debug("event=bug", exc_info=True)
            self._board.count("bug")
        self._delivery.settle()

    def _turn_or_fault(self) -> float:
        """A fault of ours may pass with the next event; if it does not, the process ends and is started afresh."""
        now = self._clock.now()
        try:
            wake = self.turn(now)
        except Exception as error:
            self._faults += 1
            if self._faults >= FAULTS_IN_A_ROW:
                raise
            log.error("event=bug in=turn error=%s", type(error).__name__)
            log.debug("event=bug", exc_info=True)
            self._board.count("bug")
            return now + IDLE_SECONDS
        self._faults = 0
        return wake

    def turn(self, now: float) -> float:
        """Do what is due at `now`; returns when to look again."""
        self._questions.give_up_late(now)
        changes, wake = self.outbox.poll(now)
        if changes:
            self._board.note_news()
        self._delivery.take(changes, now)
        self._say_overflow()
        if now - self._pruned_at >= PRUNE_SECONDS:
            self._pruned_at = now
            self._delivery.journal.add(lambda store: store.prune(now))
            self._delivery.later(self._delivery.journal.tidy)
        if now >= self._board.due_at():
            self._write_status(now)
        self._delivery.settle()
        return min(wake, self._board.due_at(), self._questions.next_deadline())

    def _say_overflow(self) -> None:
        if lost := self._inbox.take_lost():
            log.warning("event=inbox_overflow lost=%d", lost)
            self._board.count("inbox-overflow", lost)

    def _write_status(self, now: float) -> None:
        report = self._board.report(self.outbox, self.budget, self._info, now)
        report["asked"] = len(self._questions)
        report["store_trouble"] = self._delivery.journal.trouble
        report["wall"] = self._clock.wall()

        def write(store: Store) -> None:
            self._board.write(store, report, now)
            self._publish(report, store.counters(), now)

        self._delivery.journal.add(write)

    # Events

    def _dispatch(self, event: Event, now: float) -> None:
        match event:
            case IncomingText():
                self._on_text(event, now)
            case DeskOutcome():
                if isinstance(event.outcome, Answer):
                    self._board.note_engine(event.outcome.engine)
                self._questions.on_outcome(event, now)
            case LinkUp(info):
                self._on_link_up(info, now)
            case LinkDown(reason):
                self._info = None
                self._delivery.take(self.outbox.on_link(False, now), now)
                self._board.note_link(False, now, for_log(reason))
            case RadioTelemetry():
                self._on_telemetry(event, now)
            case ClientNotice():
                self._on_notice(event, now)
            case OddPacket(kind):
                self._board.count(f"odd-{for_log(kind, 40)}")
            case NodeSeen():
                self._board.note_node(event)
            case _:
                self._on_delivery_event(event, now)

    def _on_delivery_event(self, event: DeliveryReport | QueueStatus | SendFailed | NodeHeard, now: float) -> None:
        match event:
            case DeliveryReport():
                changes = self.outbox.on_report(event, now)
            case QueueStatus():
                changes = self.outbox.on_queue_status(event, now)
            case SendFailed():
                changes = self.outbox.on_send_failed(event, now)
            case NodeHeard(node):
                changes = self.outbox.on_heard(node, now)
                self._board.note_heard(now)
        if changes:
            self._board.note_news()
        self._delivery.take(changes, now)

    def _on_text(self, text: IncomingText, now: float) -> None:
        if self._info is None:
            self._board.count("text-without-link")
            return
        self._delivery.take(self.outbox.on_heard(text.sender, now), now)
        self._questions.on_text(text, self._info, now)

    def _on_link_up(self, info: RadioInfo, now: float) -> None:
        self._info = info
        self._check_channels(info)
        self.outbox.own_node = info.node
        self.outbox.channels = open_channels(self._rules.access, info)
        self.budget.lora = info.lora
        self._intake.backlog.begin(now, self._clock.wall())
        self._board.note_link(True, now, "")
        self._board.note_radio(info)
        self._delivery.take(self.outbox.on_link(True, now), now)
        nodes = tuple(handheld.node for handheld in self._rules.access.handhelds)
        if nodes and self._rules.protect:
            self._delivery.later(lambda: self._radio.protect(nodes))
        log.info("event=airtime_budget seconds_an_hour=%.0f", self.budget.hour_seconds())

    def _check_channels(self, info: RadioInfo) -> None:
        """A configured channel that is public must not be answered on. Found at the start it ends the gateway; found
        later (another radio) every text on it is refused, and direct messages go on."""
        sentences = check_channels(self._rules.access, info)
        for sentence in sentences:
            log.error("event=channel_refused why=%r", sentence)
        if self.refusals is None:
            self.refusals = sentences

    def _on_telemetry(self, telemetry: RadioTelemetry, now: float) -> None:
        self.budget.observe(telemetry, now)
        if self._board.note_telemetry(telemetry, now):
            log.warning("event=radio_restarted uptime=%s", telemetry.uptime)
            self._delivery.take(self.outbox.on_link(self._info is not None, now), now)

    def _on_notice(self, notice: ClientNotice, now: float) -> None:
        log.warning("event=radio_notice text=%r", for_log(notice.text))
        wait = minutes_to_wait(notice.text)
        if wait is not None:
            self.outbox.pause(wait, now)

    def _on_over(self, question: Question, stage: str) -> None:
        if stage != "delivered":
            self._intake.forget(question.node, question.number)
        self._board.count(f"answers-{stage}")
