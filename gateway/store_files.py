"""The state file on disk: private to its owner, and set aside when it is damaged. Raises OSError."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

FILE_NAME = "state.sqlite"
LOCK_NAME = "serving.lock"
SET_ASIDE_LIMIT = 3
"""Damaged files kept; the oldest goes first."""


def private_file(directory: Path) -> Path:
    """The state file, in a directory that only its owner can enter.

    A directory that holds other things as well was not made for us, and keeps its mode; the file is private anyway.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if all(name.startswith((FILE_NAME, LOCK_NAME)) for name in os.listdir(directory)):
        directory.chmod(0o700)
    file = directory / FILE_NAME
    file.touch(mode=0o600)
    file.chmod(0o600)
    return file


def set_aside(directory: Path, wall: float) -> Path:
    """Give the damaged file a dated name; returns its new path."""
    stamp = datetime.fromtimestamp(wall, UTC).strftime("%Y%m%d-%H%M%S")
    target = directory / f"{FILE_NAME}.damaged-{stamp}"
    for suffix in ("-wal", "-shm"):
        (directory / (FILE_NAME + suffix)).unlink(missing_ok=True)
    (directory / FILE_NAME).replace(target)
    for old in sorted(directory.glob(f"{FILE_NAME}.damaged-*"))[:-SET_ASIDE_LIMIT]:
        old.unlink(missing_ok=True)
    return target
