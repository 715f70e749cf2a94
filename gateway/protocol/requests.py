"""What a conversation asks of the vault, and what it gets back. Pure; the desk (``gateway/desk.py``) does the work.

A command becomes at most one request; the outcome comes back to the conversation, which alone decides
what is said. So the conversation needs no vault, and the vault's slowness blocks nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

from search_core.notes import Answer, Reading, Scope, VaultInfo


@dataclass(frozen=True, slots=True)
class SearchRequest:
    query: str
    scope: Scope
    limit: int = 9
    """As many as can be named by one digit."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    path: str
    query: str
    """Finds the passage to begin with."""
    scope: Scope


@dataclass(frozen=True, slots=True)
class InfoRequest:
    scope: Scope


@dataclass(frozen=True, slots=True)
class NoteRequest:
    """Append one line to the inbox note."""

    text: str
    sender_name: str
    wall_time: float
    """Unix seconds by the machine's clock, for the line's date."""
    packet_id: int
    """Saved once per id, however often it comes."""


Request = SearchRequest | ReadRequest | InfoRequest | NoteRequest


@dataclass(frozen=True, slots=True)
class Saved:
    """The field note is in the vault."""

    line: str
    path: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """The request could not be carried out.

    `kind` is ``gone`` (the note), ``vault`` (the vault is not there), ``refused`` (notes are off, say),
    ``busy`` (too many are waiting) or ``failed``; `detail` is for the log, never for the air.
    """

    kind: str
    detail: str = ""


Outcome = Answer | Reading | VaultInfo | Saved | Trouble


@dataclass(frozen=True, slots=True)
class DeskOutcome:
    """What the desk found for the request handed in under `ticket`."""

    ticket: int
    outcome: Outcome
