"""The adapter over the network: the library's own ways to lose a TCP connection in silence, each met."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from radio_bench import Listener, send, until

from gateway.protocol.messages import LinkDown, LinkUp, LoRaSettings, OutgoingPacket, SendFailed
from gateway.radio.devices import RadioTarget
from gateway.radio.meshtastic_radio import MeshtasticRadio
from gateway.radio.ports import connected_socket
from gateway.radio.reconnect import LinkRules
from gateway.radio.simulated.frames import RadioSetup
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node
from gateway.radio.simulated.tcp_radio import TcpRadio

RULES = LinkRules(
    quiet_start_seconds=0.4,
    queue_status_seconds=2,
    write_seconds=0.3,
    write_pause_seconds=0,
    text_gap_seconds=0,
    backoff_first_seconds=0.05,
    backoff_most_seconds=0.2,
    poll_seconds=0.02,
)


@pytest.fixture
def tcp() -> Iterator[TcpRadio]:
    mesh = Mesh(1, lora=LoRaSettings(region="US"))
    with TcpRadio(mesh, Node(mesh, 0xAA01, RadioSetup()), speed=20) as radio:
        yield radio


@pytest.fixture
def heard() -> Listener:
    return Listener()


@contextlib.contextmanager
def running(port: int, heard: Listener) -> Iterator[MeshtasticRadio]:
    fatal: list[str] = []
    radio = MeshtasticRadio(RadioTarget.from_tcp(f"127.0.0.1:{port}"), RULES, fatal.append)
    radio.start(heard)
    try:
        yield radio
    finally:
        radio.close()
        assert fatal == []


def test_a_refused_connection_says_what_to_look_at(heard: Listener) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with running(port, heard):
        reason = heard.wait_down()
    assert f"tcp 127.0.0.1:{port}" in reason
    assert "is the radio on" in reason


def test_a_host_that_takes_the_call_and_says_nothing_is_no_radio(heard: Listener) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, running(server.getsockname()[1], heard):
        assert "nothing that speaks Meshtastic" in heard.wait_down()


def test_the_end_of_the_connection_is_noticed_and_a_new_one_made(tcp: TcpRadio, heard: Listener) -> None:
    """The library would reconnect by itself, and tell nobody."""
    with running(tcp.port, heard):
        heard.wait_up()
        tcp.away()
        assert "closed the connection" in heard.wait_down()
        tcp.back()
        heard.wait_up(2)
    assert [type(e).__name__ for e in heard.of(LinkUp, LinkDown)] == ["LinkUp", "LinkDown", "LinkUp"]


def test_closing_says_goodbye(tcp: TcpRadio, heard: Listener) -> None:
    """The library's own close does not, and the radio would talk to nobody for 15 minutes."""
    with running(tcp.port, heard):
        heard.wait_up()
    assert tcp.wait_for(lambda: tcp.goodbyes == 1, 3)


def test_another_client_that_takes_the_radio_is_a_lost_link(tcp: TcpRadio, heard: Listener) -> None:
    with running(tcp.port, heard):
        heard.wait_up()
        with contextlib.closing(connected_socket("127.0.0.1", tcp.port)):
            assert "closed the connection" in heard.wait_down()
        heard.wait_up(2)


class Deaf:
    """Answers nothing after the start-up conversation, and reads no more: a radio whose network stack hangs."""

    def __init__(self, upstream: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        self.port = self._server.getsockname()[1]
        self.is_deaf = threading.Event()
        self._stop = threading.Event()
        self._upstream = upstream
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self._server.settimeout(0.05)
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                client, _ = self._server.accept()
                with client, socket.create_connection(("127.0.0.1", self._upstream)) as radio:
                    self._pass_on(client, radio)

    def _pass_on(self, client: socket.socket, radio: socket.socket) -> None:
        for end in (client, radio):
            end.settimeout(0.01)
        while not self._stop.is_set():
            if self.is_deaf.is_set():
                time.sleep(0.02)
                continue
            for source, sink in ((client, radio), (radio, client)):
                with contextlib.suppress(TimeoutError):
                    data = source.recv(4096)
                    if not data:
                        return
                    sink.sendall(data)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._server.close()


def test_a_connection_that_takes_nothing_is_given_up_and_closed_in_time(tcp: TcpRadio, heard: Listener) -> None:
    with contextlib.closing(Deaf(tcp.port)) as deaf, running(deaf.port, heard) as radio:
        heard.wait_up()
        deaf.is_deaf.set()
        interface = radio._link._interface  # type: ignore[union-attr]
        with contextlib.suppress(BlockingIOError):
            while True:  # not by making the socket non-blocking: the reader waits on it
                interface.socket.send(b"\xc3" * 4096, socket.MSG_DONTWAIT)
        send(radio, OutgoingPacket(9, 0xBB02, "x" * 200))
        heard.wait_down()
        until(lambda: any(isinstance(e, SendFailed) and e.packet_id == 9 for e in heard.events))
