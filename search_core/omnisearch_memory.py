"""What one process learned of Omnisearch's availability, kept for the next in a file of one line."""

from __future__ import annotations

import os

from search_core.availability import Availability, from_line

MAX_LINE = 200
"""Characters; ours has some forty."""


def recall(path: str) -> Availability:
    """What was remembered at `path`; the unknown state without a file or with a foreign one."""
    if not path:
        return Availability()
    try:
        with open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123 - pathlib is slow to import
            return from_line(file.read(MAX_LINE))
    except (OSError, ValueError):
        return Availability()


def remember(path: str, state: Availability) -> None:
    """Keep `state`, or forget it when it would save no wait. Best effort: else the next process waits once more."""
    try:
        if state.worth_remembering:
            with open(path, "w", encoding="ascii", opener=_private) as file:
                file.write(state.to_line())
        else:
            os.unlink(path)
    except OSError:
        return


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
