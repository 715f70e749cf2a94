"""What is remembered of one asker between two questions: frozen, bounded, and able to go to disk and back. Pure."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

MAX_AGE_SECONDS = 24 * 3600.0
"""A number sent a day later means something else."""

MAX_BYTES = 16_000
"""Of `Session.to_json`."""

# Bytes as written in JSON.
_MAX_PATHS = 8_000  # of all paths together; hits beyond lose their number
_MAX_PATH = 2_000
_MAX_QUERY = 2_400  # commands.MAX_QUESTION code points of four bytes, twice
_MAX_PART = 480  # any packet, twice
_MAX_DIGEST = 200
_MAX_SENT = 5  # commands.MOST_PARTS
_MAX_HITS = 9
_MAX_COUNT = 10**9


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a note the reader is."""

    path: str
    digest: str
    """Of the text that was read (`search_core.notes.Reading`)."""
    next_part: int
    """Index of the part that ``more`` sends; equals `parts` at the end."""
    parts: int
    budget: int
    """Bytes the parts were cut for; the same again, so that numbers keep their meaning."""
    changed: bool = False
    """The note changed while it was read; every part since says so."""


@dataclass(frozen=True, slots=True)
class Session:
    """The default is an asker of whom nothing is known."""

    at: float = 0.0
    """When it was last used, seconds."""
    query: str = ""
    """What was searched last; empty when nothing was."""
    hits: tuple[str, ...] = ()
    """Paths of the last hits, as numbered from 1."""
    shown: int = 0
    """How many of them the asker has seen."""
    place: Place | None = None
    """Set while a note is read: what ``more`` goes on with."""
    sent: tuple[tuple[int, str], ...] = ()
    """Number and text of the last parts sent."""
    passage_follows: bool = False
    """``more`` shows another passage of the first hit before it goes on to the others."""

    def to_json(self) -> str:
        """At most `MAX_BYTES` bytes: what is too large is left out."""
        return _json(
            {
                "at": self.at,
                "query": self.query if _fits(self.query, _MAX_QUERY) else "",
                "hits": _bounded(self.hits),
                "shown": self.shown,
                "passage": self.passage_follows,
                "place": _place_fields(self.place),
                "sent": [[number, text] for number, text in self.sent[-_MAX_SENT:] if _fits(text, _MAX_PART)],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Session:
        """The session that `to_json` wrote; an empty one for anything else."""
        try:
            found = json.loads(text)
            hits = _paths(found["hits"])
            return cls(
                at=_number(found["at"]),
                query=_text(found["query"], _MAX_QUERY),
                hits=hits,
                shown=min(_count(found["shown"]), len(hits)),
                passage_follows=found["passage"] is True and bool(hits),
                place=_place(found["place"]),
                sent=_sent(found["sent"]),
            )
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError):
            return cls()


def expired(session: Session, now: float) -> bool:
    """True when the session is a day old and stands for nothing any more."""
    return now - session.at > MAX_AGE_SECONDS


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cost(text: str) -> float:
    """Bytes in JSON; infinite for text that no file can hold (a lone surrogate)."""
    try:
        return len(_json(text).encode())
    except UnicodeEncodeError:
        return math.inf


def _fits(text: str, most: int) -> bool:
    return _cost(text) <= most


def _bounded(paths: tuple[str, ...]) -> list[str]:
    """As many paths from the first on as fit; one that does not takes the later ones with it, so numbers hold."""
    kept: list[str] = []
    used = 0.0
    for path in paths[:_MAX_HITS]:
        used += _cost(path)
        if used > _MAX_PATHS:
            break
        kept.append(path)
    return kept


def _place_fields(place: Place | None) -> list[str | int | bool] | None:
    if place is None or not _fits(place.path, _MAX_PATH) or not _fits(place.digest, _MAX_DIGEST):
        return None
    return [place.path, place.digest, place.next_part, place.parts, place.budget, place.changed]


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _MAX_COUNT * 100:
        raise ValueError(value)
    return float(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MAX_COUNT:
        raise ValueError(value)
    return value


def _text(value: object, most: int) -> str:
    if not isinstance(value, str) or not _fits(value, most):
        raise ValueError(value)
    return value


def _paths(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(_text(path, _MAX_PATHS) for path in value[:_MAX_HITS])


def _sent(value: object) -> tuple[tuple[int, str], ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple((_count(number), _text(text, _MAX_PART)) for number, text in value[:_MAX_SENT])


def _place(value: object) -> Place | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 6:
        raise ValueError(value)
    path, digest, next_part, parts, budget, changed = value
    return Place(
        path=_text(path, _MAX_PATH),
        digest=_text(digest, _MAX_DIGEST),
        next_part=_count(next_part),
        parts=_count(parts),
        budget=_count(budget),
        changed=changed is True,
    )
