"""Ports and sockets, where the libraries' own way hangs or spins."""

from __future__ import annotations

import os
import select
import socket
import struct
import termios
import time

CONNECT_SECONDS = 10.0
RETRY_SECONDS = 0.01
"""Pause when the port said that it takes bytes and then took none."""


def keep_lines_up(fd: int) -> None:
    """Clear HUPCL, or closing the port drops DTR, which resets some boards. Raises termios.error."""
    attributes = termios.tcgetattr(fd)
    attributes[2] &= ~termios.HUPCL
    termios.tcsetattr(fd, termios.TCSANOW, attributes)


def write_all(fd: int, data: bytes, seconds: float) -> None:
    """Write everything, waiting for room without spinning.

    Raises TimeoutError when the port took nothing for `seconds`, OSError when it is gone.
    """
    left = data
    deadline = time.monotonic() + seconds
    while left:
        _, ready, _ = select.select([], [fd], [], max(0.0, deadline - time.monotonic()))
        try:
            taken = os.write(fd, left) if ready else 0
        except BlockingIOError:
            taken = 0
        if taken:
            left = left[taken:]
            deadline = time.monotonic() + seconds
        elif time.monotonic() >= deadline:
            raise TimeoutError(f"the port took nothing for {seconds:g} s")
        else:
            time.sleep(RETRY_SECONDS)


def connected_socket(host: str, port: int, write_seconds: float) -> socket.socket:
    """A TCP connection that reads without limit, and whose writes fail when nothing is taken for `write_seconds`.

    Raises OSError, and UnicodeError for a name that cannot be one.
    """
    connection = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
    connection.settimeout(None)
    limit_sending(connection, write_seconds)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connection


def limit_sending(connection: socket.socket, seconds: float) -> None:
    """A blocking send fails after this long; reading stays without limit."""
    limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
