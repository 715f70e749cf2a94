"""One vault, kept open: the engines, and what happens when an index fails."""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from search_core.errors import NoteGone, VaultMissing, WrongUse
from search_core.index import Index
from search_core.local import LocalResult, folders_of, local_search, paths_near
from search_core.log_once import log_once
from search_core.notes import EVERYTHING, Answer, Hit, Reading, Scope, VaultInfo
from search_core.query import ParsedQuery, parse
from search_core.vault import Unread, Vault

if TYPE_CHECKING:
    from search_core.expand import Unit
    from search_core.omnisearch import Omnisearch
    from search_core.omnisearch_place import OmnisearchSettings
    from search_core.omnisearch_rows import Row

EXCERPT_BYTES = 200
"""Of the excerpt shown by default: two lines of a terminal."""
SOURCES = ("auto", "omnisearch", "local")
_Result = TypeVar("_Result")


class SearchCore:
    """The search of one vault. Used from one thread at a time; `close` it when done."""

    def __init__(
        self,
        vault: str,
        *,
        exclude: tuple[str, ...] = (),
        omnisearch: OmnisearchSettings | None = None,
        cache_dir: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        blank: Callable[[str], str] | None = None,
    ) -> None:
        """`cache_dir` is where the index is kept, by default the user's cache directory; `progress` is told
        notes done and notes in all while an index is built. `blank` takes a note's whole text and returns it
        without its secrets, before an excerpt is cut or a reading begins: a secret cut in half is not recognised."""
        self._vault = Vault(vault, exclude)
        self._exclude = exclude
        self._cache_dir = cache_dir
        self._progress = progress
        self._blank = blank or str
        self._index: Index | None = None
        self._in_memory = False
        self._omnisearch_settings = omnisearch
        self._omnisearch: Omnisearch | None = None

    @property
    def root(self) -> str:
        """The vault's real path."""
        return self._vault.root

    def close(self) -> None:
        """Give back the files. The next call opens them again."""
        if self._omnisearch is not None:
            self._omnisearch.close()
        if self._index is not None:
            self._index.close()
            self._index = None

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        folder: str | None = None,
        source: str = "auto",
        scope: Scope = EVERYTHING,
    ) -> Answer:
        """The best notes for `query`. Raises `VaultMissing`, `EngineUnavailable`, `WrongUse`."""
        began = time.perf_counter()
        if source not in SOURCES:
            raise WrongUse(f"source {source!r} is none of {', '.join(SOURCES)}")
        if limit < 1:
            raise WrongUse(f"limit {limit} is less than 1")
        parsed = parse(query)
        if source == "local":
            result = self.local_search(parsed, limit, scope, folder)
            answer = Answer(query, self._hits(result, parsed), "local", 0.0, result.total, result.near)
        else:
            answer = self._answer_of_both(parsed, limit, folder, source, scope)
        return answer._replace(elapsed_seconds=time.perf_counter() - began)

    def folders_instead_of(self, folder: str) -> tuple[str, ...] | None:
        """The folders whose names are nearest, best first, or none; None when the vault has `folder` itself."""
        folders = self._fresh(lambda index: paths_near(index, folder), refresh=False)
        inside = os.path.realpath(os.path.join(self.root, folder.strip("/")))
        is_there = inside.startswith(f"{self.root}/") and os.path.isdir(inside)
        return None if is_there else folders

    def local_search(
        self, parsed: ParsedQuery, limit: int, scope: Scope = EVERYTHING, folder: str | None = None
    ) -> LocalResult:
        """What the local engine finds, without excerpts; the index is brought up to date first."""

        def ask(index: Index) -> LocalResult:
            return local_search(index, parsed, limit, scope, folder)

        return self._fresh(ask)

    def _answer_of_both(self, parsed: ParsedQuery, limit: int, folder: str | None, source: str, scope: Scope) -> Answer:
        """Omnisearch is asked before the local search and heard after it, or alone when it is the `source`."""
        from search_core.omnisearch_query import sending

        client, only, asked = self.omnisearch(), source == "omnisearch", sending(parsed, folder)
        if only:
            rows = client.ask(*asked) if asked.query else client.decline()
        else:
            client.start(asked.strict.query)
        result = self.local_search(parsed, limit, scope, folder)
        hits = () if only else self._hits(result, parsed)
        if not only:
            rows = client.finish("" if hits else asked.strict.wider)
        answer = Answer(parsed.raw, hits, source if only else "local", 0.0, result.total, result.near)
        if only or rows:
            answer = self._joined(answer, rows, result, parsed, limit, folder, scope)
        return answer._replace(warnings=client.take_warnings())

    def _joined(
        self,
        local: Answer,
        rows: tuple[Row, ...],
        result: LocalResult,
        parsed: ParsedQuery,
        limit: int,
        folder: str | None,
        scope: Scope,
    ) -> Answer:
        from search_core.eyes import VaultEyes, folders_asked
        from search_core.two_engines import join

        def cutter(text: str) -> Callable[[int], str]:
            return _excerpts(self._blank(text), result.units, parsed.text).cut  # type: ignore[no-any-return]

        def joined(index: Index) -> Answer:
            folders = folders_asked(parsed, folder, folders_of(index, parsed, folder))
            return join(local, rows, parsed, limit, VaultEyes(self._vault, index, scope, folders, cutter))

        return self._fresh(joined, refresh=False)

    def omnisearch(self) -> Omnisearch:
        """The client of this vault's Omnisearch; nothing is asked yet. Raises `VaultMissing`."""
        if not os.path.isdir(self.root):
            raise VaultMissing(f"no vault at {self.root}")
        if self._omnisearch is None:
            from search_core.omnisearch import Omnisearch

            memory = index_path(self.root, self._exclude, self._cache_dir) + ".omnisearch"
            vault = os.path.expanduser(self._vault.asked)
            self._omnisearch = Omnisearch(vault, self._omnisearch_settings, memory=memory)
        return self._omnisearch

    def read(self, path: str, *, query: str = "", scope: Scope = EVERYTHING) -> Reading:
        """The plain text of a note. Raises `NoteGone`, also for a note that `scope` may not see."""
        from search_core.markdown_text import plain_text

        visible = self._fresh(lambda index: index.is_visible(path, scope))
        content = self._vault.read(path) if visible else Unread.GONE
        if isinstance(content, Unread):
            raise NoteGone(f"no note {path!r}")
        blanked = self._blank(content.text)
        text = plain_text(blanked)
        start = 0
        if query:
            units = self._fresh(lambda index: local_search(index, parse(query), 1, scope, None).units)
            start = min(_excerpts(blanked, units, query).start_of_best(), len(text))
        digest = f"{zlib.crc32(content.text.encode('utf-8', 'replace')):08x}"
        return Reading(path, text, start, digest, content.entry.mtime_ns / 1e9)

    def info(self, scope: Scope = EVERYTHING, *, source: str = "auto") -> VaultInfo:
        """What the vault looks like to whoever asks; Omnisearch is not looked for when `source` is ``local``."""

        def ask(index: Index) -> VaultInfo:
            size = index.size(scope)
            place = index.path or "memory"
            size_bytes = os.stat(place).st_size if index.path else 0
            return VaultInfo(size.notes, size.newest, size_bytes, place, "local")

        info = self._fresh(ask)
        with_omnisearch = source != "local" and self.omnisearch().answers_now()
        return info._replace(engine="omnisearch+local") if with_omnisearch else info

    def _hits(self, result: LocalResult, parsed: ParsedQuery) -> tuple[Hit, ...]:
        return tuple(self.hit(row.path, row.score, "local", result.units, parsed) for row in result.rows)

    def hit(self, path: str, score: float, engine: str, units: Sequence[Unit], parsed: ParsedQuery) -> Hit:
        """One note as a hit, its excerpt chosen from what is in the file now."""
        content = self._vault.read(path, swept=True)
        text = "" if isinstance(content, Unread) else self._blank(content.text)
        excerpts = _excerpts(text, units, parsed.text)
        return Hit(
            path=path,
            basename=path.rpartition("/")[2].removesuffix(".md"),
            score=round(score, 3),
            excerpt=lambda: excerpts.cut(EXCERPT_BYTES),
            engine=engine,
            cut=excerpts.cut_in_lines,
            windows=excerpts.windows_in_lines,
        )

    # -- the index is a cache: whatever fails with it, another one answers

    def _fresh(self, ask: Callable[[Index], _Result], *, refresh: bool = True) -> _Result:
        for attempt in range(3):
            try:
                index = self._opened()
                if refresh or attempt:
                    index.refresh(self._progress)
                return ask(index)
            except sqlite3.Error as error:
                self._give_up_index(error, attempt)
        raise VaultMissing(f"the vault {self.root} cannot be indexed, not even in memory")

    def _opened(self) -> Index:
        if self._index is not None and not self._index.is_current_file():
            self.close()
        if self._index is None:
            if not os.path.isdir(self.root):
                raise VaultMissing(f"no vault at {self.root}")
            path = None if self._in_memory else self._prepared_path()
            self._index = Index(path, self._vault)
        return self._index

    def _prepared_path(self) -> str | None:
        path = index_path(self.root, self._exclude, self._cache_dir)
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        except OSError as error:
            log_once("index kept in memory, %s cannot be written: %s", path, error.strerror)
            return None
        return path

    def _give_up_index(self, error: sqlite3.Error, attempt: int) -> None:
        """Delete a file that does not fit; without room, rights or a lock go on in memory."""
        path = index_path(self.root, self._exclude, self._cache_dir)
        half_made = self._index is not None and self._index.is_new
        self.close()
        unusable = isinstance(error, sqlite3.OperationalError) and not _is_damage(error)
        if unusable or attempt > 0:
            self._in_memory = True
            log_once("index kept in memory, %s cannot be used: %s", path, error)
            if half_made and getattr(error, "sqlite_errorname", "").startswith(("SQLITE_FULL", "SQLITE_IOERR")):
                _delete(path)  # what we filled the disk with is of use to nobody
            return
        log_once("index %s is made anew: %s", path, error)
        _delete(path)


def _delete(path: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        try:
            os.unlink(path + suffix)
        except OSError:
            continue


def _is_damage(error: sqlite3.Error) -> bool:
    name = getattr(error, "sqlite_errorname", "")
    text = str(error)
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or name == "SQLITE_ERROR" or "no such" in text


def index_path(root: str, exclude: tuple[str, ...], cache_dir: str | None = None) -> str:
    """Where the index of a vault is kept."""
    base = cache_dir or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "meshseek")
    key = "\0".join((root, *sorted(exclude))).encode("utf-8", "surrogateescape")
    name = "".join(c if c.isalnum() else "_" for c in os.path.basename(root))[:40] or "vault"
    return os.path.join(base, f"{name}-{zlib.crc32(key):08x}{zlib.adler32(key):08x}.sqlite")


def _excerpts(text: str, units: Sequence[Unit], query: str):  # type: ignore[no-untyped-def]
    from search_core.excerpt import Excerpts
    from search_core.excerpt import Unit as Sought

    return Excerpts(text, [Sought(tuple(unit.forms), unit.idf) for unit in units], query)
