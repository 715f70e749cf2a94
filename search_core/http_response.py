"""Reads one HTTP/1.x answer from bytes as they come. Pure: no socket, no clock.

Only what a local JSON service sends: a length, chunks, or everything until the connection closes; no
compression, no redirects. Whatever is not that is refused with the reason.
"""

from __future__ import annotations

MAX_HEAD = 64 * 1024
"""Bytes of status line and headers."""
MAX_BODY = 8 * 1024 * 1024
"""Bytes. The largest real answer measured was 2.3 MB."""


class BadResponse(Exception):
    """The bytes are not an answer we accept; the text says why."""


class BrokenOff(BadResponse):
    """It ended too early, as when the program on the other side was closed."""


class ResponseReader:
    """Feed it bytes until `done`; then `status`, `content_type` and `body` are final."""

    __slots__ = ("_buffer", "_chunked", "_head_read", "_length", "content_type", "done", "status")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head_read = False
        self._chunked: list[bytes] | None = None
        self._length = -1
        self.status = 0
        self.content_type = ""
        self.done = False

    @property
    def body(self) -> bytes:
        return b"".join(self._chunked) if self._chunked is not None else bytes(self._buffer)

    @property
    def progress(self) -> str:
        """How far it came, for an error message."""
        if not self._head_read:
            return "nothing" if not self._buffer else "part of the headers"
        of = f" of {self._length}" if self._length >= 0 else ""
        return f"{len(self.body)}{of} bytes"

    def feed(self, data: bytes) -> None:
        """Take more bytes; no bytes means that the other side closed. Raises `BadResponse`."""
        self._buffer += data
        if not self._head_read:
            self._read_head(closed=not data)
        if self._head_read and not self.done:
            self._read_body(closed=not data)

    def _read_head(self, *, closed: bool) -> None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            self._refuse_endless_head(closed=closed)
            return
        lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        self.status = _status(lines[0])
        self._take_headers(dict(_header(line) for line in lines[1:]))
        self._head_read = True

    def _refuse_endless_head(self, *, closed: bool) -> None:
        if not b"HTTP/1.".startswith(self._buffer[:7]):
            raise BadResponse("it does not speak HTTP")
        if len(self._buffer) > MAX_HEAD:
            raise BadResponse("its headers have no end")
        if closed:
            raise BrokenOff(f"it closed the connection after {self.progress}")

    def _take_headers(self, headers: dict[str, str]) -> None:
        self.content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise BadResponse("its answer is compressed, which nobody asked for")
        if "chunked" in headers.get("transfer-encoding", "").lower():
            self._chunked = []
        elif "content-length" in headers:
            self._length = _number(headers["content-length"], 10)
            self._check_size(self._length)

    def _read_body(self, *, closed: bool) -> None:
        if self._chunked is not None:
            self._read_chunks(self._chunked)
        elif self._length >= 0:
            del self._buffer[self._length :]
            self.done = len(self._buffer) == self._length
        else:
            self._check_size(len(self._buffer))
            self.done = closed
        if closed and not self.done:
            raise BrokenOff(f"it broke off after {self.progress}")

    def _read_chunks(self, chunks: list[bytes]) -> None:
        while (end := self._buffer.find(b"\r\n")) >= 0:
            size = _number(bytes(self._buffer[:end]).decode("latin-1").partition(";")[0].strip(), 16)
            self._check_size(size + sum(map(len, chunks)))
            if size == 0:
                self.done = True
                return
            if len(self._buffer) < end + 2 + size + 2:
                return
            chunks.append(bytes(self._buffer[end + 2 : end + 2 + size]))
            del self._buffer[: end + 2 + size + 2]
        if len(self._buffer) > MAX_HEAD:
            raise BadResponse("its chunks have no size")

    def _check_size(self, size: int) -> None:
        if size > MAX_BODY:
            raise BadResponse(f"its answer is larger than {MAX_BODY // 2**20} MB")


def _status(line: str) -> int:
    version, _, rest = line.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdecimal():
        raise BadResponse("it does not speak HTTP")
    return int(rest[:3])


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


def _number(text: str, base: int) -> int:
    digits = text.strip()
    if not digits or len(digits) > 16 or not digits.isalnum() or not digits.isascii():
        raise BadResponse(f"it gives {text[:20]!r} as the length of its answer")
    try:
        return int(digits, base)
    except ValueError:
        raise BadResponse(f"it gives {text[:20]!r} as the length of its answer") from None
