"""Search a vault of Markdown notes: ``search()`` for one question, ``SearchCore`` to stay.

from search_core import search

results, engine = search("tape backup", limit=10)
results[0].path, results[0]["excerpt"]
"""

from __future__ import annotations

import os
from _thread import _local  # `threading` costs more to import

from search_core.core import SearchCore
from search_core.errors import EngineUnavailable, NoteGone, SearchError, VaultMissing, WrongUse
from search_core.notes import EVERYTHING, Answer, Hit, NearWord, Reading, Scope, VaultInfo

__all__ = [
    "EVERYTHING",
    "Answer",
    "EngineUnavailable",
    "Hit",
    "NearWord",
    "NoteGone",
    "Reading",
    "Scope",
    "SearchCore",
    "SearchError",
    "VaultInfo",
    "VaultMissing",
    "WrongUse",
    "default_vault",
    "search",
]


def default_vault() -> str:
    """The vault that is searched when none is named: ``OBSIDIAN_VAULT_PATH``, else ``~/Vault``."""
    return os.environ.get("OBSIDIAN_VAULT_PATH") or "~/Vault"


def search(
    query: str, limit: int = 10, folder: str | None = None, source: str = "auto", vault: str | None = None
) -> tuple[list[Hit], str]:
    """The best notes for `query`, best first, and the engine that answered.

    `folder` is relative to the vault. Raises `VaultMissing`, `EngineUnavailable`, `WrongUse`. The vault stays open
    for the next call, which then takes milliseconds.
    """
    answer = _open(vault or default_vault()).search(query, limit=limit, folder=folder, source=source)
    return list(answer.hits), answer.engine


class _Opened(_local):
    """The vault that this thread asked last: a database handle must not be shared by threads, or kept over a fork."""

    key: tuple[str, str, int] | None = None
    core: SearchCore | None = None


_opened = _Opened()


def _open(vault: str) -> SearchCore:
    key = (os.path.realpath(os.path.expanduser(vault)), os.environ.get("XDG_CACHE_HOME", ""), os.getpid())
    if _opened.core is None or _opened.key != key:
        if _opened.core is not None and _opened.key is not None and _opened.key[2] == os.getpid():
            _opened.core.close()
        _opened.core, _opened.key = SearchCore(vault), key
    return _opened.core
