"""The SQLite file under an index: how it is opened, and how what is written to it is written whole."""

from __future__ import annotations

import os
import sqlite3
import time

BUSY_SECONDS = 30.0
_PAUSE = 0.005
CACHE_KIB = 8_000
"""SQLite's page cache; more was not quicker with 100,000 notes."""


def connect(path: str | None) -> sqlite3.Connection:
    """The database at `path`, or one in memory. Raises `sqlite3.Error`."""
    database = sqlite3.connect(path or ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        database.execute("PRAGMA temp_store = MEMORY")
        if path:
            _switch_to_wal(database)
            database.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        database.close()
        raise
    return database


def _switch_to_wal(database: sqlite3.Connection) -> None:
    """When two processes do it at once, one is refused without the wait that SQLite makes everywhere else."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                raise
        time.sleep(_PAUSE)


def inode(path: str | None) -> int:
    """The file's number, by which one that was put in its place is told apart; 0 in memory, -1 when there is none."""
    try:
        return os.stat(path).st_ino if path else 0
    except OSError:
        return -1


class Transaction:
    """All or nothing, and nobody else writes meanwhile."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK" if kind else "COMMIT")
