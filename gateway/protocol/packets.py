"""How much text fits one packet, and how a long text is cut into numbered parts. Pure.

Bytes are bytes of UTF-8. A part is never larger than its budget and never cuts what a reader sees as one character,
unless that one character alone is larger than a part.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from typing import NamedTuple

from search_core.graphemes import byte_length, split_point

FRAME_BYTES = 255  # largest LoRa frame (RadioInterface.h, MAX_LORA_PAYLOAD_LEN)
HEADER_BYTES = 16  # radio header before the encrypted part (RadioInterface.h, PacketHeader)
PORTNUM_BYTES = 2  # Data.portnum: tag and a one-byte varint (mesh.proto)
BITFIELD_BYTES = 2  # Data.bitfield: the sending firmware always adds it
REPLY_ID_BYTES = 5  # Data.reply_id: tag and fixed32
PKC_BYTES = 12  # 8 of authentication and 4 of nonce on a direct message (CryptoEngine)
VARINT_STEP = 128  # from here on a length takes two bytes

DEFAULT_TARGET = 200  # what travels well; the official apps stop there too

AGAIN = "*"
"""Stands before a part that is sent once more, so that nobody takes it for a new one."""

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？؟।։]+[」』）\s]*|\n")
_SPACE = re.compile(r"\s+")
# A nicer cut may leave this share of a part empty; each part costs its airtime whatever is in it.
_CUTS = ((_PARAGRAPH, 0.7), (_SENTENCE, 0.8), (_SPACE, 0.5))
_FREE_CUTS = ((_PARAGRAPH, 0.5), (_SENTENCE, 0.5))  # when the number of parts stays the same
_LIST_NUMBER = re.compile(r"(?:\A|\n)\s*[0-9]{1,3}[.)]\s+\Z")  # goes with its item
_LAST_HEADING = re.compile(r"\n[^\W\d_a-z][^\n·|=(){};$.!?:,…]{2,40}\n\Z")
_HEADING_LEAST = 0.6  # of a part, before a heading that is left to the next one
_NEAR_END_PARTS = 8
_TYPICAL_FILL = 0.95
_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"  # of skin
_NUMBER = re.compile(r"\*?([1-9][0-9]*)/([1-9][0-9]*) ")


def text_budget(*, direct: bool, reply_id: bool) -> int:
    """The most bytes of text that fit one packet: 220 direct, 215 with reply id, 232 and 227 on a channel.

    `direct` is an encrypted direct message. What is larger is refused by the radio, never cut.
    """
    room = FRAME_BYTES - HEADER_BYTES - PORTNUM_BYTES - BITFIELD_BYTES
    room -= PKC_BYTES if direct else 0
    room -= REPLY_ID_BYTES if reply_id else 0
    return next(length for length in range(room, 0, -1) if _payload_field(length) <= room)


def _payload_field(length: int) -> int:
    return 1 + (1 if length < VARINT_STEP else 2) + length


def target_budget(*, direct: bool, reply_id: bool, wanted: int = DEFAULT_TARGET) -> int:
    """The bytes to compose for: what is wanted, less where the packet or the mark of a repeat needs the room."""
    return min(wanted, text_budget(direct=direct, reply_id=reply_id) - len(AGAIN))


def mark_again(text: str, budget: int) -> str:
    """`text` marked as sent before, with one byte; unmarked when it would not fit or is marked already."""
    if text.startswith(AGAIN) or byte_length(text) + len(AGAIN) > budget:
        return text
    return AGAIN + text


def split(text: str, budget: int, *, at: int = 0, end: str = "", label: str = "") -> tuple[tuple[str, ...], int]:
    """Cut `text` into parts of at most `budget` bytes; also the index of the part that begins at `at`.

    More than one part are numbered ``2/5 ``. `at` is an index into `text` where a part shall begin (a place inside a
    word is only kept inside its part). `end` closes the last part, `label` stands before the words of every part.
    Without its number and label, a part is a slice of `text` less the white space at its ends; the slices follow each
    other without gap or overlap. Empty text gives no parts. Raises ValueError when nothing fits beside the number.
    """
    single = label + text.strip() + end
    if not text.strip():
        return (), 0
    if byte_length(single) <= budget:
        return (single,), 0
    for digits in itertools.count(1):
        found = _numbered(text, at, _Frame(budget, label, end, digits))
        if found is not None:
            return found
    raise AssertionError  # not reached: the room runs out first


def join(parts: tuple[str, ...], *, end: str = "", label: str = "") -> str:
    """The words of the parts in order: the text again, but for white space at the cuts."""
    bodies = [unnumbered(part).removeprefix(label) for part in parts]
    if bodies:
        bodies[-1] = bodies[-1].removesuffix(end)
    return "".join(bodies) if len(bodies) != 1 else parts[0].removeprefix(label).removesuffix(end)


def part_number(part: str) -> tuple[int, int] | None:
    """``(2, 5)`` for a part that begins ``2/5 ``, marked as a repeat or not."""
    found = _NUMBER.match(part)
    return (int(found[1]), int(found[2])) if found else None


def unnumbered(part: str) -> str:
    return _NUMBER.sub("", part, count=1)


class _Frame(NamedTuple):
    budget: int
    label: str
    end: str
    digits: int
    """Of the count of parts, at most."""

    def room(self, number: int) -> int:
        return self.budget - byte_length(self.label) - len(f"{number}/") - self.digits - 1


def _numbered(text: str, at: int, frame: _Frame) -> tuple[tuple[str, ...], int] | None:
    """The parts, or None when their count has more digits."""
    bodies: list[str] = []
    first, place = 0, _skip_space(text, 0)
    stop = at if _may_cut(text, at) else len(text)
    begin = _skip_space(text, at)  # an indented line begins with its first letter
    while place < len(text):
        if len(bodies) == 10**frame.digits - 1:
            return None
        if place <= begin:
            first = len(bodies)
        cut = _cut(
            text, place, stop if place < stop else len(text), frame.room(len(bodies) + 1), byte_length(frame.end)
        )
        bodies.append(text[place:cut].rstrip())
        place = _skip_space(text, cut)
    count = len(bodies)
    bodies[-1] += frame.end
    return tuple(f"{number}/{count} {frame.label}{body}" for number, body in enumerate(bodies, 1)), first


def _cut(text: str, place: int, stop: int, room: int, end: int) -> int:
    """Where the part that begins at `place` ends: at most `room` bytes on, at the nicest cut that costs little."""
    if room - end < 4:  # the longest code point
        raise ValueError("the budget is too small for a numbered part")
    ahead = text[place : min(stop, place + room + 1)]
    if place + len(ahead) >= stop:
        is_last = not text[stop:].strip()
        if byte_length(ahead.rstrip()) <= room - (end if is_last else 0):
            return stop
        reach = split_point(ahead, room - (end if is_last else 0))
    else:
        reach = split_point(ahead, room)
    reach += _may_cut(ahead, reach + 1) and ahead[reach].isspace()  # that space is not sent
    plain = _nice(ahead, reach, _CUTS) or reach
    nicer = _nice(ahead, reach, _FREE_CUTS) or plain
    same = _parts_left(text, place + nicer, room, end) == _parts_left(text, place + plain, room, end)
    cut = nicer if same else plain
    earlier = _before_heading(ahead, cut)
    costs_a_part = 0 < _parts_left(text, place + cut, room, end) < _parts_left(text, place + earlier, room, end)
    return place + (cut if costs_a_part else earlier)


def _before_heading(ahead: str, cut: int) -> int:
    """A heading goes with what it stands over; the same cut when the part does not end with one."""
    found = _LAST_HEADING.search(ahead, 0, cut)
    return found.start() + 1 if found and found.start() >= _HEADING_LEAST * cut else cut


def _nice(ahead: str, reach: int, cuts: tuple[tuple[re.Pattern[str], float], ...]) -> int:
    """The last cut of the first kind that leaves little empty; 0 when there is none."""
    for pattern, least in cuts:
        ends = (match.end() for match in pattern.finditer(ahead, 0, reach))
        found = [at for at in ends if _may_cut(ahead, at) and not _LIST_NUMBER.search(ahead, 0, at)]
        if found and byte_length(ahead[: found[-1]]) >= least * byte_length(ahead[:reach]):
            return found[-1]
    return 0


def _parts_left(text: str, cut: int, room: int, end: int) -> float:
    """About how many parts the rest takes; far from the end a place itself, so that no two are equal."""
    if len(text) - cut > _NEAR_END_PARTS * room:
        return -cut
    rest = byte_length(text[cut:].strip()) + end
    return 1 if rest <= room else math.ceil(max(2, rest / (room * _TYPICAL_FILL)))


def _may_cut(text: str, at: int) -> bool:
    """True where white space or a sentence ends and a character begins."""
    if at <= 0 or at >= len(text):
        return False
    return not _extends(text[at]) and (text[at - 1].isspace() or text[at - 1] in "。！？؟।։」』）")


def _extends(char: str) -> bool:
    return (
        char in "\u200c\u200d"
        or unicodedata.category(char) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )


def _skip_space(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace() and not (place + 1 < len(text) and _extends(text[place + 1])):
        place += 1
    return place
