"""Field notes: one line appended to one note of the vault, and nothing else ever written there.

The line goes in by one write to a file opened for appending, then to the disk: a kill leaves the whole line or none
of it, and an editor that saves at the same moment loses nothing of ours unseen (the write is checked and done again on
the file that took the name). Each folder on the way is opened from the one above it without following links, so no
link, however quickly it is put there, leads out of the vault. The line ends with the packet's number as a block id
(``^1a2b3c4d``, which Obsidian does not show when reading): by it a doubled packet is known, also after a restart.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import ExitStack, suppress
from datetime import UTC, datetime

from gateway.protocol.inert import for_air
from gateway.protocol.requests import Saved, Trouble

MAX_TEXT = 1_000
"""Code points of one field note; over the air it is 233 bytes at most."""

_MAX_NAME = 40
_TAIL_BYTES = 64 * 1024  # where a doubled packet is looked for: hundreds of lines
_TRIES = 3
_MODE = 0o644
_FOLDER_MODE = 0o755
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

# Characters that make Markdown, Obsidian or HTML of what follows: links, embeds, code, formulas, tags.
_ACTIVE = re.compile(r"[\\\[\]<`$]|#(?=\S)|\^(?=[\w-]+\Z)")
# Plugins look for these in the raw text, where a backslash does not help: templates, comments, fields.
_PAIRED = re.compile(r"(?<=[<>{}%:])(?=[<>{}%:])")
_RISKY_PAIRS = ("<%", "%>", "%%", "::", "{{", "}}")


class _Refused(Exception):
    """The inbox is not a file of this vault that may be written."""


class FieldNotes:
    """The inbox note of one vault.

    `inbox` is its path in the vault, folders included. Raises ValueError when that is absolute, leaves the vault, is
    hidden or is no note.
    """

    def __init__(self, vault: str, inbox: str) -> None:
        self._folders = inbox.split("/")
        self._name = self._folders.pop()
        if not inbox.endswith(".md") or any(part[:1] in ("", ".") or "\0" in part for part in inbox.split("/")):
            raise ValueError(f"{inbox!r} is not the path of a note in the vault")
        self._inbox = inbox
        self._vault = os.path.realpath(os.path.expanduser(vault))

    def append(self, text: str, sender_name: str, wall_time: float, packet_id: int) -> Saved | Trouble:
        """Save one line, once for a `packet_id` other than 0, and return when it is on the disk.

        `wall_time` in Unix seconds is written as local time.
        """
        words = neutral(text[:MAX_TEXT])
        if not words:
            return Trouble("failed", "an empty note")
        name = neutral(sender_name[:_MAX_NAME])
        line = f"- {_local(wall_time)}{' ' if name else ''}{name}: {words}"
        mark = f" ^{packet_id & 0xFFFFFFFF:08x}" if packet_id else ""
        try:
            self._save(line + mark, f"{name}: {words}{mark}" if mark else "")
        except _Refused as error:
            return Trouble("failed", str(error))
        except FileNotFoundError:
            return Trouble("vault", f"no vault at {self._vault}")
        except OSError as error:
            return Trouble("failed", f"{self._inbox}: {error.strerror}")
        return Saved(line, self._inbox)

    def _save(self, line: str, known_by: str) -> None:
        for _ in range(_TRIES):
            with ExitStack() as stack:
                folder = self._open_folder(stack)
                file = _open_note(folder, self._name)
                stack.callback(os.close, file)
                if known_by and _has(file, known_by):
                    return
                _write(file, line)
                os.fsync(folder)
                if _is_still(folder, self._name, file):
                    return
        raise _Refused(f"{self._inbox} is replaced again and again by another program")

    def _open_folder(self, stack: ExitStack) -> int:
        """The folder of the inbox, made when missing. Raises OSError, _Refused."""
        folder = os.open(self._vault, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, folder)
        for name in self._folders:
            try:
                inner = _enter(name, folder)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise _Refused(f"{name!r} on the way to {self._inbox} is a link or no folder") from error
                raise
            stack.callback(os.close, inner)
            folder = inner
        return folder


def neutral(text: str) -> str:
    """`text` on one line, readable, with nothing in it that links, embeds, runs, tags or hides in a Markdown note."""
    line = " ".join(for_air(text).split())
    line = _PAIRED.sub(lambda at: " " if line[at.start() - 1 : at.start() + 1] in _RISKY_PAIRS else "", line)
    return _ACTIVE.sub(lambda found: "\\" + found[0], line)


def _local(wall_time: float) -> str:
    try:
        return datetime.fromtimestamp(wall_time, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "(no clock)"


def _enter(name: str, folder: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        with suppress(FileExistsError):  # somebody was quicker; what it is, opening it tells
            os.mkdir(name, _FOLDER_MODE, dir_fd=folder)
        os.fsync(folder)
        return os.open(name, _FOLDER, dir_fd=folder)


def _open_note(folder: int, name: str) -> int:
    """The note, open for appending, made when missing. Raises _Refused for anything but a plain file with one name."""
    try:
        file = os.open(name, _FILE | os.O_CREAT, _MODE, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _Refused(f"{name!r} is a link or no plain file") from error
        raise
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(file)
        raise _Refused(f"{name!r} is no plain file, or has a second name elsewhere (a hard link)")
    return file


def _has(file: int, known_by: str) -> bool:
    size = os.fstat(file).st_size
    tail = os.pread(file, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    return any(line.rstrip(b"\r").endswith(known_by.encode()) for line in tail.split(b"\n"))


def _write(file: int, line: str) -> None:
    """All of it or nothing, on a line of its own, with the line ends that the note has."""
    size = os.fstat(file).st_size
    last = os.pread(file, 2, max(0, size - 2))
    end = b"\r\n" if last == b"\r\n" else b"\n"
    data = (b"" if size == 0 or last.endswith(b"\n") else end) + line.encode() + end
    written = os.write(file, data)
    if written < len(data):
        os.ftruncate(file, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)


def _is_still(folder: int, name: str, file: int) -> bool:
    """Whether the name still stands for the file that was written."""
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    mine = os.fstat(file)
    return (now.st_dev, now.st_ino) == (mine.st_dev, mine.st_ino)
