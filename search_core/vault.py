"""The only file that reads notes: which files are notes, what changed, and what they say.

A sweep lists every folder with ``os.scandir`` on an open descriptor and takes each note's stat from it: the
quickest way measured, and nearly the whole cost of a query in a big vault. Each folder's listing is packed into
one ``bytes``; only a folder whose bytes differ from the ones known is looked at note by note.
"""

from __future__ import annotations

import errno
import marshal
import os
import time
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from search_core.errors import VaultMissing
from search_core.local_disk import place_of
from search_core.log_once import log_once

if TYPE_CHECKING:
    from search_core.glance import Mark

MAX_NOTE_BYTES = 1_000_000
"""How much of one note is read: some 170,000 words, more than any note that a person wrote."""
RACY_SECONDS = 2.0
"""A file changed this shortly before it was looked at may change again within one tick of its clock (FAT: 2 s)."""
YOUNG_SECONDS = 1.0
"""An empty file this young is taken for a note that its writer has just truncated."""
_TRIES = 6
_FIRST_WAIT = 0.002
"""Seconds before a note that is being written is read again; doubles each time, 62 ms in all."""
SUFFIXES = frozenset((".md", ".MD", ".Md", ".mD"))
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_KIND, _REGULAR, _LINK, _FOLDER = 0o170000, 0o100000, 0o120000, 0o040000


class Entry(NamedTuple):
    """A note as the sweep saw it."""

    name: str
    mtime_ns: int
    size: int
    ctime_ns: int


class Listing(NamedTuple):
    """The notes of one folder."""

    folder: str
    """Relative to the vault, ``/`` between parts, empty for the vault itself."""
    packed: bytes
    """Equal bytes, equal notes."""
    notes: int
    """How many; `Vault.entries` tells which. Packed they take a twentieth of the memory, in a first sweep of many."""


class Content(NamedTuple):
    """The text of a note and the stat that belongs to just this text."""

    text: str
    entry: Entry
    cut: bool
    """The note is longer than `MAX_NOTE_BYTES`; the rest was not read."""


class Unread(Enum):
    """Why a note was not read."""

    GONE = "gone"
    REFUSED = "refused"
    """It is there, and may not be read or is no regular file."""
    BUSY = "busy"
    """Somebody is writing it just now."""


_Row = tuple[str, int, int, int, int]
"""name, mode, mtime_ns, size, ctime_ns: what the packed listing holds."""


class Vault:
    """A folder of notes."""

    def __init__(self, root: str, exclude: tuple[str, ...] = ()) -> None:
        self.root = os.path.realpath(os.path.expanduser(root))
        self.asked = root
        self._exclude = tuple(folded for part in exclude if (folded := folder_key(part)))
        self._ignore: tuple[Callable[[str], bool], ...] = ()
        self._settings_stamp = ""
        self.listed: list[str] = []
        """The folders that the last sweep looked into, those without notes included."""
        self.has_hard_links = False
        """Whether a note was seen that has a second name somewhere."""

    def sweep(
        self, known: dict[str, bytes], marks: dict[str, Mark] | None = None, now: float = 0.0
    ) -> tuple[list[Listing], set[str]]:
        """The folders whose notes differ from `known`, and all folders that hold notes. Raises `VaultMissing`.

        `marks` are kept between sweeps of one process: a folder that looks as it did when its listing was last equal
        to the one in `known` is not listed again. Whoever changes `known` takes out the folder's mark. `now`, in
        seconds since 1970, tells which folders lay still long enough for their times to be believed.
        """
        look = self._second_look(now) if marks is not None else None
        changed: list[Listing] = []
        seen: set[str] = set()
        pending, linked = [""], set[str]()
        self.listed = []
        while pending:
            folder = pending.pop()
            self.listed.append(folder)
            mark = None
            if marks is not None and look:
                before = marks.get(folder)
                mark = look(folder, before)  # before the listing: a change in between is seen the next time
                if mark and before and mark.notes == before.notes:
                    marks[folder] = mark
                    pending += mark.below
                    if mark.names:
                        seen.add(folder)
                    continue
            rows, below, odd = self._list(folder, linked)
            pending += below
            packed = marshal.dumps(rows, 0) if rows else None
            if packed:
                seen.add(folder)
            if known.get(folder) != packed:
                if packed:
                    changed.append(Listing(folder, packed, len(rows)))
            elif marks is not None and mark and not odd:
                marks[folder] = mark
        return changed, seen

    def _second_look(self, now: float) -> Callable[[str, Mark | None], Mark | None]:
        from search_core.glance import Trust, glance  # a process that asks once has no use for it

        place = place_of(self.root)
        trust = Trust(place[0] if place else -1, now)

        def look(folder: str, before: Mark | None) -> Mark | None:
            return glance(self._path(folder), before, trust, partial(self._visible_folders, folder))

        return look

    def _path(self, folder: str) -> str:
        return f"{self.root}/{folder}" if folder else self.root

    def _visible_folders(self, folder: str, names: list[str]) -> list[str]:
        inner = [f"{folder}/{name}" if folder else name for name in names if name[0] != "."]
        return [path for path in inner if self._is_visible_folder(path)]

    def entries(self, listing: Listing) -> list[Entry]:
        """The notes of a folder that a sweep of this process listed."""
        rows = marshal.loads(listing.packed)  # our own bytes of a moment ago, never a file's
        return [entry for row in rows if (entry := self._entry(listing.folder, row))]

    def _list(self, folder: str, linked: set[str]) -> tuple[list[_Row], list[str], bool]:
        """What a folder holds: its notes, the folders in it, and whether anything is there that is neither."""
        path = self._path(folder)
        try:
            descriptor = os.open(path, OPEN_FOLDER)
        except OSError as error:
            if not folder:
                raise VaultMissing(f"no vault at {self.root}: {error.strerror}") from error
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                log_once("folder %s cannot be read: %s", path, error.strerror)
            return [], [], True
        try:
            with os.scandir(descriptor) as entries:
                return self._rows(entries, folder, linked)
        finally:
            os.close(descriptor)

    def _rows(
        self, entries: Iterator[os.DirEntry[str]], folder: str, linked: set[str]
    ) -> tuple[list[_Row], list[str], bool]:
        rows: list[_Row] = []
        below: list[str] = []
        odd = False
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            try:
                if name[-3:] in SUFFIXES:
                    stat = entry.stat(follow_symlinks=False)
                    if stat.st_mode & _KIND == _REGULAR:
                        self.has_hard_links |= stat.st_nlink > 1
                        rows.append((name, stat.st_mode, stat.st_mtime_ns, stat.st_size, stat.st_ctime_ns))
                        continue
                    odd = True
                    rows += self._odd_row(folder, name, stat)
                if entry.is_dir(follow_symlinks=False) or (entry.is_symlink() and self._enters(folder, name, linked)):
                    inner = f"{folder}/{name}" if folder else name
                    if self._is_visible_folder(inner):
                        below.append(inner)
            except OSError:  # it vanished just now
                odd = True
        return rows, below, odd

    def _odd_row(self, folder: str, name: str, stat: os.stat_result) -> list[_Row]:
        """What stands for something that is called like a note and is no regular file."""
        kind = stat.st_mode & _KIND
        target = self._linked(folder, name) if kind == _LINK else stat
        if target is None or kind == _FOLDER or target.st_mode & _KIND == _FOLDER:
            return []
        return [(name, target.st_mode, target.st_mtime_ns, target.st_size, target.st_ctime_ns)]

    def _entry(self, folder: str, row: _Row) -> Entry | None:
        name, mode, mtime_ns, size, ctime_ns = row
        path = f"{folder}/{name}" if folder else name
        if not _is_utf8(name):
            log_once("note %r left out: its name is not UTF-8", os.fsencode(path))
            return None
        if (self._exclude or self._ignore) and self.is_excluded(path):
            return None
        if mode & _KIND == _REGULAR:
            return Entry(name, mtime_ns, size, ctime_ns)
        log_once("%s left out: not a regular file", path)
        return None

    def _linked(self, folder: str, name: str) -> os.stat_result | None:
        """The stat of the note that a link leads to, if it is one of this vault's."""
        path = f"{folder}/{name}" if folder else name
        if self._inside(os.path.realpath(f"{self.root}/{path}")) is None:
            log_once("link %s left out: it leaves the vault or reaches something hidden or excluded", path)
            return None
        try:
            return os.stat(f"{self.root}/{path}")
        except OSError:
            return None

    def _enters(self, folder: str, name: str, linked: set[str]) -> bool:
        """Whether a link leads to a folder of this vault that no other link has led to: so loops end."""
        path = os.path.realpath(f"{self.root}/{folder}")
        target = os.path.realpath(f"{path}/{name}")
        inside = self._inside(target)
        if not inside or inside in linked or not os.path.isdir(target) or f"{path}/".startswith(f"{target}/"):
            return False
        linked.add(inside)
        return True

    def _inside(self, real: str) -> str | None:
        """The vault path of a real path, when it is inside, not hidden and not excluded."""
        prefix = self.root.rstrip("/") + "/"
        if not real.startswith(prefix):
            return None
        path = real[len(prefix) :]
        return None if "/." in f"/{path}" or self.is_excluded(path) else path

    def _is_visible_folder(self, folder: str) -> bool:
        if not _is_utf8(folder):
            log_once("folder %r left out: its name is not UTF-8", os.fsencode(folder))
            return False
        return not ((self._exclude or self._ignore) and self.is_excluded(f"{folder}/"))

    def is_excluded(self, path: str) -> bool:
        """Whether a vault path is excluded by us or ignored by Obsidian's own list."""
        if self._exclude:
            key = folder_key(path)
            if any(key == out or key.startswith(f"{out}/") or key == f"{out}.md" for out in self._exclude):
                return True
        return any(ignores(path) for ignores in self._ignore)

    def load_rules(self) -> str:
        """Read Obsidian's `userIgnoreFilters` again if they changed; the result names the rules in force."""
        path = f"{self.root}/.obsidian/app.json"
        try:
            stat = os.stat(path)
        except OSError:
            self._settings_stamp, self._ignore = "", ()
            return ""
        stamp = f"{stat.st_mtime_ns} {stat.st_size}"
        if stamp != self._settings_stamp:
            from search_core.ignore_list import ignore_filters

            self._settings_stamp, self._ignore = stamp, tuple(ignore_filters(path))
        return stamp

    def read(self, path: str, *, swept: bool = False) -> Content | Unread:
        """The text of a note with the stat of just this text. `swept`: the path comes from a sweep just made."""
        for attempt in range(_TRIES):
            try:
                content = self._read_swept(path) if swept else _read_once(self._openable(path), path)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                    return Unread.GONE
                log_once("note %s cannot be read: %s", path, error.strerror)
                return Unread.REFUSED
            if content is not Unread.BUSY:
                return content
            time.sleep(_FIRST_WAIT * 2**attempt)
        return Unread.BUSY

    def _read_swept(self, path: str) -> Content | Unread:
        """Without resolving the folders again, which costs as much as reading; a link is resolved all the same."""
        try:
            return _read_once(f"{self.root}/{path}", path)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            return _read_once(self._openable(path), path)

    def _openable(self, path: str) -> str:
        """The real path of a note, once it is sure to lie in the vault and to be visible. Raises OSError if not."""
        if not path or "\0" in path or "/." in f"/{path}" or path.startswith("/") or not _is_utf8(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if self._inside(os.path.realpath(f"{self.root}/{path}")) is None or self.is_excluded(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return os.path.realpath(f"{self.root}/{path}")


def batches(listings: list[Listing], notes: int) -> Iterator[list[Listing]]:
    """The listings in groups of at least so many notes; only the last may have fewer."""
    batch: list[Listing] = []
    for listing in listings:
        batch.append(listing)
        if sum(one.notes for one in batch) >= notes:
            yield batch
            batch = []
    if batch:
        yield batch


def _read_once(real: str, path: str) -> Content | Unread:
    """Never blocks: only a regular file is read. Raises OSError."""
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW)
    try:
        before = os.fstat(descriptor)
        if before.st_mode & _KIND != _REGULAR:
            return Unread.REFUSED
        data = os.read(descriptor, min(before.st_size, MAX_NOTE_BYTES) + 1)  # room for more than there is costs time
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    entry = Entry(path.rpartition("/")[2], after.st_mtime_ns, after.st_size, after.st_ctime_ns)
    if (before.st_mtime_ns, before.st_size, before.st_ctime_ns) != entry[1:]:
        return Unread.BUSY
    if not data and 0 <= time.time() - after.st_mtime < YOUNG_SECONDS:
        return Unread.BUSY
    cut = len(data) > MAX_NOTE_BYTES
    if cut:
        log_once("note %s is long: only its first %d bytes are searched", path, MAX_NOTE_BYTES)
    return Content(decode(data[:MAX_NOTE_BYTES]), entry, cut)


def decode(data: bytes) -> str:
    """UTF-8 (with or without BOM) or UTF-16; bytes that are neither are read as Windows-1252, the rest is kept."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
        text = "".join(
            bytes((ord(c) - 0xDC00,)).decode("cp1252", "replace") if "\udc80" <= c <= "\udcff" else c for c in text
        )
    return text.replace("\0", " ")


def folder_key(path: str) -> str:
    """A vault path as paths are compared: no slashes at the ends, case and Unicode form folded, accents kept."""
    import unicodedata

    path = path.strip("/")
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


def is_below(folder: str, wanted: tuple[str, ...]) -> bool:
    """Whether `folder` is one of those wanted or below one; none wanted means all."""
    if not wanted:
        return True
    key = folder_key(folder)
    return any(key == want or key.startswith(f"{want}/") or not want for want in map(folder_key, wanted))


def _is_utf8(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
