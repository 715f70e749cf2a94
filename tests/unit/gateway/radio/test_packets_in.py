"""The library's packet dictionaries, as it really makes them, and as nobody expects them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from gateway.protocol.messages import (
    BROADCAST,
    DeliveryReport,
    IncomingText,
    NodeHeard,
    NodeSeen,
    OddPacket,
    RadioTelemetry,
)
from gateway.radio.packets_in import events

OWN, PEER = 0xAA01, 0xBB02
KEY = bytes(range(32))


def text_packet(**changes: Any) -> dict[str, Any]:
    decoded = {"portnum": "TEXT_MESSAGE_APP", "payload": "hallo ключ 钥匙".encode(), "bitfield": 1}
    decoded.update(changes.pop("decoded", {}))
    packet = {
        "from": PEER,
        "to": OWN,
        "id": 1342181415,
        "rxTime": 1796138356,
        "rxSnr": 6.25,
        "rxRssi": -70,
        "hopLimit": 2,
        "hopStart": 3,
        "wantAck": True,
        "publicKey": base64.b64encode(KEY).decode(),
        "pkiEncrypted": True,
        "transportMechanism": "TRANSPORT_LORA",
        "fromId": "!0000bb02",
        "decoded": decoded,
    }
    return {**packet, **changes}


def only_text(packet: dict[str, Any]) -> IncomingText:
    found = [event for event in events(packet, OWN) if isinstance(event, IncomingText)]
    assert len(found) == 1
    return found[0]


def test_a_direct_message_in_full() -> None:
    assert events(text_packet(), OWN) == (
        NodeHeard(PEER, hops=1),
        IncomingText(
            packet_id=1342181415,
            sender=PEER,
            destination=OWN,
            channel=0,
            payload="hallo ключ 钥匙".encode(),
            text="hallo ключ 钥匙",
            key=KEY,
            via_mqtt=False,
            transport="TRANSPORT_LORA",
            wants_ack=True,
            rx_time=1796138356,
            snr=6.25,
            rssi=-70,
            hops=1,
        ),
    )


def test_absent_fields_have_their_defaults() -> None:
    packet = {"from": PEER, "to": BROADCAST, "decoded": {"portnum": "TEXT_MESSAGE_APP", "payload": b"x"}}
    text = only_text(packet)
    assert (text.packet_id, text.channel, text.key, text.rx_time, text.snr, text.hops) == (0, 0, None, 0, None, None)


def test_a_key_counts_only_on_a_packet_that_was_decrypted_with_it() -> None:
    assert only_text(text_packet(pkiEncrypted=False)).key is None
    assert only_text(text_packet(pkiEncrypted="true")).key is None
    assert only_text(text_packet(publicKey="AQ==")).key is None
    assert only_text(text_packet(publicKey="not base64!")).key is None


def test_reply_and_reaction() -> None:
    text = only_text(text_packet(decoded={"replyId": 99, "emoji": 1}))
    assert (text.reply_id, text.is_reaction) == (99, True)


def test_text_that_is_not_utf8_is_kept_as_bytes_and_counted() -> None:
    found = events(text_packet(decoded={"payload": b"\xff\xfe"}), OWN)
    assert isinstance(found[1], IncomingText)
    assert (found[1].text, found[1].payload) == (None, b"\xff\xfe")
    assert found[2] == OddPacket("bad-utf8")


def test_an_empty_text_is_a_text() -> None:
    assert only_text(text_packet(decoded={"payload": b""})).text == ""


def test_237_bytes_pass_and_more_do_not() -> None:
    assert len(only_text(text_packet(decoded={"payload": b"a" * 237})).payload) == 237
    assert events(text_packet(decoded={"payload": b"a" * 238}), OWN)[1:] == (OddPacket("bad-payload"),)


@pytest.mark.parametrize(
    ("start", "limit", "hops"),
    [(3, 3, 0), (3, 0, 3), (7, 2, 5), (2, 3, None), (0, 0, None), (3, -1, None), ("3", 1, None)],
)
def test_hops(start: Any, limit: Any, hops: int | None) -> None:
    assert only_text(text_packet(hopStart=start, hopLimit=limit)).hops == hops


@pytest.mark.parametrize(
    ("packet", "kind"),
    [
        ({"from": 0, "decoded": {}}, "no-sender"),
        ({"decoded": {}}, "no-sender"),
        ({"from": None}, "no-sender"),
        ({"from": "!0000bb02"}, "no-sender"),
        ({"from": -1}, "no-sender"),
        ({"from": 2**40}, "no-sender"),
        ({"from": BROADCAST}, "broadcast-sender"),
        (None, "malformed"),
        ([1], "malformed"),
    ],
)
def test_a_packet_from_nobody(packet: Any, kind: str) -> None:
    assert events(packet, OWN) == (OddPacket(kind),)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, "no-decoded"),
        ({"encrypted": "aGk="}, "encrypted"),
        ({"decoded": "text"}, "no-decoded"),
        ({"decoded": {}}, "port-unknown"),
        ({"decoded": {"portnum": 300}}, "port-300"),
        ({"decoded": {"portnum": 10**6}}, "port-unknown"),
        ({"decoded": {"portnum": "POSITION_APP"}}, "port-POSITION_APP"),
        ({"decoded": {"portnum": "\x1b[31m"}}, "port-unknown"),
        ({"decoded": {"portnum": "TELEMETRY_APP"}}, "port-TELEMETRY_APP"),
        ({"decoded": {"portnum": "ROUTING_APP"}}, "routing-no-request"),
        ({"decoded": {"portnum": "NODEINFO_APP"}}, "bad-node-info"),
    ],
)
def test_what_is_nothing_for_us_is_counted_by_kind_and_its_sender_was_heard(fields: dict[str, Any], kind: str) -> None:
    assert events({"from": PEER, **fields}, OWN) == (NodeHeard(PEER), OddPacket(kind))


def routing(sender: int, **fields: Any) -> dict[str, Any]:
    return {"from": sender, "decoded": {"portnum": "ROUTING_APP", "requestId": 77, "routing": fields}}


def test_who_acknowledged_is_kept() -> None:
    assert events(routing(PEER, errorReason="NONE"), OWN)[1] == DeliveryReport(77, PEER, "NONE")
    assert events(routing(OWN, errorReason="MAX_RETRANSMIT"), OWN) == (DeliveryReport(77, OWN, "MAX_RETRANSMIT"),)


def test_reasons_of_newer_firmware_have_a_number() -> None:
    assert events(routing(OWN, errorReason=40), OWN) == (DeliveryReport(77, OWN, "ERROR_40"),)


def test_a_traced_route_is_no_delivery() -> None:
    assert events(routing(OWN, routeReply={}), OWN) == (OddPacket("routing-route"),)


def test_our_own_pulse() -> None:
    metrics = {"uptimeSeconds": 61, "channelUtilization": 4.5, "airUtilTx": 0.25}
    packet = {"from": OWN, "decoded": {"portnum": "TELEMETRY_APP", "telemetry": {"deviceMetrics": metrics}}}
    assert events(packet, OWN) == (RadioTelemetry(4.5, 0.25, 61),)


def test_our_own_other_telemetry_is_no_pulse_event() -> None:
    packet = {"from": OWN, "decoded": {"portnum": "TELEMETRY_APP", "telemetry": {"localStats": {}}}}
    assert events(packet, OWN) == (OddPacket("port-TELEMETRY_APP"),)


def test_a_node_that_says_who_it_is() -> None:
    user = {"longName": "T-Deck 🛶", "shortName": "td", "publicKey": base64.b64encode(KEY).decode()}
    packet = {"from": PEER, "rxTime": 5, "decoded": {"portnum": "NODEINFO_APP", "user": user}}
    assert events(packet, OWN)[1] == NodeSeen(PEER, "T-Deck 🛶", "td", KEY, 5)


def test_names_are_bounded_and_whole() -> None:
    packet = {"from": PEER, "decoded": {"portnum": "NODEINFO_APP", "user": {"longName": "é" * 5000}}}
    seen = events(packet, OWN)[1]
    assert isinstance(seen, NodeSeen)
    assert seen.long_name == "é" * 32


def test_a_text_of_our_own_is_not_a_question() -> None:
    packet = {**text_packet(), "from": OWN}
    assert events(packet, OWN) == (OddPacket("own-text"),)
