"""What is said, and to whom: the vocabulary of a conversation, and the rule that makes any text harmless. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from search_core.notes import Scope

Redact = Callable[[str], str]
"""Blanks secrets in text from notes; the same text back when there are none."""

ReplyKind = Literal["hits", "reading", "repeat", "none", "trouble", "hint", "help", "info", "ping", "note", "stop"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What to send for one question: usually one part, at most five."""

    parts: tuple[str, ...]
    """Each fits the budget it was made for; none is empty."""
    kind: ReplyKind


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, by what packet, and what may be shown. The service fills it in from the admitted packet."""

    node: int
    scope: Scope
    name: str = ""
    budget: int = 200
    """Bytes of UTF-8 in one part (`packets.target_budget`)."""
    packet_id: int = 0
    wall_time: float = 0.0
    """Unix seconds by the machine's clock when the question came."""
    snr: float | None = None
    """dB."""
    rssi: int | None = None
    """dBm."""
    hops: int | None = None
    """Relays on the way here; 0 is direct."""


@dataclass(frozen=True, slots=True)
class Status:
    """What only the service knows, for ``info``."""

    queued: int = 0
    """Parts waiting to be sent, to anybody."""
    airtime_left: float | None = None
    """Seconds of airtime this gateway may still spend in the present hour; None when it is not known."""


# Joiners are part of spelling in these scripts (Arabic to Khmer, Mongolian, Arabic presentation forms); elsewhere
# they only hide text.
_JOINING = (
    (0x0600, 0x109F),
    (0x1780, 0x18AF),
    (0x1B00, 0x1CFF),
    (0xA800, 0xABFF),
    (0xFB50, 0xFEFC),
    (0x10A00, 0x11FFF),
)
_VISIBLE_FORMAT = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
# Printable by category, yet they show nothing, or only choose how the character before looks.
_CHOOSERS = "\ufe0e\ufe0f"  # picture or letter
_HIDDEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_STACK = 8  # combining marks on one character; no spelling needs more, and towers of them cover other lines
_ZWNJ, _ZWJ, _KEYCAP = "\u200c", "\u200d", "\u20e3"


def inert(text: str) -> str:
    """The same text with nothing in it that acts: no controls, no direction overrides, no hidden characters.

    Line breaks stay; other white space becomes a space. Joiners stay inside emoji and in scripts that are spelled
    with them; no visible character is lost, but marks beyond the eighth on one character are.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n").split("\n")
    return "\n".join(_inert_line(line) for line in lines)


def one_line(text: str) -> str:
    """`inert`, and every run of white space one space."""
    return " ".join(inert(text).split())


def _inert_line(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    visible = "".join(_visible(char) for char in line)
    kept: list[str] = []
    marks = 0
    for place, char in enumerate(visible):
        marks = marks + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        if marks <= _STACK and _belongs(visible, place, char):
            kept.append(char)
    return "".join(kept)


def _visible(char: str) -> str:
    """The character; a space for what is blank; nothing for what neither shows nor joins."""
    if char.isspace() or char == "\u2800":
        return " "
    if char in _CHOOSERS or char in (_ZWJ, _ZWNJ):
        return char
    if _HIDDEN.match(char):
        return ""
    return char if char.isprintable() or char in _VISIBLE_FORMAT else ""


def _belongs(line: str, place: int, char: str) -> bool:
    if char in (_ZWJ, _ZWNJ):
        return _joins(line, place, char)
    return char not in _CHOOSERS or (place > 0 and _takes_selector(line, place))


def _joins(line: str, place: int, char: str) -> bool:
    before = line[place - 1] if place else ""
    after = line[place + 1] if place + 1 < len(line) else ""
    if not before or after in ("", _ZWJ, _ZWNJ):
        return False
    if _spelled_with_joiners(before):
        return char == _ZWJ or _spelled_with_joiners(after)
    return char == _ZWJ and _pictorial(before) and unicodedata.category(after) == "So"


def _takes_selector(line: str, place: int) -> bool:
    before = line[place - 1]
    after = line[place + 1] if place + 1 < len(line) else ""
    return _pictorial(before) or after == _KEYCAP or unicodedata.category(before) in ("Sm", "Po")


def _pictorial(char: str) -> bool:
    return char in _CHOOSERS or unicodedata.category(char) in ("So", "Sk")


def _spelled_with_joiners(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in _JOINING)
