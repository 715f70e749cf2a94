"""What passes between the radio and the rest: frozen, and free of any library's types.

Times are seconds on the service's steady clock (Unix-like, never jumping) unless a name says otherwise.
Node numbers are the 32-bit integers of the protocol; show them with `node_id`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

BROADCAST = 0xFFFFFFFF
"""Destination of a channel message (mesh.proto, NODENUM_BROADCAST)."""


def node_id(number: int) -> str:
    """The node's name in the field's standard form, ``!`` and eight hexadecimal digits."""
    return f"!{number & 0xFFFFFFFF:08x}"


def node_number(text: str) -> int:
    """The number of a node written ``!a1b2c3d4``.

    Raises ValueError for any other form: decimal numbers and names are refused, since names can be
    forged and a decimal is easily mistyped.
    """
    digits = text.removeprefix("!")
    if len(text) != len(digits) + 1 or len(digits) != 8 or not set(digits) <= set("0123456789abcdefABCDEF"):
        raise ValueError(text)
    number = int(digits, 16)
    if number in (0, BROADCAST):
        raise ValueError(text)
    return number


@dataclass(frozen=True, slots=True)
class IncomingText:
    """One text packet as our radio gave it to us. Nothing in it is to be trusted yet."""

    packet_id: int
    sender: int
    destination: int
    channel: int
    """Channel index on our radio; 0 also for an encrypted direct message."""
    payload: bytes
    text: str | None
    """None when the payload is not UTF-8."""
    key: bytes | None = None
    """The sender's 32-byte public key when our radio decrypted the packet with it, else None."""
    via_mqtt: bool = False
    transport: str = ""
    """``TRANSPORT_LORA`` for a packet off the air; empty on firmware that does not say."""
    reply_id: int = 0
    is_reaction: bool = False
    wants_ack: bool = False
    rx_time: int = 0
    """Radio's clock, Unix seconds; 0 when it has none."""
    snr: float | None = None
    """dB."""
    rssi: int | None = None
    """dBm."""
    hops: int | None = None
    """Relays between the sender and us; None when the packet does not say."""


@dataclass(frozen=True, slots=True)
class OutgoingPacket:
    """One text to hand to the radio. The id is chosen before the hand-over, so that it can be stored first."""

    packet_id: int
    destination: int
    text: str
    channel: int = 0
    key: bytes | None = None
    """With a key the packet is demanded to be encrypted with it: the radio refuses rather than downgrade."""
    reply_id: int = 0
    wants_ack: bool = True


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """A routing packet that names one of our packets (or one we never sent: ignore it)."""

    packet_id: int
    reporter: int
    """Who says so: the destination (a real ACK) or our own node (relay overheard, or a refusal)."""
    reason: str
    """``NONE`` for an ACK, else the name from mesh.proto Routing.Error; unknown values as ``ERROR_n``."""


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The radio's answer to a hand-over. ``res=0`` does not mean that the packet was taken (facts: rate limit)."""

    packet_id: int
    """0 for the answer to a heartbeat."""
    res: int
    free: int
    maxlen: int


@dataclass(frozen=True, slots=True)
class SendFailed:
    """The packet was not handed to the radio, or nobody knows whether it was."""

    packet_id: int
    reason: str
    retry: bool
    """False when the same packet can never be sent (too large, malformed)."""


@dataclass(frozen=True, slots=True)
class NodeHeard:
    """Something was received from this node just now, whatever it was."""

    node: int
    hops: int | None = None


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """What the radio knows of another node. Names are the sender's own words: show them escaped, never trust them."""

    node: int
    long_name: str = ""
    short_name: str = ""
    key: bytes | None = None
    last_heard: int = 0
    """Unix seconds by the radio's clock; 0 unknown."""


@dataclass(frozen=True, slots=True)
class RadioTelemetry:
    """Our own node's device metrics, about once a minute: the pulse of the link."""

    channel_utilization: float | None
    """Percent of the last minute that the channel was busy."""
    air_util_tx: float | None
    """Percent of the last hour that our radio transmitted."""
    uptime: int | None
    """Seconds; a drop means the radio rebooted."""


@dataclass(frozen=True, slots=True)
class ClientNotice:
    """A warning from our radio in words, e.g. the minutes to wait when the duty cycle is used up."""

    packet_id: int
    text: str


@dataclass(frozen=True, slots=True)
class OddPacket:
    """A packet that is nothing for us; counted by kind (``encrypted``, ``bad-utf8``, ``port-67`` …)."""

    kind: str


class ChannelPrivacy(enum.Enum):
    """How well a channel's key keeps others out (facts/meshtastic.md: well-known keys are public)."""

    DISABLED = "disabled"
    PUBLIC = "public"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True)
class ChannelInfo:
    index: int
    name: str
    privacy: ChannelPrivacy
    uplink: bool = False
    """Its traffic is sent on to MQTT."""


@dataclass(frozen=True, slots=True)
class LoRaSettings:
    """What airtime depends on."""

    region: str = "UNSET"
    preset: str = "LONG_FAST"
    """Empty when the radio uses custom settings."""
    spreading_factor: int = 11
    bandwidth_khz: float = 250.0
    coding_rate: int = 5
    """Denominator: 5 means 4/5."""
    hop_limit: int = 3
    tx_enabled: bool = True
    override_duty_cycle: bool = False


@dataclass(frozen=True, slots=True)
class RadioInfo:
    """What the radio said of itself when the link came up."""

    node: int
    key: bytes | None = None
    firmware: str = ""
    role: str = "CLIENT"
    has_pkc: bool = True
    is_licensed: bool = False
    is_unmessagable: bool = False
    lora: LoRaSettings = field(default_factory=LoRaSettings)
    channels: tuple[ChannelInfo, ...] = ()
    nodes: tuple[NodeSeen, ...] = ()
    mqtt_enabled: bool = False
    store_forward_enabled: bool = False
    network_protocols: int = 0
    """Bit field of LAN protocols (UDP multicast); 0 is off."""
    serial_enabled: bool = True
    debug_log_enabled: bool = False


@dataclass(frozen=True, slots=True)
class LinkUp:
    """The radio is connected, configured and talking."""

    info: RadioInfo


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The link is lost or could not be made; the radio adapter goes on trying by itself."""

    reason: str


RadioEvent = (
    LinkUp
    | LinkDown
    | IncomingText
    | DeliveryReport
    | QueueStatus
    | SendFailed
    | NodeHeard
    | NodeSeen
    | RadioTelemetry
    | ClientNotice
    | OddPacket
)
