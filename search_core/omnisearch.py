"""The client of Omnisearch's HTTP API: whom to ask, when, and whether to believe it.

The question is sent before the local search starts and its answer is read afterwards. In between, the
server works and the kernel keeps what it sends, so two engines run side by side without a thread: none to leak, none to
compete with the local search, and a fresh process pays neither for ``threading`` nor ``socket`` (10 ms each).
Each address gets one request at a time, since Obsidian answers them one after another in the thread that draws its
window. An address that takes the question and says nothing for half of the time is not waited for alone: another
program may sit there, and Omnisearch at the next.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from search_core import availability
from search_core.errors import EngineUnavailable, WrongUse
from search_core.omnisearch_exchange import CONNECT_SECONDS, Exchange, Failed
from search_core.omnisearch_memory import recall, remember
from search_core.omnisearch_place import OmnisearchSettings, Place, find, name_of
from search_core.omnisearch_query import Sending

if TYPE_CHECKING:
    from search_core.omnisearch_rows import Row

TELLING = (
    availability.HUNG,
    availability.LATE,
    availability.WRONG_VAULT,
    availability.NOT_OMNISEARCH,
    availability.BROKE_OFF,
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


class _Pending(NamedTuple):
    """A request under way, and what to try should its answer be no good."""

    exchange: Exchange
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
        if place.wrongly_named:
            self._warn(f"{place.switched_off}; Omnisearch is not asked")
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
        asked = Sending(pending.query, wider)
        return self._first_answer(_chain(pending.exchange, exchanges), asked, until) or ()

    def ask(self, query: str, wider: str = "", without: str = "") -> tuple[Row, ...]:
        """The rows for `query`, from Omnisearch or not at all. Raises `EngineUnavailable` with all that was tried.

        With `without` the files among them that are no notes are asked for once more, with that after the query.
        Raises `WrongUse` when the environment names no address.
        """
        self.close()
        self.attempts = ()
        place = self._place()
        if not place.addresses:
            raise EngineUnavailable(f"Omnisearch was not asked: {place.switched_off}")
        until = time.monotonic() + self.settings.deadline_seconds
        exchanges = self._exchanges(self._ordered(place), query, until)
        rows = self._first_answer(exchanges, Sending(query, wider, without), until)
        if rows is None:
            raise EngineUnavailable(_complaint(place, self.attempts))
        return rows

    def decline(self) -> tuple[Row, ...]:
        """No rows, for a question of which nothing is left to send. Raises `WrongUse` like `ask`."""
        self._place()
        self._warnings.append("Omnisearch was not asked: it hangs on words of one letter and reads signs as operators")
        return ()

    def probe(self) -> tuple[Attempt, ...]:
        """Ask the empty question (an empty list, in milliseconds) and say what came from each address tried."""
        try:
            self.ask("")
        except WrongUse as error:
            return (Attempt("", availability.WRONGLY_NAMED, str(error)),)
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

    def _place(self) -> Place:
        place = find(self._vault, self.settings, self._environ)
        if place.wrongly_named:
            raise WrongUse(place.switched_off)
        return place

    def _ordered(self, place: Place) -> tuple[tuple[str, int], ...]:
        """The address that answered last goes first."""
        return tuple(sorted(place.addresses, key=lambda address: address != self._preferred))

    def _exchanges(self, addresses: Iterable[tuple[str, int]], query: str, until: float) -> Iterator[Exchange]:
        for address in addresses:
            seconds = min(CONNECT_SECONDS, until - time.monotonic())
            exchange = self._open(address, query, seconds) if seconds > 0 else None
            if exchange is not None:
                yield exchange

    def _open(self, address: tuple[str, int], query: str, connect_seconds: float) -> Exchange | None:
        try:
            return Exchange(address, query, connect_seconds)
        except Failed as failure:
            self._note(address, failure.kind, str(failure))
            return None

    def _first_answer(self, exchanges: Iterable[Exchange], asked: Sending, until: float) -> tuple[Row, ...] | None:
        opened: list[Exchange] = []
        try:
            for exchange in exchanges:
                opened.append(exchange)
                if (rows := self._answer_of(exchange, asked, until, is_first=len(opened) == 1)) is not None:
                    return rows
            for exchange in opened:
                if exchange.is_open and (rows := self._answer_of(exchange, asked, until)) is not None:
                    return rows
        finally:
            for exchange in opened:
                exchange.close()
        self._settle()
        return None

    def _answer_of(
        self, exchange: Exchange, asked: Sending, until: float, *, is_first: bool = False
    ) -> tuple[Row, ...] | None:
        """The rows, or nothing; the exchange stays open when it only was too slow. The first gets half of the time."""
        now = time.monotonic()
        try:
            rows = exchange.answer(now + (until - now) / 2 if is_first else until)
            self._note(exchange.address, availability.OK, f"answered with {len(rows)} notes")
            rows = self._of_this_vault(self._more(exchange.address, rows, asked, until))
        except Failed as failure:
            self._note(exchange.address, self._kind(failure, exchange), str(failure))
            if failure.kind != availability.LATE:
                exchange.close()
            return None
        self._preferred = exchange.address
        self._settle(availability.OK)
        return rows

    def _more(self, address: tuple[str, int], rows: tuple[Row, ...], asked: Sending, until: float) -> tuple[Row, ...]:
        """The rows after what a second question makes of them."""
        from search_core.merge import is_note

        query = asked.query
        if not rows and asked.wider:
            query, rows = asked.wider, _rows_of(address, asked.wider, until)
        if asked.without and not all(is_note(row.path) for row in rows):
            kept = {row.path for row in _rows_of(address, f"{query} {asked.without}", until)}
            rows = tuple(row for row in rows if is_note(row.path) or row.path in kept)
        return rows

    def _kind(self, failure: Failed, exchange: Exchange) -> str:
        waited = time.monotonic() - exchange.sent_at
        if failure.kind == availability.LATE and waited >= self.settings.deadline_seconds:
            return availability.HUNG
        return failure.kind

    def _of_this_vault(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """The rows of files that are in the vault. Raises `Failed` when they are another vault's."""
        names = {_composed(_last(self._vault)), _composed(_last(os.path.realpath(self._vault)))}
        ours = tuple(row for row in rows if not row.vault or _composed(row.vault) in names)
        if rows and not ours:
            raise self._wrong(f"serves the vault {_printable(rows[0].vault)}, not {_printable(_last(self._vault))}")
        root = os.path.realpath(self._vault)
        here = tuple(there for row in ours if (there := _on_disk(root, row)) is not None)
        if not here and len(ours) >= ROWS_TO_JUDGE:
            name = _printable(_last(self._vault))
            raise self._wrong(
                f"serves another vault named {name}, or what this one held before: its notes are not here"
            )
        return tuple({row.path: row for row in reversed(here)}.values())[::-1]

    def _wrong(self, text: str) -> Failed:
        self._warn(f"Omnisearch {text}; it is not used")
        return Failed(availability.WRONG_VAULT, text)

    def _warn(self, sentence: str) -> None:
        if sentence not in self._warned:
            self._warned.add(sentence)
            self._warnings.append(sentence)

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


def _chain(first: Exchange, others: Iterator[Exchange]) -> Iterator[Exchange]:
    yield first
    yield from others


def _rows_of(address: tuple[str, int], query: str, until: float) -> tuple[Row, ...]:
    exchange = Exchange(address, query, min(CONNECT_SECONDS, max(until - time.monotonic(), 0.0)))
    try:
        return exchange.answer(until)
    finally:
        exchange.close()


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
