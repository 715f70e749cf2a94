"""Where the words of a question stand in a line of plain text, and what kind of answer it asks for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from search_core.lazy_pattern import LazyPattern
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

_TOKEN = LazyPattern(
    "(?:[^\\W_]|[\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u2600-\u27bf\U0001f000-\U0001faff])+"
)
_ASCII_TOKEN = re.compile("[A-Za-z0-9]+")
_BETWEEN = "[-_.:@+/ ]?"
_SQUEEZE = str.maketrans("", "", "-_.:@+/ ")
MOST_TOGETHER = 4  # neighbouring words of a question that are looked up as one
HEAD_CHARS = 4  # enough to tell most words apart, few enough for stems

_INITIAL = LazyPattern(r"(?<![^\W_])[^\W\d_]")
_OPENS_SPELLING = LazyPattern(r"[\"'”»]?\s?(?:\(|[—–:=·]|(?:is|means|stands for)\b)\s?[\"'“«]?", re.I)
_SPELLED_CHARS = 80  # how far an abbreviation's long form may reach

_NUMBER = (
    "port ports max maximum min minimum limit size default number count year date version frequency price cost interval"
    " timeout duration rate percentage percent level value length weight height width distance range voltage baud speed"
    " time temperature address phone uid pid threshold amount capacity ratio"
)
_NUMBER_WORDS = _NUMBER.split()
_ASKS_NUMBER = LazyPattern(
    r"\bhow (?:many|much|long|often|far|big|large|high|fast|old|wide|deep|heavy|hot|cold)\b"
    rf"|\bwhen\b|\bwhat (?:time|year|age)\b|\b(?:{'|'.join(_NUMBER_WORDS)})\b"
    r"|\bwie (?:viele?|lang|oft|weit|hoch|gross)\b|\bwann\b|\bcombien\b|\bquand\b"
    r"|\bcuant[oa]s?\b|\bcuando\b|\bquant[io]\b"
    r"|\bскольк|\bкогда\b|多少|几|多久|多长|什么时候|何时|いくつ|いつ|몇"
)
_NUMBER_HINTS = (*_NUMBER_WORDS, "how ", "when", "what ", "wie ", "wann", "combien", "quan", "cuan")
"""ASCII text with none of these does not ask for a number: most need no pattern compiled, which takes 2 ms."""
_ASKS_MEANING = LazyPattern(
    r"^(?:what(?: is|'s| are| does)|who is|define)\b|\b(?:mean|means|meaning|stand for|stands for|definition)\b"
    r"|^was (?:ist|bedeutet)\b|^qu'est|\bsignifie\b|\bsignifica\b|^что такое\b|是什么|什么是|とは"
)


class Matcher:
    """Finds the forms of the units; made once per question and used for every note."""

    def __init__(self, units: tuple[Unit, ...], query: str) -> None:
        self.weights = [unit.weight for unit in units]
        parts_of = _written_together(units)
        folded = fold(query)
        may_ask = not folded.isascii() or any(hint in folded for hint in _NUMBER_HINTS)
        self.asks_number = may_ask and _ASKS_NUMBER.now.search(folded) is not None
        self.asks_meaning = _ASKS_MEANING.now.search(folded) is not None
        self._words: dict[str, list[tuple[int, float]]] = {}
        self._phrases: dict[str, list[tuple[list[str], int, float]]] = {}
        self._stems: dict[str, list[tuple[int, float]]] = {}
        self._joined: set[str] = set()
        for number, unit in enumerate(units):
            if number in parts_of:
                self.weights[number] = 0.0
            for form, weight in unit.forms:
                for counted in parts_of.get(number, (number,)):
                    self._learn(counted, form, weight)
        # A quick test that misses no line with a match: the first letters of every form.
        heads = {re.escape(word[:HEAD_CHARS]) for word in (*self._words, *self._phrases, *self._stems)}
        self._near = re.compile("|".join(sorted(heads))) if heads else None
        self._spelt: dict[str, re.Pattern[str]] = {}
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

    def compounds(self, folded: str) -> tuple[re.Pattern[str], ...]:
        """What finds the words that folded text has with separators inside (``lto4`` as ``lto-4``); mostly nothing."""
        squeezed = folded.translate(_SQUEEZE)
        words = [word for word in self._joined if squeezed.count(word) > folded.count(word)]
        for word in words:
            if word not in self._spelt:
                letters = _BETWEEN.join(map(re.escape, word))
                self._spelt[word] = re.compile(rf"(?<![^\W_]){letters}(?![^\W_])")
        return tuple(self._spelt[word] for word in words)

    def units_near(self, folded: str) -> set[int]:
        """Which units a line of folded text has as plain words; for choosing among very many lines."""
        return {unit for word, _, _ in self._near_words(folded) for unit, _ in self._of_word(word)}

    def _near_words(self, folded: str) -> Iterator[tuple[str, int, int]]:
        """The words of folded text that begin like a form; ends are those of ASCII words."""
        if self._near is None:
            return
        for match in self._near.finditer(folded):
            start = match.start()
            before = folded[start - 1 : start]
            if not before.isalnum() or not before.isascii():
                word = _ASCII_TOKEN.match(folded, start)
                end = word.end() if word else match.end()
                yield folded[start:end], start, end

    def find(self, text: str, compounds: tuple[re.Pattern[str], ...] = ()) -> list[Found]:
        """Every place in `text` where a form of a unit stands, in order; `compounds` as of the whole note."""
        folded = fold(text)
        found: list[Found] = []
        if text.isascii():
            for word, start, end in self._near_words(folded):
                found += [Found(start, end, unit, weight) for unit, weight in self._of_word(word)]
                for parts, unit, weight in self._phrases.get(word, ()):
                    last = _phrase_end(folded, start, parts)
                    if last:
                        found.append(Found(start, last, unit, weight))
        elif self._near is not None and self._near.search(folded):
            self._find_tokens(list(_tokens(text)), found)
        if compounds and len(folded) == len(text):
            for match in (match for pattern in compounds for match in pattern.finditer(folded)):
                word = match[0].translate(_SQUEEZE)
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


def _written_together(units: tuple[Unit, ...]) -> dict[int, tuple[int, ...]]:
    """Units that are neighbouring words of the question written together, with those words' units.

    A place that has both words must not count for a third one as well; one that has them together counts for both.
    """
    names = [unit.forms[0][0] if unit.forms else "" for unit in units]
    known: dict[str, tuple[int, ...]] = {}
    for first in range(len(names)):
        for end in range(first + 2, min(first + MOST_TOGETHER, len(names)) + 1):
            known.setdefault("".join(names[first:end]).replace(" ", ""), tuple(range(first, end)))
    return {
        number: parts
        for number, name in enumerate(names)
        if (parts := known.get(name)) is not None and number not in parts
    }


def _phrase_end(folded: str, start: int, parts: list[str]) -> int:
    """Where the phrase that begins at `start` ends; 0 when it does not stand there."""
    end = 0
    for part, match in zip(parts, _ASCII_TOKEN.finditer(folded, start), strict=False):
        if match[0] != part:
            return 0
        end = match.end()
    return end


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """The folded words of raw `text` with their places."""
    if text.isascii():
        for match in _ASCII_TOKEN.finditer(text):
            yield match[0].lower(), match.start(), match.end()
        return
    for match in _TOKEN.now.finditer(text):
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
        before = _INITIAL.now.findall(text[max(0, start - _SPELLED_CHARS) : start])[-most:]
        return _is_within(letters, before)
    opening = _OPENS_SPELLING.now.match(text, end)
    if not opening:
        return False
    after = _INITIAL.now.findall(text[opening.end() : opening.end() + _SPELLED_CHARS])[:most]
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
