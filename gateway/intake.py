"""What becomes of a text from the air: a question, a refusal, or nothing. The first steps of the one loop.

Admission, doubled packets, old messages, the same words again, questions per hour: in this order, so that strangers
cost nothing but a counter.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from gateway.protocol import commands
from gateway.protocol.admission import AccessRules, Admitted, Refused, folders_today, judge
from gateway.protocol.answers import Question
from gateway.protocol.commands import Command, Help, Ignore, Info, Note, Search, Stop
from gateway.protocol.limits import LIMIT_KIND, Backlog, OverLimit, QuestionCounter, QuestionLimits, SeenPackets
from gateway.protocol.messages import IncomingText, RadioInfo
from gateway.store import mark_of
from gateway.store_schema import Owed

MARKS_PER_NODE = 8
NODES_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Accepted:
    """A question to be stored and answered."""

    admitted: Admitted
    command: Command


@dataclass(frozen=True, slots=True)
class Limited:
    """One question too many."""

    admitted: Admitted
    limit: OverLimit


@dataclass(frozen=True, slots=True)
class Dropped:
    """Nothing is to be said; `why` names a counter."""

    sender: int
    why: str


@dataclass(slots=True)
class _Said:
    mark: bytes
    when: float
    number: int


class Intake:
    """Judges texts one by one; remembers packets and words, bounded."""

    def __init__(self, rules: AccessRules, limits: QuestionLimits, is_open: Callable[[int], bool]) -> None:
        """`is_open` tells whether the question of this number is still to be answered."""
        self._rules = rules
        self._limits = limits
        self._is_open = is_open
        self._seen = SeenPackets()
        self._counter = QuestionCounter(limits)
        self._said: OrderedDict[int, deque[_Said]] = OrderedDict()
        self.backlog = Backlog(limits)

    def restore(self, owed: Owed) -> None:
        """Remember what the last run knew."""
        for node, packet_id in owed.seen:
            self._seen.add(node, packet_id)
        for node, when, mark, kind in owed.asked:
            self._counter.restore(node, when, told=kind == LIMIT_KIND)
            if mark is not None:
                self._remember(node, mark, when, 0)

    def judge(self, text: IncomingText, radio: RadioInfo, now: float) -> Accepted | Limited | Dropped | Refused:
        """What to do about this text; a packet that was admitted is known from now on."""
        verdict = judge(text, self._rules, radio)
        if isinstance(verdict, Refused):
            return verdict
        command = commands.parse(verdict.text)
        why = self._why_not_or_none(text, verdict, command, now)
        if why is not None:
            return Dropped(text.sender, why)
        if not isinstance(command, Stop) and (limit := self._counter.ask(text.sender, now)) is not None:
            return Limited(verdict, limit)
        return Accepted(verdict, command)

    def _why_not_or_none(self, text: IncomingText, admitted: Admitted, command: Command, now: float) -> str | None:
        if text.packet_id and not self._seen.add(text.sender, text.packet_id):
            return "doubled-packet"
        if self.backlog.is_stale(text.rx_time, now):
            return "too-old"
        if isinstance(command, Ignore):
            return f"no-question-{command.reason}"
        if isinstance(command, Note) and not admitted.may_write:
            return "note-not-allowed"
        return "same-again" if self._is_repeat(admitted, command, now) else None

    def folders_today(self, question: Question) -> tuple[str, ...] | None:
        """What the asker may see by the rules of this run, which may be stricter than those the question came under."""
        return folders_today(question.node, question.key, question.channel, self._rules)

    def accepted(self, node: int, text: str, number: int, now: float) -> None:
        """The question was taken under this number."""
        self._remember(node, mark_of(node, text), now, number)

    def _is_repeat(self, admitted: Admitted, command: Command, now: float) -> bool:
        """The same words while their answer is under way; for what does not step on, also for a while after."""
        lasting = isinstance(command, Search | Note | Help | Info)
        mark = mark_of(admitted.sender, admitted.text)
        for said in self._said.get(admitted.sender, ()):
            recent = now - said.when < self._limits.repeat_seconds
            if said.mark == mark and (self._is_open(said.number) or (lasting and recent)):
                return True
        return False

    def _remember(self, node: int, mark: bytes, when: float, number: int) -> None:
        said = self._said.setdefault(node, deque(maxlen=MARKS_PER_NODE))
        said.append(_Said(mark, when, number))
        self._said.move_to_end(node)
        while len(self._said) > NODES_LIMIT:
            self._said.popitem(last=False)

    def forget(self, node: int, number: int) -> None:
        """The question of this number failed: the same words may be asked again at once."""
        said = self._said.get(node)
        if said is not None:
            self._said[node] = deque((s for s in said if s.number != number), maxlen=MARKS_PER_NODE)
