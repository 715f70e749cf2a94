"""Whether a large vault lay still since it was last swept, told by the kernel (inotify): then no sweep is needed.

Any event at all, of any kind, means a sweep; what happened is never taken from here. A write on this machine queues its
event before it returns, so a note written before a question is never missed. Only file systems that no other machine
can write to are trusted, and only a vault of which no note has a second name (a hard link), through which it could be
written unseen; otherwise, and without inotify, every question sweeps. Two things are only seen by the sweep that is
made every `SWEEP_SECONDS` in any case: a second name that is given to a note meanwhile and written through, and a write
through shared memory before the file is closed.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable

from search_core.local_disk import place_of

LEAST_NOTES = 30_000
"""Below this a sweep takes no longer than a tenth of a second on a small machine."""
SWEEP_SECONDS = 600.0
_GONE = 0
_EVENTS = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x0100_0000
"""IN_MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE, DELETE_SELF, MOVE_SELF, ONLYDIR (inotify.h)."""


class FolderWatch:
    """The watches on all folders of one vault; costs nothing before `swept` is told of the first sweep."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._place: tuple[object, ...] | None = None
        self._queue = -1
        self._unwatchable = False
        self._watched: dict[str, int] = {}
        self._swept = float("-inf")
        self._at_rest = False

    def close(self) -> None:
        """Give back the watches; `swept` makes them anew."""
        self._at_rest = False
        if self._queue >= 0:
            os.close(self._queue)
            self._queue = -1

    def is_at_rest(self, *, unless: bool) -> bool:
        """Whether nothing happened since `swept` said that all was known. Otherwise a sweep has to follow."""
        if self._at_rest:
            recent = 0 <= time.monotonic() - self._swept < SWEEP_SECONDS
            self._at_rest = self._is_quiet() and recent and not unless and self._place == place_of(self._root)
        return self._at_rest

    def swept(self, folders: Iterable[str], *, began: float, settled: bool) -> None:
        """A sweep that `began` (monotonic seconds) listed `folders`; `settled`: nothing was new.

        A folder that was not watched yet may have changed after it was listed: then one more sweep has to follow.
        """
        self._at_rest = False
        if self._unwatchable or not settled:  # one more sweep follows, which is soon enough for thousands of watches
            return
        try:
            self._open()
            watched = {folder: self._watch(f"{self._root}/{folder}") for folder in folders}
        except OSError:
            self._unwatchable = True
            self.close()
            return
        self._at_rest = watched == self._watched and _GONE not in watched.values()
        self._watched = watched
        self._swept = began

    def _open(self) -> None:
        if self._queue >= 0 and self._place == place_of(self._root):
            return
        self.close()
        import ctypes

        self._watched = {}
        self._place = place_of(self._root)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._error = ctypes.get_errno
        self._queue = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC) if self._place else -1
        if self._queue < 0:
            raise OSError(self._error(), "no inotify, or no file system to trust")

    def _watch(self, path: str) -> int:
        """The number of the folder's watch, the same as before while it is the same folder. Raises OSError."""
        number: int = self._libc.inotify_add_watch(self._queue, os.fsencode(path), _EVENTS)
        if number < 0 and self._error() in (errno.ENOENT, errno.ENOTDIR):
            return _GONE
        if number < 0:
            raise OSError(self._error(), "no watch", path)
        return number

    def _is_quiet(self) -> bool:
        quiet = True
        while True:
            try:
                os.read(self._queue, 65_536)
            except BlockingIOError:
                return quiet
            quiet = False
