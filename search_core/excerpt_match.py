"""Where the words of a question stand in a line of plain text, and what kind of answer it asks for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from search_core.terms import MAX_COMPOUND, fold, is_unspaced, stem, words


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
MAX_KNOWN_WORDS = 20_000  # remembered words of notes per question; bounds the memory

_TOKEN = re.compile(
    "(?:[^\\W_]|[\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u2600-\u27bf\U0001f000-\U0001faff])+"
)
_ASCII_TOKEN = re.compile("[A-Za-z0-9]+")
_BETWEEN = "[-_.:@+/ ]?"

_INITIAL = re.compile(r"(?<![^\W_])[^\W\d_]")
_OPENS_SPELLING = re.compile(r"[\"'”»]?\s?(?:\(|[—–:=·]|(?:is|means|stands for)\b)\s?[\"'“«]?", re.I)
_SPELLED_CHARS = 80  # how far an abbreviation's long form may reach

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
        self._joined: set[str] = set()
        for number, unit in enumerate(units):
            for form, weight in unit.forms:
                self._learn(number, form, weight)
        heads = "|".join(sorted({_head(word) for word in (*self._words, *self._phrases, *self._stems)}))
        self._near = re.compile(heads) if heads else None
        self._starts = re.compile(f"(?<![a-z0-9])(?:{heads})[a-z0-9]*") if heads else None
        joined = "|".join(_BETWEEN.join(map(re.escape, word)) for word in sorted(self._joined))
        self._compound = re.compile(rf"(?<![^\W_])(?:{joined})(?![^\W_])") if joined else None
        self._known: dict[str, list[tuple[int, float]]] = {}

    def _learn(self, unit: int, form: str, weight: float) -> None:
        parts = words(form)
        if len(parts) == 1:
            word = parts[0]
            self._words.setdefault(word, []).append((unit, weight))
            if weight >= 1 and len(word) >= 4 and not is_unspaced(word):
                if word.isalpha():
                    self._stems.setdefault(stem(word), []).append((unit, STEM_WEIGHT))
                if len(word) <= MAX_COMPOUND:
                    self._joined.add(word)
        elif parts:
            self._phrases.setdefault(parts[0], []).append((parts, unit, weight))

    def may_match(self, folded: str) -> bool:
        """A quick test that misses no line with a match: whether it has the first letters of any form."""
        return self._near is not None and self._near.search(folded) is not None

    def units_near(self, folded: str) -> set[int]:
        """Roughly which units a line of folded text has; for choosing among very many lines."""
        if self._starts is None or not self.may_match(folded):
            return set()
        return {unit for match in self._starts.finditer(folded) for unit, _ in self._of_word(match[0])}

    def find(self, text: str) -> list[Found]:
        """Every place in `text` where a form of a unit stands, in order."""
        folded = fold(text)
        if not self.may_match(folded):
            return []
        found: list[Found] = []
        if not text.isascii():
            self._find_tokens(list(_tokens(text)), found)
        elif self._starts is not None:
            for match in self._starts.finditer(folded):
                start, end = match.span()
                found += [Found(start, end, unit, weight) for unit, weight in self._of_word(match[0])]
                for parts, unit, weight in self._phrases.get(match[0], ()):
                    last = _phrase_end(folded, start, parts)
                    if last:
                        found.append(Found(start, last, unit, weight))
        if self._compound is not None and len(folded) == len(text):
            for match in self._compound.finditer(folded):
                word = "".join(words(match[0]))
                if word != match[0]:
                    found += [Found(*match.span(), unit, weight) for unit, weight in self._words.get(word, ())]
        found.sort()
        return found

    def _find_tokens(self, tokens: list[tuple[str, int, int]], found: list[Found]) -> None:
        for index, (word, start, end) in enumerate(tokens):
            found += [Found(start, end, unit, weight) for unit, weight in self._of_word(word)]
            for parts, unit, weight in self._phrases.get(word, ()):
                last = index + len(parts)
                if [token[0] for token in tokens[index:last]] == parts:
                    found.append(Found(start, tokens[last - 1][2], unit, weight))

    def _of_word(self, word: str) -> list[tuple[int, float]]:
        """The units that a word of the note counts for."""
        known = self._known.get(word)
        if known is None:
            known = self._words.get(word) or self._stems.get(stem(word), [])
            if len(self._known) < MAX_KNOWN_WORDS:
                self._known[word] = known
        return known


def _phrase_end(folded: str, start: int, parts: list[str]) -> int:
    """Where the phrase that begins at `start` ends; 0 when it does not stand there."""
    end = 0
    for part, match in zip(parts, _ASCII_TOKEN.finditer(folded, start), strict=False):
        if match[0] != part:
            return 0
        end = match.end()
    return end


def _head(word: str) -> str:
    """The first letters of a word; of one that may be a compound, with what may stand between them."""
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


def is_spelled_out(text: str, start: int, end: int) -> bool:
    """Whether the abbreviation here is written out beside it: ``SNR (Signal-to-Noise Ratio)`` or the reverse."""
    letters = text[start:end].lower()
    if not (2 <= len(letters) <= 6 and letters.isalpha()):
        return False
    most = len(letters) + 2
    if text[start - 1 : start] == "(":
        before = _INITIAL.findall(text[max(0, start - _SPELLED_CHARS) : start])[-most:]
        return _is_within(letters, before)
    opening = _OPENS_SPELLING.match(text, end)
    if not opening:
        return False
    after = _INITIAL.findall(text[opening.end() : opening.end() + _SPELLED_CHARS])[:most]
    return after[:1] in ([letters[0]], [letters[0].upper()]) and _is_within(letters, after)


def _is_within(letters: str, initials: list[str]) -> bool:
    """Whether the letters are found among the initials, in order."""
    rest = iter(initial.lower() for initial in initials)
    return all(letter in rest for letter in letters)


@lru_cache(maxsize=8192)
def _fold(word: str) -> str:
    return fold(word)


@lru_cache(maxsize=16)
def matcher(units: tuple[Unit, ...], query: str) -> Matcher:
    """The matcher of a question, kept for the notes that follow."""
    return Matcher(units, query)
