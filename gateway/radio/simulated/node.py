"""A simulated node: a radio with its firmware, and a cable for a client."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from gateway.protocol.messages import BROADCAST, ClientNotice, LoRaSettings
from gateway.radio.simulated.frames import (
    ChannelSeal,
    ClientPacket,
    Data,
    Frame,
    Metrics,
    Port,
    RadioSetup,
    Received,
    User,
)
from gateway.radio.simulated.mesh import Link, Mesh
from gateway.radio.simulated.node_db import NodeDb
from gateway.radio.simulated.phone_api import PhoneApi
from gateway.radio.simulated.router import Router
from gateway.radio.simulated.transmitter import PRIORITY_DEFAULT, Transmitter

SAVE_SECONDS = 60.0
"""The node database is written at most so often, counted from boot."""
CARD_SECONDS = 600.0
"""NodeInfo is not broadcast again so soon, across reboots too ("Skip send NodeInfo since we sent it <600s ago")."""
ASKED_CARD_SECONDS = 60.0
"""The same when the client asks for it (heartbeat with nonce 1)."""
CARD_MAX_UTILIZATION = 25.0
"""Percent: above it a newly heard node is not greeted."""
BOOT_SECONDS = 3.0
FIRST_BEACON_SECONDS = 30.0


class Node:
    """A radio on the mesh.

    Its parts are open to tests and faces: `phone` (the client's cable), `router`, `tx`, `db`. Its key is derived
    from its number, so that the same mesh has the same keys in each run.
    """

    def __init__(
        self, mesh: Mesh, number: int, setup: RadioSetup | None = None, *, lora: LoRaSettings | None = None
    ) -> None:
        self.mesh = mesh
        self.number = number
        self.setup = setup or RadioSetup()
        self.key = key_for(number) if self.setup.has_pkc else b""
        self.reboots = 0
        self.on_boot: Callable[[bool], None] = lambda _announce: None
        """Called when a reboot is over, with whether the radio says so on its cable."""
        self.tx = Transmitter(mesh, number, lora or mesh.lora)
        self.db = NodeDb(self._card(), self.setup.channels)
        self.router = Router(mesh, self.tx, self.db, self._to_client, self._notify)
        self.phone = PhoneApi(
            self.setup.to_phone_slots, lambda: mesh.now, self._submit, lambda: self.tx.free, self._rate_limited
        )
        self.router.on_data = self._learn
        self.router.clock = self.time
        self.router.relays = self.setup.role != "CLIENT_MUTE"
        self.on_local: Callable[[ClientPacket], None] = lambda _packet: None
        """Takes what the client sends to its own node (admin messages)."""
        self.alive = True
        self._client_turn = 0.0
        self._card_sent = -CARD_SECONDS
        mesh.add(self)
        self._boot()

    def _card(self) -> User:
        tail = f"{self.number & 0xFFFF:04x}"
        return User(self.number, self.setup.long_name or f"Meshtastic {tail}", self.setup.short_name or tail, self.key)

    # --- life -------------------------------------------------------------------------------------------------

    def _boot(self) -> None:
        self.alive = True
        self.booted_at = self.mesh.now
        self._clock_offset: float | None = None
        self._every(SAVE_SECONDS, self.db.save)
        self._every(self.setup.telemetry_seconds, self._telemetry)
        if self.setup.beacon_seconds:
            self._every(self.setup.beacon_seconds, self.announce)
            self._after(FIRST_BEACON_SECONDS, self.announce)

    def _after(self, seconds: float, action: Callable[[], object]) -> None:
        """Like `Mesh.after`, but void when the node has rebooted meanwhile."""
        born = self.reboots
        self.mesh.after(seconds, lambda: action() if self.alive and born == self.reboots else None)

    def _every(self, seconds: float, action: Callable[[], None]) -> None:
        def turn() -> None:
            action()
            self._after(seconds, turn)

        if seconds > 0:
            self._after(seconds, turn)

    def power_off(self) -> None:
        """Gone from the air and the cable, at once; what was only in memory is lost."""
        self.alive = False
        self.reboots += 1
        self.tx.clear()
        self.router.clear()
        self.phone.forget_client()
        self.db.reload()

    def power_on(self, *, announce: bool = True) -> None:
        self._boot()
        self.on_boot(announce)

    def reboot(self, *, announce: bool = True, seconds: float = BOOT_SECONDS) -> None:
        """Deaf for `seconds`; then back, with or without telling the client (`rebooted`)."""
        self.power_off()
        turn = self.reboots
        self.mesh.after(seconds, lambda: self.power_on(announce=announce) if turn == self.reboots else None)

    @property
    def uptime(self) -> int:
        return int(self.mesh.now - self.booted_at)

    def time(self) -> int:
        """The node's clock, Unix seconds; 0 until somebody has set it."""
        return 0 if self._clock_offset is None else int(self.mesh.now + self._clock_offset)

    def set_time(self, unix: int) -> None:
        self._clock_offset = unix - self.mesh.now

    # --- the client -------------------------------------------------------------------------------------------

    def from_client(self, action: Callable[[], object]) -> None:
        """Do what the client asked, when the node gets round to reading it. The order is kept."""
        lag = self.mesh.rng.uniform(0, self.setup.read_lag_seconds)
        self._client_turn = max(self._client_turn, self.mesh.now + lag)
        born = self.reboots
        self.mesh.at(self._client_turn, lambda: action() if self.alive and born == self.reboots else None)

    def send(self, packet: ClientPacket) -> None:
        """Hand over a packet as a client does."""
        self.from_client(lambda: self.phone.accept(packet))

    def _submit(self, packet: ClientPacket) -> int:
        if packet.to == self.number:
            self.on_local(packet)
            return 0
        return self.router.submit(packet)

    def _rate_limited(self, packet: ClientPacket) -> None:
        """The refusal goes to whom the client says it is; to node 0, over the air, when it leaves that open."""
        if packet.data.port != Port.TEXT:
            return
        if packet.sender == self.number:
            self.router.tell_own(packet.packet_id, "RATE_LIMIT_EXCEEDED")
            return
        data = Data(Port.ROUTING, request_id=packet.packet_id, reason="RATE_LIMIT_EXCEEDED")
        nak = ClientPacket(self.router.new_id(), packet.sender, data)
        self.router.originate(nak, PRIORITY_DEFAULT)

    def _to_client(self, packet: Received) -> None:
        self.phone.put(packet)

    def _notify(self, notice: ClientNotice) -> None:
        self.phone.put_notice(notice)

    def _telemetry(self) -> None:
        """Own metrics, only while nothing else waits for the client."""
        if not self.phone.idle:
            return
        metrics = Metrics(self.tx.channel_utilization(), self.tx.air_util_tx(), self.uptime)
        data = Data(Port.TELEMETRY, metrics=metrics)
        self.phone.put(Received(self.number, BROADCAST, self.router.new_id(), data, rx_time=self.time()))

    def heartbeat(self, nonce: int = 0) -> None:
        """The client's pulse; nonce 1 asks for our NodeInfo on the air instead of an answer."""
        if nonce != 1:
            self.phone.heartbeat()
        elif self.mesh.now - self._card_sent >= ASKED_CARD_SECONDS:
            self._broadcast_card()

    # --- the air ----------------------------------------------------------------------------------------------

    def hear(self, frame: Frame, link: Link, seconds: float) -> None:
        if self.alive:
            self.tx.heard(seconds)
            self.router.hear(frame, link, seconds)

    def noise(self, seconds: float) -> None:
        """Something was on the air that could not be understood: the channel was busy all the same."""
        self.tx.heard(seconds)

    def sent(self, seconds: float) -> None:
        self.tx.sent(seconds)

    def _learn(self, frame: Frame, data: Data) -> None:
        hops = frame.hop_start - frame.hop_limit
        if data.user is not None:
            self.db.learn(data.user, hops=hops, at=self.time())
            if data.want_response and frame.to == self.number:
                self.router.send_card(frame.origin)
        elif frame.origin not in self.db.known and isinstance(frame.seal, ChannelSeal):
            self._greet(frame.origin)
        self.db.touch(frame.origin, at=self.time(), snr=0.0, hops=hops)

    def _greet(self, stranger: int) -> None:
        recently = self.mesh.now - self._card_sent < CARD_SECONDS
        if stranger and not recently and self.tx.channel_utilization() < CARD_MAX_UTILIZATION:
            self._card_sent = self.mesh.now
            self.router.send_card(stranger, want_response=True)

    def announce(self) -> None:
        """Broadcast our NodeInfo, unless that was done within the last 600 s."""
        if self.mesh.now - self._card_sent >= CARD_SECONDS:
            self._broadcast_card()

    def _broadcast_card(self) -> None:
        self._card_sent = self.mesh.now
        self.router.send_card(BROADCAST)

    def rename(self, long_name: str, short_name: str) -> None:
        self.setup = replace(self.setup, long_name=long_name, short_name=short_name)
        self.db.user = self._card()

    def change_key(self) -> None:
        """What a factory reset does: another key under the same number."""
        self.key = hashlib.sha256(b"again" + self.key).digest()
        self.db.user = self._card()


def key_for(number: int) -> bytes:
    """The 32-byte public key of a simulated node."""
    return hashlib.sha256(b"simulated node " + number.to_bytes(4, "big")).digest()


def introduce(*nodes: Node) -> None:
    """All of them know each other's names and keys, and have written them down."""
    for node in nodes:
        for other in nodes:
            if other is not node:
                node.db.learn(other.db.user)
        node.db.save()
