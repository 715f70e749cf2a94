"""A client that speaks the serial protocol by hand: the other end of the simulated radio's cable."""

from __future__ import annotations

import os
import select
import socket
import time
from typing import Any

from meshtastic.protobuf import mesh_pb2, portnums_pb2
from simulated_bench import B

from gateway.radio.simulated.stream import Deframer, frame_bytes

FAST = 20.0
"""Mesh seconds in one real second."""
WAKE = b"\xc3" * 32


class Cable:
    """A client that speaks the protocol by hand."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.messages: list[Any] = []
        self.bytes_seen = b""
        self.hung_up = False
        self._deframer = Deframer()

    @classmethod
    def of_tty(cls, path: str) -> Cable:
        return cls(os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))

    @classmethod
    def of_port(cls, port: int) -> Cable:
        connection = socket.create_connection(("127.0.0.1", port), timeout=5)
        connection.setblocking(False)
        return cls(connection.detach())

    def close(self) -> None:
        os.close(self.descriptor)

    def say(self, **fields: Any) -> None:
        os.write(self.descriptor, frame_bytes(mesh_pb2.ToRadio(**fields).SerializeToString()))

    def text(self, text: str, to: int = B, packet_id: int = 77) -> None:
        data = mesh_pb2.Data(portnum=portnums_pb2.PortNum.TEXT_MESSAGE_APP, payload=text.encode())
        self.say(packet=mesh_pb2.MeshPacket(to=to, id=packet_id, decoded=data, want_ack=True))

    def read(self, seconds: float = 0.0) -> None:
        while select.select([self.descriptor], [], [], seconds)[0]:
            data = os.read(self.descriptor, 4096)
            if not data:
                self.hung_up = True
                return
            self.bytes_seen += data
            self.messages += [mesh_pb2.FromRadio.FromString(message) for message in self._deframer.feed(data)]
            seconds = 0.0

    def read_until(self, kind: str, count: int = 1, timeout: float = 5.0) -> list[Any]:
        """All messages of a kind, once there are `count`."""
        deadline = time.monotonic() + timeout
        while len(found := self.of(kind)) < count and time.monotonic() < deadline:
            self.read(0.05)
        assert len(found) >= count, f"{len(found)} of {kind} in {timeout} s"
        return found

    def of(self, kind: str) -> list[Any]:
        return [getattr(message, kind) for message in self.messages if message.WhichOneof("payload_variant") == kind]

    def connect(self) -> None:
        self.say(want_config_id=42)
        self.read_until("config_complete_id")
        self.messages.clear()
