"""Frames that a damaged one would take with it. Pure.

The stream has no checksum and no end mark: a frame that lost bytes, or that console text was printed into, lasts until
its length is filled up with the frames behind it, or with the next one, minutes later. That next one may be a question.
"""

from __future__ import annotations

START = b"\x94\xc3"
MOST_BYTES = 512
"""Of a frame, without the mark and the length."""
MOST_HIGH_BYTE = b"\x02"
"""The first byte of a greater length begins something else."""
PART_SECONDS = 1.0
"""A radio on a cable writes a frame in one go; what has stood half finished for this long is not finished any more."""


class Resync:
    """Stands between the port and the library's reader, which takes one byte at a time."""

    def __init__(self) -> None:
        self._again = b""
        self._came_at = 0.0

    def damaged(self, frame: bytes) -> None:
        """What the reader took for a frame is none: whatever begins in it is to be read again."""
        begin = frame.find(START)
        if begin >= 0:
            self._again = (frame[begin:] + self._again)[:MOST_BYTES]  # no more can wait, but where nobody reads it

    def again(self, length: int) -> bytes:
        """Bytes to be read once more, before any new ones."""
        taken, self._again = self._again[:length], self._again[length:]
        return taken

    def begins_anew(self, part: bytes, new: bytes, now: float) -> bool:
        """`new` came: whether the part of a frame read so far is to be dropped before it."""
        waited, self._came_at = now - self._came_at, now
        if part == START[:1]:
            return new == START[:1] or waited > PART_SECONDS
        return (part == START and new > MOST_HIGH_BYTE) or (bool(part) and waited > PART_SECONDS)
