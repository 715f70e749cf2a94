"""Obsidian's own list of what to leave out of a search: `userIgnoreFilters` in ``.obsidian/app.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from search_core.log_once import log_once
from search_core.terms import fold


def ignore_filters(path: str) -> Iterator[Callable[[str], bool]]:
    """For each rule of the file at `path`, whether it leaves a vault path out."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs a start of the process 8 ms
            filters = json.load(file).get("userIgnoreFilters") or []
    except (OSError, ValueError, AttributeError):
        log_once("%s cannot be read: Obsidian's ignore list is not applied", path)
        return
    for rule in filters if isinstance(filters, list) else []:
        if not isinstance(rule, str) or not rule:
            continue
        if len(rule) > 2 and rule[0] == rule[-1] == "/":
            try:
                yield _pattern(re.compile(rule[1:-1]))
            except re.error:
                log_once("Obsidian's ignore rule %r is no regular expression we understand", rule)
        else:
            yield _beginning(rule)


def _pattern(rule: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda path: rule.search(path) is not None


def _beginning(rule: str) -> Callable[[str], bool]:
    start = fold(rule)
    return lambda path: fold(path).startswith(start)
