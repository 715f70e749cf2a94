"""Where the radio's and the desk's threads leave their events for the loop: bounded, and what was lost is counted."""

from __future__ import annotations

import queue
import threading

from gateway.protocol.messages import IncomingText, NodeHeard, NodeSeen, OddPacket, RadioEvent, RadioTelemetry
from gateway.protocol.requests import DeskOutcome

Event = RadioEvent | DeskOutcome

INBOX_LIMIT = 1_000
"""Events waiting for the loop."""
INBOX_RESERVE = 200
"""Of these, kept for results and the link's state when texts and noise flood in."""

UNIMPORTANT = IncomingText | NodeHeard | NodeSeen | OddPacket | RadioTelemetry


class Inbox:
    """Thread-safe; putting never blocks."""

    def __init__(self) -> None:
        self._events: queue.Queue[Event] = queue.Queue(INBOX_LIMIT)
        self._lost = 0
        self._lost_lock = threading.Lock()

    def put(self, event: Event) -> None:
        try:
            if isinstance(event, UNIMPORTANT) and self._events.qsize() >= INBOX_LIMIT - INBOX_RESERVE:
                raise queue.Full
            self._events.put_nowait(event)
        except queue.Full:
            with self._lost_lock:
                self._lost += 1

    def get_or_none(self, seconds: float = 0.0) -> Event | None:
        """The next event, waited for as long as that."""
        try:
            return self._events.get(timeout=seconds) if seconds > 0 else self._events.get_nowait()
        except queue.Empty:
            return None

    def is_empty(self) -> bool:
        return self._events.empty()

    def take_lost(self) -> int:
        """How many events found no room since this was last asked."""
        with self._lost_lock:
            lost, self._lost = self._lost, 0
        return lost
