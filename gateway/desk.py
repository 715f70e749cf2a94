"""The desk: carries out what a conversation asks of the vault, on a thread of its own.

The vault may be slow (a first index, a sleeping disk, Obsidian thinking); the loop that paces the radio
never waits for it. Answers come back into the service's inbox under the ticket they were asked with.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Protocol

from gateway.field_notes import FieldNotes
from gateway.protocol.requests import (
    DeskOutcome,
    InfoRequest,
    NoteRequest,
    Outcome,
    ReadRequest,
    Request,
    SearchRequest,
    Trouble,
)
from search_core import EVERYTHING, SearchCore, VaultInfo
from search_core.errors import NoteGone, SearchError, VaultMissing

log = logging.getLogger("meshseek.desk")
search_log = logging.getLogger("meshseek.search")

MAX_WAITING = 100
"""Requests waiting for the vault; beyond this an asker is told that the gateway is busy."""

CLOSE_SECONDS = 5.0
"""How long `close` waits for the request under way."""


class Desk(Protocol):
    """Carries out requests, one after another."""

    def submit(self, ticket: int, request: Request) -> None:
        """Take the request and return at once; its `DeskOutcome` is delivered later, always, exactly once."""


class VaultDesk:
    """The desk over a real vault. The core is opened, used and closed on the desk's own thread."""

    def __init__(
        self,
        open_core: Callable[[], SearchCore],
        field_notes: FieldNotes | None,
        deliver: Callable[[DeskOutcome], None],
        source: str = "auto",
    ) -> None:
        self._open_core = open_core
        self._field_notes = field_notes
        self._deliver = deliver
        self._source = source
        self._requests: queue.Queue[tuple[int, Request] | None] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._work, name="meshseek desk", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, ticket: int, request: Request) -> None:
        try:
            self._requests.put_nowait((ticket, request))
        except queue.Full:
            self._deliver(DeskOutcome(ticket, Trouble("busy", f"{MAX_WAITING} requests are waiting")))

    def close(self) -> None:
        """Finish the request under way and stop; what still waits is dropped (it is stored as owed)."""
        while True:
            try:
                self._requests.get_nowait()
            except queue.Empty:
                break
        self._requests.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _work(self) -> None:
        core = self._open_early()
        while (item := self._requests.get()) is not None:
            ticket, request = item
            core, outcome = self._attempt(core, request)
            self._deliver(DeskOutcome(ticket, outcome))
        if core is not None:
            core.close()

    def _open_early(self) -> SearchCore | None:
        """Read the vault before anybody asks: a first index of many notes takes longer than an asker waits."""
        began = time.monotonic()
        core, outcome = self._attempt(None, InfoRequest(EVERYTHING))
        if isinstance(outcome, VaultInfo):
            log.info("event=vault_ready notes=%d seconds=%.1f", outcome.notes, time.monotonic() - began)
        return core

    def _attempt(self, core: SearchCore | None, request: Request) -> tuple[SearchCore | None, Outcome]:
        """The core, opened if it can be, and what came of the request. Never raises."""
        try:
            core = core or self._open_core()
            return core, self._carry_out(core, request)
        except VaultMissing as error:
            return core, Trouble("vault", str(error))
        except NoteGone as error:
            return core, Trouble("gone", str(error))
        except SearchError as error:
            return core, Trouble("failed", str(error))
        except Exception as error:
            # Whatever broke, this asker gets a line and the next one is served.
            log.error("event=desk_failed error=%s", type(error).__name__)
            log.debug("event=desk_failed", exc_info=True)
            return core, Trouble("failed", type(error).__name__)

    def _carry_out(self, core: SearchCore, request: Request) -> Outcome:
        match request:
            case SearchRequest(query, scope, limit):
                answer = core.search(query, limit=limit, source=self._source, scope=scope)
                for sentence in answer.warnings:
                    search_log.warning("%s", sentence)
                return answer
            case ReadRequest(path, query, scope):
                return core.read(path, query=query, scope=scope)
            case InfoRequest(scope):
                return core.info(scope, source=self._source)
            case NoteRequest(text, sender_name, wall_time, packet_id):
                if self._field_notes is None:
                    return Trouble("refused", "no [notes] inbox is configured")
                return self._field_notes.append(text, sender_name, wall_time, packet_id)
