"""From an accepted question to its answer: session, request to the desk, outcome, parts. No sending, no storing.

Every question that is taken in leaves by one of two doors: an answer for the outbox, or an end with a reason.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from gateway.protocol import conversation
from gateway.protocol.admission import PrivacyRules, scope_for
from gateway.protocol.answers import Answer, Question
from gateway.protocol.budget import AirtimeBudget, NotNow
from gateway.protocol.commands import MARK, Command, Note, Stop
from gateway.protocol.limits import LIMIT_KIND
from gateway.protocol.packets import target_budget
from gateway.protocol.replies import Asker, Redact, Reply, Status
from gateway.protocol.requests import Outcome, Request, Trouble
from gateway.protocol.session import Session

LEAST_BYTES = 60
"""Of a part; the conversation needs so much (`AirtimeRules.min_reply_bytes` may ask for more)."""
CACHED_SESSIONS = 200


@dataclass(slots=True)
class Pending:
    """A question that has no answer yet."""

    question: Question
    command: Command
    deadline: float
    submitted_at: float
    asked_desk: bool = False

    @property
    def replaceable(self) -> bool:
        """A note is saved whatever is asked after it, and its sender must know."""
        return not isinstance(self.command, Note)


@dataclass(frozen=True, slots=True)
class Ask:
    """The desk is needed."""

    request: Request


@dataclass(frozen=True, slots=True)
class Say:
    """Send this."""

    answer: Answer
    kind: str
    session: Session | None = None
    """What to remember of the asker from now on."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing is to be sent."""

    stage_failed: bool
    reason: str


class Dialogue:
    """Turns questions into requests, and outcomes into answers."""

    def __init__(
        self,
        budget: AirtimeBudget,
        privacy: PrivacyRules,
        load_session: Callable[[int], str],
        redact: Redact,
    ) -> None:
        self._budget = budget
        self._privacy = privacy
        self._load_session = load_session
        self._redact = redact
        self._sessions: OrderedDict[int, Session] = OrderedDict()
        self._told_wait: OrderedDict[int, float] = OrderedDict()

    def begin(self, pending: Pending, now: float) -> Ask | Say | Silence:
        """What the question needs first."""
        allowed = self._budget.reply_budget(pending.question.node, now)
        if isinstance(allowed, NotNow):
            if not isinstance(pending.command, Note | Stop):
                return self._not_now(pending, allowed, now)
            allowed = LEAST_BYTES
        asker = self._asker(pending.question, self._bytes(pending.question, allowed))
        planned = conversation.plan(pending.command, self._session(pending.question.seat), asker, now)
        if planned is None:
            return Silence(False, "nothing-to-say")
        return self._say(pending, planned, None) if isinstance(planned, Reply) else Ask(planned)

    def answer(self, pending: Pending, outcome: Outcome, status: Status, now: float) -> Say | Silence:
        """What is said of the desk's outcome."""
        question = pending.question
        allowed = self._budget.reply_budget(question.node, now)
        if isinstance(allowed, NotNow):
            return self._not_now(pending, allowed, now)
        reply, session = conversation.compose(
            pending.command,
            self._session(question.seat),
            outcome,
            self._bytes(question, allowed),
            now,
            redact=self._redact,
            status=status,
        )
        if isinstance(outcome, Trouble):
            return self._say(pending, reply, None)
        session = replace(session, at=now)
        self._sessions[question.seat] = session
        self._sessions.move_to_end(question.seat)
        while len(self._sessions) > CACHED_SESSIONS:
            self._sessions.popitem(last=False)
        return self._say(pending, reply, session)

    def airtime_left(self, now: float) -> float:
        return self._budget.left_seconds(now)

    def limit_notice(self, question: Question, seconds: float, per_hour: int) -> Say:
        """The one line about too many questions."""
        text = f"{MARK}{per_hour} questions an hour are the limit. Ask again in {_minutes(seconds)}."
        return self._notice(question, text)

    def _not_now(self, pending: Pending, wait: NotNow, now: float) -> Say | Silence:
        node = pending.question.node
        if now < self._told_wait.get(node, 0.0):
            return Silence(True, "no-airtime")
        self._told_wait[node] = now + min(wait.seconds, 3600.0)
        while len(self._told_wait) > CACHED_SESSIONS:
            self._told_wait.popitem(last=False)
        text = f"{MARK}This hour's airtime is used up. Ask again in {_minutes(wait.seconds)}."
        return self._notice(pending.question, text)

    def _notice(self, question: Question, text: str) -> Say:
        return Say(_answer(question, (text,), replaceable=True, notice=True), LIMIT_KIND)

    def _say(self, pending: Pending, reply: Reply, session: Session | None) -> Say | Silence:
        if not reply.parts:
            return Silence(False, "nothing-to-say")
        answer = _answer(pending.question, reply.parts, replaceable=pending.replaceable)
        return Say(answer, reply.kind, session)

    def _session(self, seat: int) -> Session:
        found = self._sessions.get(seat)
        return found if found is not None else Session.from_json(self._load_session(seat))

    def _bytes(self, question: Question, allowed: int) -> int:
        direct = question.channel is None
        return max(LEAST_BYTES, target_budget(direct=direct, reply_id=question.packet_id != 0, wanted=allowed))

    def _asker(self, question: Question, size: int) -> Asker:
        return Asker(
            node=question.node,
            scope=scope_for(question.folders, self._privacy),
            name=question.name,
            budget=size,
            packet_id=question.packet_id,
            wall_time=question.wall_time,
            snr=question.snr,
            rssi=question.rssi,
            hops=question.hops,
        )


def _answer(question: Question, parts: tuple[str, ...], *, replaceable: bool, notice: bool = False) -> Answer:
    return Answer(
        question=question.number,
        node=question.node,
        parts=parts,
        asked_at=question.asked_at,
        key=question.key,
        channel=question.channel,
        reply_id=question.packet_id,
        hops=question.hops,
        replaceable=replaceable,
        notice=notice,
    )


def _minutes(seconds: float) -> str:
    return f"{max(1, math.ceil(seconds / 60))} min"
