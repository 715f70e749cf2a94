"""A simulated handheld: a node whose owner reads and types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.protocol.messages import BROADCAST, ClientNotice, LoRaSettings, QueueStatus
from gateway.radio.simulated.frames import ClientPacket, Data, Port, RadioSetup, Received
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node


@dataclass(frozen=True, slots=True)
class Seen:
    """A text as it stands on the owner's screen."""

    at: float
    """The mesh's time, seconds."""
    sender: int
    text: str
    size: int
    """Bytes of UTF-8."""
    packet_id: int
    direct: bool
    channel: int
    reply_id: int
    """The packet that it answers, 0 for none."""
    emoji: bool
    hops: int


@dataclass(slots=True)
class Sent:
    """A text of the owner's, and what the screen says of it."""

    at: float
    to: int
    text: str
    packet_id: int
    channel: int = 0
    reply_id: int = 0
    tick: str = "sent"
    """``sent``, ``relayed`` (somebody passed it on), ``delivered`` (the other radio has it) or ``failed``."""
    reason: str = ""
    """Of a failure, e.g. MAX_RETRANSMIT."""
    settled_at: float | None = None
    """When the last change of `tick` came."""


class Handheld:
    """A radio with its owner. The radio acknowledges by itself, as real ones do."""

    def __init__(
        self,
        mesh: Mesh,
        number: int,
        name: str = "",
        *,
        setup: RadioSetup | None = None,
        lora: LoRaSettings | None = None,
    ) -> None:
        self.mesh = mesh
        self.node = Node(mesh, number, setup or RadioSetup(long_name=name, telemetry_seconds=0), lora=lora)
        self.seen: list[Seen] = []
        """Texts received, in order."""
        self.sent: list[Sent] = []
        """Texts sent, in order."""
        self._by_id: dict[int, Sent] = {}
        self.on_text: Callable[[Seen], None] = lambda _seen: None
        """Called with each text received."""
        self.refused: list[QueueStatus] = []
        self.node.phone.never_silent = True
        self.node.phone.on_ready = self._read
        self.node.on_boot = lambda _announce: self.node.phone.want_config(1)
        self.node.phone.want_config(1)

    @property
    def number(self) -> int:
        return self.node.number

    @property
    def key(self) -> bytes:
        return self.node.key

    def clear(self) -> None:
        """Forget what was seen and sent, for runs of many thousand texts."""
        self.seen.clear()
        self.sent.clear()
        self._by_id.clear()

    # --- typing -----------------------------------------------------------------------------------------------

    def say(self, text: str, to: int, *, reply_to: int = 0) -> Sent:
        """A direct message. Of two within 2 s the radio refuses the second, as real ones do."""
        return self._send(Sent(self.mesh.now, to, text, self.node.router.new_id(), reply_id=reply_to))

    def say_on_channel(self, text: str, channel: int = 0, *, reply_to: int = 0) -> Sent:
        return self._send(Sent(self.mesh.now, BROADCAST, text, self.node.router.new_id(), channel, reply_to))

    def retry(self, message: Sent) -> Sent:
        """Send again: the apps do so under a new id."""
        new = Sent(
            self.mesh.now, message.to, message.text, self.node.router.new_id(), message.channel, message.reply_id
        )
        return self._send(new)

    def react(self, to: Seen, emoji: str = "👍") -> Sent:
        """A tapback on a message received."""
        destination = to.sender if to.direct else BROADCAST
        sent = Sent(self.mesh.now, destination, emoji, self.node.router.new_id(), to.channel, to.packet_id)
        return self._send(sent, emoji=1)

    def _send(self, message: Sent, emoji: int = 0) -> Sent:
        self.sent.append(message)
        self._by_id[message.packet_id] = message
        data = Data(Port.TEXT, message.text.encode(), reply_id=message.reply_id, emoji=emoji)
        packet = ClientPacket(message.packet_id, message.to, data, message.channel, want_ack=True, sender=self.number)
        self.node.send(packet)
        return message

    # --- reading ----------------------------------------------------------------------------------------------

    def _read(self) -> None:
        while (item := self.node.phone.pull()) is not None:
            if isinstance(item, Received):
                self._packet(item)
            elif isinstance(item, QueueStatus) and item.res:
                self.refused.append(item)
            elif isinstance(item, ClientNotice):
                self._settle(item.packet_id, "failed", item.text)

    def _packet(self, packet: Received) -> None:
        data = packet.data
        if data is None:
            return
        if data.reason is not None:
            self._result(packet.origin, data)
        elif data.port == Port.TEXT:
            self._show(packet, data)

    def _result(self, reporter: int, data: Data) -> None:
        if data.reason != "NONE":
            self._settle(data.request_id, "failed", data.reason or "")
        else:
            self._settle(data.request_id, "relayed" if reporter == self.number else "delivered", "")

    def _settle(self, packet_id: int, tick: str, reason: str) -> None:
        message = self._by_id.get(packet_id)
        if message is not None and message.tick != "delivered":
            message.tick, message.reason, message.settled_at = tick, reason, self.mesh.now

    def _show(self, packet: Received, data: Data) -> None:
        text = data.payload.decode("utf-8", "replace")
        direct = packet.to == self.number
        hops = packet.hop_start - packet.hop_limit
        seen = Seen(
            self.mesh.now,
            packet.origin,
            text,
            len(data.payload),
            packet.packet_id,
            direct,
            packet.channel,
            data.reply_id,
            bool(data.emoji),
            hops,
        )
        self.seen.append(seen)
        self.on_text(seen)
