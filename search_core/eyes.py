"""What one asker may see of a vault, for the rows of an engine that knows nothing of askers."""

from __future__ import annotations

from collections.abc import Callable

from search_core.index import Index
from search_core.merge import is_note
from search_core.notes import EVERYTHING, Scope
from search_core.query import ParsedQuery, quoted
from search_core.terms import spaced
from search_core.vault import Unread, Vault, folder_key, is_below


class VaultEyes:
    """The `Eyes` of `scope` for one question, by the vault and its index.

    `folders` are those asked for, as `folder_key` compares them; empty for all. `cutter` makes the excerpts.
    """

    def __init__(
        self,
        vault: Vault,
        index: Index,
        scope: Scope,
        folders: tuple[str, ...],
        cutter: Callable[[str], Callable[[int], str]],
    ) -> None:
        self._vault = vault
        self._index = index
        self._scope = scope
        self._folders = folders
        self.cutter = cutter

    def sees(self, path: str) -> bool:
        """A note must be in the index and visible there; any other file lie in visible folders."""
        folder = path.rpartition("/")[0]
        if not is_below(folder, self._folders):
            return False
        if is_note(path):
            return self._index.is_visible(path, self._scope)
        if self._vault.is_excluded(path) or not is_below(folder, self._scope.folders):
            return False
        return not self._belongs_to_a_hidden_note(path)

    def text(self, path: str) -> str | None:
        content = self._vault.read(path)
        return None if isinstance(content, Unread) else content.text

    def _belongs_to_a_hidden_note(self, path: str) -> bool:
        """A file that a private note names is as private as the note."""
        everybody = Scope(folders=(), private_key=self._scope.private_key, private_tags=self._scope.private_tags)
        if everybody == EVERYTHING:
            return False
        named = quoted(spaced(path.rpartition("/")[2]).strip())
        return self._index.count(named, EVERYTHING) > self._index.count(named, everybody)


def folders_asked(query: ParsedQuery, folder: str | None, found: tuple[str, ...] | None) -> tuple[str, ...]:
    """The folders to keep to: those that the index `found`, else, when none of them holds notes, those asked for."""
    return found if found is not None else tuple(map(folder_key, [*([folder] if folder else []), *query.folders]))
