"""The only file with the core's SQL: a cache of the vault in one SQLite file, rebuilt whenever it does not fit.

Nothing here is worth keeping: schema, vault or Python changed, damage, a full disk, a read-only home, all
end in a fresh file or an index in memory. Several processes share one file (WAL); each brings it up to date
under the write lock before it asks, so whoever comes second finds the work done.
"""

from __future__ import annotations

import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from search_core.folder_watch import LEAST_NOTES, FolderWatch
from search_core.index_file import Transaction, connect, inode
from search_core.note_fields import fields_of
from search_core.notes import EVERYTHING, Scope
from search_core.terms import fold
from search_core.vault import RACY_SECONDS, Content, Entry, Listing, Unread, Vault, batches, is_below

if TYPE_CHECKING:
    from search_core.glance import Mark

SCHEMA = "1"
COLUMN_WEIGHTS = "5, 2, 3, 2, 1, 1"
"""Of title, path, headings, tags, body, ids when the database chooses candidates; any sensible values do."""
BATCH_NOTES = 500
"""Notes per transaction: half a second of work lost to a kill, and others wait no longer for the lock."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE folders (id INTEGER PRIMARY KEY, path TEXT UNIQUE, packed BLOB);
CREATE TABLE notes (id INTEGER PRIMARY KEY, folder INTEGER, name TEXT, mtime INTEGER, size INTEGER, ctime INTEGER,
    racy INTEGER, crc INTEGER, words INTEGER, tags TEXT, true_keys TEXT, UNIQUE (folder, name));
CREATE VIRTUAL TABLE text USING fts5(title, path, headings, tags, body, ids, tokenize='ascii');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(text, row);
"""


class Found(NamedTuple):
    """A candidate with all that ranking needs."""

    path: str
    mtime_ns: int
    words: int
    columns: tuple[str, str, str, str, str, str]
    """title, path, headings, tags, body, ids: folded words, a space at each end."""


class Size(NamedTuple):
    notes: int
    mean_words: float
    newest: float
    """Seconds since the epoch; 0 without notes."""


class Old(NamedTuple):
    """A note as the index has it."""

    id: int
    entry: Entry
    racy: int
    crc: int


class Index:
    """One open index. Raises `sqlite3.Error` from any method; `search_core.core` answers that with a new one."""

    def __init__(self, path: str | None, vault: Vault) -> None:
        self.path = path
        self._vault = vault
        self._known: dict[str, bytes] = {}
        self._marks: dict[str, Mark] = {}
        self._swept = False
        self._watch = FolderWatch(vault.root)
        self.is_new = False  # made by this process, and not complete yet
        self._version = -1
        self._rules = ""
        self._scopes: dict[tuple[Scope, tuple[str, ...]], Size] = {}
        self._shown: dict[str, tuple[Scope, tuple[str, ...]]] = {}
        self._db = connect(path)
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise
        self._inode = inode(path)

    def _prepare(self) -> None:
        if not self._db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            self._create()
        identity = self._db.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
        if identity != (self._identity(),):
            raise sqlite3.DatabaseError("the index is of another vault, version or Python")

    def _create(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if not self._db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                for statement in _TABLES.split(";")[:-1]:
                    self._db.execute(statement)
                self._db.execute("INSERT INTO meta VALUES ('identity', ?)", (self._identity(),))
                self.is_new = True
        finally:
            self._db.execute("COMMIT" if self._db.in_transaction else "SELECT 1")

    def _identity(self) -> str:
        return f"meshseek {SCHEMA} {sys.version_info[:2]} {sqlite3.sqlite_version} {self._vault.root}"

    def close(self) -> None:
        self._watch.close()
        self._db.close()

    def is_current_file(self) -> bool:
        """False when the file was deleted or replaced under us."""
        return self.path is None or inode(self.path) == self._inode

    # -- keeping up with the vault

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Bring the index up to date with the vault. Raises `VaultMissing`."""
        rules = self._vault.load_rules()
        if self._watch.is_at_rest(unless=self._notice_others(rules)):
            return
        began = time.monotonic()
        changed, seen = self._vault.sweep(self._known, self._marks if self._swept else None, time.time())
        gone = self._known.keys() - seen
        if changed or gone:
            self._write(changed, gone, rules, progress)
        self.is_new = False
        if self._swept and self.size(EVERYTHING).notes >= LEAST_NOTES:
            settled = not (changed or gone or self._vault.has_hard_links)
            self._watch.swept(self._vault.listed, began=began, settled=settled)
        self._swept = True  # marks and watches pay from the second time on

    def _notice_others(self, rules: str) -> bool:
        """Whether what is in memory was of no use any more: another process wrote, or other rules are in force."""
        version, before = self._db.execute("PRAGMA data_version").fetchone()[0], self._version
        if version != self._version:
            known, self._known = self._known, dict(self._db.execute("SELECT path, packed FROM folders"))
            self._marks = {f: mark for f, mark in self._marks.items() if known.get(f) == self._known.get(f)}
            stored = self._db.execute("SELECT value FROM meta WHERE key = 'rules'").fetchone()
            self._rules = stored[0] if stored else ""
            self._forget_scopes()
            self._version = version
        if rules != self._rules:
            self._known = dict.fromkeys(self._known, b"")
            self._marks.clear()
        return version != before or rules != self._rules

    def _forget_scopes(self) -> None:
        self._scopes.clear()
        self._shown.clear()

    def _write(
        self, changed: list[Listing], gone: set[str], rules: str, progress: Callable[[int, int], None] | None
    ) -> None:
        version, total, done = self._version, sum(listing.notes for listing in changed), 0
        self._version = -1  # what is in memory is not trusted again before all of it is written
        for batch in batches(changed, BATCH_NOTES):
            with Transaction(self._db):
                for listing in batch:
                    self._write_folder(listing)
            done += sum(listing.notes for listing in batch)
            if progress:
                progress(done, total)
        with Transaction(self._db):
            for folder in gone:
                self._drop_folder(folder)
            if rules != self._rules:
                self._db.execute("INSERT OR REPLACE INTO meta VALUES ('rules', ?)", (rules,))
        self._rules = rules
        self._forget_scopes()
        self._version = version

    def _write_folder(self, listing: Listing) -> None:
        folder_id = self._folder_id(listing.folder)
        old = {
            row[1]: Old(row[0], Entry(*row[1:5]), *row[5:])
            for row in self._db.execute(
                "SELECT id, name, mtime, size, ctime, racy, crc FROM notes WHERE folder = ?", (folder_id,)
            )
        }
        prefix, settled = f"{listing.folder}/" if listing.folder else "", True
        for entry in self._vault.entries(listing):
            before = old.pop(entry.name, None)
            if before is None or before.entry != entry or before.racy:
                settled &= self._write_note(folder_id, prefix + entry.name, before)
        for before in old.values():
            self._drop_note(before.id)
        packed = listing.packed if settled else b""
        self._db.execute("UPDATE folders SET packed = ? WHERE id = ?", (packed, folder_id))
        self._known[listing.folder] = packed
        self._marks.pop(listing.folder, None)

    def _folder_id(self, folder: str) -> int:
        row = self._db.execute("SELECT id FROM folders WHERE path = ?", (folder,)).fetchone()
        if row:
            return int(row[0])
        return self._db.execute("INSERT INTO folders (path, packed) VALUES (?, x'')", (folder,)).lastrowid or 0

    def _write_note(self, folder_id: int, path: str, before: Old | None) -> bool:
        """Read one note into the index; False when it has to be looked at again with the next question."""
        content = self._vault.read(path, swept=True)
        if isinstance(content, Unread):
            if content is Unread.GONE and before:
                self._drop_note(before.id)
            return content is Unread.REFUSED
        entry = content.entry
        racy = time.time_ns() - max(entry.ctime_ns, entry.mtime_ns) < RACY_SECONDS * 1e9
        crc = zlib.crc32(content.text.encode("utf-8", "surrogatepass"))
        if before and before.crc == crc and before.entry.size == entry.size:
            self._db.execute(
                "UPDATE notes SET mtime = ?, ctime = ?, racy = ? WHERE id = ?",
                (entry.mtime_ns, entry.ctime_ns, racy, before.id),
            )
        else:
            self._store(folder_id, path, content, racy, crc, before.id if before else None)
        return not racy

    def _store(self, folder_id: int, path: str, content: Content, racy: bool, crc: int, note_id: int | None) -> None:
        fields = fields_of(content.entry.name[:-3], content.text, path[:-3])
        if note_id is not None:  # not `OR REPLACE`, which makes each new note of a first build dearer
            self._drop_note(note_id)
        note = self._db.execute(
            "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (note_id, folder_id, *content.entry, racy, crc, fields.words, fields.shown_tags, fields.true_keys),
        ).lastrowid
        self._db.execute(
            "INSERT INTO text (rowid, title, path, headings, tags, body, ids) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (note, *fields[:6]),
        )

    def _drop_note(self, note_id: int) -> None:
        self._db.execute("DELETE FROM notes WHERE id = ?", (note_id,))
        self._db.execute("DELETE FROM text WHERE rowid = ?", (note_id,))

    def _drop_folder(self, folder: str) -> None:
        for (note_id,) in self._db.execute(
            "SELECT notes.id FROM notes JOIN folders ON folder = folders.id WHERE path = ?", (folder,)
        ).fetchall():
            self._drop_note(note_id)
        self._db.execute("DELETE FROM folders WHERE path = ?", (folder,))
        self._known.pop(folder, None)
        self._marks.pop(folder, None)

    # -- who may see what

    def size(self, scope: Scope, folders: tuple[str, ...] = ()) -> Size:
        """How many notes there are to whoever asks."""
        key = (scope, folders)
        if key not in self._scopes:
            where = self._where(scope, folders)
            row = self._db.execute(
                f"SELECT count(*), avg(words), max(mtime) FROM notes{' WHERE id IN ' + where if where else ''}"
            ).fetchone()
            self._scopes[key] = Size(row[0], row[1] or 1.0, (row[2] or 0) / 1e9)
        return self._scopes[key]

    def _where(self, scope: Scope, folders: tuple[str, ...]) -> str:
        """The name of a table with the ids of the visible notes; empty when all are visible."""
        if scope == EVERYTHING and not folders:
            return ""
        table = "temp.asked" if folders else "temp.visible"
        if self._shown.get(table) != (scope, folders):
            self._fill(table, scope, folders)
            self._shown[table] = (scope, folders)
        return table

    def _fill(self, table: str, scope: Scope, folders: tuple[str, ...]) -> None:
        run = self._db.execute
        run("CREATE TEMP TABLE IF NOT EXISTS near (id INTEGER PRIMARY KEY)")
        run(f"CREATE TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY)")
        run("DELETE FROM temp.near")
        run(f"DELETE FROM {table}")
        rows = run("SELECT id, path FROM folders").fetchall()
        keep = [(row[0],) for row in rows if is_below(row[1], scope.folders) and is_below(row[1], folders)]
        self._db.executemany("INSERT INTO temp.near VALUES (?)", keep)
        hidden, values = _hiding(scope)
        run(f"INSERT INTO {table} SELECT id FROM notes WHERE folder IN temp.near{hidden}", values)

    def folders(self) -> Iterable[str]:
        """All folders that hold notes."""
        return self._known

    def is_visible(self, path: str, scope: Scope) -> bool:
        """Whether the note is in the index and may be seen."""
        folder, _, name = path.rpartition("/")
        where = self._where(scope, ())
        row = self._db.execute(
            "SELECT notes.id FROM notes JOIN folders ON folder = folders.id WHERE path = ? AND name = ?"
            + (f" AND notes.id IN {where}" if where else ""),
            (folder, name),
        ).fetchone()
        return row is not None

    # -- asking; an `expression` is FTS5's, made by `search_core.query` from quoted words only

    def count(self, expression: str, scope: Scope, folders: tuple[str, ...] = ()) -> int:
        """How many notes match that may be seen and lie in the folders asked for."""
        where = self._where(scope, folders)
        sql = f"SELECT count(*) FROM text WHERE text MATCH ?{' AND rowid IN ' + where if where else ''}"
        return int(self._db.execute(sql, (expression,)).fetchone()[0])

    def word_frequency(self, word: str, scope: Scope) -> int:
        """How many visible notes have this very word."""
        row = self._db.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
        return 0 if row is None else int(row[0]) if scope == EVERYTHING else self.count(f'"{word}"', scope)

    def known_of(self, words: list[str]) -> list[str]:
        """Those that some note has, scopes aside."""
        marks = ",".join("?" * len(words))
        return [row[0] for row in self._db.execute(f"SELECT term FROM vocabulary WHERE term IN ({marks})", words)]

    def words_from(self, start: str, shortest: int, longest: int) -> Iterator[tuple[str, int]]:
        """The words that begin with `start`, and how many notes have each, scopes aside."""
        return self._db.execute(
            "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?",
            (start, start[:-1] + chr(ord(start[-1]) + 1), shortest, longest),
        )

    def candidates(self, expression: str, limit: int, scope: Scope, folders: tuple[str, ...]) -> list[int]:
        """The best `limit` notes by bm25, and whatever ties with the last."""
        where = self._where(scope, folders)
        rows = self._db.execute(
            f"SELECT rowid, bm25(text, {COLUMN_WEIGHTS}) AS score FROM text WHERE text MATCH ?"
            f"{' AND rowid IN ' + where if where else ''} ORDER BY score LIMIT ?",
            (expression, 2 * limit),
        ).fetchall()
        if len(rows) <= limit:
            return [row[0] for row in rows]
        last = rows[limit - 1][1]
        return [row[0] for row in rows if row[1] <= last]

    def containing(self, letters: str, limit: int, scope: Scope, folders: tuple[str, ...]) -> list[int]:
        """Notes whose text without spaces has `letters` anywhere: slow, for what no word of the vault matches."""
        where = self._where(scope, folders)
        return [
            row[0]
            for row in self._db.execute(
                "SELECT rowid FROM text WHERE instr(replace(body, ' ', ''), ?)"
                f"{' AND rowid IN ' + where if where else ''} LIMIT ?",
                (letters, limit),
            )
        ]

    def fetch(self, ids: Iterable[int]) -> list[Found]:
        """The texts of some notes."""
        wanted = list(ids)
        sql = (
            "SELECT folders.path, name, mtime, notes.words, title, text.path, headings, text.tags, body, ids"
            " FROM notes JOIN folders ON folder = folders.id JOIN text ON text.rowid = notes.id"
            f" WHERE notes.id IN ({','.join('?' * len(wanted))})"
        )
        rows = self._db.execute(sql, wanted)
        return [Found(f"{row[0]}/{row[1]}" if row[0] else row[1], row[2], row[3], row[4:]) for row in rows]


def _hiding(scope: Scope) -> tuple[str, list[str]]:
    text, values = "", list[str]()
    if scope.private_key:
        text += " AND instr(true_keys, ?) = 0"
        values.append(f"\n{fold(scope.private_key)}\n")
    for tag in scope.private_tags:
        text += " AND instr(tags, ?) = 0 AND instr(tags, ?) = 0"
        values += [f" {fold(tag.lstrip('#'))} ", f" {fold(tag.lstrip('#'))}/"]
    return text, values
