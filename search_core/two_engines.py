"""Omnisearch beside the local search: asked before it, joined with it afterwards, or asked alone.

Nothing that Omnisearch says is shown because Omnisearch says it: a note must be one that the asker may see and
that still holds the words, any other file must lie in a folder the asker may see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from search_core.merge import OMNISEARCH, Question, has_all, is_note, merge, still_holds
from search_core.notes import Answer, Hit
from search_core.omnisearch_query import rewrite, words_of
from search_core.omnisearch_rows import Row
from search_core.terms import fold, spaced, words

if TYPE_CHECKING:
    from search_core.query import ParsedQuery

EXCERPT_BYTES = 200
"""Of the excerpt shown by default, as for notes."""


class Eyes(Protocol):
    """What the asker may see of the vault, as the front door knows it."""

    def sees(self, path: str) -> bool:
        """Whether this note or other file may be shown, folders asked for included."""

    def text(self, path: str) -> str | None:
        """The note's text as it is now; None when it cannot be read."""

    def cutter(self, text: str) -> Callable[[int], str]:
        """Cuts the best excerpt of a text for this question to a number of bytes."""


def join(local: Answer, rows: Sequence[Row], query: ParsedQuery, limit: int, eyes: Eyes) -> Answer:
    """The local answer with Omnisearch's rows in it; an answer by ``omnisearch`` is made of the rows alone.

    `rows` are best first. The total grows by what the local search could not count.
    """
    seen = [row for row in rows if eyes.sees(row.path)]
    asked = words_of(rewrite(query.pieces))
    if local.engine == OMNISEARCH:
        fitting = [row for row in seen if _fits(row, query, asked, eyes, nearly=not has_all(row, asked))]
        hits = tuple(hit_of(row, eyes) for row in fitting[:limit])
        return local._replace(hits=hits, total=len(fitting))
    merged, engine = merge(
        local.hits,
        seen,
        Question(asked, limit, in_no_note=bool(local.near)),
        lambda row: hit_of(row, eyes),
        lambda row: _fits(row, query, asked, eyes),
    )
    known = {hit.path for hit in local.hits}
    added = sum(not is_note(row.path) for row in seen)
    added += sum(is_note(hit.path) and hit.path not in known for hit in merged)
    return local._replace(hits=tuple(merged), engine=engine, total=local.total + added)


def hit_of(row: Row, eyes: Eyes) -> Hit:
    """A row as a hit: of a note with our own excerpt of what is in it now, else with Omnisearch's."""
    text = eyes.text(row.path) if is_note(row.path) else row.excerpt
    cut = eyes.cutter(text or "")
    name = row.path.rpartition("/")[2]
    return Hit(
        path=row.path,
        basename=name.rpartition(".")[0] or name,
        score=round(row.score, 3),
        excerpt=cut(EXCERPT_BYTES),
        engine=OMNISEARCH,
        cut=cut,
    )


def _fits(row: Row, query: ParsedQuery, asked: Sequence[str], eyes: Eyes, *, nearly: bool = False) -> bool:
    """Whether the note of today still is an answer: words there, phrases side by side, excluded words absent.

    With `nearly` one of the words is enough: the wider query was sent when no note had them all. Other files
    cannot be read, and are believed.
    """
    if not is_note(row.path):
        return True
    text = eyes.text(row.path)
    if text is None:
        return False
    today = spaced(f"{row.path}\n{text}")
    if any(f" {' '.join(words(fold(phrase)))} " not in today for phrase in query.phrases):
        return False
    if any(f" {' '.join(words(fold(out)))} " in today for out in query.excluded):
        return False
    if nearly:
        return any(still_holds(row, [word], text) for word in asked)
    return still_holds(row, asked, text)
