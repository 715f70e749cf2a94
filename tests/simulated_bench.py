"""Two nodes, and a client that reads at once and remembers when: the bench on which the firmware was measured."""

from __future__ import annotations

from gateway.protocol.messages import BROADCAST, ClientNotice, LoRaSettings, QueueStatus
from gateway.radio.simulated.frames import ClientPacket, Data, Port, RadioSetup, Received
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node, introduce
from gateway.radio.simulated.phone_api import ConfigDownload

A, B, C = 0xAA01, 0xBB02, 0xCC03
PROMPT = RadioSetup(read_lag_seconds=0, telemetry_seconds=0)
"""A node that reads its client at once and says nothing by itself: for exact times."""


class Client:
    """What a node's client sees, with the mesh's time of each record."""

    def __init__(self, node: Node, *, connect: bool = True) -> None:
        self.node = node
        self.records: list[tuple[float, ConfigDownload | QueueStatus | ClientNotice | Received]] = []
        self._next_id = node.number << 16
        if connect:
            self.connect()

    def connect(self) -> None:
        self.node.phone.on_ready = self._read
        self.node.phone.want_config(1)

    def vanish(self) -> None:
        """Killed: whatever the node says goes nowhere."""
        self.node.phone.on_ready = self._lose

    def leave(self) -> None:
        """A clean goodbye."""
        self.node.phone.disconnect()
        self.node.phone.on_ready = lambda: None

    def _read(self) -> None:
        while (item := self.node.phone.pull()) is not None:
            self.records.append((self.node.mesh.now, item))

    def _lose(self) -> None:
        while self.node.phone.pull() is not None:
            pass

    def send(
        self,
        payload: bytes | str,
        to: int = B,
        *,
        packet_id: int = 0,
        reply_id: int = 0,
        want_ack: bool = True,
        key: bytes | None = None,
        sender: int = 0,
        port: int = Port.TEXT,
    ) -> int:
        """Hand a packet over; returns its id."""
        self._next_id += 1
        packet_id = packet_id or self._next_id
        content = payload.encode() if isinstance(payload, str) else payload
        packet = ClientPacket(
            packet_id,
            to,
            Data(port, content, reply_id=reply_id),
            want_ack=want_ack,
            pki_demanded=key is not None,
            public_key=key or b"",
            sender=sender,
            reliable_priority=True,
        )
        self.node.send(packet)
        return packet_id

    def results(self, packet_id: int) -> list[tuple[float, int, str]]:
        """Time, reporter and reason of each routing packet for this id."""
        return [
            (when, item.origin, item.data.reason or "")
            for when, item in self.records
            if isinstance(item, Received) and item.data is not None and item.data.request_id == packet_id
        ]

    def reasons(self, packet_id: int) -> list[str]:
        return [reason for _, _, reason in self.results(packet_id)]

    def statuses(self, packet_id: int) -> list[QueueStatus]:
        return [item for _, item in self.records if isinstance(item, QueueStatus) and item.packet_id == packet_id]

    def packets(self) -> list[Received]:
        return [item for _, item in self.records if isinstance(item, Received)]

    def texts(self) -> list[str]:
        return [item.data.payload.decode() for item in self.packets() if item.is_text and item.data is not None]


class Bench:
    """A and B, who know each other, each with a client."""

    def __init__(self, seed: int = 1, *, setup: RadioSetup = PROMPT, lora: LoRaSettings | None = None) -> None:
        self.mesh = Mesh(seed, lora=lora)
        self.a = Node(self.mesh, A, setup)
        self.b = Node(self.mesh, B, setup)
        introduce(self.a, self.b)
        self.at_a = Client(self.a)
        self.at_b = Client(self.b)

    def starts(self, transmitter: int = A) -> list[float]:
        """When this node's transmissions began."""
        return [sent.start for sent in self.mesh.log if sent.transmitter == transmitter]


__all__ = ["BROADCAST", "PROMPT", "A", "B", "Bench", "C", "Client"]
