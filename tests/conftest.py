"""The suite guards itself: no network, no leaked thread, no broken log format, and the shared data only when there."""

from __future__ import annotations

import contextlib
import logging
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

ALLOWED_THREADS = ("publishing",)
"""Made once at import by the Meshtastic library and kept for the life of the process."""


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real notes and questions; the test is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"the shared notes are not beside this checkout ({SHARED.parent.name}/data is absent)")
    return SHARED


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback only: a test that reaches further is a mistake."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = str(address[0]) if isinstance(address, tuple) else ""
            assert host in {"127.0.0.1", "::1", "localhost"}, f"a test tried to reach {host!r}"
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def no_omnisearch_of_the_developers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A running Obsidian on this machine must not change what a test sees; tests of the client name their own."""
    monkeypatch.setenv("OMNISEARCH_URL", "off")


@pytest.fixture(autouse=True)
def databases_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test leaves open ends with it, as with a process: from 3.13 on Python complains when it is collected."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remembered(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", remembered)
    yield
    for connection in opened:
        with contextlib.suppress(sqlite3.Error):  # of another thread, which closes it itself
            connection.close()


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        left = [t for t in threading.enumerate() if t not in before and t.is_alive() and not _is_allowed(t)]
        if not left:
            return
        time.sleep(0.02)
    pytest.fail(f"threads left running: {[t.name for t in left]}")


def _is_allowed(thread: threading.Thread) -> bool:
    return thread.name in ALLOWED_THREADS


@pytest.fixture(autouse=True)
def log_records_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log call whose arguments do not fit its text fails the test instead of printing to standard error."""

    def fail(_handler: logging.Handler, record: logging.LogRecord) -> None:
        pytest.fail(f"log record does not format: {record.msg!r} with {record.args!r}")

    monkeypatch.setattr(logging.Handler, "handleError", fail)
