"""Whatever dictionary comes, it becomes events, and the events are tame."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.protocol.messages import DeliveryReport, IncomingText, NodeHeard, NodeSeen, OddPacket, RadioTelemetry
from gateway.radio.packets_in import events

OWN = 0xAA01
EVENTS = (DeliveryReport, IncomingText, NodeHeard, NodeSeen, OddPacket, RadioTelemetry)

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.sampled_from([0, 1, 2, 4, 5, 67, OWN, 0xBB02, 0xFFFFFFFF]),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=260),
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
ports = st.sampled_from(["TEXT_MESSAGE_APP", "ROUTING_APP", "TELEMETRY_APP", "NODEINFO_APP", "ADMIN_APP", 1, 5, 300])
metrics = st.fixed_dictionaries(
    {}, optional={"channelUtilization": values, "airUtilTx": values, "uptimeSeconds": values}
)
decoded = st.fixed_dictionaries(
    {},
    optional={
        "portnum": ports | values,
        "payload": st.binary(max_size=260) | values,
        "requestId": values,
        "replyId": values,
        "emoji": values,
        "routing": st.fixed_dictionaries({}, optional={"errorReason": values, "routeReply": values}) | values,
        "telemetry": st.fixed_dictionaries({}, optional={"deviceMetrics": metrics | values}) | values,
        "user": st.fixed_dictionaries({}, optional={"longName": values, "publicKey": values}) | values,
    },
)
packets = st.fixed_dictionaries(
    {},
    optional={
        "from": st.sampled_from([OWN, 0xBB02]) | values,
        "to": values,
        "id": values,
        "channel": values,
        "publicKey": values,
        "pkiEncrypted": st.booleans() | values,
        "transportMechanism": values,
        "hopStart": values,
        "hopLimit": values,
        "rxTime": values,
        "rxSnr": values,
        "rxRssi": values,
        "decoded": decoded | values,
        "encrypted": values,
    },
)


@settings(max_examples=300, deadline=None)
@given(packets | values)
def test_any_packet_gives_events_and_never_an_exception(packet: Any) -> None:
    found = events(packet, OWN)
    assert found
    assert all(isinstance(event, EVENTS) for event in found)


@settings(max_examples=200, deadline=None)
@given(packets)
def test_events_are_within_their_bounds(packet: Any) -> None:
    for event in events(packet, OWN):
        if isinstance(event, OddPacket):
            assert event.kind.isascii()
            assert event.kind.isprintable()
            assert len(event.kind) <= 50
        if isinstance(event, IncomingText):
            assert len(event.payload) <= 237
            assert event.key is None or len(event.key) == 32
            assert 0 < event.sender < 0xFFFFFFFF
            assert event.sender != OWN
            assert event.text is None or event.text.encode() == event.payload
        if isinstance(event, NodeSeen):
            assert len(event.long_name.encode()) <= 64
