"""A question's way through the gateway: taken in, answered by the conversation or the desk, handed to delivery."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from gateway.clock import Clock
from gateway.delivery import Delivery
from gateway.desk import Desk
from gateway.dialogue import Ask, Dialogue, Pending, Say, Silence
from gateway.intake import Accepted, Dropped, Intake, Limited
from gateway.protocol import commands
from gateway.protocol.admission import Admitted, Refused, explain
from gateway.protocol.answers import Question
from gateway.protocol.commands import Command, Stop
from gateway.protocol.inert import for_log
from gateway.protocol.messages import IncomingText, RadioInfo, node_id
from gateway.protocol.replies import Status
from gateway.protocol.requests import DeskOutcome, Trouble
from gateway.status import Board
from gateway.store_schema import Owed

log = logging.getLogger("meshseek.service")

Step = TypeVar("Step", bound="Ask | Say | Silence")

BUG = Silence(True, "bug")
ACCESS_CHANGED = "access-changed"
"""Why a question of before a restart is not answered: the configuration was made stricter meanwhile."""

ASKED_LIMIT = 200
"""Questions waiting for the desk; beyond it the oldest has failed."""


class Questions:
    """All questions that have no answer yet."""

    def __init__(  # noqa: PLR0913 - one collaborator per step
        self,
        intake: Intake,
        dialogue: Dialogue,
        delivery: Delivery,
        desk: Desk,
        board: Board,
        clock: Clock,
        *,
        per_hour: int,
        desk_seconds: float,
    ) -> None:
        self._intake = intake
        self._dialogue = dialogue
        self._delivery = delivery
        self._desk = desk
        self._board = board
        self._clock = clock
        self._per_hour = per_hour
        self._desk_seconds = desk_seconds
        self._pending: dict[int, Pending] = {}
        self._next_number = 1

    def __len__(self) -> int:
        return len(self._pending)

    def may_still_have(self, answering: Iterable[Question]) -> set[int]:
        """Of these questions, whose answers are under way, those whose askers may see as much as then."""
        kept: set[int] = set()
        for question in answering:
            self._delivery.open_question(question, stored=True)
            if self._intake.folders_today(question) in (question.folders, ()):
                kept.add(question.number)
            else:
                self._end(question.number, "failed", ACCESS_CHANGED)
        return kept

    def restore(self, owed: Owed, now: float) -> None:
        """Ask again what the last run did not get to answer, for whoever may still ask."""
        self._next_number = owed.next_number
        for question in owed.questions:
            self._delivery.open_question(question, stored=True)
            folders = self._intake.folders_today(question)
            if folders is None:
                self._end(question.number, "failed", ACCESS_CHANGED)
            else:
                self._begin(replace(question, folders=folders), commands.parse(question.text), now)

    def on_text(self, text: IncomingText, radio: RadioInfo, now: float) -> None:
        verdict = self._intake.judge(text, radio, now)
        match verdict:
            case Refused():
                self._board.refuse(verdict, now)
                self._delivery.log.refused(verdict.sender, str(verdict.reason), explain(verdict), now)
            case Dropped(sender, why):
                self._delivery.log.ignored(sender, why, now)
                self._board.count(why)
            case Limited():
                self._on_limit(text, verdict, now)
            case Accepted(admitted, command):
                self._on_question(text, admitted, command, now)

    def on_outcome(self, outcome: DeskOutcome, now: float) -> None:
        """The desk is done; an outcome that nobody waits for any more is forgotten."""
        pending = self._pending.pop(outcome.ticket, None)
        if pending is None:
            self._board.count("outcome-unwanted")
            return
        if isinstance(outcome.outcome, Trouble):
            trouble = outcome.outcome
            why = "-" if trouble.kind == "gone" else for_log(trouble.detail)  # A note's name is not for the log.
            log.warning("event=desk_trouble q=%d kind=%s why=%r", outcome.ticket, trouble.kind, why)
        search_ms = (now - pending.submitted_at) * 1000
        status = Status(self._delivery.outbox.parts_waiting(), self._dialogue.airtime_left(now))
        step = self._guarded(lambda: self._dialogue.answer(pending, outcome.outcome, status, now))
        if step is None:
            step = self._guarded(lambda: self._dialogue.answer(pending, Trouble("failed"), status, now))
        self._conclude(pending, step or BUG, search_ms, now)

    def give_up_late(self, now: float) -> None:
        """The desk did not answer in time: say so."""
        for pending in [p for p in self._pending.values() if now >= p.deadline]:
            log.warning("event=desk_late q=%d", pending.question.number)
            self.on_outcome(DeskOutcome(pending.question.number, Trouble("failed", "no answer in time")), now)

    def next_deadline(self) -> float:
        return min((pending.deadline for pending in self._pending.values()), default=float("inf"))

    # Steps

    def _on_limit(self, text: IncomingText, limited: Limited, now: float) -> None:
        self._board.count("over-limit")
        if not limited.limit.tell:
            return
        question = self._take(text, limited.admitted, now)
        log.warning("event=over_limit q=%d node=%s", question.number, node_id(question.node))
        notice = self._dialogue.limit_notice(question, limited.limit.seconds, self._per_hour)
        self._delivery.say(notice.answer, notice.kind, None, None, now)

    def _on_question(self, text: IncomingText, admitted: Admitted, command: Command, now: float) -> None:
        question = self._take(text, admitted, now)
        self._intake.accepted(question.node, question.text, question.number, now)
        self._board.count("questions")
        self._delivery.log.asked(question, command)
        self._replace_older(question, now)
        if isinstance(command, Stop):
            self._delivery.take(self._delivery.outbox.drop_all(question.node, "stopped"), now)
        self._begin(question, command, now)

    def _take(self, text: IncomingText, admitted: Admitted, now: float) -> Question:
        question = Question(
            number=self._next_number,
            node=admitted.sender,
            packet_id=text.packet_id,
            text=admitted.text,
            asked_at=now,
            wall_time=self._clock.wall(),
            name=admitted.name,
            key=admitted.key,
            folders=admitted.folders,
            channel=admitted.channel,
            hops=text.hops,
            snr=text.snr,
            rssi=text.rssi,
        )
        self._next_number += 1
        self._delivery.open_question(question)
        return question

    def _replace_older(self, question: Question, now: float) -> None:
        """The newer question of a node replaces what was still to be said to its older ones."""
        older = [p for p in self._pending.values() if p.question.node == question.node and p.replaceable]
        for pending in older:
            self._end(pending.question.number, "replaced", "newer-question")
        self._delivery.take(self._delivery.outbox.drop_older(question.node, question.number), now)
        while len(self._pending) >= ASKED_LIMIT:
            self._end(min(self._pending), "failed", "too-many-questions")

    def _begin(self, question: Question, command: Command, now: float) -> None:
        pending = Pending(question, command, now + self._desk_seconds, now)
        step = self._guarded(lambda: self._dialogue.begin(pending, now)) or BUG
        if isinstance(step, Ask):
            self._pending[question.number] = pending
            request = step.request
            self._delivery.later(lambda: self._desk.submit(question.number, request))
        else:
            self._conclude(pending, step, None, now)

    def _guarded(self, compose: Callable[[], Step]) -> Step | None:
        """None when composing failed: a fault of ours, which shall cost one answer and not leave a question open."""
        try:
            return compose()
        except Exception as error:
            log.error("event=bug in=dialogue error=%s", type(error).__name__)
            log.debug("event=bug", exc_info=True)
            self._board.count("bug")
            return None

    def _conclude(self, pending: Pending, step: Say | Silence, search_ms: float | None, now: float) -> None:
        if isinstance(step, Silence):
            self._end(pending.question.number, "failed" if step.stage_failed else "delivered", step.reason)
            return
        session = step.session.to_json() if step.session is not None else None
        self._delivery.say(step.answer, step.kind, search_ms, session, now)

    def _end(self, number: int, stage: str, reason: str) -> None:
        self._pending.pop(number, None)
        self._delivery.end(number, stage, reason)
