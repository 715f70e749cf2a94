"""Damaged frames must not take the good ones behind them along."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.radio.resync import PART_SECONDS, START, Resync

GOOD = START + b"\x00\x02ok"


def test_what_begins_in_a_damaged_frame_is_read_again_in_order() -> None:
    resync = Resync()
    resync.damaged(b"junk" + GOOD + START + b"\x00")
    assert resync.again(1) == START[:1]
    assert resync.again(100) == (GOOD + START + b"\x00")[1:]
    assert resync.again(1) == b""


def test_a_damaged_frame_in_a_damaged_frame_goes_first() -> None:
    resync = Resync()
    resync.damaged(START + b"a" + START + b"b" + GOOD)
    assert resync.again(3) == START + b"a"
    resync.damaged(b"x" + START + b"inner")
    assert resync.again(100) == START + b"inner" + START + b"b" + GOOD


@given(st.lists(st.sampled_from([START, START[:1], b"\x00\x03", b"\x01\xff", b"x", GOOD]), max_size=60).map(b"".join))
def test_reading_again_comes_to_an_end(junk: bytes) -> None:
    """Though every frame in it is damaged."""
    resync = Resync()
    resync.damaged(junk)
    for _ in range(len(junk)):
        frame = resync.again(512)
        if not frame:
            return
        resync.damaged(frame[4:])
    assert resync.again(1) == b""


def test_a_part_that_stood_too_long_is_dropped() -> None:
    resync = Resync()
    assert not resync.begins_anew(b"", b"\x94", 100.0)
    assert not resync.begins_anew(b"\x94", b"\xc3", 100.0 + PART_SECONDS)
    assert resync.begins_anew(START, b"\x94", 100.1 + 2 * PART_SECONDS)
    assert not resync.begins_anew(b"", b"\x94", 1000.0), "nothing to drop"


def test_a_start_mark_after_half_a_start_mark_counts() -> None:
    resync = Resync()
    assert resync.begins_anew(b"\x94", b"\x94", 0.0)
    assert not resync.begins_anew(START + b"\x00", b"\x94", 0.0), "within a frame it is a byte like any other"


def test_a_length_that_no_frame_has_is_no_length() -> None:
    resync = Resync()
    assert not resync.begins_anew(START, b"\x02", 0.0)
    assert resync.begins_anew(START, b"\x03", 0.0)
    assert resync.begins_anew(START, b"\x94", 0.0), "another start mark"
