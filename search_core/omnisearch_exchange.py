"""One question to one address over HTTP, and its answer: the only file with sockets.

It is sent at once and its answer read when somebody waits for it. In between the server works and the kernel keeps
what it sends. ``_socket`` is the built-in half of ``socket``: all that is needed, and 10 ms sooner.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from search_core import availability
from search_core.omnisearch_place import is_loopback, is_numeric, name_of
from search_core.omnisearch_query import request

if TYPE_CHECKING:
    import _socket

    from search_core.http_response import ResponseReader
    from search_core.omnisearch_rows import Row

CONNECT_SECONDS = 0.2
"""On loopback the kernel accepts or refuses at once, even for a frozen process."""
READ_SIZE = 256 * 1024
READ_GRACE_SECONDS = 0.05
"""How long a large answer that is already there may take to read once the time is over."""


class Failed(Exception):
    """No answer that can be used; `kind` is one of the kinds of `search_core.availability`."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Exchange:
    """One request and its answer on a connection of its own. Raises `Failed`, also when it is made."""

    def __init__(self, address: tuple[str, int], query: str, connect_seconds: float) -> None:
        self.address = address
        self.sent_at = time.monotonic()
        self._socket = _connected(address, connect_seconds)
        # Only now: mostly nobody listens, and then the reading need not be imported.
        from search_core.http_response import ResponseReader

        self._reader = ResponseReader()
        try:
            self._socket.sendall(request(name_of(address), query))
        except OSError as error:
            self.close()
            raise Failed(availability.BROKE_OFF, f"closed the connection ({error.strerror})") from error

    def answer(self, until: float) -> tuple[Row, ...]:
        """The rows. When they are not there at the monotonic time `until` it may be asked again; then `close` it."""
        from search_core.http_response import BadResponse, BrokenOff
        from search_core.omnisearch_rows import UnknownShape

        try:
            self._read(until)
            return _decoded(self._reader)
        except BrokenOff as error:
            raise Failed(availability.BROKE_OFF, str(error).removeprefix("it ")) from error
        except (BadResponse, UnknownShape) as error:
            raise Failed(availability.NOT_OMNISEARCH, f"is not Omnisearch or broken: {error}") from error

    @property
    def is_open(self) -> bool:
        return self._socket.fileno() >= 0

    def close(self) -> None:
        self._socket.close()

    def _read(self, until: float) -> None:
        while not self._reader.done:
            left = until - time.monotonic()
            # What has come already is read even when the time is over.
            self._socket.settimeout(max(left, 0.0))
            try:
                self._reader.feed(self._socket.recv(READ_SIZE))
            except (TimeoutError, BlockingIOError) as error:
                raise self._too_slow() from error
            except OSError as error:
                raise Failed(availability.BROKE_OFF, f"broke off after {self._reader.progress}") from error
            if left < -READ_GRACE_SECONDS and not self._reader.done:
                raise self._too_slow()

    def _too_slow(self) -> Failed:
        waited = time.monotonic() - self.sent_at
        return Failed(availability.LATE, f"sent {self._reader.progress} within {waited:.2f} s")


def _connected(address: tuple[str, int], seconds: float) -> _socket.socket:
    import _socket

    family = _socket.AF_INET6 if ":" in address[0] else _socket.AF_INET
    connection: _socket.socket | None = None
    try:
        connection = _socket.socket(family, _socket.SOCK_STREAM)
        connection.settimeout(max(seconds, 0.001))
        connection.connect(address if is_loopback(address[0]) else (_numeric(address[0]), address[1]))
        if connection.getsockname() == connection.getpeername():
            # The port lies where the kernel picks its own: with nobody there, a socket can meet itself.
            raise ConnectionRefusedError
    except OSError as error:
        if connection is not None:
            connection.close()
        raise _connect_failure(error, seconds) from error
    return connection


def _numeric(host: str) -> str:
    if not is_numeric(host):
        raise OSError(0, "give the host as an address in numbers")
    return host


def _connect_failure(error: OSError, seconds: float) -> Failed:
    if isinstance(error, ConnectionRefusedError):
        return Failed(availability.REFUSED, "refused the connection")
    if isinstance(error, TimeoutError):
        return Failed(availability.LATE, f"did not take the connection within {seconds:.2f} s")
    return Failed(availability.REFUSED, f"cannot be reached ({error.strerror or error})")


def _decoded(reader: ResponseReader) -> tuple[Row, ...]:
    import json

    from search_core.http_response import BadResponse
    from search_core.omnisearch_rows import rows_of

    if reader.status != 200:
        raise BadResponse(f"status {reader.status}")
    body = reader.body
    if not body:
        raise BadResponse("status 200 with nothing in it")
    if reader.content_type != "application/json":
        raise BadResponse(f"its answer is of type {reader.content_type[:60] or 'unknown'}, not application/json")
    try:
        return rows_of(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise BadResponse("its answer is not valid JSON") from error
