"""What is wrong with a vault, said in the log the first time only: a sweep comes with every query."""

from __future__ import annotations

_said: set[tuple[str, tuple[object, ...]]] = set()
_MOST_SAID = 10_000


def log_once(text: str, *values: object) -> None:
    """Say it in the log unless it was said before."""
    if (text, values) in _said or len(_said) > _MOST_SAID:
        return
    _said.add((text, values))
    import logging

    logging.getLogger("meshseek.search").warning(text, *values)
