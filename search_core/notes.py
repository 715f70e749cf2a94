"""The vocabulary of the search core: what goes in and what comes out. Pure, and quick to import.

Plain classes and named tuples, not dataclasses: importing ``dataclasses`` costs a fresh process more
than reading the index does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Scope(NamedTuple):
    """Which notes may be seen by whoever asks. The default is the owner at home: everything."""

    folders: tuple[str, ...] = ()
    """Only notes in or below these vault folders; empty means all folders."""
    private_key: str = ""
    """Hide notes whose front matter sets this key to true; empty hides none."""
    private_tags: tuple[str, ...] = ()
    """Hide notes that carry one of these tags (without ``#``; ``a`` also hides ``a/b``)."""


EVERYTHING = Scope()


class Hit(dict[str, "str | float"]):
    """One found note.

    As a dict it has exactly the keys of the JSON output (``path``, ``basename``, ``score``,
    ``excerpt``, ``engine``), so ``json.dumps`` takes it as it is; the attributes are the same values
    typed. ``path`` is relative to the vault with ``/`` between folders. An excerpt that is given as a function is cut
    when something asks for it: most hits are only counted, or cut to another size.
    """

    __slots__ = ("_cut", "_late", "_windows")

    def __init__(
        self,
        *,
        path: str,
        basename: str,
        score: float,
        excerpt: str | Callable[[], str],
        engine: str,
        cut: Callable[[int], str] | None = None,
        windows: Callable[[int, int], list[str]] | None = None,
    ) -> None:
        self._late = None if isinstance(excerpt, str) else excerpt
        text = excerpt if isinstance(excerpt, str) else ""
        super().__init__(path=path, basename=basename, score=score, excerpt=text, engine=engine)
        self._cut = cut
        self._windows = windows

    def settle(self) -> None:
        """Cut the excerpt now, if that was not done yet."""
        late, self._late = self._late, None
        if late is not None:
            super().__setitem__("excerpt", late())

    def __getitem__(self, key: str) -> str | float:
        if key == "excerpt":
            self.settle()
        return super().__getitem__(key)

    @property
    def path(self) -> str:
        return str(self["path"])

    @property
    def basename(self) -> str:
        return str(self["basename"])

    @property
    def score(self) -> float:
        return float(self["score"])

    @property
    def excerpt(self) -> str:
        return str(self["excerpt"])

    @property
    def engine(self) -> str:
        return str(self["engine"])

    def cut(self, max_bytes: int) -> str:
        """The best excerpt of at most `max_bytes` bytes of UTF-8, its items, rows and paragraphs on lines of their own.

        Pure, from text already in memory.
        """
        return self._cut(max_bytes) if self._cut is not None else ""

    def passages(self, max_bytes: int, count: int) -> list[str]:
        """Up to `count` excerpts such as `cut` gives, of `max_bytes` bytes each, apart from each other, best first."""
        if self._windows is not None:
            return self._windows(max_bytes, count)
        best = self.cut(max_bytes)
        return [best] if best else []


def _settling(name: str) -> Callable[..., object]:
    """The method of `dict` by that name, for a hit whose excerpt is cut before."""
    method = getattr(dict, name)

    def settled(self: Hit, *arguments: object, **named: object) -> object:
        for hit in (self, *arguments):
            if isinstance(hit, Hit):
                hit.settle()
        return method(self, *arguments, **named)

    return settled


_LOOKING = (  # all that reads the values or changes them; `json.dumps` and `dict(hit)` come by here as well
    "__delitem__ __eq__ __ior__ __iter__ __ne__ __or__ __reduce_ex__ __repr__ __reversed__ __ror__ __setitem__"
    " clear copy get items pop popitem setdefault update values"
)
for _name in _LOOKING.split():
    setattr(Hit, _name, _settling(_name))


class NearWord(NamedTuple):
    """A word of the query that no visible note has, and the nearest one that some have."""

    word: str
    suggestion: str
    """Empty when nothing is near."""
    notes: int
    """How many visible notes have the suggestion."""


class Answer(NamedTuple):
    """What one search found."""

    query: str
    hits: tuple[Hit, ...]
    """Best first, at most the limit asked for."""
    engine: str
    """Who really answered: ``omnisearch``, ``local`` or ``omnisearch+local``."""
    elapsed_seconds: float
    total: int
    """How many visible notes match in any way; at least ``len(hits)``."""
    near: tuple[NearWord, ...] = ()
    """One entry for each query word that no visible note has as it was typed."""
    warnings: tuple[str, ...] = ()
    """Sentences for the owner (a wrong vault on the port, say); never sent over the air."""


class Reading(NamedTuple):
    """The plain text of one note, for reading in parts."""

    path: str
    text: str
    """Markdown stripped; lines separated by ``\\n``."""
    start: int
    """Index in `text` (code points) where the passage that matches the query begins."""
    digest: str
    """Changes when the note's text changes; compare to tell the reader."""
    modified: float
    """Seconds since the epoch."""


class VaultInfo(NamedTuple):
    """What the vault looks like to whoever asks."""

    notes: int
    newest: float
    """Modification time of the newest visible note, seconds since the epoch; 0 without notes."""
    index_bytes: int
    """0 when the index is kept in memory."""
    index_place: str
    """Path of the index file, or ``memory``."""
    engine: str
    """Who would answer now: ``omnisearch``, ``local`` or ``omnisearch+local``."""
