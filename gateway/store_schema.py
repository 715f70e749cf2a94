"""The tables of the gateway's state, how an older file becomes a newer one, and what a row stands for."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from gateway.protocol.answers import Answer, Attempt, Question

_FIRST = """
CREATE TABLE questions (
    number INTEGER PRIMARY KEY,
    node INTEGER NOT NULL,
    packet_id INTEGER NOT NULL,
    text TEXT NOT NULL,             -- blanked when the answer is over
    mark BLOB,                      -- short hash of the text, to know a repeat; forgotten after a while
    asked_at REAL NOT NULL,
    wall_time REAL NOT NULL,
    name TEXT NOT NULL,
    key BLOB,
    folders TEXT NOT NULL,          -- JSON
    channel INTEGER,
    hops INTEGER,
    snr REAL,
    rssi INTEGER,
    stage TEXT NOT NULL,            -- asked, or a Stage of gateway/protocol/answers.py
    kind TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    search_ms REAL,
    ended_at REAL,
    part INTEGER NOT NULL DEFAULT 0,
    part_count INTEGER NOT NULL DEFAULT 0,
    progress TEXT NOT NULL DEFAULT '{}'  -- JSON: the rest of an Answer
);
CREATE INDEX questions_stage ON questions (stage);
CREATE TABLE parts (
    question INTEGER NOT NULL,
    part INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (question, part)
) WITHOUT ROWID;
CREATE TABLE attempts (
    packet_id INTEGER PRIMARY KEY,
    question INTEGER NOT NULL,
    part INTEGER NOT NULL,
    node INTEGER NOT NULL,
    sent_at REAL NOT NULL,
    seconds REAL NOT NULL,          -- airtime of one transmission
    result TEXT,                    -- NULL: in flight
    after REAL,                     -- seconds
    transmissions INTEGER
);
CREATE INDEX attempts_sent ON attempts (sent_at);
CREATE TABLE seen (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    node INTEGER NOT NULL,
    packet_id INTEGER NOT NULL,
    UNIQUE (node, packet_id)
);
CREATE TABLE sessions (node INTEGER PRIMARY KEY, at REAL NOT NULL, json TEXT NOT NULL);
CREATE TABLE counters (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE refusals (
    node INTEGER NOT NULL,
    reason TEXT NOT NULL,
    count INTEGER NOT NULL,
    last REAL NOT NULL,
    sentence TEXT NOT NULL,
    key BLOB,
    PRIMARY KEY (node, reason)
) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

MIGRATIONS = (_FIRST,)
"""Each takes the file from the version of its index to the next; never change one that was released."""

VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to `VERSION`, each step in one transaction. Raises ValueError for a file of a newer program."""
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found > VERSION:
        raise ValueError(f"schema {found} was written by a newer meshseek (this one knows {VERSION})")
    for version in range(found, VERSION):
        connection.executescript(f"BEGIN IMMEDIATE; {MIGRATIONS[version]} PRAGMA user_version = {version + 1}; COMMIT;")


def mistyped_or_none(connection: sqlite3.Connection) -> str | None:
    """A column with a value of another type than it was declared with, which only damage puts there."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    for (table,) in tables.fetchall():
        for _, column, declared, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
            wrong = f"SELECT 1 FROM {table} WHERE typeof({column}) NOT IN (?, 'null') LIMIT 1"
            if connection.execute(wrong, (str(declared).lower(),)).fetchone():
                return f"{table}.{column}"
    return None


def question_of(row: sqlite3.Row) -> Question:
    return Question(
        number=row["number"],
        node=row["node"],
        packet_id=row["packet_id"],
        text=row["text"],
        asked_at=row["asked_at"],
        wall_time=row["wall_time"],
        name=row["name"],
        key=row["key"],
        folders=tuple(json.loads(row["folders"])),
        channel=row["channel"],
        hops=row["hops"],
        snr=row["snr"],
        rssi=row["rssi"],
    )


def attempt_of(row: sqlite3.Row) -> Attempt:
    return Attempt(row["packet_id"], row["question"], row["part"], row["node"], row["sent_at"], row["seconds"])


def row_of(attempt: Attempt) -> tuple[object, ...]:
    return (attempt.question, attempt.part, attempt.node, attempt.sent_at, attempt.seconds)


@dataclass(frozen=True, slots=True)
class Owed:
    """What the last run left unfinished, and what this one must remember."""

    questions: tuple[Question, ...]
    """Without an answer yet, oldest first."""
    answering: tuple[Question, ...]
    """Those of `answers`, without their words."""
    answers: tuple[Answer, ...]
    attempts: tuple[tuple[Attempt, float | None], ...]
    """In order of time; with the transmissions made, None while in flight."""
    seen: tuple[tuple[int, int], ...]
    """Node and packet id, oldest first."""
    asked: tuple[tuple[int, float, bytes | None, str], ...]
    """Node, time, mark and kind of answer of the questions of the last hour, oldest first."""
    next_number: int

    def in_flight(self) -> list[Attempt]:
        """Attempts without a result, and before them those that may still be acknowledged."""
        return [attempt for attempt, _ in self.attempts]


NOTHING_OWED = Owed((), (), (), (), (), (), 1)
