"""A small radio on a pseudo-terminal, made to misbehave: the other end of the wire for the adapter's tests.

It is not the product's simulated radio: it knows nothing of a mesh, only of the stream protocol, and it
breaks that protocol on demand.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import tty
from pathlib import Path

from meshtastic.protobuf import mesh_pb2, portnums_pb2

OWN = 0x0000AA01
PEER = 0x0000BB02
PEER_KEY = bytes(range(32))
START = b"\x94\xc3"


class WireRadio:
    """Serves the stream protocol on a pseudo-terminal behind a stable link until `close`."""

    def __init__(self, link: Path) -> None:
        self.link = link
        self.received: list[mesh_pb2.ToRadio] = []
        self.texts: list[mesh_pb2.MeshPacket] = []
        self.is_talking = True
        """False: reads, and answers nothing but (as the firmware does) heartbeats."""
        self.confirms = True
        self.reads = True
        self.answers_config = True
        self.finishes_config = True
        self.missed_requests = 0
        """So many requests for the configuration are lost, as while a board boots."""
        self.damaged_answers = 0
        """In so many answers the radio's LoRa settings are damaged on their way."""
        self.names_itself = True
        self.answers_probes = False
        self.backlog: list[str] = []
        self.free = 16
        self.disconnects = 0
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._master = self._slave = -1
        self.plug()
        self._thread = threading.Thread(target=self._serve, name="wire radio", daemon=True)
        self._thread.start()

    def plug(self) -> None:
        with self._lock:
            self._master, self._slave = os.openpty()
            tty.setraw(self._slave)
            os.set_blocking(self._master, False)
            self._buffer = b""
            self.link.unlink(missing_ok=True)
            self.link.symlink_to(os.ttyname(self._slave))

    def unplug(self) -> None:
        with self._lock:
            self.link.unlink(missing_ok=True)
            self._close_ends()

    def _close_ends(self) -> None:
        for end in (self._master, self._slave):
            if end >= 0:
                os.close(end)
        self._master = self._slave = -1

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self.unplug()

    def raw(self, data: bytes) -> None:
        with self._lock:
            if self._master >= 0:
                with contextlib.suppress(OSError):  # what nobody reads is lost, as on a real radio
                    os.write(self._master, data)

    def say(self, frame: mesh_pb2.FromRadio) -> None:
        data = frame.SerializeToString()
        self.raw(START + len(data).to_bytes(2, "big") + data)

    def packet(self, sender: int = PEER, to: int = OWN, **fields: object) -> mesh_pb2.MeshPacket:
        packet = mesh_pb2.MeshPacket(to=to, **fields)
        setattr(packet, "from", sender)
        return packet

    def text(self, text: str | bytes, packet_id: int = 1, sender: int = PEER) -> None:
        packet = self.packet(sender, id=packet_id, pki_encrypted=True, public_key=PEER_KEY, hop_start=3, hop_limit=3)
        packet.decoded.portnum = portnums_pb2.PortNum.TEXT_MESSAGE_APP
        packet.decoded.payload = text.encode() if isinstance(text, str) else text
        self.say(mesh_pb2.FromRadio(packet=packet))

    def routing(self, request_id: int, sender: int, error: int = 0) -> None:
        packet = self.packet(sender, id=request_id ^ 0x55)
        packet.decoded.portnum = portnums_pb2.PortNum.ROUTING_APP
        packet.decoded.request_id = request_id
        packet.decoded.payload = mesh_pb2.Routing(error_reason=error).SerializeToString()
        self.say(mesh_pb2.FromRadio(packet=packet))

    def reboot(self, announce: bool = True) -> None:
        """Forgets that a client wanted packets; with `announce` it says so."""
        self.is_talking = False
        if announce:
            self.say(mesh_pb2.FromRadio(rebooted=True))

    def _serve(self) -> None:
        while not self._stop.is_set():
            with self._lock:
                master = self._master
            if master < 0 or not self.reads:
                self._stop.wait(0.02)
                continue
            try:
                ready, _, _ = select.select([master], [], [], 0.05)
                data = os.read(master, 4096) if ready else b""
            except (OSError, ValueError):
                self._stop.wait(0.02)
                continue
            self._buffer += data
            self._take_frames()

    def _take_frames(self) -> None:
        while (start := self._buffer.find(START)) >= 0 and len(self._buffer) >= start + 4:
            size = int.from_bytes(self._buffer[start + 2 : start + 4], "big")
            end = start + 4 + size
            if len(self._buffer) < end:
                return
            frame = mesh_pb2.ToRadio.FromString(self._buffer[start + 4 : end])
            self._buffer = self._buffer[end:]
            self.received.append(frame)
            self._answer(frame)

    def _answer(self, frame: mesh_pb2.ToRadio) -> None:
        kind = frame.WhichOneof("payload_variant")
        if kind == "want_config_id" and self.missed_requests > 0:
            self.missed_requests -= 1
        elif kind == "want_config_id" and self.answers_config:
            self.is_talking = True
            self._configure(frame.want_config_id)
        elif kind == "disconnect":
            self.disconnects += 1
            self.is_talking = False
        elif kind == "heartbeat":
            self.queue_status(0)
        elif kind == "packet":
            if frame.packet.decoded.portnum == portnums_pb2.PortNum.TEXT_MESSAGE_APP:
                self.texts.append(frame.packet)
            if self.confirms and self.is_talking:
                self.queue_status(frame.packet.id)
            if self.answers_probes and frame.packet.decoded.want_response:
                self._admin_answer(frame.packet.id)

    def _admin_answer(self, request_id: int) -> None:
        packet = self.packet(OWN)
        packet.decoded.portnum = portnums_pb2.PortNum.ADMIN_APP
        packet.decoded.request_id = request_id
        self.say(mesh_pb2.FromRadio(packet=packet))

    def queue_status(self, packet_id: int) -> None:
        self.say(
            mesh_pb2.FromRadio(queueStatus=mesh_pb2.QueueStatus(free=self.free, maxlen=16, mesh_packet_id=packet_id))
        )

    def _configure(self, config_id: int) -> None:
        frame = mesh_pb2.FromRadio
        self.say(frame(my_info=mesh_pb2.MyNodeInfo(my_node_num=OWN)))
        if self.names_itself:
            self._node(OWN, "Gateway")
        self.say(frame(metadata=mesh_pb2.DeviceMetadata(firmware_version="2.7.26.54e0d8d", hasPKC=True)))
        self._channel()
        self._config()
        self._node(PEER, "Handheld")
        if self.finishes_config:
            self.say(frame(config_complete_id=config_id))
            for number, text in enumerate(self.backlog, start=900):
                self.text(text, packet_id=number)

    def _node(self, number: int, name: str) -> None:
        info = mesh_pb2.NodeInfo(num=number)
        info.user.id = f"!{number:08x}"
        info.user.long_name = name
        info.user.public_key = PEER_KEY
        self.say(mesh_pb2.FromRadio(node_info=info))

    def _channel(self) -> None:
        frame = mesh_pb2.FromRadio()
        frame.channel.role = 1  # PRIMARY
        frame.channel.settings.psk = b"\x01"
        self.say(frame)

    def _config(self) -> None:
        if self.damaged_answers > 0:
            self.damaged_answers -= 1
            self.raw(START + b"\xff\xff")
        else:
            self._lora()
        security = mesh_pb2.FromRadio()
        security.config.security.public_key = PEER_KEY
        security.config.security.serial_enabled = True
        self.say(security)

    def _lora(self) -> None:
        lora = mesh_pb2.FromRadio()
        lora.config.lora.use_preset = True
        lora.config.lora.region = 3  # EU_868
        lora.config.lora.tx_enabled = True
        lora.config.lora.hop_limit = 3
        self.say(lora)
