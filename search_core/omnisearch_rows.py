"""Omnisearch's JSON to rows that can be trusted as far as text goes. Pure.

The rows come unsorted, repeat paths, and carry notes of score 0 that only embed a hit; paths are whatever the
program on that port says. What leaves here is one row per safe path, best first.
"""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple
from unicodedata import category

MAX_ROWS = 2_000
"""Fifty hits with five embeds each are 300; more than this is not Omnisearch."""
MAX_PATH_CHARS = 1_024
MAX_EXCERPT_CHARS = 4_000
MAX_FOUND = 2_000
"""Words kept per row: as many as one long book has for a short beginning; a note with a picture in it lists more."""

_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#039;", "'"), ("&amp;", "&"))
"""The five that Omnisearch writes; ``&amp;`` last, so that an escaped entity stays the text it was."""


class Row(NamedTuple):
    """One file that Omnisearch found."""

    path: str
    score: float
    vault: str
    """Name of the vault's folder; empty when the server does not say."""
    excerpt: str
    """Plain text."""
    found: tuple[str, ...]
    """Words of its index that matched: lower case, no accents."""


class UnknownShape(Exception):
    """The JSON is not what Omnisearch answers; the text says what is."""


def rows_of(answer: object) -> tuple[Row, ...]:
    """The rows of a decoded answer, best first. Raises `UnknownShape`."""
    if not isinstance(answer, list):
        raise UnknownShape(f"its JSON is not a list of notes but {type(answer).__name__}")
    read = [_row_or_none(item) for item in answer[:MAX_ROWS]]
    rows = [row for row in read if row is not None]
    if answer and not rows:
        raise UnknownShape("its JSON list does not hold notes with path and score")
    best: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: (-row.score, row.path)):
        if row.score > 0 and is_safe(row.path):
            best.setdefault(row.path, row)
    return tuple(best.values())


def is_safe(path: str) -> bool:
    """True for a path that names a file below a folder and cannot leave it; hidden folders count as outside."""
    if not path or len(path) > MAX_PATH_CHARS or "\\" in path or path[1:2] == ":":
        return False
    if any(category(char) in {"Cc", "Cs"} for char in path):
        return False
    return all(part and not part.startswith(".") for part in path.split("/"))


def decode_excerpt(html: str) -> str:
    """The text of an excerpt: ``<br>`` first, so that one which stands in the note (``&lt;br&gt;``) stays."""
    text = html[:MAX_EXCERPT_CHARS].replace("<br>", "\n").replace("<br/>", "\n").replace("<br />", "\n")
    for entity, char in _ENTITIES:
        text = text.replace(entity, char)
    return text.encode("utf-8", "replace").decode()


def _row_or_none(item: object) -> Row | None:
    if not isinstance(item, dict):
        return None
    path, score = item.get("path"), item.get("score")
    if not isinstance(path, str) or isinstance(score, bool) or not isinstance(score, int | float):
        return None
    try:
        number = float(score)
    except OverflowError:
        return None
    if not isfinite(number):
        return None
    return Row(path, number, _text(item.get("vault")), decode_excerpt(_text(item.get("excerpt"))), _found(item))


def _found(item: dict[str, object]) -> tuple[str, ...]:
    words = item.get("foundWords")
    return tuple(w for w in words[:MAX_FOUND] if isinstance(w, str)) if isinstance(words, list) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
