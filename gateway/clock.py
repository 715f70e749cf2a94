"""Time as the gateway sees it: steady, Unix-like, and never jumping."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """`now` for deadlines and ages, `wall` for what a person or the radio calls the time."""

    def now(self) -> float:
        """Seconds; starts near Unix time and never jumps, whatever happens to the machine's clock."""

    def wall(self) -> float:
        """Unix seconds by the machine's clock, which may jump either way."""


class SteadyClock:
    """The machine's monotonic clock, anchored once on its wall clock.

    `not_before` is the last `now` of the previous run: a Raspberry Pi without a battery clock starts
    in the past, and what was stored must not seem to lie in the future.
    """

    def __init__(self, not_before: float = 0.0) -> None:
        self._offset = max(time.time(), not_before) - time.monotonic()

    def now(self) -> float:
        return time.monotonic() + self._offset

    def wall(self) -> float:
        return time.time()
