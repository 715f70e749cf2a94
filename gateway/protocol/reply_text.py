"""Hits → one packet: numbered, each a short path and an excerpt, and what more there is. Pure.

Where the bytes go was decided by measurement (``tests/ranking/first_packet.py``): a question is answered in one packet
twice as often when the best hit has it for itself as when three hits share it. So the first packet shows the best hit
alone, or two when their scores are level (`TIED`); the others are one ``m`` away. When the best hit is far ahead
(`CLEAR`) it is nearly always the right note, and ``m`` first shows its next best passage; else the next two hits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from gateway.protocol.replies import Redact, one_line
from gateway.protocol.sentences import is_told
from search_core.graphemes import byte_length, clip
from search_core.notes import Hit, NearWord

TIED = 0.95
"""Share of the best score from which on a hit is as good as the best."""

CLEAR = 0.65
"""Below this share of the best score the second hit is hardly ever right (5 of 103 questions; the first in 97)."""

MOST_TIED = 2
MOST_LISTED = 2
"""Hits in one of the later packets."""

MOST_NUMBERED = 9
"""One digit names a hit."""

_LEAST_EXCERPT = 24  # bytes; less than this says nothing, the name alone says more
_PATH_SHARE = 3  # a path may take one part in three of its hit's bytes
_PATH_BYTES = 28  # what a path may take at most when its name alone is shorter
_NAME_BYTES = 48  # a longer file name is clipped in any case
_ASIDE_BYTES = 24
_ENDING = re.compile(r"(?<=..)(?:ies|es|s|ed|ing|y|e)\Z")
_LONG_RULE = re.compile(r"([-=_*~#.·─━═])\1{3,}")
_GENERIC = frozenset({"index", "readme", "_index", "untitled", "notes", "todo"})
_ELLIPSIS = "…"
_CUT_SECRET = re.compile(r"(?:[0-9](?:[ -]?[0-9]){7,}|(?=[A-Za-z+/_=-]{0,200}[0-9])[A-Za-z0-9+/_=-]{12,200})[ -]?…\Z")
"""At the end of a cut passage: eight digits (of a card), or twelve letters and digits (of a key)."""

_SEPARATORS = ":.–—·|-"
_WORD = re.compile(r"\w+")
_LITTLE_WORDS = frozenset(("a", "an", "the", "of", "to", "in", "on", "for", "and", "with", "by", "from", "at", "how"))
"""No news after a title without them."""


class Frame(NamedTuple):
    """What all packets of one answer have in common."""

    budget: int
    """Bytes, at least 60."""
    numbered: int
    """How many hits there are to page through, at most nine."""
    total: int = 0
    """How many notes match at all."""
    redact: Redact = str
    aside: str = ""
    """What to add to the footer (`aside`)."""

    def footer(self, last: int, *, more: bool) -> str:
        plus = "+" if self.total > self.numbered else ""
        aside = clip(one_line(self.redact(self.aside)), _ASIDE_BYTES)
        return f"{last}/{self.numbered}{plus}{' m' if more else ''}{' ' if aside else ''}{aside}"


def aside(near: Sequence[NearWord]) -> str:
    """``~snorkel`` for a word that was taken instead of a misspelt one, ``-ford`` for one that no note has.

    Another ending of the same word is nothing to tell. As many as fit.
    """
    told = ""
    for word in filter(is_told, near):
        taken = word.suggestion if word.notes else ""
        piece = f"~{taken}" if taken else f"-{word.word}"
        longer = f"{told} {piece}".lstrip()
        if not _is_same_word(word.word, taken) and byte_length(longer) <= _ASIDE_BYTES:
            told = longer
    return told


def _is_same_word(typed: str, taken: str) -> bool:
    return _ENDING.sub("", typed.casefold()) == _ENDING.sub("", taken.casefold())


class Page(NamedTuple):
    text: str
    last: int
    """Number of the last hit on it."""
    passage_follows: bool = False
    """True when ``m`` shows another passage of the best hit next."""


def first_page(hits: Sequence[Hit], frame: Frame) -> Page:
    """The best hit, and the second when it is level or the best leaves room. `hits` is not empty, best first."""
    tied = 1
    while tied < min(len(hits), MOST_TIED) and hits[tied].score >= TIED * hits[0].score:
        tied += 1
    page = list_page(hits[:tied], 0, frame)
    if tied > 1:
        return page
    if not _is_clear(hits):
        return _with_second(page, hits, frame)
    if passage_page(hits[0], frame):
        text = page.text.rpartition("\n")[0] + "\n" + frame.footer(1, more=True)
        return Page(text, 1, passage_follows=True)
    return page


def _with_second(page: Page, hits: Sequence[Hit], frame: Frame) -> Page:
    """The second hit in what the best one leaves unused, when that is enough to say something."""
    shown, _, _ = page.text.rpartition("\n")
    name = paths([frame.redact(hit.path) for hit in hits[:2]], frame.budget // _PATH_SHARE)[1]
    footer = frame.footer(2, more=frame.numbered > 2)
    head = f"{shown}\n2 {name}: "
    room = frame.budget - byte_length(head) - 1 - byte_length(footer)
    text = excerpt(hits[1], room, frame.redact) if room >= _LEAST_EXCERPT else ""
    return Page(f"{head}{text}\n{footer}", 2) if text else page


def _is_clear(hits: Sequence[Hit]) -> bool:
    return len(hits) == 1 or hits[1].score < CLEAR * hits[0].score


def passage_page(hit: Hit, frame: Frame) -> Page | None:
    """Another passage of the best hit, apart from the one that the first packet showed; None when there is none."""
    head = f"1 {paths([frame.redact(hit.path)])[0]}"
    room = _room([head], frame, 1) - 2
    found = [_shown(text, frame.redact) for text in hit.passages(room, 2)]
    if len(found) < 2 or not found[1]:
        return None
    footer = frame.footer(1, more=frame.numbered > 1)
    return Page(f"{head}: {clip(found[1], room)}\n{footer}", 1)


def list_page(page: Sequence[Hit], shown: int, frame: Frame) -> Page:
    """The hits of `page`, which follow `shown` earlier ones, with equal room for each."""
    names = paths([frame.redact(hit.path) for hit in page], frame.budget // len(page) // _PATH_SHARE)
    heads = [f"{number} {name}" for number, name in enumerate(names, shown + 1)]
    last = shown + len(page)
    lines = _with_excerpts(page, heads, _room(heads, frame, last), frame.redact)
    footer = frame.footer(last, more=last < frame.numbered)
    return Page(clip("\n".join(lines), frame.budget - byte_length(footer) - 1) + "\n" + footer, last)


def _room(heads: Sequence[str], frame: Frame, last: int) -> int:
    """Bytes for excerpts; the footer counts as if there were more, so that this does not depend on it."""
    footer = frame.footer(last, more=True)
    return frame.budget - byte_length(footer) - sum(byte_length(head) + 1 for head in heads)


def _with_excerpts(page: Sequence[Hit], heads: Sequence[str], room: int, redact: Redact) -> list[str]:
    """Worst hit first, so that what it does not use goes to the better ones."""
    lines = list(heads)
    for place in range(len(page) - 1, -1, -1):
        share = room // (place + 1) - 2
        text = excerpt(page[place], share, redact) if share >= _LEAST_EXCERPT else ""
        if text:
            lines[place] = f"{heads[place]}: {text}"
            room -= byte_length(text) + 2
    return lines


def excerpt(hit: Hit, room: int, redact: Redact = str) -> str:
    """The best passage in at most `room` bytes, without the title that stands before it already."""
    text = _shown(hit.cut(room), redact)
    rest = _after_title(text, hit)
    if rest:
        text = _after_title(_shown(hit.cut(room + byte_length(text) - byte_length(rest)), redact), hit) or rest
    return clip(text, room).rstrip()


def _shown(passage: str, redact: Redact) -> str:
    """A passage without blank lines and secrets, nor the beginning of one that was cut and so is not recognised."""
    text = "\n".join(line for raw in redact(passage).split("\n") if (line := one_line(short_rules(raw))))
    return text if redact is str else _CUT_SECRET.sub(_ELLIPSIS, text)


def short_rules(text: str) -> str:
    """A line drawn with characters (``+--------+``) says as much with three of them."""
    return _LONG_RULE.sub(r"\1\1\1", text)


def _after_title(text: str, hit: Hit) -> str:
    """What follows a title that stands apart (``Stove: …``); empty when it is part of the sentence."""
    title = one_line(hit.basename.removesuffix(".md"))
    rest = text[len(title) :].lstrip()
    if title and text[: len(title)].casefold() == title.casefold() and rest[:1] in _SEPARATORS:
        return rest.lstrip(_SEPARATORS + " ")
    heading, _, rest = text.partition(": ")
    return rest.lstrip() if _says_no_more(heading, title) else ""


def _says_no_more(heading: str, title: str) -> bool:
    """Whether a heading is the title in other order or with little words between (``Tape backup of nas2``)."""
    said = set(_WORD.findall(heading.casefold())) - _LITTLE_WORDS
    return bool(said) and said <= set(_WORD.findall(title.casefold()))


def paths(full: Sequence[str], room: int = _NAME_BYTES) -> list[str]:
    """Each path as short as it may be: no ``.md``, no folders that all share, the name kept before any folder.

    Folders are given while the path fits `room` bytes; what it takes to tell two notes apart is clipped there.
    """
    split = [_without_suffix(one_line(path)).split("/") for path in full]
    shared = _shared_folders(split)
    return [_shorten(parts, shared, _needed(parts, split), room) for parts in split]


def _without_suffix(path: str) -> str:
    return path[:-3] if path.lower().endswith(".md") else path


def _shared_folders(split: Sequence[Sequence[str]]) -> int:
    if len(split) < 2:
        return 0
    shared = 0
    for column in zip(*(parts[:-1] for parts in split), strict=False):
        if len(set(column)) > 1:
            break
        shared += 1
    return shared


def _needed(parts: list[str], others: Sequence[list[str]]) -> int:
    """How many of the last components it takes to tell this note from the others."""
    least = 2 if parts[-1].casefold() in _GENERIC else 1
    for count in range(least, len(parts)):
        if sum(other[-count:] == parts[-count:] for other in others) <= 1:
            return count
    return len(parts)


def _shorten(parts: list[str], shared: int, needed: int, room: int) -> str:
    for first in range(min(shared, len(parts) - needed), len(parts) - needed + 1):
        short = (_ELLIPSIS + "/" if first > shared else "") + "/".join(parts[first:])
        if byte_length(short) <= min(room, _PATH_BYTES):
            return short
    short = "/".join(parts[-needed:])
    most = min(room, _NAME_BYTES)
    if byte_length(short) <= most:
        return short
    return clip(short, most - byte_length(_ELLIPSIS)) + _ELLIPSIS
