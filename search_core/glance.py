"""A second look at a folder of which all was known: the least work that tells whether it still is.

Nearly all that a question costs in a quiet vault is spent here. Which names a folder holds is told by its own times,
where they can be trusted, so that it is not listed again; each note in it is still looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from search_core.vault import OPEN_FOLDER, SUFFIXES

SETTLED_SECONDS = 2.0
"""A folder changed this shortly before it was listed may have changed again within one tick of its file system."""


class Mark(NamedTuple):
    """What a folder looked like."""

    notes: int
    """Equal numbers, equal notes: a hash of their names and stats."""
    names: str
    """Of the notes, with ``/`` between: thousands of lists of names would take four times the memory."""
    below: list[str]
    """The folders in it that are looked into."""
    stamp: tuple[int, ...]
    """The folder's own stat as long as `names` and `below` are right; empty when it must be listed every time."""


class Trust(NamedTuple):
    """Of which folders the times are believed."""

    device: int
    """Of a local file system; -1 for none. Elsewhere times may be made up, or come late."""
    now: float
    """Seconds since 1970, taken before the first folder is looked at."""


def glance(path: str, before: Mark | None, trust: Trust, inside: Callable[[list[str]], list[str]]) -> Mark | None:
    """What the folder looks like, or None when only a thorough listing can tell.

    `inside` makes of the names of folders in it those that are looked into. Links are followed, which is right because
    a folder with a link in it never gets a mark.
    """
    try:
        descriptor = os.open(path, OPEN_FOLDER)
    except OSError:
        return None
    try:
        folder = os.fstat(descriptor)
        stamp = (folder.st_dev, folder.st_ino, folder.st_mtime_ns, folder.st_ctime_ns)
        if before and before.stamp == stamp and folder.st_dev == trust.device:
            notes = _notes(descriptor, before.names)
            return before if notes == before.notes else before._replace(notes=notes)
        listed = _listed(descriptor)
        if listed is None:
            return None
        names, below = listed
        settled = max(folder.st_mtime, folder.st_ctime) < trust.now - SETTLED_SECONDS
        believed = stamp if settled and folder.st_dev == trust.device else ()
        return Mark(_notes(descriptor, names), names, inside(below) if below else below, believed)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _listed(descriptor: int) -> tuple[str, list[str]] | None:
    """The names of notes and of folders; None when anything is there that has to be looked at more closely."""
    names: list[str] = []
    below: list[str] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            name = entry.name
            if name[-3:] == ".md":
                names.append(name)
            elif entry.is_dir(follow_symlinks=False):
                below.append(name)
            elif entry.is_symlink() or name[-3:] in SUFFIXES:
                return None
    return "/".join(names), below


def _notes(descriptor: int, names: str) -> int:
    rows: list[int] = []
    stat_of = os.stat
    for name in names.split("/") if names else ():
        stat = stat_of(name, dir_fd=descriptor)
        rows += stat.st_mtime_ns, stat.st_size, stat.st_ctime_ns
    return hash((names, *rows))
