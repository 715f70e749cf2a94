"""What the service manager is told: ready, alive, stopping (sd_notify), over the datagram socket it names."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Mapping


class Watchdog:
    """Feeds systemd's watchdog while the loop turns and the link is up or properly on its way to be.

    Without systemd (no NOTIFY_SOCKET) it does nothing. The protocol is that of sd_notify(3).
    """

    def __init__(
        self,
        is_healthy: Callable[[], bool],
        environ: Mapping[str, str] = os.environ,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        self._is_healthy = is_healthy
        self._monotonic = monotonic
        self._interval = _interval_or_none(environ)
        self._fed_at: float | None = None

    def ready(self) -> None:
        self._tell("READY=1")

    def stopping(self) -> None:
        self._tell("STOPPING=1")

    def feed(self) -> None:
        """To be called at each turn of the loop; tells systemd at a quarter of the interval that it asks for."""
        if self._interval is None or not self._is_healthy():
            return
        now = self._monotonic()
        if self._fed_at is None or now - self._fed_at >= self._interval / 4:
            self._fed_at = now
            self._tell("WATCHDOG=1")

    def _tell(self, state: str) -> None:
        if not self._address:
            return
        # A leading @ names an abstract socket.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.setblocking(False)
            notify.sendto(state.encode(), address)


def _interval_or_none(environ: Mapping[str, str]) -> float | None:
    """Seconds between two signs of life that systemd asks of this process, if it does."""
    microseconds = environ.get("WATCHDOG_USEC", "")
    pid = environ.get("WATCHDOG_PID", "")
    if not microseconds.isdecimal() or (pid and pid != str(os.getpid())):
        return None
    return int(microseconds) / 1e6 or None
