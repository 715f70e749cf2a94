"""How good a note is for a question: the whole formula, on one page. Pure.

    worth    = Σ over units u of  idf(u) · max over forms f of  weight(f) · hits(f)
    covered  = Σ idf(u) · best weight found of u  /  Σ idf(u)
    passage  = the same share for the best stretch of `passage` characters of the body
    near     = the same share for the best stretch of `NEAR` characters
    named    = the share of the title's telling words that the question has

    score    = worth · covered^coverage_power · (1 + PASSAGE_BONUS · passage) · (1 + NEAR_BONUS · near)
               · (1 + TITLE_BONUS · named) · PHRASE_BONUS if the whole question stands in the note as typed

`hits` is BM25's saturated count, so a word said forty times is worth little more than one said four times; `idf`
weighs words by rarity among the notes that the asker may see. Equal scores are ordered by path.

A question of four words or more is asked differently from one of two: it describes what the note is about, where
the other repeats words remembered from it. So in a long one (`QUESTION`) what title and headings say counts on its own
and not as a few more repetitions, a note's length weighs more, a missing word less, and the little words of English
half.

How the constants were chosen: on 393 known questions of fourteen kinds and, against fitting them too closely, 1,357
more of the same kinds about other notes, 91 of them written by hand. 932 others, 101 by hand, were asked only at the
end: what is here now instead of an earlier formula was worth 0.008, 0.014 and 0.011 of the mean reciprocal rank. The
surface is flat: doubling or halving a bonus moves it by less than 0.005, and all that sets `QUESTION` apart was worth
0.01 to 0.07 on questions written by hand. Tried and left out, for they helped nowhere or on one set only: an exponent
on `idf`, rarity of each form instead of the word's, weights by how much of a word was typed or by which keys are
neighbours, counting all forms of a word together, neighbours in the order of the question, a list of synonyms,
counting the title's words into each passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from search_core.expand import FILLER_SHARE, Unit, idf
from search_core.index import Found


class Style(NamedTuple):
    """What differs between a few words and a whole question."""

    repetitions: tuple[float, ...]
    """How often a word counts that stands once in title, path, headings, tags, body, ids."""
    standing: tuple[float, ...]
    """What it adds to `hits`, once, for standing in each of them at all."""
    length_share: float
    """BM25's b: 0 ignores a note's length, 1 divides by it."""
    passage: int
    """Characters of folded text: two or three sentences, or a paragraph."""
    coverage_power: float
    """Below 1 a missing word costs less: a long question has words that its note need not have."""
    little_words: float
    """Factor on the idf of `LITTLE_WORDS`."""


KEYWORDS = Style((5, 2, 3, 2, 1, 1), (0, 0, 0, 0, 0, 0), 0.4, 200, 1.0, 1.0)
QUESTION = Style((0, 0, 0, 2, 1, 1), (1.5, 0.3, 0.5, 0, 0, 0), 0.75, 400, 0.7, 0.5)
QUESTION_WORDS = 4
"""Words as typed, the little ones too: they are what tells a question from a list of words."""
SATURATION = 1.2
"""BM25's k1, as everywhere."""
PHRASE_BONUS = 1.5
"""Whoever types a note's words in their order means that note."""
PASSAGE_BONUS = 2.0
"""Words that stand together belong together; a long note has all of them somewhere."""
NEAR_BONUS, NEAR = 2.0, 40
"""The same for a stretch in which only a few words have room: nearly a phrase, in any order and any forms."""
TITLE_BONUS = 0.4
"""Tells the note that is about just this from those that also mention it."""
MOST_PLACES = 25
"""Places looked at of each form; the best passage is among the first of a long note, or nearly as good."""
_LITTLE = (
    "a about am an and any are as at be by can could did do does for from get got had has have how i if in into is it"
    " its know me my no not of on one or should so tell than that the their them then there these they this to up use"
    " using via was we were what when where which while who why will with would you your"
)
LITTLE_WORDS = frozenset(_LITTLE.split())
"""English, because questions in it are full of them; in other languages their number of notes must do."""


def style_of(typed: int) -> Style:
    """How a question of so many typed words is asked."""
    return QUESTION if typed >= QUESTION_WORDS else KEYWORDS


def telling(units: Sequence[Unit], total: int, style: Style = KEYWORDS) -> list[Unit]:
    """The units that tell notes apart: those in over a quarter of the notes are dropped when others remain."""
    filler = idf(int(FILLER_SHARE * total), total)
    kept = [unit for unit in units if unit.forms and unit.idf > filler]
    kept = kept if any(not unit.extra for unit in kept) else [unit for unit in units if unit.forms]
    if style.little_words == 1:
        return kept
    return [unit._replace(idf=unit.idf * style.little_words) if unit.typed in LITTLE_WORDS else unit for unit in kept]


class Sought(NamedTuple):
    """A unit as `score` looks for it: made ready once, as it is looked for in dozens of notes."""

    unit: Unit
    forms: tuple[tuple[str, float, int], ...]
    """Each with a space at both ends, its weight, and its number of words."""


def sought(units: Sequence[Unit]) -> list[Sought]:
    return [
        Sought(unit, tuple((f" {text} ", weight, 1 + text.count(" ")) for text, weight in unit.forms)) for unit in units
    ]


def score(note: Found, wanted: Sequence[Sought], style: Style, phrase: str, mean_words: float) -> float:
    """The note's score; `phrase` is the whole question as folded words, empty when it is one word."""
    length = 1 - style.length_share + style.length_share * note.words / mean_words
    everything = "".join(note.columns)
    title, body = note.columns[0], note.columns[4]
    worth = covered = possible = named = 0.0
    places: list[tuple[int, int, float]] = []
    for number, (unit, forms) in enumerate(wanted):
        best = weight_found = in_title = 0.0
        for text, weight, words in forms:
            if text in everything:
                best = max(best, weight * _hits(note, text, style, length))
                weight_found = max(weight_found, weight)
                if text in title:
                    in_title = max(in_title, weight * words)
                if not unit.extra:
                    places += _places(body, text, number, weight * unit.idf)
        worth += best * unit.idf
        if not unit.extra:
            named += in_title if unit.typed not in LITTLE_WORDS else 0.0
            covered += weight_found * unit.idf
            possible += unit.idf
    if not worth or not possible:
        return worth
    if phrase and any(phrase in column for column in note.columns):
        worth *= PHRASE_BONUS
    passage, near = _closest(places, style.passage)
    worth *= (1 + PASSAGE_BONUS * min(1.0, passage / possible)) * (1 + NEAR_BONUS * min(1.0, near / possible))
    worth *= 1 + TITLE_BONUS * min(1.0, named / _telling_words(title))
    share: float = (covered / possible) ** style.coverage_power
    return worth * share


def _telling_words(title: str) -> int:
    found = set(title.split())
    return len(found - LITTLE_WORDS) or len(found) or 1


def _hits(note: Found, text: str, style: Style, length: float) -> float:
    count = standing = 0.0
    for place, column in enumerate(note.columns):
        if text in column:
            standing += style.standing[place]
            if style.repetitions[place]:
                count += style.repetitions[place] * column.count(text)
    return standing + count * (1 + SATURATION) / (count + SATURATION * length)


def _places(body: str, text: str, unit: int, worth: float) -> list[tuple[int, int, float]]:
    places: list[tuple[int, int, float]] = []
    place = body.find(text)
    while place >= 0 and len(places) < MOST_PLACES:
        places.append((place, unit, worth))
        place = body.find(text, place + 1)
    return places


def _closest(places: list[tuple[int, int, float]], passage: int) -> tuple[float, float]:
    """The most that stands within `passage` characters and within `NEAR`, each unit counted once."""
    places.sort()
    in_passage = near = 0.0
    for start, (first, _, _) in enumerate(places):
        found: dict[int, float] = {}
        total = 0.0
        for place, unit, worth in places[start:]:
            if place > first + passage:
                break
            before = found.get(unit, 0.0)
            if worth > before:
                found[unit] = worth
                total += worth - before
                if place <= first + NEAR and total > near:
                    near = total
        in_passage = max(in_passage, total)
    return in_passage, near
