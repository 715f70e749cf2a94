"""Text from strangers made harmless for where it goes next: a packet, a log line, a terminal. Pure, linear in the text.

What is taken out can act on the reader or hide from it: control characters (escape sequences begin with
one), bidirectional overrides, invisible characters, and accents stacked without end. A joiner stays where
writing needs it: inside an emoji, and between letters of the scripts whose shapes depend on it.
Applying a function twice gives the same as applying it once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_LOG_CHARS = 300
"""Longest foreign text in one log line, in characters of the result."""

MAX_STACKED_MARKS = 4
"""Accents from the general blocks kept in a row; the languages written with them need at most three."""

# Ranges by hand, since a walk through all of Unicode at import costs 0.1 s; the tests compare them with the database.
_ACTS_OR_HIDES = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\xad\u034f\u061c"  # soft hyphen, grapheme joiner, Arabic letter mark
    "\u115f\u1160\u3164\uffa0"  # Hangul fillers: letters that show nothing
    "\u17b4\u17b5\u180b-\u180f"  # Khmer and Mongolian characters that show nothing
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"  # zero-width space, marks, separators, overrides, isolates
    "\ufe00-\ufe0d\ufeff\ufff0-\ufffb"  # variation selectors but the emoji's two, byte order mark, annotations
    "\ufdd0-\ufdef\ufffe\uffff"  # no characters at all
    "\ud800-\udfff"  # halves of a pair: cannot be written as UTF-8
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # controls of hieroglyphs, shorthand, music
    "\U000e0000-\U000e0fff"  # tags and more variation selectors: hidden text
) + "".join(f"{chr(plane | 0xFFFE)}{chr(plane | 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))

_FORBIDDEN = re.compile(f"[{_ACTS_OR_HIDES}]")
_LINE_ENDS = re.compile("\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_GENERAL_MARKS = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_TOO_MANY_MARKS = re.compile(f"({_GENERAL_MARKS}{{{MAX_STACKED_MARKS}}}){_GENERAL_MARKS}+")

_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_STRAY_SELECTOR = re.compile(f"(?<![{_EMOJI}0-9#*])[\ufe0e\ufe0f]")
_JOINING_SCRIPTS = (
    "\u0620-\u065f\u066e-\u06d5\u06fa-\u070d\u0710-\u07ff\u0840-\u085f\u0860-\u088f\u08a0-\u08ff"  # Arabic to N'Ko
    "\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17dd\u1807\u1820-\u18af"  # Indic, Myanmar, Khmer, Mongolian
    "\ufb50-\ufdcf\ufe70-\ufefc"  # Arabic forms
)
_JOINERS = re.compile(
    "[\u200c\u200d]"
    f"(?:(?<=[{_JOINING_SCRIPTS}].)(?=[{_JOINING_SCRIPTS}])|(?<=[{_EMOJI}\ufe0f]\u200d)(?=[{_EMOJI}])|(?P<stray>))",
    re.DOTALL,
)


def _cleaned(text: str, instead: Callable[[re.Match[str]], str] | str) -> str:
    """`text` with each character that acts or hides replaced, and marks and joiners only where they belong."""
    text = _FORBIDDEN.sub(instead, text)
    text = _STRAY_SELECTOR.sub("", text)
    text = _JOINERS.sub(lambda match: "" if match["stray"] is not None else match[0], text)
    return _TOO_MANY_MARKS.sub(r"\1", text)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _as_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def for_air(text: str) -> str:
    """Text for a packet, or from one: line ends become ``\\n``, tabs spaces, the rest of the dangerous is left out.

    Never longer in UTF-8 than the text it came from.
    """
    if _is_plain(text):
        return text
    return "\n".join(_cleaned(line.replace("\t", " "), "") for line in _LINE_ENDS.split(text))


def for_log(text: str, limit: int = MAX_LOG_CHARS) -> str:
    """One line of at most `limit` characters, dangerous ones shown as escapes, so that an attack can be seen."""
    cut = text[:limit]
    shown = cut if _is_plain(cut) else _cleaned(cut, _as_escape)
    if len(text) <= limit and len(shown) <= limit:
        return shown
    return _cleaned(shown[: limit - 1], _as_escape) + "…"


def for_terminal(text: str) -> str:
    """One line for a person's screen: line ends and tabs become spaces, other dangerous characters ``\ufffd``."""
    if _is_plain(text):
        return text
    return _cleaned(_LINE_ENDS.sub(" ", text).replace("\t", " "), "\ufffd")
