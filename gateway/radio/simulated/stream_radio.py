"""A node of the mesh behind a byte stream, in real time: the thread and the protocol that all such faces share."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from google.protobuf.message import DecodeError
from meshtastic.protobuf import mesh_pb2

from gateway.radio.simulated import wire
from gateway.radio.simulated.local_admin import LocalAdmin
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node
from gateway.radio.simulated.phone_api import ConfigDownload
from gateway.radio.simulated.stream import Deframer, frame_bytes

T = TypeVar("T")

LONGEST_SLEEP = 0.25
"""Seconds of real time between two looks at everything."""
STALLED_SECONDS = 2.0
"""When the other end has read nothing for so long, what waits for it is lost, as on a cable that nobody reads."""
READ_SIZE = 4096
CLOSE_SECONDS = 5.0


class StreamRadio:
    """Serves the stream protocol for one node; `PtyRadio` and `TcpRadio` bring the wire. Use as a context manager.

    One thread moves the mesh's time (`speed` mesh seconds for each real second) and serves the wire. From other
    threads touch the mesh, nodes and handhelds only through `call` and `wait_for`.
    """

    def __init__(self, mesh: Mesh, node: Node, *, speed: float = 1.0, chatter: bool = False) -> None:
        self.mesh = mesh
        self.node = node
        self.speed = speed
        self.chatter = chatter
        """Print debug lines between the frames, as firmware 2.7 does."""
        self.goodbyes = 0
        """Clean farewells of clients so far."""
        self.downloads = 0
        """Config downloads so far."""
        self._changed = threading.Condition(threading.RLock())
        self._wire = -1
        """Descriptor of the client's end; -1 while nobody is, or can be, at it."""
        self._wake_read, self._wake_write = -1, -1
        self._deframer = Deframer()
        self._out: deque[bytes] = deque()
        self._stalled_at: float | None = None
        self._reading = self._writing = True
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._counter = 0
        self._failure: BaseException | None = None

    # --- what a wire brings -----------------------------------------------------------------------------------

    def _plug(self) -> None:
        """Make the wire; what went before on it is forgotten."""
        raise NotImplementedError

    def _pull_plug(self) -> None:
        """Take the wire away."""
        raise NotImplementedError

    def _callers(self) -> list[int]:
        """Descriptors that become readable when a new client comes."""
        return []

    def _answer_caller(self) -> None:
        """A new client has come."""

    def _hung_up(self) -> None:
        """Reading found the end of the stream."""

    def _fresh_stream(self) -> None:
        self._deframer = Deframer()
        self._out.clear()
        self._stalled_at = None
        self._reading = self._writing = True

    # --- opening and closing ----------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """The thread is at work: not closed, and nothing went wrong on it."""
        return self._thread is not None and self._failure is None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Make the wire and start serving it. Raises OSError when it cannot be made."""
        self._plug()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self.node.on_local = LocalAdmin(self.node).handle
        self.node.phone.on_ready = self._drain
        self.node.on_boot = self._booted
        self._real_start, self._mesh_start = time.monotonic(), self.mesh.now
        self._thread = threading.Thread(target=self._serve, name="simulated radio", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving; idempotent. Raises what went wrong on the radio's thread, if anything did."""
        if self._thread is None:
            return
        with self._changed:
            self._stopping = True
        self._poke()
        self._thread.join(CLOSE_SECONDS)
        self._thread = None
        self._pull_plug()
        os.close(self._wake_read)
        os.close(self._wake_write)
        self._wake_read = self._wake_write = -1
        if self._failure is not None:
            raise self._failure

    # --- for tests and the demo -------------------------------------------------------------------------------

    def call(self, action: Callable[[], T]) -> T:
        """Run `action` between two steps of the radio's thread, with the mesh's time up to date."""
        with self._changed:
            self._advance()
            result = action()
            self._poke()
            return result

    def wait_for(self, condition: Callable[[], bool], timeout: float = 10.0) -> bool:
        """Wait until `condition` holds (it is asked after each step); False after `timeout` real seconds."""
        with self._changed:
            return self._changed.wait_for(condition, timeout)

    def debug_text(self, line: str) -> None:
        """Console text between the frames."""
        self.raw(line.encode() + b"\r\n")

    def raw(self, data: bytes) -> None:
        """Any bytes at all: garbage, half frames, frames of a test's own making."""
        self.call(lambda: self._out.append(data))

    def reboot(self, *, announce: bool = True, seconds: float = 3.0) -> None:
        """The board restarts behind a cable that stays; `seconds` of mesh time. See `Node.reboot`."""
        self.call(lambda: self.node.reboot(announce=announce, seconds=seconds))

    def freeze(self, *, reading: bool = True, writing: bool = True) -> None:
        """A wedged port: the radio no longer reads from it, or writes to it, or both; the mesh goes on."""
        with self._changed:
            self._reading, self._writing = not reading, not writing
            self._poke()

    def thaw(self) -> None:
        self.freeze(reading=False, writing=False)

    # --- the radio's thread -----------------------------------------------------------------------------------

    def _poke(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b"!")

    def _serve(self) -> None:
        try:
            while not self._stopping:
                self._step()
        except BaseException as error:  # noqa: BLE001 - kept, and raised by close()
            self._failure = error
            with self._changed:
                self._changed.notify_all()

    def _step(self) -> None:
        with self._changed:
            self._advance()
            self._write_out()
            self._changed.notify_all()
            wire, callers = self._wire, self._callers()
            readers = [self._wake_read, *callers] + ([wire] if wire >= 0 and self._reading else [])
            writers = [wire] if wire >= 0 and self._writing and self._out else []
            timeout = self._sleep_seconds()
        try:
            readable, _, _ = select.select(readers, writers, [], timeout)
        except (OSError, ValueError):
            return  # unplugged meanwhile
        if self._wake_read in readable:
            os.read(self._wake_read, READ_SIZE)
        with self._changed:
            if wire in readable:
                self._read_in()
            if any(caller in readable for caller in callers):
                self._answer_caller()

    def _advance(self) -> None:
        self.mesh.run_until(self._mesh_start + (time.monotonic() - self._real_start) * self.speed)

    def _sleep_seconds(self) -> float:
        due = self.mesh.next_event_time()
        if due is None:
            return LONGEST_SLEEP
        return min(max((due - self.mesh.now) / self.speed, 0.0), LONGEST_SLEEP)

    def _read_in(self) -> None:
        if self._wire < 0 or not self._reading:
            return
        try:
            data = os.read(self._wire, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hung_up()
            return
        self._advance()
        for message in self._deframer.feed(data):
            self._take(message)

    def _take(self, message: bytes) -> None:
        try:
            to_radio = mesh_pb2.ToRadio.FromString(message)
        except DecodeError:
            return  # "ignore malformed toradio" (PhoneAPI.cpp)
        if self.node.alive:
            self.node.from_client(lambda: self._obey(to_radio))

    def _obey(self, message: Any) -> None:
        kind = message.WhichOneof("payload_variant")
        if kind == "packet":
            packet = wire.client_packet(message.packet)
            if packet is not None:
                self.node.phone.accept(packet)
        elif kind == "want_config_id":
            self.node.phone.want_config(message.want_config_id)
        elif kind == "heartbeat":
            self.node.heartbeat(message.heartbeat.nonce)
        elif kind == "disconnect":
            self.goodbyes += 1
            self.node.phone.disconnect()

    def _booted(self, announce: bool) -> None:
        if self.chatter:
            self._out.append(b"\r\n//\\ E S H T /\\ S T / C (simulated)\r\n")
        if announce:
            self._post(mesh_pb2.FromRadio(rebooted=True))

    def _drain(self) -> None:
        while (item := self.node.phone.pull()) is not None:
            if isinstance(item, ConfigDownload):
                self.downloads += 1
                for message in wire.config_download(self.node, item.config_id):
                    self._post(message)
            else:
                self._post(wire.from_radio(item))

    def _post(self, message: Any) -> None:
        self._counter += 1
        message.id = self._counter
        if self.chatter:
            self._out.append(f"DEBUG | {self.mesh.now:.0f} [Power] FromRadio {self._counter}\r\n".encode())
        self._out.append(frame_bytes(message.SerializeToString()))

    def _write_out(self) -> None:
        if self._wire < 0:
            self._out.clear()  # what a board says to a pulled cable is lost
            return
        while self._out and self._writing:
            try:
                written = os.write(self._wire, self._out[0])
            except OSError:
                self._stalled()
                return
            self._stalled_at = None
            rest = self._out.popleft()[written:]
            if rest:
                self._out.appendleft(rest)

    def _stalled(self) -> None:
        now = time.monotonic()
        if self._stalled_at is None:
            self._stalled_at = now
        elif now - self._stalled_at > STALLED_SECONDS:
            self._out.clear()
