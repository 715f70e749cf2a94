"""Where sentences end, in any script. Pure, linear, and rather too few ends than a wrong one."""

from __future__ import annotations

import unicodedata

from search_core.lazy_pattern import LazyPattern

_END = LazyPattern(
    r"[.!?…]+[\"'”’»)\]]*(?=\s)"  # Latin, Cyrillic, Greek: then white space
    r"|[。！？｡︒]+[」』”’）】》]*"  # Chinese and Japanese: at once
    r"|[।॥؟۔።፧။៕։]+(?=\s|$)"  # Devanagari, Arabic, Ethiopic, Burmese, Khmer, Armenian
)
_ASCII_END = LazyPattern(r"[.!?]+[\"')\]]*(?=\s)")
"""The same for ASCII text; costs less to compile."""
_SHORT = (
    "e.g i.e etc vs cf approx resp incl excl no nr mr mrs ms dr prof st fig figs vol p pp ed eds max min al ca viz inc"
    " ltd co z.b d.h u.a usw bzw ggf evtl vgl abb art sog p.ex т.е т.д т.п напр см др стр рис"
)
_ABBREVIATIONS = frozenset(_SHORT.split())
_LAST_WORD = LazyPattern(r"(?:[^\W\d_][\w.-]{0,11})$")
_WORD_REACH = 14  # characters to look back for an abbreviation


def sentence_starts(text: str) -> list[int]:
    """Indices at which a sentence of `text` begins, the first included; empty for empty text."""
    if not text:
        return []
    starts = [0]
    for match in (_ASCII_END if text.isascii() else _END).now.finditer(text):
        end = match.end()
        if match[0][0] == "." and _goes_on(text, match.start(), end):
            continue
        while end < len(text) and text[end].isspace():
            end += 1
        # A mark that belongs to the space or stop before it does not begin a sentence.
        if end < len(text) and (text[end].isascii() or unicodedata.category(text[end])[0] not in "MC"):
            starts.append(end)
    return starts


def _goes_on(text: str, dot: int, end: int) -> bool:
    """Whether the full stop at `dot` belongs to an abbreviation, a list number, or is followed by a small letter."""
    following = text[end : end + 2].lstrip()[:1]
    if following.islower():
        return True
    before = text[max(0, dot - _WORD_REACH) : dot]
    if end - dot > 1:
        return False
    word = _LAST_WORD.now.search(before)
    if word:
        return (len(word[0]) == 1 and word[0].isupper() and dot > 1) or word[0].lower() in _ABBREVIATIONS
    return before.isdigit() and len(before) <= 2
