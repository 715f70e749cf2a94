"""What the gateway owes, on disk before it is acted on: the only file with the gateway's SQL.

One SQLite file in WAL mode, every commit flushed to the disk. Everything in it is bounded. The text of a question
and of its answer is blanked as soon as the answer is over. Failures become `StoreTrouble`; a damaged
file is set aside under a dated name and a fresh one begun, so that the gateway goes on serving.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from gateway.protocol.answers import Answer, Change, Ended, Moved, Question, Send, Stage
from gateway.protocol.limits import SEEN_LIMIT
from gateway.store_files import FILE_NAME, private_file, set_aside
from gateway.store_schema import Owed, attempt_of, migrate, mistyped_or_none, question_of, row_of

log = logging.getLogger("meshseek.store")

QUESTIONS_LIMIT = 2_000
"""Finished questions remembered, without their text."""
SESSIONS_LIMIT = 500
REFUSALS_LIMIT = 200
ATTEMPTS_AGE = 2 * 3600.0
"""The airtime budget looks back one hour."""
MARKS_AGE = 600.0
_BUSY_SECONDS = 2.0

ASKED = "asked"
"""Stage of a question that has no answer yet."""

_KEPT_TEXTS = "SELECT number, text FROM questions WHERE text <> '' ORDER BY number DESC LIMIT 100"
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA}
_PROGRESS = (
    *("tries", "sent_before", "stumbles", "not_before", "parked_at", "resumed"),
    *("keys_asked", "dropped", "notice", "replaceable", "reply_id"),
)
"""The fields of an `Answer` that no query asks for."""


class StoreTrouble(Exception):
    """What was to be stored is not; the message says why. The gateway goes on from memory."""

    def __init__(self, message: str, *, damaged: bool = False, absent: bool = False) -> None:
        super().__init__(message)
        self.damaged = damaged
        self.absent = absent


def mark_of(node: int, text: str) -> bytes:
    """A short hash by which the same words of the same node are known again."""
    return hashlib.blake2b(f"{node} {' '.join(text.split()).casefold()}".encode(), digest_size=8).digest()


class Store:
    """The open state file; None keeps it in memory only."""

    def __init__(self, directory: Path | None, wall: float = 0.0, *, flush: bool = True) -> None:
        """Open or create ``state.sqlite``. Raises StoreTrouble when the directory cannot be used at all.

        Without `flush` commits survive the death of the process, but not that of the machine.
        """
        self._directory = directory
        self._flush = flush
        self.set_aside: Path | None = None
        """The damaged file that this one replaces."""
        try:
            self._connection = self._open()
        except StoreTrouble as trouble:
            if not trouble.damaged:
                raise
            self.start_afresh(wall, str(trouble))

    # Opening, and what to do with a damaged file

    def start_afresh(self, wall: float, why: str) -> None:
        """Set the file aside and begin a new one. Raises StoreTrouble when that fails, too."""
        with contextlib.suppress(sqlite3.Error, AttributeError):
            self._connection.close()
        if self._directory is not None and not self._is_gone():
            with _mapped():
                self.set_aside = set_aside(self._directory, wall)
            log.error("event=store_set_aside file=%s why=%r", self.set_aside.name, why)
        self._connection = self._open()

    @classmethod
    def for_reading(cls, directory: Path) -> Store:
        """The state that another process writes, or has written: nothing is changed or repaired.

        SQLite may put its own files (``-wal``, ``-shm``) beside it, with the same owner.

        Raises StoreTrouble, also when there is none; `StoreTrouble.absent` tells the two apart.
        """
        file = directory / FILE_NAME
        store = cls.__new__(cls)
        store._directory, store._flush, store.set_aside = directory, False, None
        with _mapped():
            try:
                file.stat()
            except FileNotFoundError as error:
                raise StoreTrouble(f"there is no state file in {directory}", absent=True) from error
            store._connection = sqlite3.connect(
                f"{file.absolute().as_uri()}?mode=ro",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                store._connection.execute("SELECT count(*) FROM facts")
            except sqlite3.Error as error:
                store._connection.close()
                if "no such table" in str(error):
                    raise StoreTrouble("the state file is empty: it could not be begun", damaged=True) from error
                raise
        return store

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _open(self) -> sqlite3.Connection:
        with _mapped():
            target = ":memory:" if self._directory is None else str(private_file(self._directory))
            connection = sqlite3.connect(
                target, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            try:
                connection.execute(f"PRAGMA synchronous = {'FULL' if self._flush else 'OFF'}")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA secure_delete = ON")
                if (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                    raise StoreTrouble(f"the state file is damaged: {found}", damaged=True)
                try:
                    migrate(connection)
                except ValueError as error:
                    raise StoreTrouble(str(error), damaged=True) from error
                if (column := mistyped_or_none(connection)) is not None:
                    raise StoreTrouble(f"the state file is damaged: {column} makes no sense", damaged=True)
            except BaseException:
                connection.close()
                raise
            return connection

    # Writing

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. Raises StoreTrouble when it is nothing."""
        if self._is_gone():
            raise StoreTrouble("the state file is gone: somebody has removed it", damaged=True)
        with _mapped():
            self._execute("BEGIN IMMEDIATE")
            try:
                yield
                self._commit()
            except Exception:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def _is_gone(self) -> bool:
        """SQLite writes on to a file that has no name any more, which nobody will ever read."""
        try:
            return self._directory is not None and not (self._directory / FILE_NAME).stat()
        except OSError as error:
            return isinstance(error, FileNotFoundError)

    def accept(self, question: Question) -> None:
        """An admitted question, before anything is done about it."""
        q = question
        self._execute(
            "INSERT OR REPLACE INTO questions (number, node, packet_id, text, mark, asked_at, wall_time, name, key,"
            " folders, channel, hops, snr, rssi, stage) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                *(q.number, q.node, q.packet_id, q.text, mark_of(q.node, q.text), q.asked_at, q.wall_time, q.name),
                *(q.key, json.dumps(q.folders), q.channel, q.hops, q.snr, q.rssi, ASKED),
            ),
        )
        self.remember_seen(q.node, q.packet_id)

    def remember_seen(self, node: int, packet_id: int) -> None:
        self._execute("INSERT OR IGNORE INTO seen (node, packet_id) VALUES (?,?)", (node, packet_id))

    def describe(self, number: int, kind: str, search_ms: float | None) -> None:
        """What kind of answer a question got, and how long the vault took."""
        self._execute("UPDATE questions SET kind = ?, search_ms = ? WHERE number = ?", (kind, search_ms, number))

    def end_question(self, number: int, stage: str, reason: str, now: float) -> None:
        """A question that is over, with its answer or without one: its text goes."""
        self._execute(
            "UPDATE questions SET stage = ?, reason = ?, ended_at = ?, text = '' WHERE number = ?",
            (stage, reason, now, number),
        )
        self._execute("DELETE FROM parts WHERE question = ?", (number,))

    def keep_parts(self, answer: Answer) -> None:
        """The parts of a new answer; to be called before its first change is written."""
        for number, text in enumerate(answer.parts):
            self._execute("INSERT OR REPLACE INTO parts VALUES (?,?,?)", (answer.question, number, text))

    def write(self, change: Change, now: float) -> None:
        """A change that the outbox wants done."""
        match change:
            case Moved(answer):
                self._write_answer(answer, now)
            case Send(_, attempt, answer):
                self._execute(
                    "INSERT INTO attempts (packet_id, question, part, node, sent_at, seconds) VALUES (?,?,?,?,?,?)",
                    (attempt.packet_id, *row_of(attempt)),
                )
                self._write_answer(answer, now)
            case Ended(attempt, result, after, transmissions):
                self._execute(
                    "UPDATE attempts SET result = ?, after = ?, transmissions = coalesce(transmissions, ?)"
                    " WHERE packet_id = ?",
                    (result, after, transmissions, attempt.packet_id),
                )

    def _write_answer(self, answer: Answer, now: float) -> None:
        progress = json.dumps({name: getattr(answer, name) for name in _PROGRESS})
        self._execute(
            "UPDATE questions SET stage = ?, reason = ?, part = ?, part_count = ?, progress = ? WHERE number = ?",
            (str(answer.stage), answer.reason, answer.part, len(answer.parts), progress, answer.question),
        )
        if answer.over:
            self.end_question(answer.question, str(answer.stage), answer.reason, now)

    def put_session(self, seat: int, at: float, text: str) -> None:
        self._execute("INSERT OR REPLACE INTO sessions VALUES (?,?,?)", (seat, at, text))

    def put_fact(self, name: str, value: str) -> None:
        self._execute("INSERT OR REPLACE INTO facts VALUES (?,?)", (name, value))

    def count(self, name: str, by: int = 1) -> None:
        self._execute(
            "INSERT INTO counters VALUES (?,?) ON CONFLICT (name) DO UPDATE SET count = count + excluded.count",
            (name, by),
        )

    def refuse(self, node: int, reason: str, now: float, sentence: str, key: bytes | None, by: int = 1) -> None:
        self._execute(
            "INSERT INTO refusals VALUES (?,?,?,?,?,?) ON CONFLICT (node, reason) DO UPDATE SET"
            " count = count + excluded.count, last = excluded.last, sentence = excluded.sentence, key = excluded.key",
            (node, reason, by, now, sentence, key),
        )

    def prune(self, now: float) -> None:
        """Forget what is not needed any more; to be called inside a transaction now and then."""
        over = "stage IN ('delivered', 'failed', 'replaced')"
        newest = f"SELECT number FROM questions WHERE {over} ORDER BY number DESC LIMIT {QUESTIONS_LIMIT}"
        self._execute(f"DELETE FROM questions WHERE {over} AND number NOT IN ({newest})")
        self._execute("UPDATE questions SET mark = NULL WHERE asked_at < ?", (now - MARKS_AGE,))
        self._execute("DELETE FROM attempts WHERE sent_at < ? AND result IS NOT NULL", (now - ATTEMPTS_AGE,))
        self._execute("DELETE FROM attempts WHERE question NOT IN (SELECT number FROM questions)")
        self._execute("DELETE FROM seen WHERE number <= (SELECT max(number) FROM seen) - ?", (SEEN_LIMIT,))
        self._execute("DELETE FROM sessions WHERE at < ?", (now - 24 * 3600.0,))
        for table, order, limit in (("sessions", "at", SESSIONS_LIMIT), ("refusals", "last", REFUSALS_LIMIT)):
            kept = f"SELECT {order} FROM {table} ORDER BY {order} DESC LIMIT 1 OFFSET {limit}"
            self._execute(f"DELETE FROM {table} WHERE {order} <= ({kept})")

    def tidy(self) -> None:
        """Write the log back into the file and empty it; best effort."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # Reading

    def session(self, seat: int) -> str:
        """The stored session, empty when there is none. Raises StoreTrouble."""
        rows = self._read("SELECT json FROM sessions WHERE node = ?", (seat,))
        return str(rows[0]["json"]) if rows else ""

    def fact(self, name: str) -> str:
        rows = self._read("SELECT value FROM facts WHERE name = ?", (name,))
        return str(rows[0]["value"]) if rows else ""

    def counters(self) -> dict[str, int]:
        return {str(row["name"]): int(row["count"]) for row in self._read("SELECT * FROM counters")}

    def refusals(self, limit: int = 20) -> list[dict[str, object]]:
        """The latest first: node, reason, count, last (seconds), sentence, key."""
        return [dict(row) for row in self._read("SELECT * FROM refusals ORDER BY last DESC LIMIT ?", (limit,))]

    def latest(self, limit: int = 10) -> list[dict[str, object]]:
        """The last questions, newest first, without their words."""
        rows = self._read(
            "SELECT q.number, q.node, q.asked_at, q.ended_at, q.stage, q.kind, q.reason, q.search_ms, q.part,"
            " q.part_count AS parts, (SELECT sum(a.seconds * coalesce(a.transmissions, 1)) FROM attempts a"
            " WHERE a.question = q.number) AS airtime FROM questions q ORDER BY q.number DESC LIMIT ?",
            (limit,),
        )
        return [dict(row) for row in rows]

    def texts(self) -> dict[int, str]:
        """The words of the questions that are not over yet, by number."""
        return {int(row["number"]): str(row["text"]) for row in self._read(_KEPT_TEXTS)}

    def owed(self, now: float) -> Owed:
        """What is unfinished. Raises StoreTrouble, also when rows make no sense."""
        try:
            return self._owed(now)
        except (ValueError, TypeError, AttributeError) as error:
            raise StoreTrouble(f"rows that make no sense: {type(error).__name__}", damaged=True) from error

    def _owed(self, now: float) -> Owed:
        asked = self._read("SELECT * FROM questions WHERE stage = ? ORDER BY number", (ASKED,))
        under_way = self._read("SELECT * FROM questions WHERE stage IN ('waiting', 'flying', 'parked') ORDER BY number")
        attempts = self._read("SELECT * FROM attempts ORDER BY sent_at, rowid")
        recent = self._read(
            "SELECT node, asked_at, mark, kind FROM questions WHERE asked_at > ? ORDER BY number", (now - 3600.0,)
        )
        newest = self._read("SELECT coalesce(max(number), 0) AS n FROM questions")[0]["n"]
        seen = self._read("SELECT node, packet_id FROM seen ORDER BY number")
        return Owed(
            tuple(question_of(row) for row in asked),
            tuple(question_of(row) for row in under_way),
            tuple(self._answer(row) for row in under_way),
            tuple((attempt_of(row), row["transmissions"]) for row in attempts),
            tuple((row["node"], row["packet_id"]) for row in seen),
            tuple((row["node"], row["asked_at"], row["mark"], row["kind"]) for row in recent),
            int(newest) + 1,
        )

    def _answer(self, row: sqlite3.Row) -> Answer:
        parts = self._read("SELECT text FROM parts WHERE question = ? ORDER BY part", (row["number"],))
        return Answer(
            question=row["number"],
            node=row["node"],
            parts=tuple(str(part["text"]) for part in parts),
            asked_at=row["asked_at"],
            key=row["key"],
            channel=row["channel"],
            hops=row["hops"],
            stage=Stage(row["stage"]),
            part=row["part"],
            reason=row["reason"],
            **{name: value for name, value in json.loads(row["progress"]).items() if name in _PROGRESS},
        )

    # The two ways to the database

    def _execute(self, sql: str, values: tuple[object, ...] = ()) -> None:
        self._connection.execute(sql, values)

    def _commit(self) -> None:
        self._connection.execute("COMMIT")

    def _read(self, sql: str, values: tuple[object, ...] = ()) -> list[sqlite3.Row]:
        with _mapped():
            cursor = self._connection.cursor()
            cursor.row_factory = sqlite3.Row
            return cursor.execute(sql, values).fetchall()


def open_store(directory: Path, wall: float) -> Store:
    """The state in this directory; in memory, and loudly, when the directory cannot be used."""
    try:
        return Store(directory, wall)
    except StoreTrouble as trouble:
        log.error("event=store_in_memory why=%r effect=%r", str(trouble), "what is owed will not survive a restart")
        return Store(None)


@contextlib.contextmanager
def _mapped() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        damaged = code is not None and (code & 0xFF) in _DAMAGED
        raise StoreTrouble(f"the state file cannot be used: {error}", damaged=damaged) from error
    except OSError as error:
        raise StoreTrouble(f"the state directory cannot be used: {error.strerror or error}") from error
    except (ValueError, OverflowError) as error:
        raise StoreTrouble(f"a value cannot be stored: {type(error).__name__}") from error
