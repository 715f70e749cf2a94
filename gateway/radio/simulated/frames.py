"""What is on the air and what it weighs. Keys are only bytes here: a seal names them instead of encrypting."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

MAX_FRAME = 255
"""Bytes on the air, header included (RadioInterface.h, MAX_LORA_PAYLOAD_LEN)."""
HEADER = 16
"""Bytes: to, from, id, flags, channel hash, next hop, relay (RadioInterface.h, PacketHeader)."""
PKC_OVERHEAD = 12
"""Bytes: 8 of authentication tag and 4 of nonce (RadioInterface.h)."""
MAX_PAYLOAD = 233
"""Bytes of `Data.payload` (mesh.proto, DATA_PAYLOAD_LEN)."""
CHANNEL_SLOTS = 8
"""Channels a radio has, most of them disabled (channel.proto)."""
DEFAULT_CHANNEL_KEY = b"\x01"
"""The short form of the well-known public key, as the factory sets it (channel.proto, psk)."""


class Port(enum.IntEnum):
    """portnums.proto, as far as the simulation acts on them."""

    TEXT = 1
    POSITION = 3
    NODEINFO = 4
    ROUTING = 5
    ADMIN = 6
    WAYPOINT = 8
    ALERT = 11
    TELEMETRY = 67
    TRACEROUTE = 70


@dataclass(frozen=True, slots=True)
class User:
    """A node's own card, as NodeInfo carries it."""

    number: int
    long_name: str
    short_name: str
    key: bytes = b""

    def size(self) -> int:
        """Bytes as a protobuf: id 11, address 8, model and role about 4, names and key with their tags."""
        return 23 + len(self.long_name.encode()) + 2 + len(self.short_name.encode()) + 2 + len(self.key) + 2


@dataclass(frozen=True, slots=True)
class Metrics:
    """Device telemetry: percent of the last minute, percent of the last hour, seconds since boot."""

    channel_utilization: float
    air_util_tx: float
    uptime: int


@dataclass(frozen=True, slots=True)
class Data:
    """The part that is encrypted (mesh.proto, Data)."""

    port: int
    payload: bytes = b""
    request_id: int = 0
    reply_id: int = 0
    emoji: int = 0
    want_response: bool = False
    reason: str | None = None
    """For a routing packet: the name from Routing.Error."""
    user: User | None = None
    metrics: Metrics | None = None

    def size(self) -> int:
        """Bytes as the protobuf on the air; the bit field that every node adds is counted."""
        length = self._payload_size()
        body = 0 if length == 0 else length + (2 if length < 128 else 3)
        fixed = 5 * sum(1 for number in (self.request_id, self.reply_id, self.emoji) if number)
        return 2 + body + 2 + fixed + (2 if self.want_response else 0)

    def _payload_size(self) -> int:
        if self.reason is not None:
            return 2
        if self.user is not None:
            return self.user.size()
        if self.metrics is not None:
            return 25
        return len(self.payload)


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as a node is set up with it. An empty name stands for the preset's."""

    name: str = ""
    key: bytes = DEFAULT_CHANNEL_KEY
    uplink: bool = False


@dataclass(frozen=True, slots=True)
class PkcSeal:
    """Readable by the holder of the receiver's key who knows the sender's."""

    sender_key: bytes
    receiver_key: bytes


@dataclass(frozen=True, slots=True)
class ChannelSeal:
    """Readable by all who have the channel."""

    name: str
    key: bytes


@dataclass(frozen=True, slots=True)
class Frame:
    """One packet as it crosses the air; relays change only `hop_limit` and `relay`."""

    origin: int
    to: int
    packet_id: int
    data: Data
    seal: PkcSeal | ChannelSeal
    want_ack: bool = False
    hop_limit: int = 3
    hop_start: int = 3
    relay: int = 0
    """The node that transmits it this time."""

    @property
    def key(self) -> tuple[int, int]:
        """What duplicates have in common."""
        return (self.origin, self.packet_id)

    def size(self) -> int:
        """Bytes on the air."""
        return frame_size(self.data, pkc=isinstance(self.seal, PkcSeal))


def frame_size(data: Data, *, pkc: bool) -> int:
    """Bytes on the air of a frame with this content."""
    return HEADER + data.size() + (PKC_OVERHEAD if pkc else 0)


@dataclass(frozen=True, slots=True)
class Received:
    """A packet as a radio hands it to its client."""

    origin: int
    to: int
    packet_id: int
    data: Data | None
    """None when the radio could not decrypt it."""
    channel: int = 0
    want_ack: bool = False
    key: bytes = b""
    """The sender's public key when the packet came under it."""
    hop_limit: int = 0
    hop_start: int = 0
    snr: float = 0.0
    rssi: int = 0
    rx_time: int = 0
    relay: int = 0
    off_air: bool = False
    """False for what our own node says."""

    @property
    def is_text(self) -> bool:
        return self.data is not None and self.data.port == Port.TEXT


@dataclass(frozen=True, slots=True)
class ClientPacket:
    """A packet as a client hands it to its radio (mesh.proto, ToRadio.packet)."""

    packet_id: int
    to: int
    data: Data
    channel: int = 0
    want_ack: bool = False
    hop_limit: int | None = None
    pki_demanded: bool = False
    public_key: bytes = b""
    """With `pki_demanded`: refuse unless the stored key is this one. Empty accepts any."""
    sender: int = 0
    """The Python library leaves it 0; other clients fill it in."""
    reliable_priority: bool = False
    """The Python library marks every packet so."""


@dataclass(frozen=True, slots=True)
class RadioSetup:
    """How a simulated radio is set up. `seconds` fields are of the mesh's time."""

    long_name: str = ""
    short_name: str = ""
    role: str = "CLIENT"
    firmware: str = "2.7.26"
    channels: tuple[Channel, ...] = field(default_factory=lambda: (Channel(),))
    to_phone_slots: int = 32
    """32 on most boards, 8 on the classic ESP32 (mesh-pb-constants.h, MAX_RX_TOPHONE)."""
    telemetry_seconds: float = 60.0
    """0 is never."""
    beacon_seconds: float = 0.0
    """NodeInfo broadcasts: firmware's default is 10800. 0 (a quiet mesh) sends them only when there is a reason."""
    read_lag_seconds: float = 0.25
    """A node reads its client's bytes up to this late."""
    has_pkc: bool = True
    is_licensed: bool = False
    is_unmessagable: bool = False
    mqtt_enabled: bool = False
    store_forward_enabled: bool = False
    network_protocols: int = 0
    serial_enabled: bool = True
    debug_log_enabled: bool = False
