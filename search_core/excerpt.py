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
from typing import NamedTuple

from search_core.excerpt_match import Found, Matcher, Unit, is_spelled_out, matcher
from search_core.excerpt_segments import ELLIPSIS, Join, Segment, bare, on_lines, on_one_line, segments_of, shortened
from search_core.graphemes import boundaries, byte_length
from search_core.lazy_pattern import LazyPattern
from search_core.markdown_text import CODE, HEADING, ITEM, TABLE, block_text, blocks, normalised
from search_core.terms import fold

__all__ = ["Excerpts", "Unit"]

# Each was tried on 130 questions with known answers; round numbers near the best, all on a flat part of the curve.
HEADING_SHARE = 0.6  # of a word that only the heading above has
BEFORE_SHARE = 0.6  # of a word that only the segment before has: the answer comes after the question's words
HEADER_SHARE = 0.6  # of a word that only the header of the table has
TITLE_SHARE = 0.7  # of a word that the note's first heading has: it says what the note is about, not where to look
HEADING_START = 0.6  # a window that begins with a heading spends its bytes on what the path often says already
ALIGNED_BONUS = 1.0  # for beginning where a sentence begins
HIT_BONUS = 0.02  # per match, to prefer the denser of equals
NUMBER_BONUS = 2.0  # for a digit beside a match, when the question asks for a number
MEANING_BONUS = 2.0  # for a match that is then explained, when the question asks for a meaning
SPELLED_BONUS = 2.0  # more when it is an abbreviation written out
CODE_BONUS = 2.0  # for a line of code, when the question does not ask for a number
LEAD_LOSS = 0.1  # of the score, when the first match is only at the end: what follows a match answers

CODE_ROOM = 20  # bytes of a line of code that must fit to count
CLAUSE_CHARS = 40  # how far before a match the clause may begin
MIN_STEP_CHARS = 16  # between two places to begin within one segment
MIN_TAIL_BYTES = 12  # less of a following segment than this is not worth its cut mark
LARGE_NOTE_CHARS = 12_000  # above this only the most promising blocks are looked into
CHARS_OF_LARGE = 12_000
LINE_COST = 40  # characters that a block counts for besides its own
AFTER_CHARS = 400  # how much after a promising block is looked into as well

_WORDY = re.compile("[A-Za-z0-9]")
_DIGIT = LazyPattern(r"\d")
_LIST_NUMBER_CHARS = 3  # of "1. " before an item, which answers no question
_CLAUSE = LazyPattern(r"[,;:(—–，；：、][\s\"“]*")
_EXPLAINED = LazyPattern(
    r"[\"'”»)]{0,2}\s?(?:[(—–:=·]|(?:is|are|was|were|means|stands for|indicates|refers to|represents|shows|marks)\b)",
    re.I,
)


class Window(NamedTuple):
    """A place to cut an excerpt from."""

    score: float
    first: int
    """The segment it starts in."""
    char: int
    """Where in that segment."""
    last: int
    """The segment after the last one of which it has a part."""


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
        """Up to `count` passages that do not overlap, best first; each on one line."""
        return self._rendered(max_bytes, count, on_one_line)

    def cut_in_lines(self, max_bytes: int) -> str:
        """As `cut`, but items, rows and paragraphs stand on lines of their own, which costs no more than a space."""
        return next(iter(self.windows_in_lines(max_bytes, 1)), "")

    def windows_in_lines(self, max_bytes: int, count: int) -> list[str]:
        """As `windows`, in lines as `cut_in_lines`."""
        return self._rendered(max_bytes, count, on_lines)

    def _rendered(self, max_bytes: int, count: int, join: Join) -> list[str]:
        note = self._prepared()
        return [text for window in note.choose(max_bytes, count) if (text := note.render(window, max_bytes, join))]

    def start_of_best(self, max_bytes: int = 200) -> int:
        """Index in ``plain_text(text)`` where the best passage begins; 0 when nothing matches."""
        return self._prepared().plain_index(max_bytes)

    def _prepared(self) -> _Note:
        if self._note is None:
            self._note = _Note(normalised(self._raw), self._matcher)
        return self._note


class _Sight:
    """What of a window fits its budget: filled segment by segment."""

    def __init__(self, max_bytes: int, finder: Matcher) -> None:
        self.finder = finder
        self.budget = self.room = max_bytes
        self.best: dict[int, float] = {}
        self.hits = 0
        self.lead = 0
        """Bytes before the first match."""
        self.digit = self.code = self.explained = self.spelled_out = False

    def take(self, segment: Segment, found: list[Found], begin: int) -> None:
        """Count what of `segment` from `begin` on fits, and use up the room."""
        for one in found:
            if one.start >= begin and not self._take_match(segment, one, begin):
                break
        if (found or (self.hits and segment.kind == TABLE)) and not self.digit:
            after = _LIST_NUMBER_CHARS if segment.kind == ITEM and not begin else begin
            self.digit = _DIGIT.now.search(segment.text, after, begin + self.room) is not None
        self.code = self.code or (segment.kind == CODE and self.room > CODE_ROOM)
        self.room -= segment.byte_offset(begin, len(segment.text)) + 1

    def _take_match(self, segment: Segment, one: Found, begin: int) -> bool:
        offset = segment.byte_offset(begin, one.end)
        if offset > self.room:
            return False
        if not self.hits:
            self.lead = max(0, self.budget - self.room + offset - (one.end - one.start))
        self.hits += 1
        self.best[one.unit] = max(one.weight, self.best.get(one.unit, 0))
        if self.finder.asks_meaning:
            self.explained = self.explained or _is_explained(segment.text, one)
            self.spelled_out = self.spelled_out or is_spelled_out(segment.text, one.start, one.end)
        return True

    def bonus(self) -> float:
        """For what kind of answer is in sight, by what kind is asked for."""
        bonus = HIT_BONUS * self.hits
        if self.finder.asks_number:
            bonus += NUMBER_BONUS * self.digit
        else:
            bonus += CODE_BONUS * self.code
        if self.finder.asks_meaning:
            bonus += MEANING_BONUS * self.explained + SPELLED_BONUS * self.spelled_out
        return bonus


class _Note:
    def __init__(self, text: str, finder: Matcher) -> None:
        self.finder = finder
        self.blocks = blocks(text)
        self._block_units: dict[int, dict[int, float]] = {-1: {}}
        self.segments = list(segments_of(self.blocks, self._worth_reading(len(text))))
        self.compounds = finder.compounds(fold("\n".join(segment.text for segment in self.segments)))
        self.found = [finder.find(segment.text, self.compounds) for segment in self.segments]
        self.values = self._values()

    def _worth_reading(self, size: int) -> list[int]:
        """Indices of the blocks to look into: all of a usual note, the most promising of a large one."""
        if size <= LARGE_NOTE_CHARS:
            return list(range(len(self.blocks)))
        near = [self.finder.units_near(fold(block.raw)) for block in self.blocks]
        counts = [0] * len(self.finder.weights)
        for units in near:
            for unit in units:
                counts[unit] += 1
        values = [_rarity(len(near), count) * w for count, w in zip(counts, self.finder.weights, strict=True)]

        def promise(index: int) -> float:
            above = self.blocks[index].heading
            in_heading = near[above] - near[index] if above >= 0 else ()
            return sum(values[unit] for unit in near[index]) + HEADING_SHARE * sum(values[unit] for unit in in_heading)

        matched = [index for index, units in enumerate(near) if units] or [0]
        best: list[int] = []
        room = CHARS_OF_LARGE
        for index in sorted(matched, key=promise, reverse=True):
            if room <= 0:
                break
            best.append(index)
            room -= len(self.blocks[index].raw) + LINE_COST
        return self._with_what_follows(sorted(best))

    def _with_what_follows(self, chosen: list[int]) -> list[int]:
        near: dict[int, None] = {}
        for index in chosen:
            room = AFTER_CHARS
            for following in range(index, len(self.blocks)):
                near[following] = None
                room -= len(self.blocks[following].raw)
                if room <= 0:
                    break
        return sorted(near)

    def _values(self) -> list[float]:
        """What each unit is worth in this note: rare words more."""
        lines = len(self.segments)
        with_unit = [0] * len(self.finder.weights)
        for found in self.found:
            for unit in {one.unit for one in found}:
                with_unit[unit] += 1
        first = next((n for n, block in enumerate(self.blocks) if block.kind == HEADING and block.level == 1), -1)
        title = self._units_of(first)
        return [
            weight * _rarity(lines, count) * (TITLE_SHARE if unit in title else 1)
            for unit, (weight, count) in enumerate(zip(self.finder.weights, with_unit, strict=True))
        ]

    def _units_of(self, block: int) -> dict[int, float]:
        """The units that one block has (a heading, or the header of a table), each with its best weight."""
        if block not in self._block_units:
            self._block_units[block] = _best(self.finder.find(block_text(self.blocks, block)))
        return self._block_units[block]

    def choose(self, max_bytes: int, count: int) -> list[Window]:
        """The best windows that do not overlap; the beginning of the note when no word is found."""
        ranked = sorted(self._candidates(max_bytes), key=lambda window: -window.score)
        chosen: list[Window] = []
        for window in ranked:
            if len(chosen) == count:
                break
            if all(window.last <= other.first or other.last <= window.first for other in chosen):
                chosen.append(window)
        if not chosen and self.segments and count > 0:
            first = next((n for n, segment in enumerate(self.segments) if segment.kind != HEADING), 0)
            chosen.append(Window(0, first, 0, first + 1))
        return chosen

    def _candidates(self, max_bytes: int) -> Iterator[Window]:
        for first, segment in enumerate(self.segments):
            found = self.found[first]
            if segment.text.isascii() and not _WORDY.search(segment.text):
                continue  # a bracket, a rule: nobody begins to read there
            if not found and not (first and self.found[first - 1]) and not self._units_of(self._heading(first)):
                continue
            yield self._window(first, 0, max_bytes)
            if segment.size > max_bytes:
                for char in _inner_starts(segment, found):
                    yield self._window(first, char, max_bytes)

    def _heading(self, segment: int) -> int:
        return self.blocks[self.segments[segment].block].heading

    def _window(self, first: int, char: int, max_bytes: int) -> Window:
        sight = _Sight(max_bytes, self.finder)
        last = first
        while last < len(self.segments) and sight.room > 0 and (last == first or self._runs_on(last)):
            sight.take(self.segments[last], self.found[last], char if last == first else 0)
            last += 1
        score = self._worth(first, char, sight.best) + sight.bonus()
        return Window(score * (1 - LEAD_LOSS * sight.lead / max(1, max_bytes)), first, char, last)

    def _runs_on(self, index: int) -> bool:
        """Whether a window that came as far as the segment before this one goes on into it."""
        here, before = self.segments[index], self.segments[index - 1]
        left_out = range(before.block + 1, here.block)
        if any(self.blocks[block].kind != HEADING and block_text(self.blocks, block) for block in left_out):
            return False
        return here.kind != HEADING or before.kind == HEADING

    def _worth(self, first: int, char: int, best: dict[int, float]) -> float:
        """The value of the words in a window and, in part, of those that stand over or before it."""
        shares = dict(best)
        segment = self.segments[first]
        block = self.blocks[segment.block]
        _add(shares, self._units_of(block.heading), HEADING_SHARE)
        _add(shares, self._units_of(block.header), HEADER_SHARE)
        if first and not char and self.segments[first - 1].kind != HEADING:
            _add(shares, _best(self.found[first - 1]), BEFORE_SHARE)
        worth = sum(self.values[unit] * weight for unit, weight in shares.items())
        if segment.kind == HEADING:
            worth *= HEADING_START
        return worth + (0 if char or segment.is_cut else ALIGNED_BONUS)

    def render(self, window: Window, max_bytes: int, join: Join) -> str:
        """The text of a window, cut to the budget, led by what stands over it when that says more and fits."""
        lead = self._lead(window, max_bytes)
        return lead + self._filled(window, max_bytes - byte_length(lead), join)

    def _filled(self, window: Window, max_bytes: int, join: Join) -> str:
        """The segments from the window's start that fit; the last may be cut."""
        first = self.segments[window.first]
        text = _opening(first, self._earlier_start(window, max_bytes))
        if byte_length(text) > max_bytes:
            return shortened(text, max_bytes)
        for index in range(window.first + 1, len(self.segments)):
            if not self._runs_on(index):
                break
            segment = self.segments[index]
            longer = text + join(self.segments[index - 1], segment)
            if byte_length(longer) > max_bytes:
                enough = max_bytes - byte_length(text) >= MIN_TAIL_BYTES
                return shortened(longer, max_bytes) if enough else text
            text = longer
        return text

    def _earlier_start(self, window: Window, max_bytes: int) -> int:
        """Where to begin in a long last segment, so that its end does not leave the budget half used."""
        text, char = self.segments[window.first].text, window.char
        if not char or (window.first + 1 < len(self.segments) and self._runs_on(window.first + 1)):
            return char
        while True:
            earlier = text.rfind(" ", 0, max(0, char - 1)) + 1
            if (
                not earlier
                or not text[earlier].isalnum()
                or byte_length(text[earlier:]) + len(ELLIPSIS.encode()) > max_bytes
            ):
                return char
            char = earlier

    def _lead(self, window: Window, max_bytes: int) -> str:
        """The table's header or the heading over a window, when it has a word of the question that the window lacks.

        It must leave room for all matches of the window, and for as much again as it takes.
        """
        segment = self.segments[window.first]
        block = self.blocks[segment.block]
        if window.char or segment.kind == HEADING or not window.score:
            return ""
        shown = _best([one for index in range(window.first, window.last) for one in self.found[index]])
        for over in (block.header, block.heading):
            if over != segment.block and set(self._units_of(over)) - set(shown):
                lead = f"{block_text(self.blocks, over).rstrip(':')}: "
                if self._needed(window) <= max_bytes - 2 * byte_length(lead):
                    return lead
        return ""

    def _needed(self, window: Window) -> int:
        """Bytes up to the end of the last segment with a match."""
        matched = [index for index in range(window.first, window.last) if self.found[index]] or [window.first]
        return sum(self.segments[index].size + 1 for index in range(window.first, matched[-1] + 1))

    def plain_index(self, max_bytes: int) -> int:
        """Where the best window begins in the plain text of the whole note."""
        chosen = self.choose(max_bytes, 1)
        if not chosen or not chosen[0].score:
            return 0
        segment = self.segments[chosen[0].first]
        lines = (block_text(self.blocks, index) for index in range(segment.block))
        return sum(len(line) + 1 for line in lines if line) + segment.start


def _opening(segment: Segment, char: int) -> str:
    text = segment.text[char:].lstrip()
    if char or segment.is_cut:
        return ELLIPSIS + text
    return bare(segment)


def _inner_starts(segment: Segment, found: list[Found]) -> Iterator[int]:
    """Places to begin within a long segment: at a clause near before a match, or at the match."""
    text = segment.text
    allowed = None if segment.ascii else set(boundaries(text))
    done = 0
    for one in found:
        clause = one.start
        for match in _CLAUSE.now.finditer(text, max(0, one.start - CLAUSE_CHARS), one.start):
            clause = match.end()
        for char in (clause, one.start):
            if char > done and (allowed is None or char in allowed):
                yield char
        done = max(done, one.start + MIN_STEP_CHARS)


def _is_explained(text: str, one: Found) -> bool:
    return text[one.start - 1 : one.start] == "(" or _EXPLAINED.now.match(text, one.end) is not None


def _rarity(lines: int, count: int) -> float:
    """How much a word that `count` of `lines` have says about a place: 1 when only one has it."""
    return math.log(1 + lines / count) / math.log(1 + lines) if count and lines else 0.0


def _add(shares: dict[int, float], units: dict[int, float], share: float) -> None:
    for unit, weight in units.items():
        shares[unit] = max(shares.get(unit, 0), weight * share)


def _best(found: list[Found]) -> dict[int, float]:
    best: dict[int, float] = {}
    for one in found:
        best[one.unit] = max(best.get(one.unit, 0), one.weight)
    return best
