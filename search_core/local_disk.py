"""Whether a folder lies on a file system that only this machine writes to, and that keeps the times of its folders."""

from __future__ import annotations

import os

LOCAL = frozenset(("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "tmpfs", "xfs", "zfs"))


def place_of(root: str) -> tuple[int, int, str] | None:
    """Device, inode and all that is mounted: what must stay as it is. None when the place cannot be trusted."""
    try:
        stat = os.stat(root)
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            mounts = file.read()
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino, mounts) if is_local(root, mounts) else None


def is_local(root: str, mounts: str) -> bool:
    """Whether the mount that holds `root`, and all mounts below it, are of trusted kinds (proc(5), mountinfo)."""
    holding, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        place = before.split()[4].encode("latin-1", "backslashreplace").decode("unicode_escape")
        if f"{place}/".startswith(f"{root}/") and place != root and after.split()[0] not in LOCAL:
            return False
        if f"{root}/".startswith(f"{place.rstrip('/')}/") and len(place) >= len(holding):
            holding, kind = place, after.split()[0]
    return kind in LOCAL
