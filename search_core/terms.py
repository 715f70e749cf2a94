"""What a word is, for notes and questions alike. Pure.

Text is folded (case, accents) and cut into words here, once; the index stores the words joined by single
spaces, so the database never decides what a word is. Three things make exact things findable in any spelling:

* scripts written without spaces are cut into single characters and matched as phrases;
* compounds such as ``backup_to_tape.sh``, ``LTO-4`` or a MAC address are stored written together as well;
* ``C++``, ``C#`` and ``.NET`` get names (``cplusplus``, ``csharp``, ``dotnet``), ``HTTPServer`` also its parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from search_core.lazy_pattern import LazyPattern

MAX_COMPOUND = 40
"""Longest compound kept written together, in characters: a UUID is 36, a long file name about 40."""

_MARKS = LazyPattern("[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]+")
"""Accents, and the optional vowel points of Hebrew and Arabic. Indic and Thai vowel signs are letters."""
_OWN_LETTERS = (("и\u0306", "й"), ("у\u0306", "ў"), ("і\u0308", "ї"), ("\u0627\u0653", "\u0627"))
"""Letters of their own, not accented forms; ``ё`` is not here: Russian writes ``е`` for it."""
_SPELT = str.maketrans(
    {
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "ł": "l",
        "æ": "ae",
        "œ": "oe",
        "ı": "i",
        "þ": "th",
        "ـ": "",
        "\u00ad": "",
        "\u200b": "",
    }
)
_UNSPACED = (
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han, kana
    "\u0e01-\u0e3a\u0e40-\u0eff\u1000-\u109f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
    "\u2600-\u27bf\u2b05-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"  # pictures
)
_ONE_BY_ONE = LazyPattern(f"[{_UNSPACED}]")
_INDIC = "\u0900-\u0963\u0966-\u0dff"
_WORD = LazyPattern(rf"[{_UNSPACED}]|(?:[^\W_{_UNSPACED}]|[{_INDIC}])+")
_ASCII_BREAKS = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalnum()})
_FOREIGN = LazyPattern("[^\\x00-\\x7f]+")
_COMPOUND = LazyPattern(r"(?<![^\W_])[^\W_]++(?:[-_.:@+/]{1,2}[^\W_]++)+")
_SYMBOLIC = LazyPattern(
    r"#(?<=[^\w][a-z]#)(?![^\W_])|\+\+(?<=[^\w][a-z]\+\+)(?![^\W_])|\.(?<=[\s(\"'`,]\.)[a-z][a-z0-9]+"
)
_ASCII_COMPOUND = LazyPattern("(?<![a-z0-9])[a-z0-9]++(?:[-_.:@+/]{1,2}[a-z0-9]++)+")
_CAMEL_PART = LazyPattern("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CAMEL_HINT = LazyPattern("[A-Z](?:(?<=[a-z0-9][A-Z])|(?=[A-Z][a-z]))")
"""Begins with its rarest sign, so most notes are passed over quickly."""
_HEXADECIMAL = LazyPattern("(?<![a-z0-9])0x([0-9a-f]+)")


def fold(text: str) -> str:
    """`text` without case and accents; NFC and NFD give the same."""
    folded = text.lower()
    return folded if text.isascii() else _FOREIGN.now.sub(_fold_match, folded)


def _fold_match(run: re.Match[str]) -> str:
    return _fold_run(run[0])


@lru_cache(4096)
def _fold_run(text: str) -> str:
    text = unicodedata.normalize("NFKD", text).casefold()
    for decomposed, letter in _OWN_LETTERS:
        text = text.replace(decomposed, letter)
    return unicodedata.normalize("NFC", _MARKS.now.sub("", text)).translate(_SPELT)


def words(folded: str) -> list[str]:
    """The words of folded text, in order."""
    if folded.isascii():
        return folded.translate(_ASCII_BREAKS).split()
    return _WORD.now.findall(folded)


def spaced(text: str) -> str:
    """The words of raw `text` joined by spaces, with one at each end; a word ``w`` is in it as ``" w "``."""
    return f" {' '.join(words(fold(text)))} "


def is_unspaced(word: str) -> bool:
    """Whether `word` is one character of a script that is written without spaces."""
    return len(word) == 1 and not word.isascii() and _ONE_BY_ONE.now.match(word) is not None


def is_hangul(word: str) -> bool:
    return "\uac00" <= word[:1] <= "\ud7a3"


def extra_words(raw: str, folded: str) -> list[str]:
    """Words under which the compounds, symbols and mixed-case names of a text are found as well."""
    found: list[str] = []
    # A compound or symbol has a sign inside or is like `c#`; most runs have none at all, which is the quicker question.
    runs = dict.fromkeys(folded.split())
    mixed = " ".join([run for run in runs if not run.isalnum() and (run[-1] == "#" or not run[:-1].isalnum())])
    for compound in (_ASCII_COMPOUND if folded.isascii() else _COMPOUND).now.findall(mixed):
        found += joined_forms(compound)
    found += symbol_names(mixed)
    for name in _mixed_case_names(raw):
        parts = _CAMEL_PART.now.findall(name)
        if len(parts) > 1 and len(name) <= MAX_COMPOUND:
            found += [part.lower() for part in parts if len(part) > 1]
    if "0x" in folded:
        found += _HEXADECIMAL.now.findall(folded)
    return list(dict.fromkeys(found))


def _mixed_case_names(raw: str) -> Iterator[str]:
    end = 0
    for match in _CAMEL_HINT.now.finditer(raw):
        if match.start() >= end:
            start, end = match.start(), match.end()
            while start > 0 and raw[start - 1].isalnum():
                start -= 1
            while end < len(raw) and raw[end].isalnum():
                end += 1
            yield raw[start:end]


def joined_forms(compound: str, *, whole: bool = False) -> list[str]:
    """A folded compound written together, without a leading ``v`` or ``0x``, and unless `whole` each part of a path."""
    forms = []
    pieces = [compound, *compound.split("/")] if "/" in compound and not whole else [compound]
    for piece in pieces:
        together = "".join(words(piece))
        if len(together) <= MAX_COMPOUND and together != piece:
            forms.append(together)
            if piece[0] == "v" and piece[1:2].isdigit():
                forms.append(together[1:])
    return forms


def symbol_names(folded: str) -> list[str]:
    """The names of symbols in folded text: ``c++`` is ``cplusplus``, ``c#`` ``csharp``, ``.net`` ``dotnet``."""
    folded = f" {folded}"
    names = []
    for match in _SYMBOLIC.now.finditer(folded):
        letter = folded[match.start() - 1]
        names.append({"#": letter + "sharp", "+": letter + "plusplus"}.get(match[0][0]) or "dot" + match[0][1:])
    return names


_ENDINGS = ("ations", "ation", "ings", "ing", "ers", "ies", "ied", "ed", "er", "es", "ly", "al", "s", "e", "y")
"""English endings, longest first; other languages are served by the shared beginning (`same_stem`)."""


def stem(word: str) -> str:
    """`word` without a common ending; good enough to tell inflections of one word from its neighbours."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "eyi" else word


def shared_start(word: str, other: str) -> int:
    """How many characters the two have in common at their beginning."""
    count = 0
    for a, b in zip(word, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def edits(a: str, b: str, most: int) -> int:
    """Optimal string alignment distance (a swap of neighbours counts one); `most` + 1 when it is more."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, cb in enumerate(b, 1):
            cost = before[j - 1] + (ca != cb)
            if cost > before[j]:  # comparisons, for `min` takes longer than all the rest here
                cost = before[j] + 1
            if cost > row[-1]:
                cost = row[-1] + 1
            if i > 1 and j > 1 and ca == b[j - 2] and cb == a[i - 2] and cost > older[j - 2]:
                cost = older[j - 2] + 1
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
