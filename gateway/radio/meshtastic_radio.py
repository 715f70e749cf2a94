"""A real radio, over the Meshtastic library. The only file that imports the library, its pubsub and pyserial.

The library is used as it is, by classes derived from its interfaces that close its known traps: a port that
takes no bytes makes it spin, a full queue makes it wait for ever, a closed TCP connection is reopened without
a word, every reboot leaves a timer, a damaged frame prints a traceback. So our own writes go straight to the
interface's ``_sendToRadioImpl`` (its resend queue stays empty), the heartbeat is ours, and nothing that
comes from the radio may raise in the reader's thread.
"""

# ruff: noqa: N802, N803, N815  the library's names

from __future__ import annotations

import contextlib
import logging
import termios
import threading
import time
from collections.abc import Callable
from typing import Any

import serial
from meshtastic.mesh_interface import MeshInterface
from meshtastic.protobuf import admin_pb2, mesh_pb2, portnums_pb2
from meshtastic.serial_interface import SerialInterface
from meshtastic.stream_interface import StreamInterface
from meshtastic.tcp_interface import TCPInterface
from pubsub import pub

from gateway.protocol.messages import BROADCAST, ClientNotice, OddPacket, OutgoingPacket, QueueStatus, RadioInfo
from gateway.radio import packets_in
from gateway.radio.devices import Locator, RadioTarget, bluetooth_problem, open_problem, printable, silent_problem
from gateway.radio.link import Link, LinkProblem, Sink
from gateway.radio.packets_out import payload_of
from gateway.radio.port import RadioRejected
from gateway.radio.ports import Writer, connected_socket, keep_lines_up
from gateway.radio.radio_info import radio_info
from gateway.radio.reconnect import LinkRules
from gateway.radio.resync import Resync
from gateway.radio.start_up import StartUp
from gateway.radio.supervisor import Supervisor, end_process

MAX_NODES = 2000
"""The library keeps every node number it ever met; numbers can be invented by anybody."""
READ_SECONDS = 0.5
PARTING_SECONDS = 1.0
ANNOUNCE_NONCE = 1  # PhoneAPI.cpp: a heartbeat with it makes the radio broadcast its node info

_library_ready = threading.Lock()


def _prepare_library() -> None:
    """Silence its logger (it writes private keys at debug level) and subscribe to what it hears."""
    with _library_ready:
        logger = logging.getLogger("meshtastic")
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
        pub.subscribe(_on_packet, "meshtastic.receive")  # who is subscribed already stays so, once
        pub.subscribe(_on_notice, "meshtastic.clientNotification")


def _on_packet(packet: Any, interface: Any) -> None:
    """Module level, since pubsub holds its listeners weakly. Never raises: that would hide packets."""
    if isinstance(interface, _Guarded):
        for event in packets_in.events(packet, interface.own_node):
            interface.sink.event(event)


def _on_notice(notification: Any, interface: Any) -> None:
    if isinstance(interface, _Guarded):
        interface.sink.event(ClientNotice(notification.reply_id, printable(notification.message)))


class _Guarded(MeshInterface):  # type: ignore[misc]  # the library has no types
    """What all three interfaces share: nothing from the radio raises, hangs or prints."""

    myInfo: Any
    nodesByNum: Any
    stream: Any
    sink: Sink
    rules: LinkRules
    where: str
    writer: Writer | None = None
    gone = "the connection was lost"
    fault = ""
    _wantExit = False
    _is_parting = False

    def adopt(self, sink: Sink, rules: LinkRules, where: str) -> None:
        """To be called before the library's constructor, which may start reading."""
        self.sink = sink
        self.rules = rules
        self.where = where
        self.resync = Resync()
        self.start_up = StartUp(rules, time.monotonic())

    @property
    def own_node(self) -> int:
        info = self.myInfo
        return info.my_node_num if info is not None else 0

    def _handleFromRadio(self, fromRadioBytes: bytes) -> None:
        try:
            frame = mesh_pb2.FromRadio.FromString(bytes(fromRadioBytes))
        except Exception:  # noqa: BLE001  DecodeError's class differs between protobuf's implementations
            self.sink.event(OddPacket("garbage-frame"))
            self.resync.damaged(bytes(fromRadioBytes))
            self.start_up.damaged()
            return
        try:
            self._take(frame, fromRadioBytes)
        except BaseException:  # noqa: BLE001  raised in the reader it would print a traceback or end the reader
            self.sink.event(OddPacket("undecodable"))

    def _take(self, frame: Any, data: bytes) -> None:
        kind = frame.WhichOneof("payload_variant")
        self.start_up.hears(frame, time.monotonic())
        if kind == "queueStatus":
            status = frame.queueStatus
            self.queueStatus = status
            self.sink.queue_status(QueueStatus(status.mesh_packet_id, status.res, status.free, status.maxlen))
            return
        if kind == "packet":
            self.sink.pulse()
            sender = getattr(frame.packet, "from")
            if sender in (0, BROADCAST):
                self.sink.event(OddPacket("no-sender" if sender == 0 else "broadcast-sender"))
                return
        if kind == "config_complete_id" and self.start_up.has_gaps(time.monotonic()):
            self._startConfig()
            return
        if kind == "rebooted" and frame.rebooted:
            self.sink.rebooted()
        super()._handleFromRadio(data)
        if kind == "config_complete_id" and self.isConnected.is_set():
            self.sink.configured()
        self._bound_nodes()

    def _bound_nodes(self) -> None:
        if self.isConnected.is_set() and self.nodesByNum is not None and len(self.nodesByNum) > MAX_NODES:
            own = self.nodesByNum.get(self.own_node)
            self.nodesByNum = {} if own is None else {self.own_node: own}
            self.nodes: Any = {}

    def _is_gone(self, error: Exception | None = None) -> None:
        said = getattr(error, "strerror", None)  # the system's own words; pyserial's guesses are no help
        self.fault = self.fault or f"{self.where} {self.gone}" + (f" ({printable(said)})" if said else "")

    def _readBytes(self, length: int) -> bytes | None:
        try:
            return self.resync.again(length) or super()._readBytes(length)
        except Exception as error:
            self._is_gone(error)
            raise

    def _writeBytes(self, b: bytes) -> None:
        """Without pyserial's loop and the library's flush: the one spins, the other may never return."""
        if self.writer is None:
            return
        # A goodbye gets less time, since closing has a deadline too.
        seconds = min(self.rules.write_seconds, PARTING_SECONDS) if self._is_parting else self.rules.write_seconds
        try:
            self.writer.write(bytes(b), seconds)
        except TimeoutError as error:
            raise LinkProblem(f"{self.where} is stuck ({error}): if that goes on, restart the radio") from error
        except OSError as error:
            self._is_gone(error)
            raise LinkProblem(self.fault) from error
        time.sleep(self.rules.write_pause_seconds)

    def part(self) -> None:
        """Say goodbye, and let nobody write any more, not even who is in the middle of it."""
        self._sendDisconnect()
        self._wantExit = True
        if self.writer is not None:
            self.writer.close()

    def _handleLogLine(self, line: str) -> None:
        """The radio's debug text is not ours."""

    def _handleLogByte(self, b: bytes) -> None:
        """Not collected: a device that sends no line end would fill the memory."""

    def _startHeartbeat(self) -> None:
        """The supervisor's: the library starts another endless timer at each reboot."""

    def _disconnected(self) -> None:
        super()._disconnected()
        self.sink.lost(self.fault or f"{self.where} {self.gone}")

    def _sendDisconnect(self) -> None:
        """Once, and whether or not anybody listens; then the radio keeps messages for the next client."""
        if not self._is_parting:
            self._is_parting = True
            with contextlib.suppress(Exception):
                super()._sendDisconnect()

    def _waitConnected(self, timeout: float = 30.0) -> None:
        """Until the start-up conversation is complete, asking again when it does not go on."""
        self.start_up.begin(time.monotonic())
        while not self.isConnected.wait(0.05):
            if self._wantExit or self._is_parting or self.fault:
                raise LinkProblem(self.fault or "closed while connecting")
            now = time.monotonic()
            if self.start_up.ask_again(now):
                self._startConfig()
            if self.start_up.is_silent(now):
                raise LinkProblem(silent_problem(self.where, self.rules.quiet_start_seconds))


class _SerialLink(_Guarded, SerialInterface):  # type: ignore[misc]
    gone = "is gone: unplugged, rebooted or read by another program"
    _rxBuf: bytes

    def _readBytes(self, length: int) -> bytes | None:
        new = super()._readBytes(length)
        if new and self.resync.begins_anew(self._rxBuf, new, time.monotonic()):
            self._rxBuf = b""
        return new

    def open_stream(self) -> None:
        """Open and lock the port. Raises LinkProblem."""
        try:
            self.stream = serial.Serial(self.where, 115200, exclusive=True, timeout=READ_SECONDS)
            keep_lines_up(self.stream.fileno())
            self.writer = Writer(self.stream.fileno())
        except (OSError, termios.error, ValueError) as error:
            raise LinkProblem(open_problem(self.where, error)) from error

    def close(self) -> None:
        stream = self.stream
        self.part()
        with contextlib.suppress(Exception):  # the stream may be closed meanwhile
            if self.writer is not None and self.writer.is_wedged:
                stream.reset_output_buffer()  # what nobody takes would hold up the closing of the port
            stream.cancel_read()
        StreamInterface.close(self)


class _TcpLink(_Guarded, TCPInterface):  # type: ignore[misc]
    gone = "closed the connection"

    def open_stream(self) -> None:
        """Connect the socket. Raises LinkProblem."""
        try:
            self.socket = connected_socket(self.hostname, self.portNumber)
            self.writer = Writer(self.socket.fileno())
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise LinkProblem(
                f"no connection to {self.where} ({why}): is the radio on, in this network, with its network API on?"
            ) from error

    def _reconnect(self) -> None:
        """Not by itself and in silence: the supervisor makes a new connection."""
        self._is_gone()
        raise ConnectionResetError(self.fault)

    def close(self) -> None:
        self.part()
        super().close()


class LibraryLink:
    """One connection of the library (`Link`)."""

    def __init__(self, interface: Any, begin: Callable[[], None], configure: Callable[[], None]) -> None:
        self._interface = interface
        self.open = begin
        self.configure = configure

    def info(self) -> RadioInfo:
        interface = self._interface
        return radio_info(interface.own_node, interface.metadata, interface.localNode, interface.nodesByNum or {})

    def favorites(self) -> frozenset[int]:
        nodes = dict(self._interface.nodesByNum or {})
        return frozenset(number for number, node in nodes.items() if node.get("isFavorite"))

    def send(self, packet: OutgoingPacket) -> None:
        self._write(text_packet(packet, self._hop_limit()))

    def set_clock(self, unix: int) -> None:
        self._admin(admin_pb2.AdminMessage(set_time_only=unix))

    def set_favorite(self, node: int) -> None:
        self._admin(admin_pb2.AdminMessage(set_favorite_node=node))

    def probe(self) -> None:
        self._admin(admin_pb2.AdminMessage(get_device_metadata_request=True), answer=True)

    def heartbeat(self) -> None:
        self._write(mesh_pb2.ToRadio(heartbeat=mesh_pb2.Heartbeat()))

    def announce(self) -> None:
        self._write(mesh_pb2.ToRadio(heartbeat=mesh_pb2.Heartbeat(nonce=ANNOUNCE_NONCE)))

    def close(self) -> None:
        self._interface.close()

    def _hop_limit(self) -> int:
        return self._interface.localNode.localConfig.lora.hop_limit or 3

    def _admin(self, message: Any, answer: bool = False) -> None:
        """To our own radio, which takes it without a session key when it comes over its own port."""
        interface = self._interface
        frame = mesh_pb2.ToRadio()
        frame.packet.to = interface.own_node
        frame.packet.id = interface._generatePacketId()
        frame.packet.hop_limit = self._hop_limit()
        frame.packet.decoded.portnum = portnums_pb2.PortNum.ADMIN_APP
        frame.packet.decoded.payload = message.SerializeToString()
        frame.packet.decoded.want_response = answer
        self._write(frame)

    def _write(self, frame: Any) -> None:
        if not self._interface.isConnected.is_set():
            raise LinkProblem(self._interface.fault or "the radio went away before the packet was handed over")
        self._interface._sendToRadioImpl(frame)


def text_packet(packet: OutgoingPacket, hop_limit: int) -> Any:
    """The ``ToRadio`` of a text. Its priority is left to the firmware, which gives texts a high one.

    Raises RadioRejected for what no radio would take.
    """
    frame = mesh_pb2.ToRadio()
    try:
        frame.packet.to = packet.destination
        frame.packet.id = packet.packet_id
        frame.packet.channel = packet.channel
        frame.packet.want_ack = packet.wants_ack
        frame.packet.hop_limit = hop_limit
        frame.packet.decoded.portnum = portnums_pb2.PortNum.TEXT_MESSAGE_APP
        frame.packet.decoded.payload = payload_of(packet)
        frame.packet.decoded.reply_id = packet.reply_id
        if packet.key is not None:
            frame.packet.pki_encrypted = True
            frame.packet.public_key = packet.key
    except (ValueError, TypeError) as error:
        raise RadioRejected(f"no packet can be made of this ({error})") from error
    return frame


def connect(target: RadioTarget, rules: LinkRules, where: str, sink: Sink) -> Link:
    """A connection of the target's kind; opens nothing yet."""
    _prepare_library()
    if target.ble:
        return _ble_link(target.ble, rules, sink)
    if target.tcp_host:
        return _stream_link(_TcpLink, rules, sink, where, target.tcp_host, portNumber=target.tcp_port)
    return _stream_link(_SerialLink, rules, sink, where, where)


def _stream_link(kind: Any, rules: LinkRules, sink: Sink, where: str, *place: str, **options: int) -> Link:
    interface = kind.__new__(kind)
    interface.adopt(sink, rules, where)
    kind.__init__(interface, *place, connectNow=False, **options)
    return LibraryLink(interface, interface.open_stream, lambda: StreamInterface.connect(interface))


def _ble_link(address: str, rules: LinkRules, sink: Sink) -> Link:
    """Bluetooth: the library's constructor connects and configures in one go, so all of it is "configure"."""
    from meshtastic.ble_interface import BLEInterface

    class _BleLink(_Guarded, BLEInterface):  # type: ignore[misc]
        pass

    ble: Any = _BleLink.__new__(_BleLink)
    ble.adopt(sink, rules, f"ble {address}")

    def configure() -> None:
        try:
            BLEInterface.__init__(ble, address, timeout=30)
        except Exception as error:  # Bluetooth's errors are as many as its backends
            raise LinkProblem(bluetooth_problem(address, error)) from error

    return LibraryLink(ble, lambda: None, configure)


class MeshtasticRadio(Supervisor):
    """The `Radio` of a real device. `fatal` ends the process when the port is stuck beyond help."""

    def __init__(
        self, target: RadioTarget, rules: LinkRules | None = None, fatal: Callable[[str], None] | None = None
    ) -> None:
        rules = rules or LinkRules()
        is_serial, locator = not (target.tcp_host or target.ble), Locator(target)
        super().__init__(
            connect=lambda where, sink: connect(target, rules, where, sink),
            locate=locator.locate if is_serial else lambda: str(target),
            mark=locator.mark if is_serial else lambda: None,
            rules=rules,
            fatal=fatal or end_process,
        )

    def send(self, packet: OutgoingPacket) -> None:
        text_packet(packet, hop_limit=0)
        super().send(packet)
