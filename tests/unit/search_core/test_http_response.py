"""An HTTP answer means the same however its bytes are cut, and junk is refused rather than waited for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_core.http_response import BadResponse, ResponseReader

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; charset=utf-8\r\n"
ANSWERS = {
    "length": HEAD + b"content-length:  5 \r\n\r\nhello",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=1\r\nllo\r\n0\r\n\r\n",
    "until it closes": HEAD + b"\r\nhello",
    "more than said": HEAD + b"Content-Length: 5\r\n\r\nhello and more",
}


def read(*parts: bytes) -> ResponseReader:
    reader = ResponseReader()
    for part in parts:
        if not reader.done:
            reader.feed(part)
    if not reader.done:
        reader.feed(b"")
    return reader


@pytest.mark.parametrize("data", ANSWERS.values(), ids=ANSWERS)
def test_whole_and_byte_by_byte(data: bytes) -> None:
    for reader in (read(data), read(*(bytes((byte,)) for byte in data))):
        assert (reader.status, reader.content_type, reader.body) == (200, "application/json", b"hello")


@given(st.sampled_from(sorted(ANSWERS)), st.integers(1, 60), st.integers(1, 60))
@settings(max_examples=60)
def test_cut_anywhere(kind: str, first: int, second: int) -> None:
    data = ANSWERS[kind]
    parts = [data[:first], data[first : first + second], data[first + second :]]
    assert read(*(part for part in parts if part)).body == b"hello"


@given(st.binary(max_size=200), st.booleans())
@settings(max_examples=80)
def test_any_bytes_end_in_an_answer_or_a_reason(data: bytes, with_head: bool) -> None:
    try:
        reader = read(*([HEAD + data] if with_head else [data] if data else []))
    except BadResponse:
        return
    assert reader.done


@pytest.mark.parametrize("name", ["length", "chunks"])
def test_every_shorter_answer_is_refused(name: str) -> None:
    data = ANSWERS[name]
    end = len(data) - 2 if name == "chunks" else len(data)  # the empty line after the last chunk adds nothing
    for size in range(1, end - 2):
        with pytest.raises(BadResponse):
            read(data[:size])


def test_progress_is_said_in_bytes() -> None:
    reader = ResponseReader()
    assert reader.progress == "nothing"
    reader.feed(b"HTTP/1.1 200")
    assert reader.progress == "part of the headers"
    reader.feed(b" OK\r\nContent-Length: 9\r\n\r\nabc")
    assert reader.progress == "3 of 9 bytes"
