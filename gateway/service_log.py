"""One log line per event, ``key=value``. Never the words of a question.

``q`` is the question's number, in the log, the state file and ``meshseek status``.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

from gateway.protocol.answers import NOT_TAKEN, Answer, Ended, Question, Send, Stage, Tell
from gateway.protocol.commands import Command
from gateway.protocol.inert import for_log
from gateway.protocol.messages import node_id

log = logging.getLogger("meshseek.service")

HOUR = 3600.0
REMEMBERED = 1_000
LINES_PER_HOUR = 60
"""Of lines that strangers can cause, whatever number they send under."""
REASONS = 60
"""More than there are reasons to refuse, to ignore and to tell together."""

_QUIET = frozenset((Stage.WAITING, Stage.FLYING))


class OncePerHour:
    """Says whether something was said already in the last hour; bounded in memory and in lines."""

    def __init__(self) -> None:
        self._said: OrderedDict[tuple[object, ...], float] = OrderedDict()

    def __call__(self, now: float, *what: object) -> bool:
        if now - self._said.get(what, float("-inf")) < HOUR:
            return False
        recent = sum(1 for when in self._said.values() if now - when < HOUR)
        if recent >= LINES_PER_HOUR:
            return False
        self._said[what] = now
        self._said.move_to_end(what)
        while len(self._said) > REMEMBERED:
            self._said.popitem(last=False)
        return True


class ServiceLog:
    """Writes the lines."""

    def __init__(self) -> None:
        self._limiters: dict[str, OncePerHour] = {}

    def _once(self, now: float, node: int, reason: str) -> bool:
        """Each reason has its own allowance: a flood of strangers must not drown an alarm about a key."""
        known = reason in self._limiters or len(self._limiters) < REASONS
        return self._limiters.setdefault(reason if known else "", OncePerHour())(now, node)

    def asked(self, question: Question, command: Command) -> None:
        hops = "?" if question.hops is None else question.hops
        kind = type(command).__name__.lower()
        log.info("event=asked q=%d node=%s command=%s hops=%s", question.number, node_id(question.node), kind, hops)
        log.debug("event=asked_text q=%d text=%r", question.number, for_log(question.text))

    def composed(self, answer: Answer, kind: str, search_ms: float | None) -> None:
        searched = "-" if search_ms is None else f"{search_ms:.0f}"
        size = sum(len(part.encode()) for part in answer.parts)
        log.info(
            "event=composed q=%d node=%s kind=%s search_ms=%s parts=%d bytes=%d",
            *(answer.question, node_id(answer.node), kind, searched, len(answer.parts), size),
        )

    def moved(self, answer: Answer, now: float) -> None:
        if answer.stage in _QUIET:
            return
        log.log(
            logging.WARNING if answer.stage is Stage.FAILED else logging.INFO,
            "event=%s q=%d node=%s part=%d/%d after_s=%.1f why=%s",
            *(answer.stage, answer.question, node_id(answer.node), answer.part + 1, len(answer.parts)),
            *(max(now - answer.asked_at, 0.0), answer.reason or "-"),
        )

    def sent(self, send: Send) -> None:
        answer = send.answer
        log.info(
            "event=sent q=%d node=%s part=%d/%d id=%08x try=%d bytes=%d airtime=%.2f",
            *(answer.question, node_id(answer.node), send.attempt.part + 1, len(answer.parts), send.packet.packet_id),
            *(answer.tries, len(send.packet.text.encode()), send.attempt.seconds),
        )

    def ended(self, ended: Ended, now: float) -> None:
        attempt = ended.attempt
        if ended.result == NOT_TAKEN:  # every few seconds while the radio is busy: the first in an hour is enough
            log.log(
                logging.INFO if self._once(now, attempt.node, ended.result) else logging.DEBUG,
                "event=held q=%d node=%s part=%d why=the radio takes nothing just now, it is handed over later",
                *(attempt.question, node_id(attempt.node), attempt.part + 1),
            )
            return
        log.info(
            "event=result q=%d node=%s part=%d id=%08x result=%s after_s=%.1f transmissions=%d",
            *(attempt.question, node_id(attempt.node), attempt.part + 1, attempt.packet_id),
            *(for_log(ended.result, 40), ended.after, ended.transmissions),
        )

    def over(self, number: int, node: int, stage: str, reason: str) -> None:
        """A question that ends without an answer."""
        log.info("event=%s q=%d node=%s why=%s", stage, number, node_id(node), reason)

    def tell(self, tell: Tell, now: float) -> None:
        """A sentence for the operator, once per node and hour."""
        if self._once(now, tell.node, tell.reason):
            log.error(
                "event=trouble node=%s reason=%s text=%r", node_id(tell.node), for_log(tell.reason, 40), tell.text
            )

    def ignored(self, node: int, why: str, now: float) -> None:
        """A text of an allowed node that needs no answer; the first of a kind in an hour where it is seen."""
        level = logging.INFO if self._once(now, node, why) else logging.DEBUG
        log.log(level, "event=ignored node=%s why=%s", node_id(node), why)

    def refused(self, node: int, reason: str, sentence: str, now: float) -> None:
        if self._once(now, node, reason):
            log.warning("event=refused node=%s reason=%s text=%r", node_id(node), reason, sentence)
