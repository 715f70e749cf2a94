"""Carries out what the outbox decides: stored first, then done, and said in the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

from gateway.clock import Clock
from gateway.journal import Journal, Write
from gateway.protocol.answers import AnnounceKeys, Answer, Change, Ended, Moved, Question, Send, Stage, Tell
from gateway.protocol.messages import SendFailed
from gateway.protocol.outbox import Outbox
from gateway.radio.port import Radio, RadioRejected, RadioUnavailable
from gateway.service_log import ServiceLog
from gateway.store import Store

log = logging.getLogger("meshseek.service")

Action = Callable[[], None]


class Delivery:
    """The outbox with its store and its radio."""

    def __init__(
        self, outbox: Outbox, radio: Radio, store: Store, clock: Clock, on_over: Callable[[Question, str], None]
    ) -> None:
        """`on_over` is told when a question is over, with its last stage."""
        self.outbox = outbox
        self.journal = Journal(store, clock, self._everything_owed)
        self.log = ServiceLog()
        self._on_over = on_over
        self._radio = radio
        self._clock = clock
        self._open: dict[int, Question] = {}
        self._after: list[Action] = []

    def later(self, action: Action) -> None:
        """Do this once everything noted so far is stored."""
        self._after.append(action)

    def open_question(self, question: Question, *, stored: bool = False) -> None:
        """A question is to be answered from now on."""
        self._open[question.number] = question
        if not stored:
            self.journal.add(lambda store: store.accept(question))

    def is_open(self, number: int) -> bool:
        """Whether this question is still to be answered; one that is parked counts as given up for now."""
        answer = self.outbox.answer_or_none(number)
        return number in self._open and (answer is None or answer.stage is not Stage.PARKED)

    def end(self, number: int, stage: str, reason: str) -> None:
        """A question that gets no answer."""
        question = self._open.pop(number, None)
        if question is None:
            return
        now = self._clock.now()
        self.journal.add(lambda store: store.end_question(number, stage, reason, now))
        self.log.over(number, question.node, stage, reason)
        self._on_over(question, stage)

    def say(self, answer: Answer, kind: str, search_ms: float | None, session: str | None, now: float) -> None:
        """A new answer, with what is remembered of its asker afterwards: stored together, or not at all."""
        self.journal.add(lambda store: store.keep_parts(answer))
        self.journal.add(lambda store: store.describe(answer.question, kind, search_ms))
        if session is not None:
            self.journal.add(lambda store: store.put_session(answer.seat, now, session))
        self.log.composed(answer, kind, search_ms)
        self.take(self.outbox.add(answer, now), now)

    def take(self, changes: Iterable[Change], now: float) -> None:
        """Note what is to be stored, and what is to be done after that."""
        for change in changes:
            self.journal.add(_writing(change, now))
            match change:
                case Moved(answer):
                    self.log.moved(answer, now)
                    if answer.over:
                        self._over(answer)
                case Send():
                    self.later(_handing(self._hand_over, change))
                case Ended():
                    self.log.ended(change, now)
                case AnnounceKeys():
                    self.later(self._radio.announce)
                case Tell():
                    self.log.tell(change, now)

    def settle(self) -> None:
        """Store, then act; what acting brings about is stored in turn."""
        self.journal.commit()
        while self._after:
            actions, self._after = self._after, []
            for action in actions:
                try:
                    action()
                except Exception as error:
                    # One packet or request is lost to its deadline; the loop goes on.
                    log.error("event=bug in=action error=%s", type(error).__name__)
                    log.debug("event=bug", exc_info=True)
            self.journal.commit()

    def _hand_over(self, send: Send) -> None:
        packet, now = send.packet, self._clock.now()
        try:
            self._radio.send(packet)
        except RadioUnavailable:
            self.take(self.outbox.on_not_taken(packet.packet_id, now), now)
        except RadioRejected as error:
            self.take(self.outbox.on_send_failed(SendFailed(packet.packet_id, str(error), retry=False), now), now)
        else:
            self.log.sent(send)

    def _over(self, answer: Answer) -> None:
        question = self._open.pop(answer.question, None)
        if question is not None:
            self._on_over(question, str(answer.stage))

    def _everything_owed(self) -> Iterator[Write]:
        """All of it again, for a store that failed or was damaged."""
        now = self._clock.now()
        for question in list(self._open.values()):
            yield _accepting(question)
            answer = self.outbox.answer_or_none(question.number)
            if answer is not None:
                yield _keeping(answer)
                yield _writing(Moved(answer), now)


def _writing(change: Change, now: float) -> Write:
    return lambda store: store.write(change, now)


def _accepting(question: Question) -> Write:
    return lambda store: store.accept(question)


def _keeping(answer: Answer) -> Write:
    return lambda store: store.keep_parts(answer)


def _handing(hand_over: Callable[[Send], None], send: Send) -> Action:
    return lambda: hand_over(send)
