"""Whether Omnisearch is worth asking now. Pure: what happened and the time go in, the new state comes out.

Nothing listening costs well under a millisecond, and a server that was closed in the middle of an answer will be just
that, so both are asked again soon. A server that hangs costs the patience of whoever waits, so it is left alone for
longer each time. One good answer forgets it all.
"""

from __future__ import annotations

from typing import NamedTuple

UNKNOWN = "unknown"
OK = "ok"
REFUSED = "refused"
BROKE_OFF = "broke-off"
LATE = "late"
HUNG = "hung"
WRONG_VAULT = "wrong-vault"
NOT_OMNISEARCH = "not-omnisearch"
WRONGLY_NAMED = "wrongly-named"
"""Never comes of asking: there is no address to ask."""

FIRST_REST = {REFUSED: 1.0, BROKE_OFF: 1.0, LATE: 5.0, HUNG: 30.0, WRONG_VAULT: 60.0, NOT_OMNISEARCH: 30.0}
"""Seconds it is left alone after the first such outcome; doubled for each further one in a row."""
LONGEST_REST = {REFUSED: 15.0, BROKE_OFF: 15.0, LATE: 120.0, HUNG: 600.0, WRONG_VAULT: 600.0, NOT_OMNISEARCH: 600.0}
"""Seconds. Obsidian is started, updated or thawed by hand, so ten minutes is the longest to notice it."""


class Availability(NamedTuple):
    """What is known of the server."""

    kind: str = UNKNOWN
    failures: int = 0
    """Outcomes of this kind in a row."""
    resume_at: float = 0.0
    """Not asked before this time, seconds on the clock that the callers use."""

    def may_ask(self, now: float) -> bool:
        """True when it is worth asking; a clock that was set back does not lock it out for longer than its rest."""
        return now >= self.resume_at or self.resume_at - now > LONGEST_REST.get(self.kind, 0.0)

    def after(self, kind: str, now: float) -> Availability:
        """The state once an attempt at `now` ended with `kind`."""
        if kind not in FIRST_REST:
            return Availability(kind)
        failures = self.failures + 1 if kind == self.kind else 1
        rest = min(FIRST_REST[kind] * 2 ** min(failures - 1, 16), LONGEST_REST[kind])
        return Availability(kind, failures, now + rest)

    @property
    def worth_remembering(self) -> bool:
        """True when the next process should know: asking again would cost it a wait."""
        return self.kind in {LATE, HUNG, WRONG_VAULT, NOT_OMNISEARCH}

    def to_line(self) -> str:
        return f"{self.kind} {self.failures} {self.resume_at:.3f}\n"


def from_line(line: str) -> Availability:
    """What `to_line` wrote; the unknown state for anything else."""
    try:
        kind, failures, resume_at = line.split()
        state = Availability(kind, max(1, min(int(failures), 100)), float(resume_at))
    except ValueError:
        return Availability()
    return state if state.worth_remembering and state.resume_at < float("inf") else Availability()
