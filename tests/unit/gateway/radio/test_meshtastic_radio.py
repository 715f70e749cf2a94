"""The adapter and the unmodified library against a radio that misbehaves in every way that links are known to fail."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from meshtastic.protobuf import mesh_pb2, portnums_pb2
from radio_bench import Listener, send, until
from wire_radio import OWN, PEER, PEER_KEY, START, WireRadio

from gateway.protocol.messages import (
    DeliveryReport,
    IncomingText,
    LinkDown,
    LinkUp,
    OddPacket,
    OutgoingPacket,
    QueueStatus,
    RadioEvent,
    SendFailed,
)
from gateway.radio.devices import RadioTarget
from gateway.radio.meshtastic_radio import MAX_NODES, MeshtasticRadio
from gateway.radio.port import RadioRejected, RadioUnavailable
from gateway.radio.reconnect import LinkRules, LinkState
from gateway.radio.resync import PART_SECONDS

QUICK = LinkRules(
    open_seconds=3,
    configure_seconds=3,
    quiet_start_seconds=0.5,
    ask_again_seconds=0.2,
    close_seconds=2,
    silence_seconds=60,
    queue_status_seconds=0.6,
    handover_seconds=2,
    write_seconds=0.3,
    write_pause_seconds=0.0,
    text_gap_seconds=0.0,
    backoff_first_seconds=0.05,
    backoff_most_seconds=0.2,
    poll_seconds=0.02,
)


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[WireRadio]:
    radio = WireRadio(tmp_path / "radio")
    yield radio
    radio.close()


@pytest.fixture
def heard() -> Listener:
    return Listener()


@contextlib.contextmanager
def running(target: RadioTarget, heard: Listener, rules: LinkRules = QUICK) -> Iterator[MeshtasticRadio]:
    fatal: list[str] = []
    radio = MeshtasticRadio(target, rules, fatal.append)
    radio.start(heard)
    try:
        yield radio
    finally:
        started = time.monotonic()
        radio.close()
        assert time.monotonic() - started < 10
        assert fatal == []


@pytest.fixture
def radio(wire: WireRadio, heard: Listener) -> Iterator[MeshtasticRadio]:
    with running(at(wire), heard) as adapter:
        heard.wait_up()
        yield adapter


def at(wire: WireRadio) -> RadioTarget:
    return RadioTarget(serial=str(wire.link))


def packet(packet_id: int = 7, text: str = "hi", **fields: object) -> OutgoingPacket:
    return OutgoingPacket(packet_id, PEER, text, **fields)  # type: ignore[arg-type]


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


# The ordinary way.


def test_connects_sets_the_clock_and_reads_the_radio(radio: MeshtasticRadio, wire: WireRadio, heard: Listener) -> None:
    up = heard.events[0]
    assert isinstance(up, LinkUp)
    assert (up.info.node, up.info.key, up.info.lora.region) == (OWN, PEER_KEY, "EU_868")
    assert [node.node for node in up.info.nodes] == [PEER]
    until(lambda: any(f.packet.decoded.portnum == portnums_pb2.PortNum.ADMIN_APP for f in wire.received))
    assert radio.state is LinkState.UP
    assert radio.is_healthy()


def test_a_packet_goes_out_exactly_as_asked(radio: MeshtasticRadio, wire: WireRadio, heard: Listener) -> None:
    send(radio, packet(0xDEADBEEF, "答案 ✓", key=PEER_KEY, reply_id=99))
    heard.wait(lambda e: isinstance(e, QueueStatus) and e.packet_id == 0xDEADBEEF)
    sent = wire.texts[0]
    assert (sent.id, sent.to, sent.want_ack, sent.hop_limit) == (0xDEADBEEF, PEER, True, 3)
    assert (sent.pki_encrypted, sent.public_key) == (True, PEER_KEY)
    assert (sent.decoded.payload.decode(), sent.decoded.reply_id) == ("答案 ✓", 99)


def test_a_channel_packet_demands_no_key(radio: MeshtasticRadio, wire: WireRadio) -> None:
    send(radio, OutgoingPacket(8, 0xFFFFFFFF, "all", channel=2, wants_ack=False))
    until(lambda: bool(wire.texts))
    sent = wire.texts[0]
    assert (sent.to, sent.channel, sent.want_ack, sent.pki_encrypted) == (0xFFFFFFFF, 2, False, False)


def test_what_was_queued_in_the_radio_comes_after_the_link_is_up(wire: WireRadio, heard: Listener) -> None:
    wire.backlog = ["first", "second"]
    with running(at(wire), heard):
        heard.wait(lambda e: isinstance(e, IncomingText) and e.text == "second")
        assert isinstance(heard.events[0], LinkUp)
        assert [e.text for e in heard.events if isinstance(e, IncomingText)] == ["first", "second"]


def test_an_ack_may_come_before_the_write_returns(radio: MeshtasticRadio, wire: WireRadio, heard: Listener) -> None:
    send(radio, packet(31))
    until(lambda: bool(wire.texts))
    wire.routing(31, OWN, error=5)
    heard.wait(lambda e: e == DeliveryReport(31, OWN, "MAX_RETRANSMIT"))


def test_protected_nodes_become_favourites_and_announcing_is_a_heartbeat(
    radio: MeshtasticRadio, wire: WireRadio
) -> None:
    radio.protect((PEER,))
    radio.announce()
    until(lambda: any(f.heartbeat.nonce == 1 for f in wire.received))
    admin = [f.packet.decoded.payload for f in wire.received if f.packet.decoded.portnum == 6]
    assert len(admin) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        packet(text="x" * 234),
        packet(text="é" * 117),
        packet(0),
        OutgoingPacket(1, 2**33, "x"),
        OutgoingPacket(2**32, PEER, "x"),
        packet(reply_id=-1),
        packet(key=bytes(32)),
        packet(key=b"short"),
    ],
)
def test_what_no_radio_can_send_is_rejected_link_or_not(wrong: OutgoingPacket) -> None:
    with pytest.raises(RadioRejected):
        MeshtasticRadio(RadioTarget(serial="/dev/none"), QUICK).send(wrong)


def test_one_hand_over_at_a_time(radio: MeshtasticRadio) -> None:
    send(radio, packet(50))
    with pytest.raises(RadioUnavailable, match="under way"):
        radio.send(packet(51))


def test_every_taken_packet_ends_in_a_queue_status_or_a_failure(
    radio: MeshtasticRadio, wire: WireRadio, heard: Listener
) -> None:
    for packet_id in range(100, 105):
        send(radio, packet(packet_id))
    wire.unplug()
    heard.wait_down()
    ends = [e.packet_id for e in heard.events if isinstance(e, QueueStatus | SendFailed) and e.packet_id]
    assert sorted(ends) == [100, 101, 102, 103, 104]


# Connecting fails.


def test_a_missing_device_is_waited_for(wire: WireRadio, heard: Listener) -> None:
    wire.unplug()
    with running(at(wire), heard):
        assert "is it plugged in?" in heard.wait_down()
        time.sleep(0.1)
        wire.plug()
        heard.wait_up()
    assert len(heard.of(LinkDown)) == 1


def test_a_device_that_is_plugged_in_anew_is_tried_at_once(wire: WireRadio, heard: Listener) -> None:
    """Whatever pause the failures of the old one have earned."""
    wire.answers_config = False
    rules = LinkRules(quiet_start_seconds=0.1, backoff_first_seconds=60, poll_seconds=0.02)
    with running(at(wire), heard, rules) as radio:
        heard.wait_down()
        until(lambda: radio.state is LinkState.WAITING_FOR_DEVICE)
        wire.unplug()
        wire.answers_config = True
        time.sleep(0.1)
        wire.plug()
        heard.wait_up()


def test_a_silent_device_is_named_as_no_radio_and_leaves_nothing_behind(wire: WireRadio, heard: Listener) -> None:
    wire.answers_config = False
    files, threads = open_files(), threading.active_count()
    with running(at(wire), heard):
        assert "nothing that speaks Meshtastic" in heard.wait_down()
        time.sleep(0.8)
        assert threading.active_count() <= threads + 3
        assert open_files() <= files + 12
        wire.answers_config = True
        heard.wait_up()


def test_a_board_that_restarts_when_it_is_opened_is_asked_again(wire: WireRadio, heard: Listener) -> None:
    """Opened anew it would only restart anew."""
    wire.missed_requests = 1
    with running(at(wire), heard):
        heard.wait_up()
    assert heard.of(LinkDown) == []


def test_an_answer_whose_end_is_damaged_is_asked_for_again(wire: WireRadio, heard: Listener) -> None:
    """And a text that the radio gave meanwhile, and gives only once, is heard."""
    wire.finishes_config = False
    with running(at(wire), heard):
        until(lambda: any(frame.want_config_id for frame in wire.received))
        wire.text("asked while nobody listened")
        wire.finishes_config = True
        heard.wait_up()
        heard.wait(lambda e: isinstance(e, IncomingText))
    assert heard.of(LinkDown) == []


def test_an_answer_with_a_gap_is_asked_for_again(wire: WireRadio, heard: Listener) -> None:
    """A radio that seems to have no region, or not the channel of the config, would not be run on."""
    wire.damaged_answers = 2
    with running(at(wire), heard):
        heard.wait_up()
    up = heard.events[0]
    assert isinstance(up, LinkUp)
    assert up.info.lora.region == "EU_868"
    assert len([f for f in wire.received if f.want_config_id]) == 3


def test_a_device_that_talks_without_ever_finishing_is_given_up(wire: WireRadio, heard: Listener) -> None:
    wire.finishes_config = False
    with running(at(wire), heard, LinkRules(configure_seconds=0.5, poll_seconds=0.02)):
        assert "start-up conversation" in heard.wait_down()


def test_a_port_held_by_another_program_is_named_and_taken_when_free(wire: WireRadio, heard: Listener) -> None:
    script = "import fcntl,os,sys,time; fcntl.flock(os.open(sys.argv[1],2),2); print(1,flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script, str(wire.link)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with running(at(wire), heard):
            assert f"(pid {holder.pid})" in heard.wait_down()
            holder.kill()
            heard.wait_up()


def test_a_file_that_is_no_serial_device(tmp_path: Path, heard: Listener) -> None:
    (tmp_path / "file").touch()
    with running(RadioTarget(serial=str(tmp_path / "file")), heard):
        assert "not a serial device" in heard.wait_down()


def test_a_node_list_without_our_own_node_is_enough(wire: WireRadio, heard: Listener) -> None:
    """The library's own wait would take five minutes."""
    wire.names_itself = False
    with running(at(wire), heard):
        heard.wait_up()


def test_connecting_is_stopped_at_once(wire: WireRadio, heard: Listener) -> None:
    wire.answers_config = False
    with running(at(wire), heard, LinkRules()):
        until(lambda: bool(wire.received))
        started = time.monotonic()
    assert time.monotonic() - started < 2
    assert heard.events == []


def test_connecting_and_closing_leaves_no_thread_and_no_file(wire: WireRadio) -> None:
    def cycle() -> None:
        heard = Listener()
        with running(at(wire), heard):
            heard.wait_up()

    cycle()
    files = open_files()
    for _ in range(3):
        cycle()
    assert open_files() == files
    assert wire.disconnects == 4


# A running link fails.


def test_an_unplugged_radio_is_noticed_at_once_and_found_again(
    radio: MeshtasticRadio, wire: WireRadio, heard: Listener
) -> None:
    wire.unplug()
    started = time.monotonic()
    assert "unplugged" in heard.wait_down()
    with pytest.raises(RadioUnavailable):
        radio.send(packet())
    assert time.monotonic() - started < 1
    wire.plug()
    heard.wait_up(2)
    send(radio, packet(21))
    heard.wait(lambda e: isinstance(e, QueueStatus) and e.packet_id == 21)


def test_a_packet_that_races_the_unplugging_is_told_as_failed(
    radio: MeshtasticRadio, wire: WireRadio, heard: Listener
) -> None:
    wire.confirms = False
    send(radio, packet(22))
    wire.unplug()
    failed = heard.wait(lambda e: isinstance(e, SendFailed))
    assert isinstance(failed, SendFailed)
    assert (failed.packet_id, failed.retry) == (22, True)
    assert not any(isinstance(e, LinkDown) for e in heard.events[: heard.events.index(failed)])


def test_an_ack_tells_as_well_that_the_radio_took_the_packet(
    radio: MeshtasticRadio, wire: WireRadio, heard: Listener
) -> None:
    wire.confirms = False  # its QueueStatus is lost on the cable
    send(radio, packet(25))
    wire.routing(25, PEER)
    heard.wait(lambda e: isinstance(e, DeliveryReport) and e.packet_id == 25)
    wire.unplug()
    heard.wait_down()
    assert heard.of(SendFailed) == []


def test_closing_while_unplugged_is_quiet_and_quick(wire: WireRadio, heard: Listener) -> None:
    with running(at(wire), heard):
        heard.wait_up()
        wire.unplug()
    assert radio_threads() == []


def test_an_announced_reboot_is_down_then_up_and_leaves_no_timer(
    radio: MeshtasticRadio, wire: WireRadio, heard: Listener
) -> None:
    for times in range(2, 5):
        wire.reboot(announce=True)
        heard.wait_up(times)
    assert [type(e).__name__ for e in heard.of(LinkUp, LinkDown)] == ["LinkUp", "LinkDown"] * 3 + ["LinkUp"]
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    send(radio, packet(23))
    heard.wait(lambda e: isinstance(e, QueueStatus) and e.packet_id == 23)


def test_an_unannounced_reboot_is_noticed_by_the_missing_queue_status(
    radio: MeshtasticRadio, wire: WireRadio, heard: Listener
) -> None:
    wire.reboot(announce=False)
    send(radio, packet(24))
    assert "did not confirm" in heard.wait_down()
    assert SendFailed(24, heard.wait_down(), retry=True) in heard.events
    heard.wait_up(2)
    wire.text("heard again")
    heard.wait(lambda e: isinstance(e, IncomingText))


def test_an_unannounced_reboot_is_noticed_by_silence(wire: WireRadio, heard: Listener) -> None:
    """Although its heartbeats are answered."""
    rules = LinkRules(
        silence_seconds=0.8, heartbeat_seconds=0.1, probe_seconds=60, poll_seconds=0.02, backoff_first_seconds=0.05
    )
    with running(at(wire), heard, rules):
        heard.wait_up()
        wire.reboot(announce=False)
        assert "nothing came" in heard.wait_down()
        heard.wait_up(2)


def test_an_unannounced_reboot_is_noticed_by_a_probe_without_answer(wire: WireRadio, heard: Listener) -> None:
    """Long before the silence is."""
    rules = LinkRules(
        silence_seconds=60,
        heartbeat_seconds=0.1,
        probe_seconds=0.2,
        queue_status_seconds=0.5,
        poll_seconds=0.02,
        backoff_first_seconds=0.05,
    )
    with running(at(wire), heard, rules):
        heard.wait_up()
        wire.reboot(announce=False)
        assert "did not answer" in heard.wait_down()
        heard.wait_up(2)


def test_a_quiet_radio_is_probed_before_it_is_given_up(wire: WireRadio, heard: Listener) -> None:
    wire.answers_probes = True
    with running(at(wire), heard, LinkRules(silence_seconds=0.6, probe_seconds=0.15, poll_seconds=0.02)):
        heard.wait_up()
        time.sleep(1.0)
        assert heard.of(LinkDown) == []


def test_a_full_queue_is_refused_and_asked_about(radio: MeshtasticRadio, wire: WireRadio, heard: Listener) -> None:
    heard.wait(lambda e: isinstance(e, QueueStatus))
    wire.free = 0
    send(radio, packet(25))
    heard.wait(lambda e: isinstance(e, QueueStatus) and e.free == 0)
    with pytest.raises(RadioUnavailable, match="full"):
        send_once_free(radio, packet(26))
    wire.free = 16
    send(radio, packet(26), seconds=5)


def send_once_free(radio: MeshtasticRadio, outgoing: OutgoingPacket) -> None:
    """Past "a hand-over is under way"."""
    deadline = time.monotonic() + 2
    while True:
        try:
            return radio.send(outgoing)
        except RadioUnavailable as error:
            if "under way" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def test_closing_with_a_full_queue_says_goodbye(wire: WireRadio, heard: Listener) -> None:
    wire.free = 0
    with running(at(wire), heard):
        heard.wait(lambda e: isinstance(e, QueueStatus) and e.free == 0)
        started = time.monotonic()
    assert time.monotonic() - started < 3
    until(lambda: wire.disconnects == 1)


def test_a_port_that_takes_no_bytes_is_given_up_without_spinning(wire: WireRadio, heard: Listener) -> None:
    rules = LinkRules(
        queue_status_seconds=30, write_seconds=0.5, backoff_first_seconds=0.05, poll_seconds=0.02, close_seconds=3
    )
    with running(at(wire), heard, rules) as radio:
        heard.wait_up()
        wire.reads = False
        fill(wire.link)
        busy = time.process_time()
        send(radio, packet(27, "x" * 200))
        assert "took nothing" in heard.wait_down()
        assert time.process_time() - busy < 0.4
        wire.unplug()
        wire.reads = True
        wire.plug()
        heard.wait_up(2)
    assert any(isinstance(e, SendFailed) and e.packet_id == 27 for e in heard.events)


def fill(device: Path) -> None:
    """Write to the port's other side of the kernel until it takes no more."""
    end = os.open(device, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        for _ in range(3):
            time.sleep(0.05)  # the radio may be in the middle of a read, the kernel moves bytes between its buffers
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(end, b"\xc3" * 512)
    finally:
        os.close(end)


def test_closing_a_wedged_port_returns_in_time(wire: WireRadio, heard: Listener) -> None:
    with running(at(wire), heard):
        heard.wait_up()
        wire.reads = False
        fill(wire.link)
        started = time.monotonic()
    assert time.monotonic() - started < 5


# What comes from the radio is odd.


def test_damaged_frames_and_console_text_cost_nothing(
    radio: MeshtasticRadio, wire: WireRadio, heard: Listener, capfd: pytest.CaptureFixture[str]
) -> None:
    wire.raw(START + b"\x00\x05\xff\xff\xff\xff\xff")
    wire.raw(b"DEBUG | \x1b[31mno newline at all \x94 \xc3" * 50)
    wire.raw(START + b"\xff\xff")
    wire.text("still there")
    heard.wait(lambda e: isinstance(e, IncomingText))
    assert OddPacket("garbage-frame") in heard.events
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "before", [b"\x94", START, START + b"\xff", START + b"\x01\x00\x12\x40", START + b"\x00\x07\x12\x40"]
)
def test_a_half_frame_takes_no_text_with_it(
    radio: MeshtasticRadio, wire: WireRadio, heard: Listener, before: bytes
) -> None:
    wire.raw(before)
    for number in range(20):
        wire.text(f"question {number}", packet_id=number + 1)
    heard.wait(lambda e: isinstance(e, IncomingText) and e.packet_id == 20)
    assert [e.packet_id for e in heard.events if isinstance(e, IncomingText)] == list(range(1, 21))


def test_half_a_frame_does_not_wait_for_the_next_one(radio: MeshtasticRadio, wire: WireRadio, heard: Listener) -> None:
    """As a board that runs out of room in the middle leaves it."""
    wire.raw(START + b"\x01\x00\x12\x40")
    time.sleep(PART_SECONDS + 0.2)
    wire.text("a minute later")
    heard.wait(lambda e: isinstance(e, IncomingText), seconds=0.5)


def test_odd_packets_are_counted_by_kind_and_print_nothing(
    radio: MeshtasticRadio, wire: WireRadio, heard: Listener, capfd: pytest.CaptureFixture[str]
) -> None:
    wire.text("from nobody", sender=0)
    wire.text("from all", sender=0xFFFFFFFF)
    wire.text(b"\xff\xff")
    wire.say(mesh_pb2.FromRadio(packet=wire.packet(encrypted=b"secret")))
    wire.say(mesh_pb2.FromRadio(packet=wire.packet()))
    broken = wire.packet()
    broken.decoded.portnum = portnums_pb2.PortNum.TELEMETRY_APP
    broken.decoded.payload = b"\xff\xff\xff"
    wire.say(mesh_pb2.FromRadio(packet=broken))
    wire.text("a stranger's first words", sender=0xCC03)
    heard.wait(lambda e: isinstance(e, IncomingText) and e.sender == 0xCC03)
    kinds = [e.kind for e in heard.events if isinstance(e, OddPacket)]
    assert sorted(kinds) == ["bad-utf8", "broadcast-sender", "encrypted", "no-decoded", "no-sender", "undecodable"]
    assert capfd.readouterr() == ("", "")


def test_a_listener_that_raises_costs_only_its_own_event(wire: WireRadio, heard: Listener) -> None:
    def deliver(event: RadioEvent) -> None:
        if isinstance(event, IncomingText) and event.text == "bad":
            raise RuntimeError("listener")
        heard(event)

    adapter = MeshtasticRadio(at(wire), QUICK)
    adapter.start(deliver)
    try:
        heard.wait_up()
        wire.text("bad")
        wire.text("good", packet_id=2)
        heard.wait(lambda e: isinstance(e, IncomingText) and e.text == "good")
    finally:
        adapter.close()
    assert heard.of(LinkDown) == []


def test_invented_nodes_do_not_fill_the_memory(radio: MeshtasticRadio, wire: WireRadio, heard: Listener) -> None:
    interface = radio._link._interface  # type: ignore[union-attr]
    interface.nodesByNum.update({number: {"num": number} for number in range(1, MAX_NODES + 2)})
    wire.text("one more", sender=0xCC03)
    heard.wait(lambda e: isinstance(e, IncomingText))
    assert len(interface.nodesByNum) < 5


def test_a_flood_comes_through_whole_and_in_order(radio: MeshtasticRadio, wire: WireRadio, heard: Listener) -> None:
    for number in range(1, 201):
        wire.text(f"q{number}", packet_id=number)
        if number % 20 == 0:
            time.sleep(0.02)
    heard.wait(lambda e: isinstance(e, IncomingText) and e.packet_id == 200, seconds=10)
    assert [e.packet_id for e in heard.events if isinstance(e, IncomingText)] == list(range(1, 201))


# Stopping.


def test_closing_twice_or_before_starting_is_fine(wire: WireRadio, heard: Listener) -> None:
    idle = MeshtasticRadio(at(wire), QUICK)
    idle.close()
    with running(at(wire), heard) as adapter:
        heard.wait_up()
        adapter.close()
    until(lambda: wire.disconnects == 1)


def test_nothing_is_delivered_after_closing(wire: WireRadio, heard: Listener) -> None:
    with running(at(wire), heard):
        heard.wait_up()
    count = len(heard.events)
    wire.text("too late")
    time.sleep(0.1)
    assert len(heard.events) == count


def radio_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith(("meshseek", "stream reader"))]


def test_the_library_s_log_is_silent_even_at_debug_level(wire: WireRadio, tmp_path: Path) -> None:
    """It writes the radio's private key."""
    script = textwrap.dedent(
        """
        import logging, sys, threading
        logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
        from gateway.radio.meshtastic_radio import MeshtasticRadio
        from gateway.radio.devices import RadioTarget
        up = threading.Event()
        radio = MeshtasticRadio(RadioTarget(serial=sys.argv[1]))
        radio.start(lambda event: up.set())
        assert up.wait(10)
        radio.close()
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(wire.link)], capture_output=True, text=True, check=True, timeout=30
    )
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("INFO:meshseek", "WARNING:meshseek"))]
    assert (lines, done.stderr) == ([], "")
