"""Writes to the store in batches, before anything is acted on, and goes on when the store fails.

While the store fails the gateway serves from memory; once it works again everything that is owed is written anew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from gateway.clock import Clock
from gateway.store import Store, StoreTrouble
from gateway.store_schema import NOTHING_OWED, Owed

log = logging.getLogger("meshseek.service")

Write = Callable[[Store], None]

RETRY_SECONDS = 10.0
"""Between two attempts to use a store that failed."""
WRITES_LIMIT = 10_000
"""Counters and the like that wait for a failing store; beyond it they are lost."""


class Journal:
    """One store, and what is still to be written to it."""

    def __init__(self, store: Store, clock: Clock, everything_owed: Callable[[], Iterable[Write]]) -> None:
        self.store = store
        self._clock = clock
        self._everything_owed = everything_owed
        self._writes: list[Write] = []
        self._retry_at: float | None = None
        self._damaged = False
        self._afresh_at = float("-inf")
        self.trouble = ""
        """Why the store cannot be used just now; empty when it can."""

    def add(self, write: Write) -> None:
        if len(self._writes) < WRITES_LIMIT:
            self._writes.append(write)

    def commit(self) -> None:
        """All writes in one transaction. Never raises: trouble is logged once, and healed when it passes."""
        now = self._clock.now()
        if not self._writes and self._retry_at is None:
            return
        if self._retry_at is not None:
            self._writes.clear()
            if now < self._retry_at:
                return
            self._writes.extend(self._everything_owed())
        try:
            if self._damaged:
                self._afresh_at = now
                self.store.start_afresh(self._clock.wall(), self.trouble)
                self._damaged = False
            with self.store.transaction():
                for write in self._writes:
                    write(self.store)
        except StoreTrouble as trouble:
            self._fail(trouble, now)
        else:
            if self._retry_at is not None:
                log.warning("event=store_works_again")
            self._retry_at, self.trouble = None, ""
        self._writes.clear()

    def _fail(self, trouble: StoreTrouble, now: float) -> None:
        if self._retry_at is None:
            log.error("event=store_failed why=%r effect=%r", str(trouble), "serving from memory until it works again")
        first_damage = trouble.damaged and not self._damaged and now - self._afresh_at > RETRY_SECONDS
        self._damaged = self._damaged or trouble.damaged
        self.trouble = str(trouble)
        self._retry_at = now if first_damage else now + RETRY_SECONDS

    def owed(self, now: float) -> Owed:
        """What the last run left; nothing when that cannot be read (a damaged file is set aside)."""
        try:
            return self.store.owed(now)
        except StoreTrouble as trouble:
            self._fail(trouble, now)
            self.commit()
            return NOTHING_OWED

    def tidy(self) -> None:
        """Take the words of finished answers out of the log beside the file, too."""
        if self._retry_at is None:
            self.store.tidy()

    def session(self, seat: int) -> str:
        """The stored session of this seat; empty when there is none or the store fails."""
        try:
            return self.store.session(seat)
        except StoreTrouble as trouble:
            self._fail(trouble, self._clock.now())
            return ""
