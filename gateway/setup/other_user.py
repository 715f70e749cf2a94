"""What another user may do, for root, who may do everything and so sees no trouble."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

TEST_SECONDS = 5.0


def user_of(path: Path) -> pwd.struct_passwd | None:
    """The owner of the file or folder; None when there is none by that number, or no such file."""
    try:
        return pwd.getpwuid(path.stat().st_uid)
    except (OSError, KeyError):
        return None


def may_read_folder(user: pwd.struct_passwd, folder: Path) -> bool:
    """Whether this user may list and enter it, by test(1) run as that user. For root; True when it is not known."""
    try:
        done = subprocess.run(
            ["test", "-r", str(folder), "-a", "-x", str(folder)],
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=os.getgrouplist(user.pw_name, user.pw_gid),
            cwd="/",
            timeout=TEST_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return True
    return done.returncode != 1
