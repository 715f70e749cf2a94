"""One list from two engines. Pure.

The local order is the truth for notes: it was made from what is on disk now, and on known questions it is better.
Omnisearch adds what only it can read (PDF text, pictures, canvases, bases). Scores of the two cannot be
compared, so places are given by rank:

* such a file keeps the place that it has in Omnisearch's own list, and notes fill the other places in local order;
* the first place stays with the best local note, unless some word of the question is in no note at all;
* two such files never follow each other while notes are left, so a note at place k is found at 2k-1 or better;
* a file that holds the words only nearly (a typo's distance away, or without what could not be sent) comes after
  all notes;
* notes that only Omnisearch found come last, and only while their text on disk still holds the words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from unicodedata import combining, normalize

from search_core.notes import Hit
from search_core.omnisearch_rows import Row
from search_core.terms import edits, fold, spaced, symbol_names

LOCAL = "local"
OMNISEARCH = "omnisearch"
BOTH = "omnisearch+local"


class Question(NamedTuple):
    """What merging needs to know of the question."""

    words: tuple[str, ...]
    """As they were sent to Omnisearch."""
    limit: int
    in_no_note: bool = False
    """Some word is in no note as it was typed, so that the best note lacks it."""
    unsent: tuple[str, ...] = ()
    """What was typed besides, and could not be sent."""


def merge(
    local: Sequence[Hit],
    rows: Sequence[Row],
    question: Question,
    to_hit: Callable[[Row], Hit],
    holds: Callable[[Row], bool],
) -> tuple[list[Hit], str]:
    """The hits of both, best first, and who contributed to them.

    `rows` are those that may be shown, best first; `to_hit` makes a hit of one; `holds` says whether the note of
    a row still has the words on disk, and is asked only for those that would be shown.
    """
    ranked = {row.path: rank for rank, row in enumerate(rows)}
    files = [row for row in rows if not is_note(row.path)]
    sure: list[Row] = []
    near: list[Row] = []
    for row in files:
        surely = has_all(row, question.words) and as_typed(question.unsent, shown_of(row))
        (sure if surely else near).append(row)
    hits = list(_placed(local, sure, ranked, question, to_hit))[: question.limit]
    shown = {hit.path for hit in local}
    last = near + [row for row in rows if is_note(row.path) and row.path not in shown]
    for row in last:
        if len(hits) >= question.limit:
            break
        if not is_note(row.path) or holds(row):
            hits.append(scored(to_hit(row), hits if local else ()))
    return _named(hits, ranked)


def is_note(path: str) -> bool:
    return path[-3:].lower() == ".md"


def has_all(row: Row, words: Iterable[str]) -> bool:
    """True when each word is in the path or begins a word that Omnisearch found in the file."""
    path, found = _bare(row.path), [_bare(word) for word in row.found]
    return all(word in path or any(other.startswith(word) for other in found) for word in map(_bare, words))


def still_holds(row: Row, words: Iterable[str], text: str) -> bool:
    """True when each word, or one that Omnisearch took for it, is in the path or in `text`, the note of today."""
    today = f"{fold(row.path)}\n{fold(text)}"
    missing = [word for word in map(fold, words) if word not in today]
    found = [word for word in map(fold, row.found) if word and word in today] if missing else []
    return all(any(_taken_for(word, other) for other in found) for word in missing)


def as_typed(pieces: Iterable[str], text: str) -> bool:
    """True when each piece of the question is in `text`: its words side by side, signs as in ``.NET`` included."""
    there = ""
    for piece in pieces:
        there = there or spaced(text)
        if spaced(piece) not in there:
            return False
        names = symbol_names(fold(piece))
        if names and not set(names) <= set(symbol_names(fold(text))):
            return False
    return True


def shown_of(row: Row) -> str:
    """What can be known of a file that we cannot read."""
    return f"{row.path}\n{row.excerpt}"


def _bare(text: str) -> str:
    """Without case and any accent, as Omnisearch's words are, even where we tell letters apart (``й``)."""
    return text.lower() if text.isascii() else "".join(c for c in normalize("NFKD", text.lower()) if not combining(c))


def _taken_for(word: str, other: str) -> bool:
    """Omnisearch's own measure: one edit from six letters, two from fifteen; doubled when set to be tolerant."""
    return edits(word, other, max(1, round(len(word) * 0.2))) <= max(1, round(len(word) * 0.2))


def _placed(
    local: Sequence[Hit], files: Sequence[Row], ranked: dict[str, int], question: Question, to_hit: Callable[[Row], Hit]
) -> Iterator[Hit]:
    notes, waiting = list(local), list(files)
    place, after_file = 0, not question.in_no_note
    last: list[Hit] = []
    while notes or waiting:
        if waiting and (not notes or (ranked[waiting[0].path] <= place and not after_file)):
            hit = scored(to_hit(waiting.pop(0)), (last or notes[:1]) if local else ())
            after_file = True
        else:
            hit = notes.pop(0)
            after_file = False
        last, place = [hit], place + 1
        yield hit


def scored(hit: Hit, before: Sequence[Hit]) -> Hit:
    """With the score of the hit before it, whose scale or order is another: the list stays sorted."""
    return hit if not before else _changed(hit, before[-1].score, hit.engine)


def _named(hits: Sequence[Hit], ranked: dict[str, int]) -> tuple[list[Hit], str]:
    """Each hit with who found it, and who contributed to them all."""
    named = [_changed(hit, hit.score, BOTH) if hit.engine == LOCAL and hit.path in ranked else hit for hit in hits]
    engines = {hit.engine for hit in named}
    if engines == {OMNISEARCH}:
        return named, OMNISEARCH
    return named, BOTH if engines & {OMNISEARCH, BOTH} else LOCAL


def _changed(hit: Hit, score: float, engine: str) -> Hit:
    return Hit(
        path=hit.path,
        basename=hit.basename,
        score=score,
        excerpt=lambda: hit.excerpt,
        engine=engine,
        cut=hit.cut,
        windows=hit.passages,
    )
