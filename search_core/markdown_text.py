"""A Markdown note as plain lines: what a person would read, without the marks. Pure.

`blocks` cuts a note into raw pieces quickly; the marks inside a piece are taken off only when its text is
asked for, because a search looks at few lines of a large note.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from search_core.graphemes import chunk
from search_core.inline_text import plain_inline
from search_core.lazy_pattern import LazyPattern

HEADING = "heading"
TEXT = "text"
ITEM = "item"
TABLE = "table"
CODE = "code"


class Block(NamedTuple):
    """One heading, paragraph, list item, table row or line of code, as written."""

    kind: str
    raw: str
    level: int
    """Of a heading 1 to 6; of an item its depth; else 0."""
    heading: int
    """Index of the heading block that this one stands under, -1 before the first."""
    header: int = -1
    """Of a table row, the index of the table's header row."""


class Line(NamedTuple):
    """One line of plain text."""

    text: str
    kind: str
    level: int
    section: str
    """Text of the heading above; empty before the first."""


_FENCE = LazyPattern(r"[ \t]{0,12}(?:>[ \t]?){0,4}[ \t]{0,12}(`{3,}|~{3,})([^`]*)$")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)(.*)$", re.S)
_SETEXT = LazyPattern(r" {0,3}(=+|-+)[ \t]*$")
_RULE = LazyPattern(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = LazyPattern(r"([ \t]{0,40})([-*+•]|[0-9]{1,9}[.)])(?:[ \t]+|$)(?:\[([ xX/-])\][ \t]+)?")
_BARE_MARK = LazyPattern(r"(?:-|[0-9]{1,9}[.)])(?: \[[ x]\])?")
_QUOTE = LazyPattern(r"(?:[ \t]{0,3}>[ \t]?){1,8}")
_CALLOUT = LazyPattern(r"\[!([\w-]{1,30})\][+-]?[ \t]*")
_ADMONITION = LazyPattern(r":::+[ \t]*(\w{0,30})[ \t]*(.*)$")
_DELIMITER_ROW = LazyPattern(r"[ \t]{0,12}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*$")
_REFERENCE = LazyPattern(r" {0,3}\[[^\[\]^]{1,200}\]:[ \t]*\S")
_FOOTNOTE = LazyPattern(r" {0,3}\[\^([^\[\]\s]{1,80})\]:[ \t]*")
_ATTRIBUTES = LazyPattern(r"[ \t]+\{#[\w-]{1,80}\}[ \t]*$")
_MODULE_LINE = LazyPattern(r"(?:import\s.{1,200}\sfrom\s+['\"]|import\s+['\"]|export\s+(?:const|default|function)\s)")
_COMMENT_MARKS = {"<!--": "-->", "%%": "%%"}
_TAG_LINE = LazyPattern(r"[ \t]*<(/?)(script|style|template)\b", re.I)
_CELL_EDGE = LazyPattern(r"(?<!\\)\|")
_FRONT_MATTER_LINES = 400
MAX_BLOCK_CHARS = 8000  # no paragraph that a person wrote is longer; minified code and base64 are


def normalised(text: str) -> str:
    """`text` composed (NFC), with ``\\n`` line ends and no BOM: what all indices here refer to."""
    if not text.isascii():
        text = text.removeprefix("\ufeff")
        if not unicodedata.is_normalized("NFC", text):
            text = unicodedata.normalize("NFC", text)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def plain_lines(text: str) -> list[Line]:
    """The lines of a note to read, none of them empty."""
    found = blocks(normalised(text))
    return [
        Line(line, block.kind, block.level, block_text(found, block.heading) if block.heading >= 0 else "")
        for index, block in enumerate(found)
        if (line := block_text(found, index))
    ]


def plain_text(text: str) -> str:
    """A note as plain text, one paragraph, item, row or line of code per line."""
    found = blocks(normalised(text))
    return "\n".join(line for index in range(len(found)) if (line := block_text(found, index)))


def block_text(found: list[Block], index: int) -> str:
    """The plain text of one block; empty when it held nothing but marks."""
    block = found[index]
    if block.kind == CODE:
        return block.raw
    if block.kind == TABLE:
        return _row_text(block.raw)
    text = plain_inline(block.raw)
    return "" if block.kind == ITEM and _BARE_MARK.now.fullmatch(text) else text


def cells(raw: str) -> list[str]:
    """The cells of a raw table row, as plain text."""
    row = raw.strip()
    row = row.removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return [plain_inline(cell.replace("\\|", "|")) for cell in _CELL_EDGE.now.split(row)]


def _row_text(raw: str) -> str:
    return " · ".join(cell for cell in cells(raw) if cell)


def blocks(text: str) -> list[Block]:
    """The blocks of a note that was `normalised`, in order; linear in its length."""
    return _Reader(text).read()


class _Reader:
    """Walks over the lines once; what may span lines (fences, comments, paragraphs) is its state."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.found: list[Block] = []
        self.heading = -1
        self.header = -1
        self.paragraph: list[str] = []
        self.paragraph_kind = TEXT
        self.paragraph_level = 0
        self.fence = ""
        self.code: list[str] = []
        self.until = ""
        self.last: dict[str, int] = {}

    def read(self) -> list[Block]:
        for number in range(self._front_matter_end(), len(self.lines)):
            line = self.lines[number]
            if self.fence:
                self._in_fence(line)
            elif self.until:
                self._in_comment(line)
            else:
                self._line(number, line)
        self._flush()
        self._add_code()
        return self.found

    def _front_matter_end(self) -> int:
        if not self.lines[0].startswith("---") or self.lines[0].strip() != "---":
            return 0
        for number, line in enumerate(self.lines[1:_FRONT_MATTER_LINES], 1):
            if line.rstrip() in ("---", "..."):
                return number + 1
        return 0

    def _in_fence(self, line: str) -> None:
        bare = line.strip(" \t>")
        if bare.startswith(self.fence) and not bare.strip(self.fence[0]):
            self.fence = ""
            self._add_code()
        elif line.strip():
            self.code.append(line.rstrip())

    def _add_code(self) -> None:
        """Lines of a fence without the indentation that they share."""
        margin = min((len(line) - len(line.lstrip()) for line in self.code), default=0)
        for line in self.code:
            for piece in _pieces(line[margin:]):
                self._add(CODE, piece)
        self.code = []

    def _in_comment(self, line: str) -> None:
        _, mark, rest = line.partition(self.until)
        if mark:
            self.until = ""
            if rest.strip():
                self.paragraph.append(rest)

    def _line(self, number: int, line: str) -> None:
        stripped = line.strip()
        if not stripped:
            self._flush()
            return
        if stripped[0] == ">":
            line = _QUOTE.now.sub("", line, count=1)
            stripped = line.strip()
            if not stripped:
                self._flush()
                return
        first = stripped[0]
        if first in "`~" and self._opens_fence(line):
            return
        if not self._special(number, line, stripped, first):
            self._text(number, line, stripped)

    def _opens_fence(self, line: str) -> bool:
        match = _FENCE.now.match(line)
        if match:
            self._flush()
            self.fence = match[1]
        return match is not None

    def _special(self, number: int, line: str, stripped: str, first: str) -> bool:
        """Whether the line was a block of its own kind, and taken."""
        if first in "=-_*+•" or first.isdigit():
            return self._setext(line) or self._rule(line) or self._item(line)
        if first in "#:":
            return self._atx(line) or self._admonition(stripped)
        if first in "<%":
            return self._comment(number, stripped)
        if first == "[":
            return self._definition(line)
        return not self.paragraph and first in "ie" and _MODULE_LINE.now.match(stripped) is not None

    def _atx(self, line: str) -> bool:
        match = _ATX.match(line)
        if not match:
            return False
        self._flush()
        title = match[2].strip()
        bare = title.rstrip("#")
        if bare != title and (not bare or bare[-1].isspace()):
            title = bare
        self._add_heading(len(match[1]), _ATTRIBUTES.now.sub("", title))
        return True

    def _setext(self, line: str) -> bool:
        if self.paragraph_kind != TEXT or len(self.paragraph) != 1:
            return False
        match = _SETEXT.now.match(line)
        if not match or (match[1][0] == "-" and len(match[1]) < 2):
            return False
        title = self.paragraph.pop()
        self._add_heading(1 if match[1][0] == "=" else 2, title)
        return True

    def _rule(self, line: str) -> bool:
        if not _RULE.now.match(line):
            return False
        self._flush()
        return True

    def _item(self, line: str) -> bool:
        match = _ITEM.now.match(line)
        if not match or (
            match[2][0].isdigit() and self.paragraph and self.paragraph_kind == TEXT and match[2][:-1] != "1"
        ):
            return False
        self._flush()
        self.paragraph_kind = ITEM
        self.paragraph_level = len(match[1].expandtabs(4)) // 2
        number = f"{match[2]} " if match[2][0].isdigit() else "- "
        box = "" if match[3] is None else ("[ ] " if match[3] == " " else "[x] ")
        rest = line[match.end() :]
        if self._opens_fence_after(rest):
            return True
        # Escaped, so that the marks of the list are not taken for marks of text.
        self.paragraph = [number + box.replace("[", "\\[") + rest]
        return True

    def _opens_fence_after(self, rest: str) -> bool:
        return rest[:3] in ("```", "~~~") and self._opens_fence(rest)

    def _comment(self, number: int, stripped: str) -> bool:
        tag = _TAG_LINE.now.match(stripped)
        if tag and not tag[1]:
            return self._skip_until(number, stripped, f"</{tag[2]}>", len(tag[0]))
        for opening, closing in _COMMENT_MARKS.items():
            if stripped.startswith(opening):
                return self._skip_until(number, stripped, closing, len(opening))
        return False

    def _skip_until(self, number: int, stripped: str, closing: str, after: int) -> bool:
        if closing in stripped[after:]:
            rest = stripped[after:].partition(closing)[2].strip()
            if rest:
                self._text(number, rest, rest)
            return True
        if self._last_line_with(closing) <= number:
            return False
        self._flush()
        self.until = closing
        return True

    def _last_line_with(self, mark: str) -> int:
        if mark not in self.last:
            self.last[mark] = max((n for n, line in enumerate(self.lines) if mark in line), default=-1)
        return self.last[mark]

    def _admonition(self, stripped: str) -> bool:
        match = _ADMONITION.now.match(stripped)
        if not match:
            return False
        self._flush()
        title = match[2].strip(" []")
        if title:
            self._add(TEXT, title)
        return True

    def _definition(self, line: str) -> bool:
        note = _FOOTNOTE.now.match(line)
        if note:
            self._flush()
            self.paragraph = [line[note.end() :]]
            return True
        callout = _CALLOUT.now.match(line.strip())
        if callout:
            self._flush()
            title = line.strip()[callout.end() :]
            if title:
                self._add(TEXT, title)
            return True
        return _REFERENCE.now.match(line) is not None

    def _text(self, number: int, line: str, stripped: str) -> None:
        if "|" in stripped and self._table_row(number, stripped):
            return
        self.header = -1
        if not self.paragraph and self.paragraph_kind == TEXT and line.startswith(("    ", "\t")):
            self._add(CODE, line.strip())
            return
        self.paragraph.append(line)
        if line.endswith(("  ", "\\")):
            self._flush(keep_kind=True)

    def _table_row(self, number: int, stripped: str) -> bool:
        if self.header >= 0:
            if not _DELIMITER_ROW.now.match(stripped):
                self._add(TABLE, stripped, header=self.header)
            return True
        following = self.lines[number + 1] if number + 1 < len(self.lines) else ""
        if "-" not in following or not _DELIMITER_ROW.now.match(following.strip(" \t>")):
            return False
        self._flush()
        self.header = len(self.found)
        self._add(TABLE, stripped, header=self.header)
        return True

    def _flush(self, *, keep_kind: bool = False) -> None:
        self.header = -1
        if self.paragraph:
            raw = "\n".join(self.paragraph).removesuffix("\\")
            for piece in _pieces(raw):
                self._add(self.paragraph_kind, piece, level=self.paragraph_level)
            self.paragraph = []
        if not keep_kind:
            self.paragraph_kind, self.paragraph_level = TEXT, 0

    def _add_heading(self, level: int, title: str) -> None:
        self._flush()
        self.found.append(Block(HEADING, title, level, self.heading))
        self.heading = len(self.found) - 1

    def _add(self, kind: str, raw: str, *, level: int = 0, header: int = -1) -> None:
        self.found.append(Block(kind, raw, level, self.heading, header))


def _pieces(raw: str) -> Iterator[str]:
    """A paragraph or line of usual length whole; an endless one cut, at white space when there is some."""
    start = 0
    while len(raw) - start > MAX_BLOCK_CHARS:
        space = raw.rfind(" ", start + MAX_BLOCK_CHARS // 2, start + MAX_BLOCK_CHARS)
        if space < 0 or not raw[space + 1].isalnum():
            space = start + chunk(raw, start, MAX_BLOCK_CHARS)
        yield raw[start:space]
        start = space
    yield raw[start:] if start else raw
