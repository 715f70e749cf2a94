"""Reliable delivery as the firmware does it: seals, relays, acknowledgements, three transmissions, refusals."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from gateway.protocol.messages import BROADCAST, ClientNotice
from gateway.radio.simulated.frames import (
    MAX_FRAME,
    ChannelSeal,
    ClientPacket,
    Data,
    Frame,
    PkcSeal,
    Port,
    Received,
    frame_size,
)
from gateway.radio.simulated.mesh import Link, Mesh
from gateway.radio.simulated.node_db import NodeDb
from gateway.radio.simulated.transmitter import (
    PRIORITY_ACK,
    PRIORITY_DEFAULT,
    PRIORITY_HIGH,
    PRIORITY_RELIABLE,
    Transmitter,
)

TRANSMISSIONS = 3
"""Of one packet that wants an ACK (NextHopRouter.h, NUM_RELIABLE_RETX)."""
PROCESSING_SECONDS = 4.5
"""Part of the wait between two transmissions (RadioInterface.h)."""
WAIT_SLOTS = 8 + 2 * 8 + 32
"""Contention part of the same wait on a quiet channel (RadioInterface.cpp)."""
MOST_HOPS = 7
"""The header has three bits for them."""
HISTORY = 200
"""Packets remembered to drop repeats."""
RES = {"NO_CHANNEL": 6, "TOO_LARGE": 7, "DUTY_CYCLE_LIMIT": 9, "PKI_FAILED": 34, "PKI_SEND_FAIL_PUBLIC_KEY": 39}
"""QueueStatus.res of a refusal: the number of the Routing.Error (mesh.proto)."""
RES_OK, RES_QUEUE_FULL, RES_DISABLED = 0, 32, 34
"""MeshTypes.h."""


@dataclass(slots=True)
class Pending:
    frame: Frame
    left: int
    due: float
    from_client: bool


class Router:
    """What a node does with packets; it tells the client through `deliver` and `notice`."""

    def __init__(
        self,
        mesh: Mesh,
        transmitter: Transmitter,
        db: NodeDb,
        deliver: Callable[[Received], None],
        notice: Callable[[ClientNotice], None],
    ) -> None:
        self.mesh = mesh
        self.tx = transmitter
        self.db = db
        self.relays = True
        """False for the role CLIENT_MUTE."""
        self.acks = True
        """For tests: False is a radio that hears and is never heard to acknowledge."""
        self.on_data: Callable[[Frame, Data], None] = lambda _frame, _data: None
        """Told of each packet that this node could read, before the client."""
        self.clock: Callable[[], int] = lambda: 0
        self._deliver = deliver
        self._notice = notice
        self.clear()

    @property
    def me(self) -> int:
        return self.db.user.number

    def clear(self) -> None:
        """Forget everything (a reboot)."""
        self._pending: dict[tuple[int, int], Pending] = {}
        self._history: OrderedDict[tuple[int, int], None] = OrderedDict()

    def new_id(self) -> int:
        return self.mesh.rng.randrange(1, 2**32)

    # --- sending ----------------------------------------------------------------------------------------------

    def submit(self, packet: ClientPacket) -> int:
        """Send for the client; returns the QueueStatus.res. A refusal is told to the client as a NAK as well."""
        priority = PRIORITY_RELIABLE if packet.reliable_priority else PRIORITY_HIGH
        return self._send(packet, priority, from_client=True)

    def originate(self, packet: ClientPacket, priority: int = PRIORITY_DEFAULT) -> None:
        """Send for the node itself."""
        self._send(packet, priority, from_client=False)

    def _send(self, packet: ClientPacket, priority: int, *, from_client: bool) -> int:
        seal, refusal = self._seal(packet)
        if seal is None or refusal:
            if from_client:
                self._refuse(packet.packet_id, refusal)
            return RES[refusal]
        limit = min(self.tx.lora.hop_limit if packet.hop_limit is None else packet.hop_limit, MOST_HOPS)
        frame = Frame(
            self.me, packet.to, packet.packet_id, packet.data, seal, packet.want_ack, limit, limit, relay=self.me
        )
        self._remember(frame.key)
        if packet.want_ack:
            self._await_ack(frame, from_client)
        self._lengthen(self.mesh.seconds(frame), but=frame.key)
        if not self.tx.enabled:
            return RES_DISABLED
        return RES_OK if self.tx.enqueue(frame, priority) else RES_QUEUE_FULL

    def _refuse(self, packet_id: int, reason: str) -> None:
        self.tell_own(packet_id, reason)
        if reason == "DUTY_CYCLE_LIMIT":
            minutes = self.tx.silent_minutes()
            self._notice(ClientNotice(packet_id, f"Duty cycle limit exceeded. You can send again in {minutes} mins"))

    def _seal(self, packet: ClientPacket) -> tuple[PkcSeal | ChannelSeal | None, str]:
        """How the packet will be encrypted, or why it cannot be sent."""
        if self.tx.silent_minutes():
            return None, "DUTY_CYCLE_LIMIT"
        if not 0 <= packet.channel < len(self.db.channels):
            return None, "NO_CHANNEL"
        if frame_size(packet.data, pkc=False) > MAX_FRAME:
            return None, "TOO_LARGE"
        in_clear = packet.data.port in (Port.ROUTING, Port.NODEINFO, Port.TRACEROUTE, Port.POSITION)
        if packet.to in (BROADCAST, 0) or in_clear:
            channel = self.db.channels[packet.channel]
            return ChannelSeal(channel.name, channel.key), ""
        return self._pkc_seal(packet)

    def _pkc_seal(self, packet: ClientPacket) -> tuple[PkcSeal | None, str]:
        theirs = self.db.key_of(packet.to)
        if not theirs:
            return None, "PKI_SEND_FAIL_PUBLIC_KEY"
        if frame_size(packet.data, pkc=True) > MAX_FRAME:
            return None, "TOO_LARGE"
        if packet.pki_demanded and packet.public_key.strip(b"\0") and packet.public_key != theirs:
            return None, "PKI_FAILED"
        return PkcSeal(self.db.user.key, theirs), ""

    def tell_own(self, packet_id: int, reason: str) -> None:
        """A routing packet from our own node to our own client."""
        self._deliver(
            Received(self.me, self.me, self.new_id(), Data(Port.ROUTING, request_id=packet_id, reason=reason))
        )

    # --- retransmission ---------------------------------------------------------------------------------------

    def _wait(self, frame: Frame) -> float:
        return 2 * self.mesh.seconds(frame) + WAIT_SLOTS * self.mesh.slot + PROCESSING_SECONDS

    def _await_ack(self, frame: Frame, from_client: bool) -> None:
        pending = Pending(frame, TRANSMISSIONS - 1, self.mesh.now + self._wait(frame), from_client)
        self._pending[frame.key] = pending
        self.mesh.at(pending.due, lambda: self._due(pending))

    def _lengthen(self, seconds: float, *, but: tuple[int, int] | None = None) -> None:
        """Everything else on the air makes us wait longer for our ACKs (ReliableRouter.cpp)."""
        for key, pending in self._pending.items():
            if key != but:
                pending.due += seconds

    def _due(self, pending: Pending) -> None:
        if self._pending.get(pending.frame.key) is not pending:
            return
        if self.mesh.now < pending.due:
            self.mesh.at(pending.due, lambda: self._due(pending))
        elif pending.left:
            self._again(pending)
        else:
            del self._pending[pending.frame.key]
            if pending.from_client:
                self.tell_own(pending.frame.packet_id, "MAX_RETRANSMIT")

    def _again(self, pending: Pending) -> None:
        pending.left -= 1
        pending.due = self.mesh.now + self._wait(pending.frame)
        self.mesh.at(pending.due, lambda: self._due(pending))
        if self.tx.enabled and not self.tx.has(pending.frame.key):
            self.tx.enqueue(pending.frame, PRIORITY_RELIABLE)

    # --- hearing ----------------------------------------------------------------------------------------------

    def hear(self, frame: Frame, link: Link, seconds: float) -> None:
        """A frame has come in whole."""
        self._lengthen(seconds, but=frame.key if frame.origin == self.me else None)
        if frame.origin == self.me:
            self._own_repeated(frame)
            return
        if frame.key in self._history:
            self._repeat(frame)
            return
        self._remember(frame.key)
        data, key, channel = self.db.open(frame)
        if data is not None:
            self.on_data(frame, data)
        if frame.to == self.me:
            self._for_me(frame, data, key)
        elif self.relays and frame.hop_limit > 0 and self.tx.enabled:
            self._relay(frame, link.snr)
        if self._is_for_client(frame, data, key):
            self._deliver(self._received(frame, data, key, channel, link))

    def _remember(self, key: tuple[int, int]) -> None:
        self._history[key] = None
        while len(self._history) > HISTORY:
            self._history.popitem(last=False)

    def _own_repeated(self, frame: Frame) -> None:
        """Somebody passes our packet on: the implicit ACK, after which we do not repeat it ourselves."""
        pending = self._pending.pop(frame.key, None)
        if pending is not None and pending.from_client:
            self.tell_own(frame.packet_id, "NONE")

    def _repeat(self, frame: Frame) -> None:
        if frame.to == self.me and frame.want_ack and frame.relay == frame.origin:
            data, _, _ = self.db.open(frame)
            if data is not None:
                self._acknowledge(frame, data)
        elif frame.origin != self.me:
            self.tx.drop(frame.key)

    def _relay(self, frame: Frame, snr: float) -> None:
        passed_on = replace(frame, hop_limit=frame.hop_limit - 1, relay=self.me)
        self.tx.enqueue(passed_on, PRIORITY_DEFAULT, snr=snr)

    def _for_me(self, frame: Frame, data: Data | None, key: bytes) -> None:
        if data is None:
            if frame.want_ack:
                self._answer(frame, self.db.why_closed(frame), want_ack=False)
            return
        if data.port == Port.ROUTING:
            self._result(frame, data)
        if frame.want_ack and not (data.port == Port.TEXT and not key):
            self._acknowledge(frame, data)

    def _result(self, frame: Frame, data: Data) -> None:
        self._pending.pop((self.me, data.request_id), None)
        self.tx.drop((self.me, data.request_id))
        if data.reason == "PKI_UNKNOWN_PUBKEY":
            self.send_card(frame.origin)

    def _acknowledge(self, frame: Frame, data: Data) -> None:
        """The ACK of a text wants an ACK itself (ReliableRouter.cpp)."""
        if self.acks:
            self._answer(frame, "NONE", want_ack=data.port == Port.TEXT)

    def _answer(self, frame: Frame, reason: str, *, want_ack: bool) -> None:
        used = frame.hop_start - frame.hop_limit
        hops = min(used + 2, self.tx.lora.hop_limit)
        data = Data(Port.ROUTING, request_id=frame.packet_id, reason=reason)
        packet = ClientPacket(self.new_id(), frame.origin, data, want_ack=want_ack, hop_limit=hops)
        self.originate(packet, PRIORITY_ACK)

    def send_card(self, to: int, *, want_response: bool = False) -> None:
        """Our NodeInfo, which carries our key."""
        data = Data(Port.NODEINFO, user=self.db.user, want_response=want_response)
        self.originate(ClientPacket(self.new_id(), to, data))

    def _is_for_client(self, frame: Frame, data: Data | None, key: bytes) -> bool:
        """A direct text that did not come under a key is dropped by the radio (since 2.7.14)."""
        if frame.to not in (self.me, BROADCAST):
            return False
        forged = data is not None and data.port == Port.TEXT and frame.to == self.me and not key
        return not forged

    def _received(self, frame: Frame, data: Data | None, key: bytes, channel: int, link: Link) -> Received:
        return Received(
            frame.origin,
            frame.to,
            frame.packet_id,
            data,
            channel=channel,
            want_ack=frame.want_ack,
            key=key,
            hop_limit=frame.hop_limit,
            hop_start=frame.hop_start,
            snr=link.snr,
            rssi=link.rssi,
            rx_time=self.clock(),
            relay=frame.relay,
            off_air=True,
        )
