"""The client of Omnisearch's HTTP API: the only file with sockets.

The question is sent before the local search starts and its answer is read afterwards. In between, the
server works and the kernel keeps what it sends, so two engines run side by side without a thread: none to leak, none to
compete with the local search, and a fresh process pays neither for ``threading`` nor ``socket`` (10 ms each).
At most one request is under way, since Obsidian answers them one after another in the thread that draws its window.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from search_core import availability
from search_core.errors import EngineUnavailable
from search_core.omnisearch_memory import recall, remember
from search_core.omnisearch_place import OmnisearchSettings, Place, find, is_loopback, name_of
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
TELLING = (
    availability.HUNG,
    availability.LATE,
    availability.WRONG_VAULT,
    availability.NOT_OMNISEARCH,
    availability.REFUSED,
)
"""When several addresses fail differently, the first of these is remembered."""
ROWS_TO_JUDGE = 3
"""Fewer rows than these may all be notes that were deleted just now."""
TURN_ON = (
    "open this vault in Obsidian, switch on the HTTP server in Omnisearch's settings (httpApiEnabled), "
    "and wait until it has indexed"
)


class Attempt(NamedTuple):
    """One address that was asked, and what came of it."""

    address: str
    kind: str
    """One of the kinds of `search_core.availability`."""
    text: str


class _Failed(Exception):
    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class _Exchange:
    """One request and its answer on a connection of its own."""

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
            raise _Failed(availability.NOT_OMNISEARCH, f"closed the connection ({error.strerror})") from error

    def answer(self, until: float) -> tuple[Row, ...]:
        """The rows; gives up at the monotonic time `until`. Raises `_Failed`."""
        from search_core.http_response import BadResponse
        from search_core.omnisearch_rows import UnknownShape

        try:
            self._read(until)
            return _decoded(self._reader)
        except (BadResponse, UnknownShape) as error:
            raise _Failed(availability.NOT_OMNISEARCH, f"is not Omnisearch or broken: {error}") from error
        finally:
            self.close()

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
                raise _Failed(availability.NOT_OMNISEARCH, f"broke off after {self._reader.progress}") from error
            if left < -READ_GRACE_SECONDS and not self._reader.done:
                raise self._too_slow()

    def _too_slow(self) -> _Failed:
        waited = time.monotonic() - self.sent_at
        return _Failed(availability.LATE, f"sent {self._reader.progress} within {waited:.2f} s")


class _Pending(NamedTuple):
    """A request under way, and what to try should its answer be no good."""

    exchange: _Exchange
    query: str
    others: tuple[tuple[str, int], ...]


class Omnisearch:
    """One vault's Omnisearch. Used from one thread at a time; `close` it when done.

    `memory` names a small file that keeps a hung or wrong server from costing every new process its wait; empty
    for none. `now` is the wall clock, which processes share.
    """

    def __init__(
        self,
        vault: str,
        settings: OmnisearchSettings | None = None,
        *,
        memory: str = "",
        environ: Mapping[str, str] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings or OmnisearchSettings()
        self.attempts: tuple[Attempt, ...] = ()
        self._vault = vault
        self._environ = os.environ if environ is None else environ
        self._memory = memory
        self._now = now
        self._state: availability.Availability | None = None
        self._preferred: tuple[str, int] | None = None
        self._pending: _Pending | None = None
        self._warnings: list[str] = []
        self._warned: set[str] = set()

    @property
    def state(self) -> availability.Availability:
        """What is known of the server, by earlier processes too."""
        if self._state is None:
            self._state = recall(self._memory)
        return self._state

    def start(self, query: str) -> bool:
        """Send `query` unless it is not worth trying now; True when an answer is under way. Never waits long."""
        self.close()
        return bool(query) and self._begin(query)

    def answers_now(self) -> bool:
        """Whether an automatic search would get an answer; costs milliseconds, at most the patience."""
        self.close()
        if not self._begin(""):
            return False
        self.finish()
        return self.state.kind == availability.OK

    def _begin(self, query: str) -> bool:
        if self.settings.enabled == "off" or not self.state.may_ask(self._now()):
            return False
        place = find(self._vault, self.settings, self._environ)
        if place.switched_off:
            return False
        self.attempts = ()
        addresses = self._ordered(place)
        for number, address in enumerate(addresses):
            exchange = self._open(address, query, min(CONNECT_SECONDS, self.settings.patience_seconds))
            if exchange is not None:
                self._pending = _Pending(exchange, query, addresses[number + 1 :])
                return True
        self._settle()
        return False

    def finish(self, wider: str = "") -> tuple[Row, ...]:
        """The rows for the query that was started, waiting at most the patience; nothing when it fails.

        With `wider` a second query is tried when the first finds nothing and time is left.
        """
        pending, self._pending = self._pending, None
        if pending is None:
            return ()
        until = time.monotonic() + self.settings.patience_seconds
        exchanges = self._exchanges(pending.others, pending.query, until)
        return self._first_answer(_chain(pending.exchange, exchanges), wider, until) or ()

    def ask(self, query: str, wider: str = "") -> tuple[Row, ...]:
        """The rows for `query`, from Omnisearch or not at all. Raises `EngineUnavailable` with all that was tried."""
        self.close()
        self.attempts = ()
        place = find(self._vault, self.settings, self._environ)
        if not place.addresses:
            raise EngineUnavailable(f"Omnisearch was not asked: {place.switched_off}")
        until = time.monotonic() + self.settings.deadline_seconds
        rows = self._first_answer(self._exchanges(self._ordered(place), query, until), wider, until)
        if rows is None:
            raise EngineUnavailable(_complaint(place, self.attempts))
        return rows

    def decline(self) -> tuple[Row, ...]:
        """No rows, for a question of which nothing is left to send."""
        self._warnings.append("Omnisearch was not asked: it hangs on words of one letter and reads signs as operators")
        return ()

    def probe(self) -> tuple[Attempt, ...]:
        """Ask the empty question (an empty list, in milliseconds) and say what came from each address tried."""
        try:
            self.ask("")
        except EngineUnavailable as error:
            return self.attempts or (Attempt("", availability.UNKNOWN, str(error)),)
        return self.attempts

    def take_warnings(self) -> tuple[str, ...]:
        """Sentences for the owner that were not handed out yet."""
        warnings, self._warnings = tuple(self._warnings), []
        return warnings

    def close(self) -> None:
        """Give up a request under way."""
        if self._pending is not None:
            self._pending.exchange.close()
            self._pending = None

    def _ordered(self, place: Place) -> tuple[tuple[str, int], ...]:
        """The address that answered last goes first."""
        return tuple(sorted(place.addresses, key=lambda address: address != self._preferred))

    def _exchanges(self, addresses: Iterable[tuple[str, int]], query: str, until: float) -> Iterator[_Exchange]:
        for address in addresses:
            seconds = min(CONNECT_SECONDS, until - time.monotonic())
            exchange = self._open(address, query, seconds) if seconds > 0 else None
            if exchange is not None:
                yield exchange

    def _open(self, address: tuple[str, int], query: str, connect_seconds: float) -> _Exchange | None:
        try:
            return _Exchange(address, query, connect_seconds)
        except _Failed as failure:
            self._note(address, failure.kind, str(failure))
            return None

    def _first_answer(self, exchanges: Iterable[_Exchange], wider: str, until: float) -> tuple[Row, ...] | None:
        for exchange in exchanges:
            try:
                rows = exchange.answer(until)
                self._note(exchange.address, availability.OK, f"answered with {len(rows)} notes")
                if not rows and wider:
                    rows = _Exchange(exchange.address, wider, CONNECT_SECONDS).answer(until)
                checked = self._of_this_vault(rows)
            except _Failed as failure:
                self._note(exchange.address, self._kind(failure, exchange), str(failure))
                continue
            self._preferred = exchange.address
            self._settle(availability.OK)
            return checked
        self._settle()
        return None

    def _kind(self, failure: _Failed, exchange: _Exchange) -> str:
        waited = time.monotonic() - exchange.sent_at
        if failure.kind == availability.LATE and waited >= self.settings.deadline_seconds:
            return availability.HUNG
        return failure.kind

    def _of_this_vault(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """The rows of files that are in the vault. Raises `_Failed` when they are another vault's."""
        names = {_composed(_last(self._vault)), _composed(_last(os.path.realpath(self._vault)))}
        ours = tuple(row for row in rows if not row.vault or _composed(row.vault) in names)
        if rows and not ours:
            raise self._wrong(f"serves the vault {_printable(rows[0].vault)}, not {_printable(_last(self._vault))}")
        root = os.path.realpath(self._vault)
        here = tuple(there for row in ours if (there := _on_disk(root, row)) is not None)
        if not here and len(ours) >= ROWS_TO_JUDGE:
            raise self._wrong(f"serves another vault named {_printable(_last(self._vault))}: its notes are not here")
        return tuple({row.path: row for row in reversed(here)}.values())[::-1]

    def _wrong(self, text: str) -> _Failed:
        if text not in self._warned:
            self._warned.add(text)
            self._warnings.append(f"Omnisearch {text}; it is not used")
        return _Failed(availability.WRONG_VAULT, text)

    def _note(self, address: tuple[str, int], kind: str, text: str) -> None:
        earlier = tuple(attempt for attempt in self.attempts if attempt.address != name_of(address))
        self.attempts = (*earlier, Attempt(name_of(address), kind, text))

    def _settle(self, kind: str = "") -> None:
        """Remember what came of it, the most telling attempt for all."""
        kinds = {attempt.kind for attempt in self.attempts}
        known = (k for k in TELLING if k in kinds)
        before = self.state
        self._state = before.after(kind or next(known, availability.REFUSED), self._now())
        if self._memory and (self._state.worth_remembering or before.worth_remembering):
            remember(self._memory, self._state)


def _chain(first: _Exchange, others: Iterator[_Exchange]) -> Iterator[_Exchange]:
    yield first
    yield from others


def _connected(address: tuple[str, int], seconds: float) -> _socket.socket:
    # The built-in half of `socket`: all that is needed, and 10 ms sooner.
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
    """Only addresses in numbers: looking up a name can wait for many seconds where there is no network."""
    if not set(host.lower()) <= set("0123456789abcdef:."):
        raise OSError(0, "give the host as an address in numbers")
    return host


def _connect_failure(error: OSError, seconds: float) -> _Failed:
    if isinstance(error, ConnectionRefusedError):
        return _Failed(availability.REFUSED, "refused the connection")
    if isinstance(error, TimeoutError):
        return _Failed(availability.LATE, f"did not take the connection within {seconds:.2f} s")
    return _Failed(availability.REFUSED, f"cannot be reached ({error.strerror or error})")


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


def _on_disk(root: str, row: Row) -> Row | None:
    """The row with its path as the disk spells it; None when the file is gone or lies outside of the vault."""
    for form in ("NFC", "NFD") if not row.path.isascii() else ():
        if not os.path.lexists(f"{root}/{row.path}"):
            row = row._replace(path=normalize(form, row.path))
    if row.path.endswith(".md"):
        # Where a note lies is for the vault to judge, which knows its notes; this here is only quick.
        return row if os.path.lexists(f"{root}/{row.path}") else None
    real = os.path.realpath(f"{root}/{row.path}")
    return row if real.startswith(root.rstrip("/") + "/") and os.path.isfile(real) else None


def _last(path: str) -> str:
    return os.path.basename(os.path.abspath(path))


def _composed(name: str) -> str:
    return normalize("NFC", name)


def _printable(name: str) -> str:
    return repr(name[:60])


def _complaint(place: Place, attempts: tuple[Attempt, ...]) -> str:
    tried = "; ".join(f"{attempt.address} {attempt.text}" for attempt in attempts) or "no time was left"
    remarks = "".join(f"; {remark}" for remark in (place.switched_off, *place.remarks) if remark)
    return f"Omnisearch did not answer: {tried} (port from {place.named_by}{remarks}); {TURN_ON}"
