"""A note cut into the pieces from which excerpts are made, and pieces put together again. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from search_core.graphemes import boundaries, byte_length, chunk, clip
from search_core.markdown_text import CODE, HEADING, ITEM, Block, block_text
from search_core.sentences import sentence_starts

ELLIPSIS = "…"
CODE_BREAK = " ¦ "  # stands for the end of a line of code: not a character of any shell
SHORT_LINE_BYTES = 40  # not looked into for sentences
MAX_SEGMENT_CHARS = 600  # longer sentences (minified code, base64) are cut, to keep the work linear


class Segment(NamedTuple):
    """One sentence, list item, table row, heading or line of code."""

    text: str
    kind: str
    block: int
    start: int
    """Index in the block's plain text."""
    size: int
    """Bytes."""
    glue: str
    """What stands between it and the segment before it in the same block."""
    is_cut: bool
    """Whether it begins within an overlong sentence."""

    @property
    def ascii(self) -> bool:
        return self.size == len(self.text)

    def byte_offset(self, begin: int, end: int) -> int:
        """Bytes of the text between two indices."""
        return end - begin if self.ascii else byte_length(self.text[begin:end])


def segments_of(found: list[Block], chosen: Iterable[int]) -> Iterator[Segment]:
    """The segments of the chosen blocks, in order; none is empty."""
    for index in chosen:
        text = block_text(found, index)
        kind = found[index].kind
        if not text:
            continue
        whole = kind in (CODE, HEADING) or byte_length(text) < SHORT_LINE_BYTES
        starts = [0] if whole else sentence_starts(text)
        natural = set(starts)
        for start, end in pairwise(_bounded(text, [*starts, len(text)])):
            part = text[start:end].rstrip()
            glue = " " if start and text[start - 1].isspace() else ""
            if part:
                yield Segment(part, kind, index, start, byte_length(part), glue, start not in natural)


def _bounded(text: str, starts: list[int]) -> list[int]:
    """The same places, and more where two are too far apart."""
    if all(end - start <= MAX_SEGMENT_CHARS for start, end in pairwise(starts)):
        return starts
    cuts: list[int] = []
    for start, end in pairwise(starts):
        cuts.append(start)
        while end - cuts[-1] > MAX_SEGMENT_CHARS:
            cuts.append(cuts[-1] + chunk(text, cuts[-1], MAX_SEGMENT_CHARS))
    return [*cuts, starts[-1]]


Join = Callable[[Segment, Segment], str]
"""What the second of two segments that follow each other adds to the first: what stands between, and its text."""


def on_one_line(before: Segment, here: Segment) -> str:
    between = CODE_BREAK if before.kind == here.kind == CODE else " "
    return _between(before, here, between) + here.text.lstrip()


def on_lines(before: Segment, here: Segment) -> str:
    """Each item, row, paragraph and line of code on a line of its own, so that an item needs no dash."""
    between = _between(before, here, "\n")
    return between + (bare(here) if between == "\n" else here.text.lstrip())


def bare(segment: Segment) -> str:
    """Its text without the dash of a list."""
    text = segment.text.lstrip()
    return text.removeprefix("- ") if segment.kind == ITEM and not segment.start else text


def _between(before: Segment, here: Segment, blocks: str) -> str:
    """What is written between two segments; `blocks` when they are of two blocks."""
    if before.block == here.block:
        return here.glue
    if before.kind == HEADING and before.text[-1:] not in ":?!.":
        return ": "
    return blocks


def shortened(text: str, max_bytes: int) -> str:
    """`text` cut to the budget with a mark, at a space near; a word of code at the end of the line before it."""
    if byte_length(text) <= max_bytes:
        return text
    mark = ELLIPSIS if max_bytes >= 2 * len(ELLIPSIS.encode()) else ""
    head = clip(text, max_bytes - len(mark.encode()))
    following = text[len(head) : len(head) + 1]
    space = max(head.rfind(" "), head.rfind("\n") if following.isascii() else -1)
    inside = following not in ("", " ", "\n")
    if inside and space > len(head) * 3 // 4 and (head.isascii() or space in set(boundaries(head))):
        head = head[:space]
    head = head.rstrip()
    return head + mark if head else clip(text, max_bytes)
