"""What the radio tests share: a listener that waits, and the outbox's patience."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gateway.protocol.messages import LinkDown, LinkUp, OutgoingPacket, RadioEvent
from gateway.radio.port import Radio, RadioUnavailable


class Listener:
    """Collects events, and waits for them."""

    def __init__(self) -> None:
        self.events: list[RadioEvent] = []
        self._changed = threading.Condition()

    def __call__(self, event: RadioEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait(self, wanted: Callable[[RadioEvent], bool], seconds: float = 5.0, since: int = 0) -> RadioEvent:
        def found() -> RadioEvent | None:
            return next((event for event in self.events[since:] if wanted(event)), None)

        with self._changed:
            assert self._changed.wait_for(lambda: found() is not None, seconds), self.events[-8:]
            event = found()
        assert event is not None
        return event

    def of(self, *kinds: type) -> list[RadioEvent]:
        return [event for event in self.events if isinstance(event, kinds)]

    def wait_up(self, times: int = 1, seconds: float = 5.0) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.of(LinkUp)) >= times, seconds), self.events[-8:]

    def wait_down(self, seconds: float = 5.0) -> str:
        event = self.wait(lambda e: isinstance(e, LinkDown), seconds)
        assert isinstance(event, LinkDown)
        return event.reason


def send(radio: Radio, outgoing: OutgoingPacket, seconds: float = 3.0) -> None:
    """As the outbox does: again while the radio is busy."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return radio.send(outgoing)
        except RadioUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def until(condition: Callable[[], bool], seconds: float = 3.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
