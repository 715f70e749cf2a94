"""The passage of a note that most likely holds the answer, for a budget of bytes. Pure, and lazy.

A note is cut into segments: sentences, list items, table rows, headings, lines of code. A window starts at a
segment (or at a matched word of a long one) and runs on over the following ones while the budget lasts,
not beyond the next heading. The best window is the one whose words of the question are worth most, each
counted once: by how rare the word is in the vault and again in this note. What stands just before a window
counts in part, because an answer follows its question more often than it repeats it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from search_core.excerpt_match import Found, Matcher, Unit, matcher
from search_core.graphemes import byte_length, clip
from search_core.markdown_text import CODE, HEADING, ITEM, block_text, blocks, normalised
from search_core.sentences import sentence_starts
from search_core.terms import fold

__all__ = ["Excerpts", "Unit"]

# Each was tried on 130 questions with known answers; round numbers near the best, all on a flat part of the curve.
HEADING_SHARE = 0.6  # of a word that only the heading above has
BEFORE_SHARE = 0.6  # of a word that only the segment before has: the answer comes after the question's words
TITLE_SHARE = 0.7  # of a word that the note's first heading has: it says what the note is about, not where to look
HEADING_START = 0.6  # a window that begins with a heading spends its bytes on what the path often says already
ALIGNED_BONUS = 1.0  # for beginning where a sentence begins
HIT_BONUS = 0.02  # per match, to prefer the denser of equals
NUMBER_BONUS = 2.0  # for a digit, when the question asks for a number
CODE_BONUS = 2.0  # for a line of code, when it does not
LEAD_LOSS = 0.1  # of the score, when the first match is only at the end: what follows a match answers
CODE_ROOM = 20  # bytes of a line of code that must fit to count

ELLIPSIS = "…"
CODE_BREAK = " ¦ "  # stands for the end of a line of code: not a character of any shell
LARGE_NOTE_CHARS = 40_000  # above this only the blocks near a match are read
AFTER_CHARS = 600  # how much after a match is read in a large note: more than any budget
MIN_TAIL_BYTES = 12  # less of a following segment than this is not worth its cut mark

_DIGIT = re.compile(r"\d")
_CLAUSE = re.compile(r"[,;:(—–，；：、][\s\"“]*")


class Segment(NamedTuple):
    text: str
    kind: str
    block: int
    start: int
    """Index in the block's plain text."""
    size: int
    """Bytes."""

    @property
    def ascii(self) -> bool:
        return self.size == len(self.text)


class Window(NamedTuple):
    score: float
    first: int
    """Segment it starts in, and where."""
    char: int
    last: int
    """The segment after the last one of which it has a part."""


class _Sight:
    """What of a window fits its budget: filled segment by segment."""

    def __init__(self, max_bytes: int) -> None:
        self.room = max_bytes
        self.budget = max_bytes
        self.best: dict[int, float] = {}
        self.hits = 0
        self.lead = 0
        """Bytes before the first match."""
        self.digit = self.code = False

    def take(self, segment: Segment, found: list[Found], begin: int) -> None:
        """Count what of `segment` from `begin` on fits, and use up the room."""
        for one in found:
            if one.start >= begin and not self._take_match(segment, one, begin):
                break
        self.digit = self.digit or _DIGIT.search(segment.text, begin, begin + self.room) is not None
        self.code = self.code or (segment.kind == CODE and self.room > CODE_ROOM)
        self.room -= (byte_length(segment.text[begin:]) if begin else segment.size) + 1

    def _take_match(self, segment: Segment, one: Found, begin: int) -> bool:
        offset = one.end - begin if segment.ascii else byte_length(segment.text[begin : one.end])
        if offset > self.room:
            return False
        if not self.hits:
            self.lead = self.budget - self.room + offset - (one.end - one.start)
        self.hits += 1
        self.best[one.unit] = max(one.weight, self.best.get(one.unit, 0))
        return True


class Excerpts:
    """The passages of one note for one question. Nothing is computed before it is asked for."""

    def __init__(self, text: str, units: Sequence[Unit], query: str = "") -> None:
        """`query` is the question as typed: it tells whether a number or a meaning is asked for."""
        self._raw = text
        self._matcher = matcher(tuple(units), query)
        self._note: _Note | None = None

    def cut(self, max_bytes: int) -> str:
        """The best passage of at most `max_bytes` bytes of UTF-8; empty for a note without text."""
        return next(iter(self.windows(max_bytes, 1)), "")

    def windows(self, max_bytes: int, count: int) -> list[str]:
        """Up to `count` passages that do not overlap, best first."""
        note = self._prepared()
        return [text for window in note.choose(max_bytes, count) if (text := note.render(window, max_bytes))]

    def start_of_best(self, max_bytes: int = 200) -> int:
        """Index in ``plain_text(text)`` where the best passage begins; 0 when nothing matches."""
        return self._prepared().plain_index(max_bytes)

    def _prepared(self) -> _Note:
        if self._note is None:
            self._note = _Note(normalised(self._raw), self._matcher)
        return self._note


class _Note:
    def __init__(self, text: str, finder: Matcher) -> None:
        self.finder = finder
        self.blocks = blocks(text)
        self.segments = list(self._segments(self._near(len(text))))
        self.found = [finder.find(segment.text) for segment in self.segments]
        self.values = self._values()
        self.heading_words = self._heading_words()

    def _near(self, size: int) -> list[int]:
        """Indices of the blocks that are worth reading."""
        if size <= LARGE_NOTE_CHARS:
            return list(range(len(self.blocks)))
        near: list[int] = []
        room = AFTER_CHARS  # the beginning is read in any case
        for index, block in enumerate(self.blocks):
            if self.finder.may_match(fold(block.raw)):
                room = AFTER_CHARS
            if room > 0:
                near.append(index)
            room -= len(block.raw)
        return near

    def _segments(self, chosen: list[int]) -> Iterator[Segment]:
        for index in chosen:
            block = self.blocks[index]
            text = block_text(self.blocks, index)
            if not text:
                continue
            if block.kind in (CODE, HEADING) or len(text) < 40:
                yield Segment(text, block.kind, index, 0, byte_length(text))
                continue
            starts = [*sentence_starts(text), len(text)]
            for start, end in pairwise(starts):
                part = text[start:end].rstrip()
                yield Segment(part, block.kind, index, start, byte_length(part))

    def _values(self) -> list[float]:
        """What each unit is worth in this note: rare words more."""
        lines = len(self.segments)
        with_unit = [0] * len(self.finder.weights)
        for found in self.found:
            for unit in {one.unit for one in found}:
                with_unit[unit] += 1
        whole = math.log(1 + lines) or 1
        title = self._title_words()
        return [
            weight * (math.log(1 + lines / count) / whole if count else 0) * (TITLE_SHARE if unit in title else 1)
            for unit, (weight, count) in enumerate(zip(self.finder.weights, with_unit, strict=True))
        ]

    def _title_words(self) -> dict[int, float]:
        first = next((n for n, block in enumerate(self.blocks) if block.kind == HEADING and block.level == 1), -1)
        return _best(self.finder.find(block_text(self.blocks, first))) if first >= 0 else {}

    def _heading_words(self) -> dict[int, dict[int, float]]:
        """For each heading block, the units that it has or its own heading has."""
        known: dict[int, dict[int, float]] = {-1: {}}
        for index, block in enumerate(self.blocks):
            if block.kind == HEADING:
                known[index] = _best(self.finder.find(block_text(self.blocks, index)))
        return known

    def choose(self, max_bytes: int, count: int) -> list[Window]:
        """The best windows that do not overlap; the beginning of the note when no word is found."""
        ranked = sorted(self._candidates(max_bytes), key=lambda window: -window.score)
        chosen: list[Window] = []
        for window in ranked:
            if len(chosen) == count:
                break
            if all(window.last <= other.first or other.last <= window.first for other in chosen):
                chosen.append(window)
        if not chosen and self.segments:
            chosen.append(Window(0, self._first_worth_reading(), 0, 1))
        return chosen

    def _first_worth_reading(self) -> int:
        return next((n for n, segment in enumerate(self.segments) if segment.kind != HEADING), 0)

    def _candidates(self, max_bytes: int) -> Iterator[Window]:
        for first, segment in enumerate(self.segments):
            found = self.found[first]
            if not found and not (first and self.found[first - 1]) and not self._heading_of(first):
                continue
            yield self._window(first, 0, max_bytes)
            if segment.size > max_bytes:
                for char in self._inner_starts(segment.text, found):
                    yield self._window(first, char, max_bytes)

    def _heading_of(self, index: int) -> dict[int, float]:
        return self.heading_words.get(self.blocks[self.segments[index].block].heading, {})

    def _inner_starts(self, text: str, found: list[Found]) -> Iterator[int]:
        """Places to begin within a long segment: at a clause near before a match, or at the match."""
        done = -1
        for one in found:
            clause = one.start
            for match in _CLAUSE.finditer(text, max(0, one.start - 40), one.start):
                clause = match.end()
            for char in (clause, one.start):
                if char > done:
                    done = char
                    yield char

    def _window(self, first: int, char: int, max_bytes: int) -> Window:
        sight = _Sight(max_bytes)
        last = first
        while last < len(self.segments) and sight.room > 0 and (last == first or self._runs_on(last)):
            sight.take(self.segments[last], self.found[last], char if last == first else 0)
            last += 1
        score = self._score(first, char, sight.best) + HIT_BONUS * sight.hits
        if self.finder.asks_number:
            score += NUMBER_BONUS if sight.digit else 0
        elif sight.code:
            score += CODE_BONUS
        return Window(score * (1 - LEAD_LOSS * sight.lead / max_bytes), first, char, last)

    def _runs_on(self, index: int) -> bool:
        """Whether a window that came as far as this segment goes on into it."""
        here, before = self.segments[index], self.segments[index - 1]
        if here.block - before.block > 1 and any(
            self.blocks[n].kind != HEADING for n in range(before.block + 1, here.block)
        ):
            return False
        return here.kind != HEADING or before.kind == HEADING

    def _score(self, first: int, char: int, best: dict[int, float]) -> float:
        shares = dict(best)
        for unit, weight in self._heading_of(first).items():
            shares[unit] = max(shares.get(unit, 0), weight * HEADING_SHARE)
        if first and not char and self.segments[first - 1].kind != HEADING:
            for one in self.found[first - 1]:
                shares[one.unit] = max(shares.get(one.unit, 0), one.weight * BEFORE_SHARE)
        score = sum(self.values[unit] * weight for unit, weight in shares.items())
        if self.segments[first].kind == HEADING:
            score *= HEADING_START
        return score + (0 if char else ALIGNED_BONUS)

    def render(self, window: Window, max_bytes: int) -> str:
        """The text of a window, cut to the budget."""
        text = ""
        for index in range(window.first, len(self.segments)):
            segment = self.segments[index]
            if index == window.first:
                text = self._opening(segment, window.char)
                if byte_length(text) > max_bytes:
                    return _shortened(text, max_bytes)
                continue
            if not self._runs_on(index):
                break
            longer = text + _separator(self.segments[index - 1], segment) + segment.text.strip()
            if byte_length(longer) > max_bytes:
                tail = max_bytes - byte_length(text)
                return _shortened(longer, max_bytes) if tail >= MIN_TAIL_BYTES else text
            text = longer
        return text

    def _opening(self, segment: Segment, char: int) -> str:
        text = segment.text[char:].lstrip()
        if char:
            return ELLIPSIS + text
        return text.removeprefix("- ") if segment.kind == ITEM else text

    def plain_index(self, max_bytes: int) -> int:
        chosen = self.choose(max_bytes, 1)
        if not chosen or not chosen[0].score:
            return 0
        segment = self.segments[chosen[0].first]
        before = 0
        for index in range(segment.block):
            line = block_text(self.blocks, index)
            before += len(line) + 1 if line else 0
        return before + segment.start


def _best(found: list[Found]) -> dict[int, float]:
    best: dict[int, float] = {}
    for one in found:
        best[one.unit] = max(best.get(one.unit, 0), one.weight)
    return best


def _separator(before: Segment, here: Segment) -> str:
    if CODE in (before.kind, here.kind):
        return CODE_BREAK if before.kind == here.kind else " "
    if before.kind == HEADING and before.text[-1:] not in ":?!.":
        return ": "
    return " "


def _shortened(text: str, max_bytes: int) -> str:
    """`text` cut to the budget with a mark, at a space when one is near."""
    mark = ELLIPSIS if max_bytes >= 2 * len(ELLIPSIS.encode()) else ""
    head = clip(text, max_bytes - len(mark.encode()))
    space = head.rfind(" ")
    if text[len(head) : len(head) + 1] not in ("", " ") and space > len(head) * 3 // 4:
        head = head[:space]
    head = head.rstrip()
    return head + mark if head else clip(text, max_bytes)
