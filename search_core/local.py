"""The local search: from a parsed question and an index to ranked notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from search_core import ranking
from search_core.expand import Unit, units_of
from search_core.index import Index
from search_core.notes import EVERYTHING, NearWord, Scope
from search_core.query import ParsedQuery, any_of, literally, quoted
from search_core.terms import spaced
from search_core.vault import folder_key

CANDIDATES = 50
"""Notes taken from the database's own ranking, once with all words and once with any."""


class LocalRow(NamedTuple):
    path: str
    score: float
    mtime_ns: int


class LocalResult(NamedTuple):
    rows: tuple[LocalRow, ...]
    """Best first."""
    total: int
    units: tuple[Unit, ...]
    """What was looked for: excerpts are chosen by it."""
    near: tuple[NearWord, ...]


class _Words:
    """The index's vocabulary as far as one scope may know it."""

    def __init__(self, index: Index, scope: Scope) -> None:
        self._index, self._scope = index, scope
        self.notes = index.size(scope).notes
        self._counts: dict[str, int] = {}

    def frequency(self, expression: str) -> int:
        if expression not in self._counts:
            self._counts[expression] = self._index.count(expression, self._scope)
        return self._counts[expression]

    def word_frequency(self, word: str) -> int:
        key = quoted(word)
        if key not in self._counts:
            self._counts[key] = self._index.word_frequency(word, self._scope)
        return self._counts[key]

    def known_of(self, words: list[str]) -> list[str]:
        found = self._index.known_of(words)
        return found if self._scope == EVERYTHING else [word for word in found if self.word_frequency(word)]

    def words_from(self, start: str, shortest: int = 0, longest: int = 99) -> Iterator[tuple[str, int]]:
        rows = self._index.words_from(start, shortest, longest)
        if self._scope == EVERYTHING:
            return rows
        return ((word, count) for word, _ in rows if (count := self.word_frequency(word)))


def local_search(index: Index, query: ParsedQuery, limit: int, scope: Scope, folder: str | None = None) -> LocalResult:
    """The best notes for `query` among those that `scope` may see and, if given, in or below `folder`."""
    folders = folders_of(index, query, folder)
    if folders is None:
        return LocalResult((), 0, (), ())
    result = _search(index, query, limit, scope, folders)
    if not result.rows and query.excluded:
        return _search(index, literally(query), limit, scope, folders)
    return result


def _search(index: Index, query: ParsedQuery, limit: int, scope: Scope, folders: tuple[str, ...]) -> LocalResult:
    vocabulary = _Words(index, scope)
    asked = units_of(query, vocabulary)
    near = tuple(
        NearWord(unit.typed, unit.nearest, unit.nearest_notes) for unit in asked if not unit.notes and not unit.extra
    )
    style = ranking.style_of(len(query.pieces))
    units = tuple(ranking.telling(asked, vocabulary.notes, style))
    if not units:
        return _as_letters(index, query, limit, scope, folders, near)
    groups = [any_of([form.text for form in unit.forms]) for unit in units if not unit.extra]
    extras = [any_of([form.text for form in unit.forms]) for unit in units if unit.extra]
    conditions = _conditions(query)
    either = _limited(" OR ".join(groups + extras), conditions)
    ids = set(index.candidates(either, CANDIDATES, scope, folders))
    if len(groups) > 1:
        ids.update(index.candidates(_limited(" AND ".join(groups), conditions), CANDIDATES, scope, folders))
    phrase = spaced(query.text) if len(query.folded_words) > 1 else ""
    wanted, mean_words = ranking.sought(units), index.size(scope).mean_words
    rows = [
        LocalRow(note.path, ranking.score(note, wanted, style, phrase, mean_words), note.mtime_ns)
        for note in index.fetch(ids)
    ]
    rows.sort(key=lambda row: (-row.score, row.path))
    total = len(ids) if len(ids) < CANDIDATES else index.count(either, scope, folders)
    return LocalResult(tuple(rows[:limit]), total, units, near)


def folders_of(index: Index, query: ParsedQuery, folder: str | None) -> tuple[str, ...] | None:
    """The folders that are searched, as compared; empty for all, None when those asked for do not exist.

    `folder` counts from the vault; one of the question may be any folder of that name, if there is none at the top.
    """
    within = folder_key(folder or "")
    if not within and not query.folders:
        return ()
    known = {key for path in index.folders() for key in _with_parents(folder_key(path))}
    found = {within} if within and within in known else set[str]()
    if query.folders:
        named = {key for wanted in query.folders for key in _named(folder_key(wanted), known)}
        found = {key for key in named if f"{key}/".startswith(f"{within}/")} if within else named
        found |= {within} if within and any(f"{within}/".startswith(f"{key}/") for key in named) else set()
    return tuple(sorted(found)) or None


def paths_near(index: Index, folder: str) -> tuple[str, ...] | None:
    """At most three folders that `folder` may have been meant for, best first; None when it is one that holds notes."""
    from difflib import get_close_matches

    spelled = {folder_key(path): path for known in index.folders() for path in _with_parents(known)}
    wanted = folder_key(folder)
    if not wanted or wanted in spelled:
        return None
    name = wanted.rpartition("/")[2]
    named = sorted(key for key in spelled if key.rpartition("/")[2] == name)
    ends = {key.rpartition("/")[2]: key for key in sorted(spelled, reverse=True)}
    alike = get_close_matches(wanted, spelled, n=3) + [ends[end] for end in get_close_matches(name, ends, n=3)]
    return tuple(spelled[key] for key in dict.fromkeys(named + alike))[:3]


def _with_parents(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _named(wanted: str, known: set[str]) -> set[str]:
    return {wanted} if wanted in known else {key for key in known if key.endswith(f"/{wanted}")}


def _conditions(query: ParsedQuery) -> tuple[str, str]:
    must = " AND ".join(quoted(spaced(phrase).strip()) for phrase in query.phrases)
    out = " OR ".join(quoted(spaced(text).strip()) for text in query.excluded)
    return must, out


def _limited(expression: str, conditions: tuple[str, str]) -> str:
    must, out = conditions
    expression = f"({expression}) AND {must}" if must else expression
    return f"({expression}) NOT ({out})" if out else expression


def _as_letters(
    index: Index, query: ParsedQuery, limit: int, scope: Scope, folders: tuple[str, ...], near: tuple[NearWord, ...]
) -> LocalResult:
    """No word is known in any form: the letters as they stand, anywhere inside words."""
    letters = "".join(query.folded_words)
    if len(letters) < 4 or query.phrases:
        return LocalResult((), 0, (), near)
    found = sorted(index.fetch(index.containing(letters, CANDIDATES, scope, folders)), key=lambda note: note.path)
    rows = tuple(LocalRow(note.path, 1.0, note.mtime_ns) for note in found)
    return LocalResult(rows[:limit], len(rows), (), near)
