"""Every radio keeps every promise of `gateway.radio.port`, one test for each."""

from __future__ import annotations

import time

import pytest
from radio_bench import Listener
from radio_contract import Bench, packet

from gateway.protocol.messages import (
    DeliveryReport,
    IncomingText,
    LinkDown,
    LinkUp,
    OutgoingPacket,
    QueueStatus,
    RadioTelemetry,
    SendFailed,
)
from gateway.radio.devices import RadioTarget
from gateway.radio.meshtastic_radio import MeshtasticRadio
from gateway.radio.port import Radio, RadioRejected, RadioUnavailable


def texts(heard: Listener) -> list[str | None]:
    return [event.text for event in heard.events if isinstance(event, IncomingText)]


def has_status(heard: Listener, packet_id: int) -> bool:
    return any(isinstance(e, QueueStatus) and e.packet_id == packet_id for e in list(heard.events))


def links(heard: Listener) -> list[str]:
    return [type(event).__name__ for event in heard.of(LinkUp, LinkDown)]


# Radio


def test_link_up_comes_first_and_says_who_the_radio_is(radio: Radio, bench: Bench, heard: Listener) -> None:
    up = heard.events[0]
    assert isinstance(up, LinkUp)
    assert (up.info.node, up.info.key, up.info.lora.region) == (bench.node.number, bench.node.key, "US")
    assert [(node.node, node.key) for node in up.info.nodes] == [(bench.handheld.number, bench.handheld.key)]


def test_what_waited_in_the_radio_comes_after_link_up(bench: Bench, heard: Listener) -> None:
    bench.call(lambda: bench.handheld.say("early", bench.node.number))
    bench.pass_time(5)
    radio = bench.new_radio()
    radio.start(heard)
    bench.wait(lambda: texts(heard) == ["early"])
    assert isinstance(heard.events[0], LinkUp)
    radio.close()


def test_events_come_in_the_order_in_which_they_happened(radio: Radio, bench: Bench, heard: Listener) -> None:
    for number in range(3):
        bench.call(lambda number=number: bench.handheld.say(f"q{number}", bench.node.number))  # type: ignore[misc]
        bench.pass_time(4)
    bench.wait(lambda: len(texts(heard)) == 3)
    assert texts(heard) == ["q0", "q1", "q2"]


def test_a_direct_message_carries_its_proof(radio: Radio, bench: Bench, heard: Listener) -> None:
    said = bench.call(lambda: bench.handheld.say("tape backup 磁带 ✓", bench.node.number))
    bench.wait(lambda: len(texts(heard)) == 1)
    text = next(event for event in heard.events if isinstance(event, IncomingText))
    assert (text.text, text.packet_id, text.sender) == ("tape backup 磁带 ✓", said.packet_id, bench.handheld.number)
    assert (text.destination, text.key, text.transport) == (bench.node.number, bench.handheld.key, "TRANSPORT_LORA")
    assert (text.wants_ack, text.via_mqtt, text.is_reaction, text.hops) == (True, False, False, 0)


def test_a_lost_link_is_told_once_and_its_return_once(radio: Radio, bench: Bench, heard: Listener) -> None:
    for _ in range(2):
        bench.cut()
        bench.wait(lambda: links(heard)[-1] == "LinkDown")
        bench.pass_time(5)
        bench.mend(radio)
        bench.wait(lambda: links(heard)[-1] == "LinkUp")
    assert links(heard) == ["LinkUp", "LinkDown"] * 2 + ["LinkUp"]
    assert all(event.reason for event in heard.events if isinstance(event, LinkDown))


def test_an_announced_reboot_is_a_lost_link(radio: Radio, bench: Bench, heard: Listener) -> None:
    bench.call(lambda: bench.node.reboot(announce=True))
    bench.wait(lambda: links(heard) == ["LinkUp", "LinkDown", "LinkUp"])


def test_a_radio_gone_deaf_is_noticed_after_a_hand_over(radio: Radio, bench: Bench, heard: Listener) -> None:
    bench.call(lambda: bench.node.reboot(announce=False, seconds=1))
    bench.pass_time(3)
    radio.send(packet(5))
    bench.wait(lambda: links(heard) == ["LinkUp", "LinkDown", "LinkUp"])
    assert [e.packet_id for e in heard.events if isinstance(e, SendFailed)] == [5]


def test_our_own_telemetry_is_the_pulse(radio: Radio, bench: Bench, heard: Listener) -> None:
    bench.wait(lambda: bool(heard.of(RadioTelemetry)))


# start


def test_start_returns_at_once(bench: Bench, heard: Listener) -> None:
    radio = bench.new_radio()
    started = time.monotonic()
    radio.start(heard)
    assert time.monotonic() - started < 0.5
    radio.close()


# send


def test_send_returns_at_once_and_is_told_by_a_queue_status(radio: Radio, bench: Bench, heard: Listener) -> None:
    started = time.monotonic()
    radio.send(packet(11))
    assert time.monotonic() - started < 0.5
    bench.wait(lambda: has_status(heard, 11))


def test_the_text_arrives_as_it_was_given(radio: Radio, bench: Bench) -> None:
    said = bench.call(lambda: bench.handheld.say("q", bench.node.number))
    bench.pass_time(10)
    radio.send(packet(12, "ответ → 答案", key=bench.handheld.key, reply_id=said.packet_id))
    bench.wait(lambda: bool(bench.handheld.seen))
    seen = bench.handheld.seen[0]
    assert (seen.text, seen.packet_id, seen.direct, seen.reply_id) == ("ответ → 答案", 12, True, said.packet_id)


def test_a_delivered_packet_is_reported_by_its_destination(radio: Radio, bench: Bench, heard: Listener) -> None:
    radio.send(packet(13))
    bench.wait(lambda: DeliveryReport(13, bench.handheld.number, "NONE") in heard.events)


def test_an_undelivered_packet_is_reported_by_our_own_node(radio: Radio, bench: Bench, heard: Listener) -> None:
    bench.call(lambda: bench.mesh.isolate(bench.handheld.number))
    radio.send(packet(14))
    bench.wait(lambda: DeliveryReport(14, bench.node.number, "MAX_RETRANSMIT") in heard.events)


def test_a_demanded_key_that_is_not_the_node_s_is_refused(radio: Radio, bench: Bench, heard: Listener) -> None:
    radio.send(packet(15, key=b"\x01" * 32))
    bench.wait(lambda: any(isinstance(e, DeliveryReport) and e.packet_id == 15 for e in list(heard.events)))
    report = next(e for e in heard.events if isinstance(e, DeliveryReport))
    assert report == DeliveryReport(15, bench.node.number, "PKI_FAILED")
    assert bench.handheld.seen == []


def test_an_unconfirmed_packet_fails_before_its_link(radio: Radio, bench: Bench, heard: Listener) -> None:
    bench.call(lambda: bench.node.reboot(announce=False, seconds=60))
    bench.pass_time(1)
    radio.send(packet(16))
    bench.cut()
    bench.wait(lambda: "LinkDown" in links(heard))
    kinds = [type(e).__name__ for e in heard.events if isinstance(e, SendFailed | LinkDown)]
    assert kinds == ["SendFailed", "LinkDown"]
    assert has_status(heard, 16) is False


def test_before_it_is_started_it_is_unavailable(bench: Bench) -> None:
    with pytest.raises(RadioUnavailable):
        bench.new_radio().send(packet(17))


def test_without_a_link_it_is_unavailable(bench: Bench, radio: Radio, heard: Listener) -> None:
    bench.cut()
    bench.wait(lambda: "LinkDown" in links(heard))
    with pytest.raises(RadioUnavailable):
        radio.send(packet(17))


def test_while_a_hand_over_is_under_way_it_is_unavailable(radio: Radio) -> None:
    radio.send(packet(18))
    with pytest.raises(RadioUnavailable):
        radio.send(packet(19))


def test_233_bytes_are_taken_and_more_are_rejected(radio: Radio, bench: Bench, heard: Listener) -> None:
    with pytest.raises(RadioRejected):
        radio.send(OutgoingPacket(20, bench.handheld.number, "x" * 234))
    with pytest.raises(RadioRejected):
        radio.send(OutgoingPacket(20, bench.handheld.number, "é" * 117))
    radio.send(OutgoingPacket(21, bench.handheld.number, "x" * 233))
    bench.wait(lambda: DeliveryReport(21, bench.node.number, "TOO_LARGE") in heard.events)


# protect and announce


def test_protected_nodes_become_favourites(radio: Radio, bench: Bench) -> None:
    started = time.monotonic()
    radio.protect((bench.handheld.number, 0xDEAD))
    assert time.monotonic() - started < 0.5
    bench.wait(lambda: bench.node.db.known[bench.handheld.number].favorite)


def test_announcing_tells_others_our_key(radio: Radio, bench: Bench) -> None:
    bench.call(lambda: bench.handheld.node.db.forget(bench.node.number))
    radio.announce()
    bench.wait(lambda: bench.handheld.node.db.key_of(bench.node.number) == bench.node.key)


def test_both_are_harmless_without_a_link(bench: Bench) -> None:
    radio = bench.new_radio()
    radio.protect((1, 2))
    radio.announce()


# close


def test_closing_says_goodbye_so_that_the_radio_keeps_what_comes(radio: Radio, bench: Bench) -> None:
    radio.close()
    bench.pass_time(1)
    bench.call(lambda: bench.handheld.say("while you were away", bench.node.number))
    bench.pass_time(10)
    later, again = Listener(), bench.new_radio()
    again.start(later)
    bench.wait(lambda: texts(later) == ["while you were away"])
    again.close()


def test_closing_is_quick_final_and_idempotent(radio: Radio, bench: Bench, heard: Listener) -> None:
    started = time.monotonic()
    radio.close()
    radio.close()
    assert time.monotonic() - started < 10
    count = len(heard.events)
    bench.call(lambda: bench.handheld.say("anybody?", bench.node.number))
    bench.pass_time(5)
    assert len(heard.events) == count
    with pytest.raises(RadioUnavailable):
        radio.send(packet(30))


# The owner's own radio: connects and leaves, and transmits nothing.


def test_a_real_radio_connects_and_parts(real_target: RadioTarget, heard: Listener) -> None:
    radio = MeshtasticRadio(real_target)
    radio.start(heard)
    try:
        heard.wait_up(seconds=55)
        heard.wait(lambda e: isinstance(e, QueueStatus))
    finally:
        radio.close()
    up = heard.events[0]
    assert isinstance(up, LinkUp)
    assert up.info.node
    assert up.info.firmware
