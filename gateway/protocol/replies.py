"""What is said, and to whom: the vocabulary of a conversation. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gateway.protocol.inert import for_air
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


def one_line(text: str) -> str:
    """`text` made harmless (`inert.for_air`), and every run of white space one space."""
    return " ".join(for_air(text).split())
