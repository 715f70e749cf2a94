"""What can go wrong in the search core, by whose fault it is. Each message names the value and the remedy."""

from __future__ import annotations


class SearchError(Exception):
    """Any failure of the search core that a caller may want to catch."""


class WrongUse(SearchError):
    """The caller asked for something that makes no sense; asking again the same way fails again."""


class VaultMissing(SearchError):
    """The vault's folder is not there or cannot be read."""


class EngineUnavailable(SearchError):
    """The engine that was asked for explicitly did not answer; says what was tried."""


class NoteGone(SearchError):
    """The note is not there any more, or is not one the asker may see: the two are not told apart."""
