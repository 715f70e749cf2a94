"""The library's packet dictionary → our events. Pure, total: whatever comes off the air, nothing is raised.

Fields with their default value are absent from the dictionary (it is made by protobuf's MessageToDict), bytes
are base64 text except ``decoded.payload``, and enums are names, or numbers where the library knows no name.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from gateway.protocol.messages import (
    BROADCAST,
    DeliveryReport,
    IncomingText,
    NodeHeard,
    NodeSeen,
    OddPacket,
    RadioEvent,
    RadioTelemetry,
)

Packet = Mapping[str, Any]

KEY_BYTES = 32
MAX_PAYLOAD_BYTES = 237
"""mesh.proto: 233 for what is sent, a little more was seen to arrive."""
MAX_NAME_BYTES = 64
"""mesh.options: long_name is 40 bytes; more cannot have come from a radio."""
MAX_PORT = 511
"""portnums.proto, PortNum.MAX."""
TAME_NAME = re.compile(r"[A-Z0-9_]{1,40}")


def events(packet: object, own_node: int) -> tuple[RadioEvent, ...]:
    """What one received packet means to us, in order: who was heard, then what was said.

    Never raises; a packet that is nothing for us gives an `OddPacket` with its kind.
    """
    if not isinstance(packet, Mapping):
        return (OddPacket("malformed"),)
    sender = _number(packet.get("from"))
    if sender in (0, BROADCAST):
        return (OddPacket("no-sender" if sender == 0 else "broadcast-sender"),)
    content = _content(packet, sender, own_node)
    if sender == own_node:
        return content
    return (NodeHeard(sender, _hops(packet)), *content)


def _content(packet: Packet, sender: int, own_node: int) -> tuple[RadioEvent, ...]:
    decoded = packet.get("decoded")
    if not isinstance(decoded, Mapping):
        return (OddPacket("encrypted" if "encrypted" in packet else "no-decoded"),)
    port = decoded.get("portnum")
    if port in ("TEXT_MESSAGE_APP", 1):
        return _text(packet, decoded, sender, own_node)
    if port in ("ROUTING_APP", 5):
        return _routing(decoded, sender)
    if port in ("TELEMETRY_APP", 67) and sender == own_node:
        return _own_telemetry(decoded)
    if port in ("NODEINFO_APP", 4) and sender != own_node:
        return _node_info(packet, decoded, sender)
    return (OddPacket(f"port-{_port_name(port)}"),)


def _text(packet: Packet, decoded: Packet, sender: int, own_node: int) -> tuple[RadioEvent, ...]:
    payload = decoded.get("payload", b"")
    if sender == own_node:
        return (OddPacket("own-text"),)
    if not isinstance(payload, bytes) or len(payload) > MAX_PAYLOAD_BYTES:
        return (OddPacket("bad-payload"),)
    text = _utf8_or_none(payload)
    message = IncomingText(
        packet_id=_number(packet.get("id")),
        sender=sender,
        destination=_number(packet.get("to")),
        channel=_number(packet.get("channel")),
        payload=payload,
        text=text,
        key=_key_or_none(packet.get("publicKey")) if packet.get("pkiEncrypted") is True else None,
        via_mqtt=bool(packet.get("viaMqtt")),
        transport=_tame(packet.get("transportMechanism")),
        reply_id=_number(decoded.get("replyId")),
        is_reaction=bool(decoded.get("emoji")),
        wants_ack=bool(packet.get("wantAck")),
        rx_time=_number(packet.get("rxTime")),
        snr=_real_or_none(packet.get("rxSnr")),
        rssi=_whole_or_none(packet.get("rxRssi")),
        hops=_hops(packet),
    )
    return (message,) if text is not None else (message, OddPacket("bad-utf8"))


def _routing(decoded: Packet, sender: int) -> tuple[RadioEvent, ...]:
    request, routing = _number(decoded.get("requestId")), decoded.get("routing")
    if request == 0 or not isinstance(routing, Mapping):
        return (OddPacket("routing-no-request"),)
    if "routeRequest" in routing or "routeReply" in routing:
        return (OddPacket("routing-route"),)
    reason = routing.get("errorReason", "NONE")
    if isinstance(reason, int):
        return (DeliveryReport(request, sender, f"ERROR_{reason}"),)
    return (DeliveryReport(request, sender, _tame(reason) or "ERROR_UNKNOWN"),)


def _own_telemetry(decoded: Packet) -> tuple[RadioEvent, ...]:
    telemetry = decoded.get("telemetry")
    metrics = telemetry.get("deviceMetrics") if isinstance(telemetry, Mapping) else None
    if not isinstance(metrics, Mapping):
        return (OddPacket("port-TELEMETRY_APP"),)
    uptime = _whole_or_none(metrics.get("uptimeSeconds"))
    return (
        RadioTelemetry(
            _real_or_none(metrics.get("channelUtilization")), _real_or_none(metrics.get("airUtilTx")), uptime
        ),
    )


def _node_info(packet: Packet, decoded: Packet, sender: int) -> tuple[RadioEvent, ...]:
    user = decoded.get("user")
    if not isinstance(user, Mapping):
        return (OddPacket("bad-node-info"),)
    return (node_seen(sender, user, packet.get("rxTime")),)


def node_seen(node: int, user: Packet, last_heard: object) -> NodeSeen:
    """A node from a NodeInfo packet's or the radio's node list's ``user`` dictionary."""
    return NodeSeen(
        node=node,
        long_name=_name(user.get("longName")),
        short_name=_name(user.get("shortName")),
        key=_key_or_none(user.get("publicKey")),
        last_heard=_number(last_heard),
    )


def _number(value: object) -> int:
    """An unsigned 32-bit number, or 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= BROADCAST else 0


def _whole_or_none(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= BROADCAST else None


def _real_or_none(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -1e9 < value < 1e9 else None


def _hops(packet: Packet) -> int | None:
    start, limit = _whole_or_none(packet.get("hopStart")), _whole_or_none(packet.get("hopLimit", 0))
    if not start or limit is None or not 0 <= limit <= start:
        return None
    return start - limit


def _utf8_or_none(payload: bytes) -> str | None:
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _key_or_none(value: object) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        key = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES else None


def _name(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace")[:MAX_NAME_BYTES].decode("utf-8", "ignore")


def _tame(value: object) -> str:
    """An enum's name as protobuf writes it; anything else is no name."""
    return value if isinstance(value, str) and TAME_NAME.fullmatch(value) else ""


def _port_name(port: object) -> str:
    if isinstance(port, int) and not isinstance(port, bool) and 0 <= port <= MAX_PORT:
        return str(port)
    return _tame(port) or "unknown"
