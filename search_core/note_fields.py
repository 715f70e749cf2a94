"""One note's text cut into the fields that are searched and the marks that hide it. Pure.

Quick rather than complete: this runs once per note of the first build, and a Markdown rule that is missed
costs a little rank, never a hit, for the body holds the whole text anyway.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from search_core.lazy_pattern import LazyPattern
from search_core.terms import extra_words, fold, spaced, words

_FENCED = LazyPattern(r"^(```|~~~).*?(?:^\1|\Z)", re.M | re.S)
_HEADING = LazyPattern(r"\n#{1,6}[ \t]+(\S.*)")
"""Begins with what is looked for quickly, so the text needs a line end before its first line."""
_SETEXT = LazyPattern(r"^(\S.*)\n(?:===+|---+)[ \t]*$", re.M)
_TAG = LazyPattern(r"#(?<!\S#)([^\W\d][\w/-]*|\d+[^\W\d][\w/-]*)")
_KEY = LazyPattern(r"^([^\s:#-][^:\n]*?)[ \t]*:(?:[ \t]+(.*))?$")
_EMBEDDED = LazyPattern(r"[A-Za-z0-9+/]{200,}={0,2}|(?:^[A-Za-z0-9+/]{60,}={0,2}\n){4,}", re.M)
"""Base64: nobody asks for it, and its random letters match every prefix."""
_FRONT_MATTER_LINES = 200
_TRUE = frozenset(("true", "yes", "on", "y", "1"))


class Fields(NamedTuple):
    """The columns of the index: folded words joined by spaces, one space at each end."""

    title: str
    path: str
    headings: str
    tags: str
    body: str
    ids: str
    words: int
    """How many words the body has."""
    shown_tags: str
    """The note's tags, folded, between spaces; what `Scope.private_tags` is compared with."""
    true_keys: str
    """The front-matter keys that are set to true, folded, one per line with a line end on both sides."""


class FrontMatter(NamedTuple):
    titles: list[str]
    tags: list[str]
    true_keys: list[str]


def fields_of(stem: str, text: str, path: str = "") -> Fields:
    """The fields of a note whose file is called `stem` (without ``.md``), lies at `path` and holds `text`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front = front_matter(text)
    if len(text) > 5_000 or "base64" in text:
        text = _EMBEDDED.now.sub(" ", text)
    prose = _FENCED.now.sub("\n", text) if "```" in text or "~~~" in text else text
    headings = _HEADING.now.findall(f"\n{prose}")
    if "\n==" in prose or "\n--" in prose:
        headings += _SETEXT.now.findall(prose)
    tags = front.tags + (_TAG.now.findall(prose) if "#" in prose else [])
    folded = fold(text)
    found = words(folded)
    return Fields(
        title=spaced(" \n ".join([stem, *front.titles, *headings[:1]])),
        path=spaced(path),
        headings=spaced(" \n ".join(headings)),
        tags=spaced(" \n ".join(tags)),
        body=f" {' '.join(found)} ",
        ids=f" {' '.join(extra_words(f'{stem} {text}', fold(stem) + ' ' + folded))} ",
        words=len(found),
        shown_tags=f" {' '.join(fold(tag) for tag in dict.fromkeys(tags))} " if tags else "",
        true_keys=f"\n{chr(10).join(front.true_keys)}\n" if front.true_keys else "",
    )


def front_matter(text: str) -> FrontMatter:
    """Title, aliases, tags and true keys. A fence that is never closed still counts: hiding errs on the safe side."""
    found = FrontMatter([], [], [])
    text = text.removeprefix("\ufeff")
    if not text.startswith("---"):
        return found
    key = ""
    for line in text.split("\n", _FRONT_MATTER_LINES)[1:_FRONT_MATTER_LINES]:
        if line.startswith(("---", "...")):
            break
        match = _KEY.now.match(line)
        if match:
            key = fold(match[1].strip("\"'"))
            _take(found, key, match[2] or "")
        elif line.lstrip().startswith("- "):
            _take(found, key, line.lstrip()[2:])
    return found


def _take(found: FrontMatter, key: str, value: str) -> None:
    value = value.strip()
    if not value:
        return
    if key in ("tags", "tag"):
        found.tags.extend(tag for part in re.split(r"[,\s]+", value.strip("[]")) if (tag := part.strip("\"'# ")))
    elif key in ("aliases", "alias"):
        found.titles.extend(part.strip("\"' ") for part in value.strip("[]").split(","))
    elif key == "title":
        found.titles.append(value.strip("\"'"))
    if value.split(" #")[0].strip("\"' ").lower() in _TRUE:
        found.true_keys.append(key)
