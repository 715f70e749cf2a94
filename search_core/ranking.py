"""How good a note is for a question: one page, pure. (formula to be stated)"""

from __future__ import annotations

from collections.abc import Sequence

from search_core.expand import Unit, idf
from search_core.index import Found

FIELD_WEIGHTS = (5.0, 2.0, 3.0, 2.0, 1.0, 1.0)
"""Of title, path, headings, tags, body, ids."""
SATURATION = 1.2
LENGTH_SHARE = 0.4
PHRASE_BONUS = 1.5
FILLER_SHARE = 0.25


def telling(units: Sequence[Unit], total: int) -> list[Unit]:
    """The units that tell notes apart: those in over a quarter of the notes are dropped when others remain."""
    filler = idf(int(FILLER_SHARE * total), total)
    kept = [unit for unit in units if unit.forms and unit.idf > filler]
    return kept if any(not unit.extra for unit in kept) else [unit for unit in units if unit.forms]


def score(note: Found, units: Sequence[Unit], phrase: str, mean_words: float) -> float:
    """The note's score for `units`; `phrase` is the whole question as folded words."""
    length = 1 - LENGTH_SHARE + LENGTH_SHARE * note.words / mean_words
    total = found = possible = 0.0
    for unit in units:
        best = best_weight = 0.0
        for text, weight in unit.forms:
            tf = _frequency(note, f" {text} ")
            if tf:
                best = max(best, weight * tf * (1 + SATURATION) / (tf + SATURATION * length))
                best_weight = max(best_weight, weight)
        total += best * unit.idf
        if not unit.extra:
            found += best_weight * unit.idf
            possible += unit.idf
    if phrase and any(phrase in column for column in note.columns):
        total *= PHRASE_BONUS
    return total * found / possible if possible else total


def _frequency(note: Found, padded: str) -> float:
    return sum(
        weight * column.count(padded)
        for weight, column in zip(FIELD_WEIGHTS, note.columns, strict=True)
        if padded in column
    )
