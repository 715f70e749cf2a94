"""From the words of a question to what is looked for: other forms of each word, and how much each counts.

A word that notes have is looked for as typed, as the beginning of longer words and in other inflections; one that
no visible note has also with typing mistakes mended. A piece such as ``backup_to_tape.sh`` or a run of Chinese is
one phrase, with its other spellings. Which forms exist is asked of the index; nothing here knows SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import log
from typing import NamedTuple, Protocol

from search_core.query import ParsedQuery, quoted
from search_core.terms import edits, fold, is_hangul, is_unspaced, joined_forms, shared_start, stem, symbol_names, words

LONGER, LONGER_UNKNOWN = 0.65, 0.9
"""Weight of a longer word that begins with the typed one; more when the typed one is in no note (a cut word)."""
INFLECTED, INFLECTED_UNKNOWN, SAME_BEGINNING = 0.85, 0.95, 0.45
"""Weight of a word with the same English stem (more when the typed one is in no note), and of one that only shares all
but the last letters."""
ONE_EDIT, TWO_EDITS = 0.7, 0.4
"""Weight of a word one typing mistake away, and two (words of 8 letters on)."""
MOST_FORMS = 20
"""Forms kept of each sort: more are noise."""
FILLER_SHARE = 0.25
"""A word in more notes than this tells nothing, in any language: no other forms, and no part in the ranking."""
COMMON_SHARE, COMMON_NOTES = 0.02, 5
"""A word in more notes than this share (and number) is surely meant as typed: no other forms."""
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz0123456789", "абвгдежзийклмнопрстуфхцчшщъыьэюя")
_MOST_LOOKED_AT = 400


class Vocabulary(Protocol):
    """What the index tells about words, as far as the asker may know."""

    notes: int

    def frequency(self, expression: str) -> int: ...
    def word_frequency(self, word: str) -> int: ...
    def known_of(self, words: list[str]) -> list[str]: ...
    def words_from(self, start: str, shortest: int = 0, longest: int = 99) -> Iterator[tuple[str, int]]: ...


class Form(NamedTuple):
    text: str
    """Folded words, single spaces between."""
    weight: float


class Unit(NamedTuple):
    """One thing that is looked for, in any of its forms."""

    typed: str
    """Folded."""
    forms: tuple[Form, ...]
    idf: float
    notes: int
    """Visible notes that have it as typed."""
    nearest: str = ""
    """The best other form, when none has it as typed."""
    nearest_notes: int = 0
    extra: bool = False
    """A spelling of neighbouring units written together: raises notes that have it, is not missed in others."""


def idf(notes: int, total: int) -> float:
    """How telling a word is that `notes` of `total` notes have."""
    return max(0.05, log((total - notes + 0.5) / (notes + 0.5))) if total > notes else 0.05


def units_of(query: ParsedQuery, vocabulary: Vocabulary) -> list[Unit]:
    """What to look for, in the order typed."""
    units: list[Unit] = []
    singles: list[str] = []
    for piece in query.pieces:
        folded = fold(piece)
        found = words(folded)
        if len(found) == 1 and not is_unspaced(found[0]):
            singles.append(found[0])
            units.append(_word_unit(found[0], vocabulary, symbol_names(folded)))
        elif found:
            units += _compound_units(folded, found, vocabulary)
    units += _written_together(singles, vocabulary)
    seen: dict[str, Unit] = {}
    for unit in units:
        seen.setdefault(unit.typed, unit)
    return list(seen.values())


def _word_unit(word: str, vocabulary: Vocabulary, names: list[str]) -> Unit:
    notes, total = vocabulary.word_frequency(word), vocabulary.notes
    forms = {name: 1.0 for name in names if vocabulary.word_frequency(name)}
    if forms:  # ``c++`` alone says what is meant; ``c`` says nearly nothing
        return _unit(word, {**forms, word: 0.3}, max(map(vocabulary.word_frequency, forms)), vocabulary)
    if notes:
        forms[word] = 1.0
    split = _split_at_digits(word)
    if split and vocabulary.frequency(quoted(split)):
        forms[split] = 1.0
    if notes > max(COMMON_NOTES, FILLER_SHARE * total) or (notes and len(word) < 3):
        return _unit(word, forms, notes, vocabulary)
    common = notes > max(COMMON_NOTES, COMMON_SHARE * total)
    others = _inflections(word, vocabulary, same_stem=True) if common else _other_forms(word, bool(forms), vocabulary)
    for other, weight in others:
        forms[other] = max(weight, forms.get(other, 0.0))
    return _unit(word, forms, notes, vocabulary)


def _unit(typed: str, forms: dict[str, float], notes: int, vocabulary: Vocabulary) -> Unit:
    total = vocabulary.notes
    if notes:
        return Unit(typed, tuple(Form(*form) for form in forms.items()), idf(notes, total), notes)
    if not forms:
        return Unit(typed, (), idf(0, total), 0)
    ordered = sorted(forms.items(), key=lambda form: (-form[1], form[0]))
    counts = {text: _notes_with(text, vocabulary) for text, _ in ordered[:MOST_FORMS]}
    mean = sum(idf(count, total) for count in counts.values()) / len(counts)
    best = max(counts, key=lambda text: (forms[text], shared_start(text, typed), counts[text]))
    return Unit(typed, tuple(Form(*form) for form in ordered), mean, 0, best, counts[best])


def _notes_with(text: str, vocabulary: Vocabulary) -> int:
    return vocabulary.frequency(quoted(text)) if " " in text else vocabulary.word_frequency(text)


def _split_at_digits(word: str) -> str:
    parts, last = [], ""
    for letter in word:
        if last and letter.isdigit() != last.isdigit():
            parts.append(" ")
        parts.append(letter)
        last = letter
    return "".join(parts) if " " in parts and parts.count(" ") <= 3 else ""


def _other_forms(word: str, known: bool, vocabulary: Vocabulary) -> Iterator[tuple[str, float]]:
    hangul = is_hangul(word)
    if len(word) >= (2 if hangul else 3):
        longer = sorted(
            (row for row in vocabulary.words_from(word) if row[0] != word), key=lambda row: (-row[1], row[0])
        )
        yield from ((other, LONGER if known else LONGER_UNKNOWN) for other, _ in longer[:MOST_FORMS])
    if hangul:
        yield from ((word[:end], INFLECTED) for end in range(2, len(word)) if vocabulary.word_frequency(word[:end]))
    elif len(word) >= 5 or (len(word) == 4 and word[-1] == "s"):
        inflected = INFLECTED if known else INFLECTED_UNKNOWN
        yield from (
            (other, inflected if weight == INFLECTED else weight) for other, weight in _inflections(word, vocabulary)
        )
    if not known and len(word) >= 4 and not word.isdigit():
        yield from _mended(word, vocabulary)


def _inflections(word: str, vocabulary: Vocabulary, *, same_stem: bool = False) -> Iterator[tuple[str, float]]:
    if not word.isalpha():  # ``E133`` and ``E134`` are two things
        return
    start = word[: max(min(4, len(word) - 1), len(word) - 3, 2)]
    root = stem(word)
    near = []
    for other, _ in vocabulary.words_from(start, 0, len(word) + 3):
        shared = shared_start(word, other)
        if other != word and other.isalpha():
            same = stem(other) == root
            if same or (not same_stem and len(word) - shared <= 3 and len(other) - shared <= 3):
                near.append((not same, abs(len(other) - len(word)) + len(word) - shared, other))
    for different, _, other in sorted(near)[:MOST_FORMS]:
        yield other, SAME_BEGINNING if different else INFLECTED


def _mended(word: str, vocabulary: Vocabulary) -> Iterator[tuple[str, float]]:
    most = 2 if len(word) >= 8 else 1
    letters, digits = frozenset(word), _digits(word)  # a wrong digit is another thing, not a mistake
    near: list[tuple[int, str]] = []
    for other, _ in vocabulary.words_from(word[0], len(word) - most, len(word) + most):
        if len(letters.difference(other)) <= most and len(set(other) - letters) <= most:
            distance = edits(word, other, most)
            if 0 < distance <= most and _digits(other) == digits:
                near.append((distance, other))
    near += [(1, other) for other in vocabulary.known_of(list(_first_letter_mended(word))) if _digits(other) == digits]
    for distance, other in sorted(near)[:MOST_FORMS]:
        yield other, ONE_EDIT if distance == 1 else TWO_EDITS


def _digits(word: str) -> str:
    return "" if word.isalpha() else "".join(letter for letter in word if letter.isdigit())


def _first_letter_mended(word: str) -> Iterator[str]:
    alphabet = next((letters for letters in _ALPHABETS if word[0] in letters), "")
    yield word[1:]
    yield word[1] + word[0] + word[2:]
    for letter in alphabet:
        if letter != word[0]:
            yield letter + word[1:]
            yield letter + word


def _compound_units(folded: str, found: list[str], vocabulary: Vocabulary) -> list[Unit]:
    """A piece with several words inside: one phrase if any note has it in any spelling, else its parts."""
    phrase = " ".join(found)
    together = list(dict.fromkeys(["".join(found), *joined_forms(folded, whole=True), *symbol_names(folded)]))
    notes = vocabulary.frequency(quoted(phrase))
    forms = {phrase: 1.0} if notes else {}
    unspaced = is_unspaced(found[0]) and is_unspaced(found[-1])
    if not unspaced:
        forms.update({text: 1.0 for text in together if vocabulary.word_frequency(text)})
        if not forms and len(together[0]) >= 3:
            rows = sorted(vocabulary.words_from(together[0]), key=lambda row: (-row[1], row[0]))
            forms = {text: LONGER_UNKNOWN for text, _ in rows[:MOST_FORMS]}
    if forms:
        count = notes or max(map(vocabulary.word_frequency, forms))
        return [_unit(phrase, forms, count, vocabulary), *_as_one_name(forms, together[0], vocabulary)]
    if unspaced and len(found) > 2:
        pairs = [f"{a} {b}" for a, b in pairwise(found)]
        known = [(pair, count) for pair in pairs if (count := vocabulary.frequency(quoted(pair)))]
        if known:
            return [_unit(pair, {pair: 1.0}, count, vocabulary) for pair, count in known]
    return [
        _unit(word, {word: 1.0}, vocabulary.word_frequency(word), vocabulary)
        if is_unspaced(word)
        else _word_unit(word, vocabulary, [])
        for word in found
    ]


def _as_one_name(forms: dict[str, float], name: str, vocabulary: Vocabulary) -> list[Unit]:
    """Of the notes with ``sign out`` those that write it as one name, ``sign_out``: that is how it was typed."""
    if len(forms) < 2 or name not in forms:
        return []
    return [_unit(name, {name: 1.0}, vocabulary.word_frequency(name), vocabulary)._replace(extra=True)]


def _written_together(singles: list[str], vocabulary: Vocabulary) -> Iterator[Unit]:
    """Neighbouring words that some note writes as one: ``lto 4`` is ``lto4``."""
    for length in (2, 3, 4):
        for start in range(len(singles) - length + 1):
            text = "".join(singles[start : start + length])
            notes = vocabulary.word_frequency(text) if len(text) <= 40 else 0
            if notes:
                yield _unit(text, {text: 1.0}, notes, vocabulary)._replace(extra=True)
