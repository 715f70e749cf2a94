"""A start-up conversation that stalls, or loses frames on its way."""

from __future__ import annotations

import pytest
from meshtastic.protobuf import mesh_pb2

from gateway.radio.reconnect import LinkRules
from gateway.radio.start_up import REPEATS, StartUp

RULES = LinkRules()
Frame = mesh_pb2.FromRadio


def whole_answer() -> list[mesh_pb2.FromRadio]:
    frames = [Frame(my_info=mesh_pb2.MyNodeInfo(my_node_num=1)), Frame(metadata=mesh_pb2.DeviceMetadata())]
    for index in range(8):
        frames.append(Frame())
        frames[-1].channel.index = index
    for name in ("device", "lora", "security"):
        frames.append(Frame())
        getattr(frames[-1].config, name).SetInParent()
    return frames


@pytest.fixture
def start_up() -> StartUp:
    start_up = StartUp(RULES, 0.0)
    start_up.begin(10.0)
    return start_up


def test_a_start_up_that_does_not_go_on_is_asked_for_again(start_up: StartUp) -> None:
    assert [t for t in range(10, 26) if start_up.ask_again(float(t))] == [15, 20, 25]
    start_up.hears(Frame(my_info=mesh_pb2.MyNodeInfo()), 26.0)
    assert not start_up.ask_again(30.9)
    start_up.hears(Frame(packet=mesh_pb2.MeshPacket()), 30.9)
    assert start_up.ask_again(31.0), "a packet is no part of it"


def test_a_radio_that_pauses_by_itself_is_left_to_finish(start_up: StartUp) -> None:
    asked, due, rest = [], 11.0, whole_answer()
    for second in range(10, 200):
        if start_up.ask_again(float(second)):
            asked.append(second)
            rest, due = whole_answer(), second + 1.0
        if rest and second >= due:
            start_up.hears(rest.pop(0), float(second))
            due = second + (9.0 if len(rest) == 5 else 0.1)
        if not rest:
            break
    assert not rest
    assert len(asked) == 1


def test_a_radio_that_said_anything_at_all_is_not_silent(start_up: StartUp) -> None:
    assert not start_up.is_silent(39.9)
    assert start_up.is_silent(40.0)
    start_up.hears(Frame(log_record=mesh_pb2.LogRecord()), 41.0)
    assert not start_up.is_silent(1000.0)


def test_a_whole_answer_has_no_gaps(start_up: StartUp) -> None:
    for frame in whole_answer():
        start_up.hears(frame, 11.0)
    assert not start_up.has_gaps(11.0)


@pytest.mark.parametrize("missing", [0, 1, 2, 5, 11, 12])
def test_an_answer_with_a_gap_is_asked_for_again_until_it_is_whole(start_up: StartUp, missing: int) -> None:
    for frame in whole_answer()[:missing] + whole_answer()[missing + 1 :]:
        start_up.hears(frame, 11.0)
    assert start_up.has_gaps(11.0)
    for frame in whole_answer():
        start_up.hears(frame, 12.0)
    assert not start_up.has_gaps(12.0)


def test_what_the_library_keeps_need_not_come_again(start_up: StartUp) -> None:
    frames = whole_answer()
    for frame in (f for f in frames if not f.HasField("my_info")):
        start_up.hears(frame, 11.0)
    assert start_up.has_gaps(11.0)
    for frame in (f for f in frames if f.HasField("my_info") or f.HasField("channel")):
        start_up.hears(frame, 12.0)
    assert not start_up.has_gaps(12.0)


def test_damage_among_the_frames_is_a_gap_once(start_up: StartUp) -> None:
    for _ in range(2):
        for frame in whole_answer():
            start_up.hears(frame, 11.0)
        start_up.damaged()
        assert start_up.has_gaps(11.0)
    for frame in whole_answer():
        start_up.hears(frame, 12.0)
    assert not start_up.has_gaps(12.0)


def test_a_radio_that_never_tells_all_is_taken_as_it_is_and_asked_anew_after_a_reboot(start_up: StartUp) -> None:
    assert [start_up.has_gaps(11.0) for _ in range(REPEATS + 2)] == [True] * REPEATS + [False, False]
    start_up.hears(Frame(rebooted=True), 50.0)
    assert start_up.has_gaps(51.0)
