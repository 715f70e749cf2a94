"""The desk answers every request exactly once, whatever the vault does."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.desk import MAX_WAITING, VaultDesk
from gateway.protocol.requests import DeskOutcome, InfoRequest, NoteRequest, ReadRequest, SearchRequest, Trouble
from search_core import SearchCore
from search_core.notes import EVERYTHING, Answer, Reading, VaultInfo


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Stove.md").write_text("# Stove\n\nThe jet is blocked: shake it.\n")
    return folder


class Outcomes:
    def __init__(self) -> None:
        self.queue: queue.Queue[DeskOutcome] = queue.Queue()

    def next(self) -> DeskOutcome:
        return self.queue.get(timeout=10)


def desk_over(open_core: Callable[[], SearchCore], outcomes: Outcomes) -> VaultDesk:
    desk = VaultDesk(open_core, None, outcomes.queue.put)
    desk.start()
    return desk


def test_requests_are_carried_out_in_order(vault: Path, tmp_path: Path) -> None:
    outcomes = Outcomes()
    desk = desk_over(lambda: SearchCore(str(vault), cache_dir=str(tmp_path / "cache")), outcomes)
    desk.submit(1, SearchRequest("stove jet", EVERYTHING))
    desk.submit(2, ReadRequest("Stove.md", "jet", EVERYTHING))
    desk.submit(3, InfoRequest(EVERYTHING))
    desk.submit(4, ReadRequest("Gone.md", "jet", EVERYTHING))
    desk.submit(5, NoteRequest("x", "T", 0.0, 1))
    got = [outcomes.next() for _ in range(5)]
    desk.close()
    assert [outcome.ticket for outcome in got] == [1, 2, 3, 4, 5]
    search, reading, info, gone, refused = (outcome.outcome for outcome in got)
    assert isinstance(search, Answer)
    assert search.hits[0].path == "Stove.md"
    assert isinstance(reading, Reading)
    assert isinstance(info, VaultInfo)
    assert info.notes == 1
    assert isinstance(gone, Trouble)
    assert gone.kind == "gone"
    assert isinstance(refused, Trouble)
    assert refused.kind == "refused"


def test_what_the_search_has_to_say_to_the_owner_is_logged(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OMNISEARCH_URL", "junk")
    outcomes = Outcomes()
    desk = desk_over(lambda: SearchCore(str(vault), cache_dir=str(tmp_path / "cache")), outcomes)
    for ticket in range(3):
        desk.submit(ticket, SearchRequest("stove", EVERYTHING))
        assert isinstance(outcomes.next().outcome, Answer)
    desk.close()
    (record,) = caplog.records
    assert record.name == "meshseek.search"
    assert "OMNISEARCH_URL is 'junk'" in record.getMessage()


def test_a_vault_that_is_not_there_is_said_and_found_again_later(vault: Path, tmp_path: Path) -> None:
    outcomes = Outcomes()
    hidden = vault.rename(tmp_path / "unmounted")
    desk = desk_over(lambda: SearchCore(str(vault), cache_dir=str(tmp_path / "cache")), outcomes)
    desk.submit(1, SearchRequest("stove", EVERYTHING))
    trouble = outcomes.next().outcome
    hidden.rename(vault)
    desk.submit(2, SearchRequest("stove", EVERYTHING))
    found = outcomes.next().outcome
    desk.close()
    assert isinstance(trouble, Trouble)
    assert trouble.kind == "vault"
    assert isinstance(found, Answer)
    assert found.hits


def test_a_fault_of_ours_costs_one_request_and_not_the_desk() -> None:
    outcomes = Outcomes()

    def broken() -> SearchCore:
        raise ZeroDivisionError

    desk = desk_over(broken, outcomes)
    desk.submit(1, InfoRequest(EVERYTHING))
    desk.submit(2, InfoRequest(EVERYTHING))
    got = [outcomes.next().outcome, outcomes.next().outcome]
    desk.close()
    assert all(isinstance(outcome, Trouble) and outcome.kind == "failed" for outcome in got)


def test_more_requests_than_can_wait_are_told_so_at_once() -> None:
    outcomes, go = Outcomes(), threading.Event()

    def slow() -> SearchCore:
        go.wait(10)
        raise ZeroDivisionError

    desk = desk_over(slow, outcomes)
    for ticket in range(MAX_WAITING + 10):
        desk.submit(ticket, InfoRequest(EVERYTHING))
    busy = outcomes.next().outcome
    go.set()
    for _ in range(MAX_WAITING + 9):
        outcomes.next()
    desk.close()
    assert isinstance(busy, Trouble)
    assert busy.kind == "busy"


def test_the_vault_is_read_before_anybody_asks(vault: Path, tmp_path: Path) -> None:
    """A first index of many notes takes longer than an asker waits."""
    ready = threading.Event()

    class Core(SearchCore):
        def info(self, *arguments: Any, **named: Any) -> VaultInfo:
            found = super().info(*arguments, **named)
            ready.set()
            return found

    desk = desk_over(lambda: Core(str(vault), cache_dir=str(tmp_path / "cache")), Outcomes())
    assert ready.wait(10)
    desk.close()
    assert list((tmp_path / "cache").glob("*.sqlite"))
