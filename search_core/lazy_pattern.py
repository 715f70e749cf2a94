"""A regular expression compiled when it is first used: most runs need few, and each costs start-up time."""

from __future__ import annotations

import re


class LazyPattern:
    """Stands for ``re.compile(source, flags)``; `now` is the compiled pattern."""

    __slots__ = ("_compiled", "_flags", "_source")

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source = source
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def now(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._source, self._flags)
        return self._compiled
