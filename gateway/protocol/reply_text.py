"""Hits → one packet: numbered, each a short path and an excerpt, and what more there is. Pure.

Where the bytes go: a hit's share follows how near its score comes to the best one's (`_weights`). A clear winner
leaves the others only their names; near-ties share. Paths give up folders before anything else.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.protocol.replies import Redact, one_line
from search_core.graphemes import byte_length, clip
from search_core.notes import Hit

MOST_LISTED = 3
"""Hits in one packet."""

MOST_NUMBERED = 9
"""One digit names a hit."""

_SHARPNESS = 3.0  # a hit with half the best score gets an eighth of its weight
_LEAST_EXCERPT = 24  # bytes; less than this says nothing, the name alone says more
_PATH_BYTES = 28  # what a path may take when its name alone is shorter
_NAME_BYTES = 48  # a longer file name is clipped
_ASIDE_BYTES = 20
_GENERIC = frozenset({"index", "readme", "_index", "untitled", "notes", "todo"})
_ELLIPSIS = "…"


def hits_packet(
    hits: Sequence[Hit], budget: int, *, shown: int = 0, total: int = 0, redact: Redact = str, aside: str = ""
) -> tuple[str, int]:
    """The next of `hits`, which follow `shown` earlier ones, as one text of at most `budget` bytes; how many are shown.

    `hits` are all that are left, best first; `total` says how many notes match at all. `aside` is appended to the
    footer. The budget is at least 60 bytes.
    """
    page = list(hits[:MOST_LISTED])
    names = paths([redact(hit.path) for hit in page])
    last = shown + len(page)
    footer = _footer(last, shown + len(hits), total, clip(one_line(redact(aside)), _ASIDE_BYTES))
    heads = [f"{shown + place} {name}" for place, name in enumerate(names, 1)]
    room = budget - byte_length(footer) - sum(byte_length(head) + 1 for head in heads)
    lines = _with_excerpts(page, heads, room, redact)
    return clip("\n".join(lines), budget - byte_length(footer) - 1) + "\n" + footer, last


def _footer(last: int, numbered: int, total: int, aside: str) -> str:
    plus = "+" if total > numbered else ""
    more = " m" if last < numbered else ""
    return f"{last}/{numbered}{plus}{more}" + (f" ~{aside}" if aside else "")


def _weights(hits: Sequence[Hit]) -> list[float]:
    best = max(hits[0].score, 1e-9)
    return [max(0.0, min(1.0, hit.score / best)) ** _SHARPNESS for hit in hits]


def _with_excerpts(page: Sequence[Hit], heads: list[str], room: int, redact: Redact) -> list[str]:
    """Worst hit first, so that what it does not use goes to the better ones."""
    weights = _weights(page)
    lines = list(heads)
    for place in range(len(page) - 1, -1, -1):
        share = int(room * weights[place] / (sum(weights[: place + 1]) or 1.0))
        if share < _LEAST_EXCERPT:
            continue
        text = excerpt(page[place], share - 2, redact)
        if text:
            lines[place] = f"{heads[place]}: {text}"
            room -= byte_length(text) + 2
    return lines


def excerpt(hit: Hit, room: int, redact: Redact = str) -> str:
    """The best passage in at most `room` bytes, on one line, without the title that stands before it already."""
    text = one_line(redact(hit.cut(room)))
    title = one_line(hit.basename.removesuffix(".md"))
    if title and text.casefold().startswith(title.casefold()):
        longer = one_line(redact(hit.cut(room + byte_length(title))))
        if longer.casefold().startswith(title.casefold()):
            text = longer[len(title) :].lstrip(" :.-–—·")
    return clip(text, room).rstrip()


def paths(full: Sequence[str]) -> list[str]:
    """Each path as short as it may be: no ``.md``, no folders that all share, the name kept before any folder."""
    split = [_without_suffix(one_line(path)).split("/") for path in full]
    shared = _shared_folders(split)
    return [_shorten(parts, shared, _needed(parts, split)) for parts in split]


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


def _shorten(parts: list[str], shared: int, needed: int) -> str:
    for first in range(min(shared, len(parts) - needed), len(parts) - needed + 1):
        short = (_ELLIPSIS + "/" if first > shared else "") + "/".join(parts[first:])
        if byte_length(short) <= _PATH_BYTES:
            return short
    short = "/".join(parts[-needed:])
    if byte_length(short) <= _NAME_BYTES:
        return short
    return clip(short, _NAME_BYTES - 3) + _ELLIPSIS
