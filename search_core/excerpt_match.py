"""Where the words of a question stand in a line of plain text, and what kind of answer it asks for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from search_core.terms import fold, is_unspaced, joined_forms, stem, words


class Unit(NamedTuple):
    """One word or phrase of the question, with the other forms under which it counts."""

    forms: tuple[tuple[str, float], ...]
    """Folded words (joined by single spaces when several) and the weight of each form, at most 1."""
    weight: float
    """How much the word says: its inverse document frequency."""


class Found(NamedTuple):
    start: int
    end: int
    unit: int
    weight: float


STEM_WEIGHT = 0.5
"""Of a word that only shares the stem with one of the question (the weight that ranking gives such variants)."""
MAX_COMPOUND_WORDS = 12

_TOKEN = re.compile(
    "(?:[^\\W_]|[\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u2600-\u27bf\U0001f000-\U0001faff])+"
)
_ASCII_TOKEN = re.compile("[A-Za-z0-9]+")
_COMPOUND = re.compile(r"[^\W_]+(?:[-_.:@+/]{1,2}[^\W_]+)+")
_BETWEEN = "[-_.:@+/ ]{0,2}"

_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|long|often|far|big|large|high|fast|old|wide|deep|heavy|hot|cold)\b"
    r"|\bwhen\b|\bwhat (?:time|year|age)\b"
    r"|\b(?:port|ports|max|maximum|min|minimum|limit|size|default|number|count|year|date"
    r"|version|frequency|price|cost|interval|timeout|duration|rate|percentage|percent|level|value|length"
    r"|weight|height|width|distance|range|voltage|baud|speed|time"
    r"|temperature|address|phone|uid|pid|threshold|amount|capacity|ratio)\b"
    r"|\bwie (?:viele?|lang|oft|weit|hoch|gross)\b|\bwann\b|\bcombien\b|\bquand\b"
    r"|\bcuant[oa]s?\b|\bcuando\b|\bquant[io]\b"
    r"|\bскольк|\bкогда\b|多少|几|多久|多长|什么时候|何时|いくつ|いつ|몇"
)
_ASKS_MEANING = re.compile(
    r"^(?:what(?: is|'s| are| does)|who is|define)\b|\b(?:mean|means|meaning|stand for|stands for|definition)\b"
    r"|^was (?:ist|bedeutet)\b|^qu'est|\bsignifie\b|\bsignifica\b|^что такое\b|是什么|什么是|とは"
)


class Matcher:
    """Finds the forms of the units; made once per question and used for every note."""

    def __init__(self, units: tuple[Unit, ...], query: str) -> None:
        self.weights = [unit.weight for unit in units]
        folded = fold(query)
        self.asks_number = _ASKS_NUMBER.search(folded) is not None
        self.asks_meaning = _ASKS_MEANING.search(folded) is not None
        self._words: dict[str, list[tuple[int, float]]] = {}
        self._phrases: dict[str, list[tuple[list[str], int, float]]] = {}
        self._stems: dict[str, list[tuple[int, float]]] = {}
        for number, unit in enumerate(units):
            for form, weight in unit.forms:
                self._learn(number, form, weight)
        self._stem_heads = {known[:3] for known in self._stems}
        self._near = self._prefilter()

    def _learn(self, unit: int, form: str, weight: float) -> None:
        parts = words(form)
        if len(parts) == 1:
            self._words.setdefault(parts[0], []).append((unit, weight))
            if weight >= 1 and len(form) >= 4 and form.isalpha() and not is_unspaced(form):
                self._stems.setdefault(stem(form), []).append((unit, STEM_WEIGHT))
        elif parts:
            self._phrases.setdefault(parts[0], []).append((parts, unit, weight))

    def _prefilter(self) -> re.Pattern[str] | None:
        """A quick test that misses no line with a match: the first letters of every form."""
        heads = {_head(word) for word in (*self._words, *self._phrases, *self._stems)}
        return re.compile("|".join(sorted(heads))) if heads else None

    def may_match(self, folded: str) -> bool:
        return self._near is not None and self._near.search(folded) is not None

    def find(self, text: str) -> list[Found]:
        """Every place in `text` where a form of a unit stands, in order."""
        if not self.may_match(fold(text)):
            return []
        tokens = list(_tokens(text))
        found: list[Found] = []
        for index, (word, start, end) in enumerate(tokens):
            for unit, weight in self._words.get(word, ()):
                found.append(Found(start, end, unit, weight))
            for parts, unit, weight in self._phrases.get(word, ()):
                last = index + len(parts)
                if [token[0] for token in tokens[index:last]] == parts:
                    found.append(Found(start, tokens[last - 1][2], unit, weight))
            if word[:3] in self._stem_heads and word not in self._words:
                found += [Found(start, end, unit, weight) for unit, weight in self._stems.get(stem(word), ())]
        found += self._compounds(text)
        return sorted(found)

    def _compounds(self, text: str) -> Iterator[Found]:
        for match in _COMPOUND.finditer(text):
            for form in joined_forms(fold(match[0])):
                for unit, weight in self._words.get(form, ()):
                    yield Found(*match.span(), unit, weight)


def _head(word: str) -> str:
    if word.isalpha() and len(word) < 8:
        return re.escape(word[:4])
    return _BETWEEN.join(re.escape(char) for char in word[:3])


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """The folded words of raw `text` with their places."""
    if text.isascii():
        for match in _ASCII_TOKEN.finditer(text):
            yield match[0].lower(), match.start(), match.end()
        return
    for match in _TOKEN.finditer(text):
        raw, start = match[0], match.start()
        folded = raw.lower() if raw.isascii() else _fold(raw)
        parts = words(folded)
        if len(parts) == 1:
            yield parts[0], start, match.end()
        else:
            yield from _placed(parts, folded, start, match.end())


def _placed(parts: list[str], folded: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """A run of a script without spaces, cut into its words; where folding moved letters, all are at the run's place."""
    exact = len(folded) == end - start
    at = 0
    for part in parts:
        at = max(folded.find(part, at), at)
        yield (part, start + at, start + at + len(part)) if exact else (part, start, end)
        at += len(part)


@lru_cache(maxsize=8192)
def _fold(word: str) -> str:
    return fold(word)


@lru_cache(maxsize=16)
def matcher(units: tuple[Unit, ...], query: str) -> Matcher:
    """The matcher of a question, kept for the notes that follow."""
    return Matcher(units, query)
