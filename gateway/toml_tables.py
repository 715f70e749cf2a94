"""Reading TOML by a strict shape, collecting every mistake instead of stopping at the first."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a config file, in words that say what to do."""

    key: str
    """Empty: the file as a whole."""
    found: str
    allowed: str
    outside: bool = False
    """The file is right, the world is not (a disk that is not mounted yet, say)."""

    def __str__(self) -> str:
        if not self.key:
            return self.allowed
        key = shown(self.key)[1:-1]
        return f"{key} = {self.found}: {self.allowed}" if self.found else f"{key}: {self.allowed}"


class ConfigError(Exception):
    """The config cannot be used; `problems` has every reason."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{file}: {problem}" for problem in self.problems))

    @property
    def is_outside(self) -> bool:
        """Nothing in the file needs to change; trying again later may do."""
        return all(problem.outside for problem in self.problems)


def shown(value: object) -> str:
    """A value as it stands in TOML, near enough to be recognised, bounded and on one line."""
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str):
        text = '"' + value.encode("unicode_escape").decode("ascii") + '"'
    elif isinstance(value, dict):
        text = "{…}"
    else:
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


@dataclass(slots=True)
class Table:
    """One table of the file. Each getter takes its key out; `close` reports what nobody asked for."""

    name: str
    raw: dict[str, Any]
    problems: list[Problem]
    known: list[str] = field(default_factory=list)

    @classmethod
    def root(cls, raw: dict[str, Any], problems: list[Problem]) -> Table:
        return cls("", dict(raw), problems)

    def path(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def report(self, key: str, found: object, allowed: str, *, outside: bool = False) -> None:
        self.problems.append(Problem(self.path(key), "" if found is None else shown(found), allowed, outside))

    def table(self, key: str) -> Table:
        value = self._take(key, {})
        if not isinstance(value, dict):
            self.report(key, value, f"must be a table: [{self.path(key)}]")
            value = {}
        return Table(self.path(key), dict(value), self.problems)

    def tables(self, key: str) -> list[Table]:
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.report(key, value, f"must be written as [[{self.path(key)}]] once for each")
            return []
        return [Table(f"{self.path(key)}[{n}]", dict(item), self.problems) for n, item in enumerate(value, 1)]

    def text(self, key: str, default: str = "", *, allowed: Sequence[str] = (), required: bool = False) -> str:
        value = self._take(key, None)
        if value is None:
            if required:
                self.report(key, None, "is missing")
            return default
        if not isinstance(value, str):
            self.report(key, value, "must be a text in quotes")
            return default
        if allowed and value not in allowed:
            self.report(key, value, "must be one of " + ", ".join(f'"{item}"' for item in allowed))
            return default
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            self.report(key, value, "must be true or false")
            return default
        return value

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            self.report(key, value, f"must be a number from {low:g} to {high:g}")
            return default
        return float(value)

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.report(key, value, f"must be a whole number from {low} to {high}")
            return default
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            self.report(key, value, 'must be a list of texts: ["one", "two"]')
            return ()
        return tuple(value)

    def parsed(self, key: str, value: str, parse: Callable[[str], Any], allowed: str) -> Any:
        """`parse(value)`, or None with a report when it raises ValueError."""
        try:
            return parse(value)
        except ValueError as error:
            detail = str(error)
            self.report(key, value, f"{allowed} ({detail})" if detail and detail != value else allowed)
            return None

    def close(self) -> None:
        for key, value in self.raw.items():
            near = difflib.get_close_matches(key, self.known, n=1, cutoff=0.6)
            hint = f"; did you mean {near[0]}?" if near else "; known here: " + ", ".join(sorted(self.known))
            self.report(key, value, "is not a key that meshseek knows" + hint)

    def _take(self, key: str, default: Any) -> Any:
        self.known.append(key)
        return self.raw.pop(key, default)
