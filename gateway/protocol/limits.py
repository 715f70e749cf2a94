"""When may a node ask: questions per hour, doubled packets, the same words again, old messages. Pure.

Who may ask at all is `admission`'s business. Questions are counted, never the parts of their answers.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass

HOUR = 3600.0
LIMIT_KIND = "limit"
"""Kind of the one line that says that a limit is reached."""
SEEN_LIMIT = 5_000
"""Packet ids remembered; a node that sent one text a second would fill this in more than an hour."""
NODES_LIMIT = 1_000
"""Nodes whose questions are counted; the one not heard for longest is forgotten first."""
REPLAY_WINDOW = 10.0
"""Seconds after the link came up in which the radio replays what it kept (measured: 0.1 s after the configuration; slow
links take longer)."""


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """How often a node may ask."""

    per_hour: int = 40
    """Questions of one node in any hour."""
    repeat_seconds: float = 60.0
    """The same words within this time are the same question (a handheld's retry has a new packet id)."""
    backlog_seconds: float = 900.0
    """Messages kept by the radio while nobody listened are answered when younger than this."""


@dataclass(frozen=True, slots=True)
class OverLimit:
    seconds: float
    """Until the next question is allowed."""
    tell: bool
    """True once per spell of being over the limit."""


class SeenPackets:
    """Which packets were taken already. The radio forgets its own list when it restarts."""

    def __init__(self, limit: int = SEEN_LIMIT) -> None:
        self._limit = limit
        self._seen: OrderedDict[tuple[int, int], None] = OrderedDict()

    def add(self, node: int, packet_id: int) -> bool:
        """Remember the packet; False when it was known."""
        known = (node, packet_id) in self._seen
        self._seen[node, packet_id] = None
        self._seen.move_to_end((node, packet_id))
        while len(self._seen) > self._limit:
            self._seen.popitem(last=False)
        return not known

    def __len__(self) -> int:
        return len(self._seen)


@dataclass(slots=True)
class _Asked:
    times: deque[float]
    told_until: float = 0.0


class QuestionCounter:
    """Counts each node's questions of the last hour."""

    def __init__(self, limits: QuestionLimits, nodes_limit: int = NODES_LIMIT) -> None:
        self._limits = limits
        self._nodes_limit = nodes_limit
        self._nodes: OrderedDict[int, _Asked] = OrderedDict()

    def ask(self, node: int, now: float) -> OverLimit | None:
        """Count one question, or say that it is one too many (which is not counted)."""
        asked = self._asked(node)
        while asked.times and asked.times[0] <= now - HOUR:
            asked.times.popleft()
        if len(asked.times) < self._limits.per_hour:
            asked.times.append(now)
            return None
        wait = asked.times[0] + HOUR - now if asked.times else HOUR
        tell = now >= asked.told_until
        if tell:
            asked.told_until = now + wait
        return OverLimit(wait, tell)

    def restore(self, node: int, when: float, *, told: bool = False) -> None:
        """A question of before a restart, or (`told`) one that was answered with the limit; in order of time."""
        asked = self._asked(node)
        if told:
            asked.told_until = (asked.times[0] if asked.times else when) + HOUR
        else:
            asked.times.append(when)

    def __len__(self) -> int:
        return len(self._nodes)

    def _asked(self, node: int) -> _Asked:
        asked = self._nodes.setdefault(node, _Asked(deque(maxlen=max(self._limits.per_hour, 1))))
        self._nodes.move_to_end(node)
        while len(self._nodes) > self._nodes_limit:
            self._nodes.popitem(last=False)
        return asked


class Backlog:
    """Tells old messages that the radio replays from new ones.

    The radio stamps texts with its own clock, which has no time (0) until somebody sets it, and may be wrong; ours
    may jump. So age is judged only where old messages come from: just after the link came up. It is reckoned from
    what the machine's clock said *then*, on our steady clock. A message of unknown age is taken for new: its sender
    was told "delivered", and a second question replaces the first.
    """

    def __init__(self, limits: QuestionLimits) -> None:
        self._limits = limits
        self._began = float("-inf")
        self._wall = 0.0

    def begin(self, now: float, wall: float) -> None:
        """The link came up."""
        self._began, self._wall = now, wall

    def is_stale(self, rx_time: int, now: float) -> bool:
        """True for a replayed message older than the limit. `rx_time` in Unix seconds by the radio, 0 unknown."""
        if rx_time <= 0 or now - self._began > REPLAY_WINDOW:
            return False
        return self._wall + (now - self._began) - rx_time > self._limits.backlog_seconds
