"""Where text may be cut: between extended grapheme clusters, what a reader sees as one character.

A compact rule from `unicodedata` and a few range tables instead of the whole of Unicode's (UAX #29).
It is conservative: it may join more than the standard does (an unassigned code point is taken for a
combining mark, since a newer Unicode may know better), it never cuts where the standard would not.
Every function takes any `str`, lone surrogates included, and runs in linear time.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_ZWJ = "\u200d"

_EXTEND = 1  # belongs to what stands before it
_PREPEND = 2  # belongs to what comes after it
_CONTROL = 3  # stands alone
_REGIONAL = 4  # flags are pairs of these
_HANGUL_LEAD = 5
_HANGUL_SYLLABLE = 6
_HANGUL_TAIL = 7  # vowel or final consonant
_VIRAMA = 8  # joins two consonants into one shape
_JOINER = 9
_LETTER = 10  # without case: the only kind a virama joins on to
_OTHER = 11
_UNKNOWN = 12  # not assigned in this Python's Unicode

_RANGES: tuple[tuple[int, int, int], ...] = (
    (0x0600, 0x0605, _PREPEND),
    (0x06DD, 0x06DD, _PREPEND),
    (0x070F, 0x070F, _PREPEND),
    (0x0890, 0x0891, _PREPEND),
    (0x08E2, 0x08E2, _PREPEND),
    (0x0D4E, 0x0D4E, _PREPEND),
    (0x0E33, 0x0E33, _EXTEND),  # Thai and Lao AM: letters by category, drawn over the one before
    (0x0EB3, 0x0EB3, _EXTEND),
    (0x1100, 0x115F, _HANGUL_LEAD),
    (0x1160, 0x11FF, _HANGUL_TAIL),
    (0x1CF5, 0x1CF6, _VIRAMA),  # Vedic signs that stand over the consonant after them
    (0x200C, 0x200C, _EXTEND),
    (0x200D, 0x200D, _JOINER),
    (0xA960, 0xA97C, _HANGUL_LEAD),
    (0xAC00, 0xD7A3, _HANGUL_SYLLABLE),
    (0xD7B0, 0xD7FB, _HANGUL_TAIL),
    (0xFF9E, 0xFF9F, _EXTEND),  # half-width kana voicing marks
    (0x110BD, 0x110BD, _PREPEND),
    (0x110CD, 0x110CD, _PREPEND),
    (0x111C2, 0x111C3, _PREPEND),
    (0x113D1, 0x113D1, _PREPEND),
    (0x1193F, 0x1193F, _PREPEND),
    (0x11941, 0x11941, _PREPEND),
    (0x11A3A, 0x11A3A, _PREPEND),
    (0x11A84, 0x11A89, _PREPEND),
    (0x11D46, 0x11D46, _PREPEND),
    (0x11F02, 0x11F02, _PREPEND),
    (0x16D63, 0x16D6A, _HANGUL_TAIL),  # Kirat Rai vowels (Unicode 16) join like those of Hangul
    (0x1F1E6, 0x1F1FF, _REGIONAL),
    (0x1F3FB, 0x1F3FF, _EXTEND),  # skin tones
    (0xE0020, 0xE007F, _EXTEND),  # tags spell the flags of regions
)

_BY_CATEGORY = {
    "Mn": _EXTEND,
    "Me": _EXTEND,
    "Mc": _EXTEND,
    "Cc": _CONTROL,
    "Cf": _CONTROL,
    "Zl": _CONTROL,
    "Zp": _CONTROL,
    "Lo": _LETTER,
    "Cn": _UNKNOWN,
}

_VIRAMA_CLASS = 9
"""Canonical combining class of every virama (Unicode Character Database)."""

_NEW_EMOJI = range(0x1F000, 0x1FB00)
"""Unassigned code points here will be pictures, which stand alone."""

_GLUE = frozenset((_EXTEND, _VIRAMA, _JOINER, _UNKNOWN))
_JOINS_HANGUL = frozenset(
    {
        (_HANGUL_LEAD, _HANGUL_LEAD),
        (_HANGUL_LEAD, _HANGUL_SYLLABLE),
        (_HANGUL_LEAD, _HANGUL_TAIL),
        (_HANGUL_SYLLABLE, _HANGUL_TAIL),
        (_HANGUL_TAIL, _HANGUL_TAIL),
    }
)


@lru_cache(maxsize=4096)
def _kind(char: str) -> int:
    code = ord(char)
    for first, last, kind in _RANGES:
        if code <= last:
            if code >= first:
                return kind
            break
    if unicodedata.combining(char) == _VIRAMA_CLASS:
        return _VIRAMA
    kind = _BY_CATEGORY.get(unicodedata.category(char), _OTHER)
    return _OTHER if kind == _UNKNOWN and code in _NEW_EMOJI else kind


def boundaries(text: str) -> Iterator[int]:
    """Indices (code points) at which `text` may be cut, ascending, its end included, its start not."""
    if text.isascii() and "\r" not in text:
        yield from range(1, len(text) + 1)
        return
    before = ""
    kind_before = _CONTROL
    flags = 0  # regional indicators in a row
    linking = False  # a virama stands between here and the last letter
    for index, char in enumerate(text):
        kind = _kind(char)
        if index and not _joined(before, char, kind_before, kind, odd_flag=flags % 2 == 1, linking=linking):
            yield index
        flags = flags + 1 if kind == _REGIONAL else 0
        linking = kind in (_VIRAMA, _UNKNOWN) or (linking and kind in _GLUE)
        before, kind_before = char, kind
    if text:
        yield len(text)


def _joined(before: str, char: str, kind_before: int, kind: int, *, odd_flag: bool, linking: bool) -> bool:
    if before == "\r":
        return char == "\n"
    if kind in _GLUE:
        return kind_before != _CONTROL
    if kind_before == _PREPEND:
        return kind != _CONTROL
    if kind_before == _JOINER:
        return not char.isascii() and kind != _CONTROL
    if kind == _REGIONAL and kind_before == _REGIONAL:
        return odd_flag
    return (linking and kind == _LETTER) or (kind_before, kind) in _JOINS_HANGUL


def byte_length(text: str) -> int:
    """Bytes of `text` in UTF-8; a lone surrogate counts three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def clip(text: str, max_bytes: int) -> str:
    """The longest start of `text` that is whole clusters and at most `max_bytes` bytes of UTF-8.

    Empty when the first cluster alone is larger.
    """
    if max_bytes <= 0:
        return ""
    if byte_length(text[: max_bytes + 1]) <= max_bytes:
        return text
    return text[: _whole_clusters(text, max_bytes)]


def split_point(text: str, max_bytes: int) -> int:
    """Index at which to cut `text` so that the start fits `max_bytes` bytes of UTF-8.

    Between clusters where there is a place; within a cluster larger than the budget, between code
    points. At least 1 for any text, so that whoever splits in a loop gets on (`max_bytes` under 4
    may then be exceeded by that one code point).
    """
    if byte_length(text[: max_bytes + 1]) <= max_bytes:
        return len(text)
    return _whole_clusters(text, max_bytes) or max(1, _whole_code_points(text, max_bytes))


def chunk(text: str, start: int, size: int) -> int:
    """How many code points from `start` on, at most `size`, end between clusters; `size` within a giant cluster.

    `start` must lie between clusters itself.
    """
    best = 0
    for cut in boundaries(text[start : start + size + 1]):
        if cut > size:
            break
        best = cut
    return best or size


def _whole_clusters(text: str, max_bytes: int) -> int:
    # A code point is at least one byte, so what is beyond this cannot fit; its end is never a fitting cut.
    head = text[: max_bytes + 1]
    fits = _whole_code_points(head, max_bytes)
    # Between two ASCII characters (but for a line end) is always a boundary: start from the nearest.
    anchor = fits
    while anchor and not (head[anchor - 1 : anchor + 1].isascii() and head[anchor - 1] != "\r"):
        anchor -= 1
    end = anchor
    for cut in boundaries(head[anchor:]):
        if anchor + cut > fits:
            break
        end = anchor + cut
    return end


def _whole_code_points(text: str, max_bytes: int) -> int:
    """How many code points fit, for a text that does not fit as a whole."""
    if text.isascii():
        return max_bytes
    size = 0
    for index, char in enumerate(text[: max_bytes + 1]):
        size += 1 if char < "\x80" else 2 if char < "\u0800" else 3 if char < "\U00010000" else 4
        if size > max_bytes:
            return index
    return len(text)
