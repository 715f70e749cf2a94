"""Omnisearch beside the local search: asked before it, joined with it afterwards, or asked alone.

Nothing that Omnisearch says is shown because Omnisearch says it: a note must be one that the asker may see and
that still holds the words, any other file must lie in a folder the asker may see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from search_core.merge import OMNISEARCH, Question, as_typed, has_all, is_note, merge, scored, shown_of, still_holds
from search_core.notes import Answer, Hit
from search_core.omnisearch_query import in_parts, is_quoted, rewrite, unsent, words_of
from search_core.omnisearch_rows import Row
from search_core.terms import fold, spaced

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
    asked = words_of(rewrite(query.pieces))
    seen = [row for row in rows if eyes.sees(row.path) and (is_note(row.path) or _file_fits(row, query))]
    if local.engine == OMNISEARCH:
        return _alone(local, seen, query, asked, limit, eyes)
    left_out = unsent(query)
    merged, engine = merge(
        local.hits,
        seen,
        Question(asked, limit, in_no_note=bool(local.near), unsent=left_out),
        lambda row: hit_of(row, eyes),
        lambda row: _fits(row, query, asked, eyes) and as_typed(left_out, f"{row.path}\n{_readable(row, eyes)}"),
    )
    known = {hit.path for hit in local.hits}
    added = sum(not is_note(row.path) for row in seen)
    added += sum(is_note(hit.path) and hit.path not in known for hit in merged)
    return local._replace(hits=tuple(merged), engine=engine, total=local.total + added)


def _alone(
    empty: Answer, rows: Sequence[Row], query: ParsedQuery, asked: Sequence[str], limit: int, eyes: Eyes
) -> Answer:
    """Omnisearch's own order, but what holds the question as it was typed before what only holds parts of it."""
    fitting = [row for row in rows if _fits(row, query, asked, eyes, nearly=not has_all(row, asked))]
    parts = in_parts(query)
    if parts:
        fitting.sort(key=lambda row: not as_typed(parts, f"{row.path}\n{_readable(row, eyes)}"))
    hits: list[Hit] = []
    for row in fitting[:limit]:
        hit = hit_of(row, eyes)
        hits.append(scored(hit, [before for before in hits[-1:] if before.score < hit.score]))
    return empty._replace(hits=tuple(hits), total=len(fitting))


def hit_of(row: Row, eyes: Eyes) -> Hit:
    """A row as a hit: of a note with our own excerpt of what is in it now, else with Omnisearch's."""
    cut = eyes.cutter(_readable(row, eyes))
    name = row.path.rpartition("/")[2]
    return Hit(
        path=row.path,
        basename=name.rpartition(".")[0] or name,
        score=round(row.score, 3),
        excerpt=cut(EXCERPT_BYTES),
        engine=OMNISEARCH,
        cut=cut,
    )


def _readable(row: Row, eyes: Eyes) -> str:
    """The text of a note as it is now, of other files the excerpt."""
    return (eyes.text(row.path) or "") if is_note(row.path) else row.excerpt


def _file_fits(row: Row, query: ParsedQuery) -> bool:
    """Whether a file that we cannot read may be an answer, by what is shown of it.

    Omnisearch itself looks for phrases, as far as they can be sent, and for excluded words; the others must show.
    """
    shown = spaced(shown_of(row))
    found = {fold(word) for word in row.found}
    for phrase in query.phrases:
        if not is_quoted(phrase) and spaced(phrase) not in shown and fold(phrase) not in found:
            return False
    return not any(spaced(out) in shown for out in query.excluded)


def _fits(row: Row, query: ParsedQuery, asked: Sequence[str], eyes: Eyes, *, nearly: bool = False) -> bool:
    """Whether the note of today still is an answer: words there, phrases side by side, excluded words absent.

    With `nearly` one of the words is enough: the wider query was sent when no note had them all. Other files are
    for `_file_fits`.
    """
    if not is_note(row.path):
        return True
    text = eyes.text(row.path)
    if text is None:
        return False
    today = spaced(f"{row.path}\n{text}")
    if any(spaced(phrase) not in today for phrase in query.phrases):
        return False
    if any(spaced(out) in today for out in query.excluded):
        return False
    if nearly:
        return any(still_holds(row, [word], text) for word in asked)
    return still_holds(row, asked, text)
