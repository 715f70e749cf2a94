"""The framing of the serial protocol: 0x94 0xC3, length (two bytes, big-endian), protobuf. Pure."""

from __future__ import annotations

MAGIC = b"\x94\xc3"
MAX_LENGTH = 512
"""Bytes of one message (StreamAPI.h, MAX_TO_FROM_RADIO_SIZE); a longer length means: look for the next start."""
HEADER_LENGTH = 4


def frame_bytes(message: bytes) -> bytes:
    """One message, framed."""
    return MAGIC + len(message).to_bytes(2, "big") + message


class Deframer:
    """Takes bytes as they come and gives whole messages; all else (wake bytes, noise) is passed over."""

    def __init__(self) -> None:
        self._buffer = b""
        self.skipped = 0
        """Bytes that belonged to no message."""

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        messages = []
        while (message := self._next()) is not None:
            messages.append(message)
        return messages

    def _next(self) -> bytes | None:
        while True:
            self._seek()
            if len(self._buffer) < HEADER_LENGTH:
                return None
            length = int.from_bytes(self._buffer[2:4], "big")
            if length <= MAX_LENGTH:
                break
            self._skip(1)
        if len(self._buffer) < HEADER_LENGTH + length:
            return None
        message = self._buffer[HEADER_LENGTH : HEADER_LENGTH + length]
        self._buffer = self._buffer[HEADER_LENGTH + length :]
        return message

    def _seek(self) -> None:
        """Drop what stands before a start; a first half of it at the end may yet be completed."""
        start = self._buffer.find(MAGIC)
        if start < 0:
            start = len(self._buffer) - (1 if self._buffer.endswith(MAGIC[:1]) else 0)
        self._skip(start)

    def _skip(self, count: int) -> None:
        self.skipped += count
        self._buffer = self._buffer[count:]
