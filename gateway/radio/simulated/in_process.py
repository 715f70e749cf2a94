"""The gateway's radio port over a simulated node, in the mesh's own time: no thread, no cable."""

from __future__ import annotations

from collections.abc import Callable

from gateway.protocol.messages import (
    ChannelInfo,
    ChannelPrivacy,
    ClientNotice,
    DeliveryReport,
    IncomingText,
    LinkDown,
    LinkUp,
    NodeHeard,
    NodeSeen,
    OddPacket,
    OutgoingPacket,
    QueueStatus,
    RadioEvent,
    RadioInfo,
    RadioTelemetry,
    SendFailed,
)
from gateway.radio.port import Deliver, RadioRejected, RadioUnavailable
from gateway.radio.simulated.frames import CHANNEL_SLOTS, MAX_PAYLOAD, Channel, ClientPacket, Data, Port, Received, User
from gateway.radio.simulated.node import Node
from gateway.radio.simulated.phone_api import ConfigDownload

CONNECT_SECONDS = 0.5
"""From opening the port to the end of the config download."""
HAND_OVER_SECONDS = 0.1
"""The Python library sleeps so long after each write."""
STATUS_SECONDS = 30.0
"""Without a QueueStatus so long after a hand-over the radio counts as deaf, as with the real adapter."""
SILENCE_SECONDS = 300.0
"""Likewise without any word at all; own telemetry comes each minute."""
RETRY_SECONDS = 5.0
"""Between two attempts to connect."""


class SimulatedRadio:
    """A `gateway.radio.port.Radio`. Events are delivered while somebody moves the mesh's time.

    Faults are brought about with `unplug`, `freeze` and `kill`, on the node (`Node.reboot`, `Node.power_off`) and on
    the mesh's links. It connects again by itself, as the real adapter does.
    """

    def __init__(self, node: Node, *, sets_clock: bool = True) -> None:
        self.node = node
        self.mesh = node.mesh
        self.outages = 0
        """`LinkDown` events so far."""
        self._sets_clock = sets_clock
        self._deliver: Deliver = lambda _event: None
        self._up = False
        self._closed = False
        self._plugged = True
        self._frozen = False
        self._handing_over = False
        self._unanswered: dict[int, float] = {}
        self._heard_at = 0.0
        self._attempt = 0

    # --- the port ---------------------------------------------------------------------------------------------

    def start(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self.node.phone.on_ready = self._drain
        self.node.on_boot = self._booted
        self._reconnect(CONNECT_SECONDS)
        self._watch()

    def send(self, packet: OutgoingPacket) -> None:
        payload = packet.text.encode()
        if len(payload) > MAX_PAYLOAD:
            raise RadioRejected(f"{len(payload)} bytes of text; a packet holds {MAX_PAYLOAD}")
        if not self._up or self._handing_over:
            raise RadioUnavailable("the link is down" if not self._up else "a hand-over is under way")
        self._handing_over = True
        self._unanswered[packet.packet_id] = self.mesh.now
        self.mesh.after(HAND_OVER_SECONDS, self._handed_over)
        if not self._frozen:
            self.node.send(_client_packet(packet, payload))

    def protect(self, nodes: tuple[int, ...]) -> None:
        if self._up:
            for number in nodes:
                self._ask(lambda number=number: self.node.db.set_favorite(number, favorite=True))  # type: ignore[misc]

    def announce(self) -> None:
        if self._up:
            self._ask(lambda: self.node.heartbeat(1))

    def close(self) -> None:
        """A clean goodbye: the node keeps what comes for its next client."""
        if not self._closed and self._plugged and not self._frozen:
            self.node.phone.disconnect()
        self._leave(lambda: None)

    # --- faults -----------------------------------------------------------------------------------------------

    def kill(self) -> None:
        """The gateway's process dies without a goodbye: what the node says is lost until the next client comes."""
        self._leave(self._swallow)

    def unplug(self, *, power: bool = True) -> None:
        """The device file goes away; with `power` the node goes dark too."""
        self._plugged = False
        if power:
            self.node.power_off()
        self._down("the device is gone")

    def replug(self) -> None:
        self._plugged = True
        if not self.node.alive:
            self.node.power_on(announce=False)
        self._reconnect(CONNECT_SECONDS)

    def freeze(self) -> None:
        """A wedged port: nothing goes through it in either direction; the node goes on by itself."""
        self._frozen = True

    def thaw(self) -> None:
        self._frozen = False
        self._drain()

    # --- the link ---------------------------------------------------------------------------------------------

    @property
    def up(self) -> bool:
        return self._up

    def _leave(self, on_ready: Callable[[], None]) -> None:
        if self._closed:
            return
        self._closed = True
        self._up = False
        self._deliver = lambda _event: None
        self.node.phone.on_ready = on_ready
        self.node.on_boot = lambda _announce: None

    def _swallow(self) -> None:
        while self.node.phone.pull() is not None:
            pass

    def _ask(self, action: Callable[[], None]) -> None:
        if not self._frozen:
            self.node.from_client(action)

    def _handed_over(self) -> None:
        self._handing_over = False

    def _booted(self, announce: bool) -> None:
        if announce and not self._frozen and self._plugged:
            self._down("the radio rebooted")

    def _down(self, reason: str) -> None:
        if not self._up:
            return
        self._up = False
        self.outages += 1
        for packet_id in self._unanswered:
            self._deliver(SendFailed(packet_id, reason, retry=True))
        self._unanswered.clear()
        self._deliver(LinkDown(reason))
        self._reconnect(CONNECT_SECONDS)

    def _reconnect(self, seconds: float) -> None:
        self._attempt += 1
        attempt = self._attempt
        self.mesh.after(seconds, lambda: self._connect() if attempt == self._attempt else None)

    def _connect(self) -> None:
        if self._closed or self._up or not self._plugged:
            return
        if self.node.alive and not self._frozen:
            self.node.phone.want_config(self._attempt)
        else:
            self._reconnect(RETRY_SECONDS)

    def _watch(self) -> None:
        """The pulse, as the real adapter takes it."""
        if self._closed:
            return
        now = self.mesh.now
        if self._up and any(now - since >= STATUS_SECONDS for since in self._unanswered.values()):
            self._down("the radio took a packet and did not answer")
        elif self._up and now - self._heard_at >= SILENCE_SECONDS:
            self._down("the radio has said nothing for 5 minutes")
        self.mesh.after(STATUS_SECONDS / 3, self._watch)

    # --- events -----------------------------------------------------------------------------------------------

    def _drain(self) -> None:
        if self._frozen:
            return
        if not self._plugged:
            self._swallow()
            return
        while not self._closed and (item := self.node.phone.pull()) is not None:
            self._heard_at = self.mesh.now
            for event in self._events(item):
                self._deliver(event)

    def _events(self, item: ConfigDownload | QueueStatus | ClientNotice | Received) -> list[RadioEvent]:
        if isinstance(item, ConfigDownload):
            return self._link_up()
        if isinstance(item, QueueStatus):
            self._unanswered.pop(item.packet_id, None)
            return [item]
        if isinstance(item, ClientNotice):
            return [item]
        heard: list[RadioEvent] = [NodeHeard(item.origin, _hops(item))] if item.off_air else []
        return [*heard, *_packet_events(item)]

    def _link_up(self) -> list[RadioEvent]:
        self._up = True
        info = radio_info(self.node)
        if self._sets_clock:
            self.node.set_time(int(self.mesh.now))
        return [LinkUp(info)]


def _client_packet(packet: OutgoingPacket, payload: bytes) -> ClientPacket:
    return ClientPacket(
        packet.packet_id,
        packet.destination,
        Data(Port.TEXT, payload, reply_id=packet.reply_id),
        channel=packet.channel,
        want_ack=packet.wants_ack,
        pki_demanded=packet.key is not None,
        public_key=packet.key or b"",
        reliable_priority=True,
    )


def _hops(item: Received) -> int:
    return item.hop_start - item.hop_limit


def _packet_events(item: Received) -> list[RadioEvent]:
    data = item.data
    if data is None:
        return [OddPacket("encrypted")]
    if data.reason is not None:
        return [DeliveryReport(data.request_id, item.origin, data.reason)]
    if data.metrics is not None:
        metrics = data.metrics
        return [RadioTelemetry(metrics.channel_utilization, metrics.air_util_tx, metrics.uptime)]
    if data.user is not None:
        return [_node_seen(data.user, item.rx_time)]
    return _text(item, data) if data.port == Port.TEXT else [OddPacket(f"port-{_port_name(data.port)}")]


def _port_name(port: int) -> str:
    """As portnums.proto writes it."""
    return f"{Port(port).name}_APP" if port in Port.__members__.values() else str(port)


def _text(item: Received, data: Data) -> list[RadioEvent]:
    try:
        text: str | None = data.payload.decode()
    except UnicodeDecodeError:
        text = None
    message = IncomingText(
        packet_id=item.packet_id,
        sender=item.origin,
        destination=item.to,
        channel=item.channel,
        payload=data.payload,
        text=text,
        key=item.key or None,
        transport="TRANSPORT_LORA" if item.off_air else "",
        reply_id=data.reply_id,
        is_reaction=bool(data.emoji),
        wants_ack=item.want_ack,
        rx_time=item.rx_time,
        snr=item.snr,
        rssi=item.rssi,
        hops=_hops(item),
    )
    return [message] if text is not None else [message, OddPacket("bad-utf8")]


def _node_seen(user: User, last_heard: int) -> NodeSeen:
    return NodeSeen(user.number, user.long_name, user.short_name, user.key or None, last_heard)


def radio_info(node: Node) -> RadioInfo:
    """What a client of this node is told when it connects."""
    setup = node.setup
    known = node.db.known.values()
    return RadioInfo(
        node=node.number,
        key=node.key or None,
        firmware=setup.firmware,
        role=setup.role,
        has_pkc=setup.has_pkc,
        is_licensed=setup.is_licensed,
        is_unmessagable=setup.is_unmessagable,
        lora=node.tx.lora,
        channels=tuple(_channel(setup.channels, index) for index in range(CHANNEL_SLOTS)),
        nodes=tuple(_node_seen(other.user, other.last_heard) for other in known),
        mqtt_enabled=setup.mqtt_enabled,
        store_forward_enabled=setup.store_forward_enabled,
        network_protocols=setup.network_protocols,
        serial_enabled=setup.serial_enabled,
        debug_log_enabled=setup.debug_log_enabled,
    )


def _channel(channels: tuple[Channel, ...], index: int) -> ChannelInfo:
    """A key of one byte, or none, is public (Channels.cpp); a secondary channel without one uses the primary's."""
    if index >= len(channels):
        return ChannelInfo(index, "", ChannelPrivacy.DISABLED)
    channel = channels[index]
    key = channel.key or (channels[0].key if index else b"")
    privacy = ChannelPrivacy.PRIVATE if len(key) > 1 else ChannelPrivacy.PUBLIC
    return ChannelInfo(index, channel.name, privacy, channel.uplink)
