"""Ports and sockets, where the libraries' own way hangs or spins."""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import termios
import threading
import time
from collections.abc import Callable

LOOK_UP_SECONDS = 0.1
"""How often a waiting write looks whether it is still wanted."""
CHUNK_BYTES = 4096
CONNECT_SECONDS = 10.0
RETRY_SECONDS = 0.01
"""Pause when the port said that it takes bytes and then took none."""


def keep_lines_up(fd: int) -> None:
    """Clear HUPCL, or closing the port drops DTR, which resets some boards. Raises termios.error."""
    attributes = termios.tcgetattr(fd)
    attributes[2] &= ~termios.HUPCL
    termios.tcsetattr(fd, termios.TCSANOW, attributes)


class Writer:
    """Writes to a port by a descriptor of its own, one frame at a time.

    The library closes its descriptor in the reader's thread; a write under way would then go to whatever file
    is opened next under that number.
    """

    def __init__(self, fd: int) -> None:
        self._fd = os.dup(fd)
        self._lock = threading.Lock()
        self._is_leaving = False
        self.is_wedged = False
        """A write is under way, or did not come back."""

    def write(self, data: bytes, seconds: float) -> None:
        """Raises TimeoutError when nothing is taken for `seconds` or another write is stuck, OSError if gone."""
        if not self._lock.acquire(timeout=seconds):
            raise TimeoutError("another write is stuck")
        try:
            if self._fd < 0:
                raise OSError(errno.EBADF, "closed")
            self.is_wedged = True
            write_all(self._fd, data, seconds, lambda: self._is_leaving)
            self.is_wedged = False
        finally:
            self._lock.release()

    def close(self) -> None:
        """Also ends a write that waits. Idempotent."""
        self._is_leaving = True
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1


def write_all(fd: int, data: bytes, seconds: float, is_over: Callable[[], bool] = lambda: False) -> None:
    """Write everything, waiting for room without spinning.

    Raises TimeoutError when the port took nothing for `seconds` or `is_over`, OSError when it is gone.
    """
    left = data
    deadline = time.monotonic() + seconds
    while left:
        _, ready, _ = select.select([], [fd], [], min(LOOK_UP_SECONDS, max(0.0, deadline - time.monotonic())))
        try:
            taken = os.write(fd, left[:CHUNK_BYTES]) if ready else 0
        except BlockingIOError:
            taken = 0
        if taken:
            left = left[taken:]
            deadline = time.monotonic() + seconds
        elif time.monotonic() >= deadline or is_over():
            raise TimeoutError(f"it took nothing for {seconds:g} s")
        elif ready:
            time.sleep(RETRY_SECONDS)


def connected_socket(host: str, port: int) -> socket.socket:
    """A TCP connection that reads without limit.

    Raises OSError, and UnicodeError for a name that cannot be one.
    """
    connection = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # A write that the kernel has half taken must not wait for ever.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 1, 0))
    return connection
