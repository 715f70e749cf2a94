"""The TCP face: one client, the newest; what hangs up without a word is not missed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from meshtastic.tcp_interface import TCPInterface
from pubsub import pub
from simulated_bench import A, B
from simulated_cable import FAST, Cable

from gateway.radio.simulated.handheld import Handheld
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node, introduce
from gateway.radio.simulated.tcp_radio import TcpRadio


class Bench:
    def __init__(self) -> None:
        self.mesh = Mesh(1)
        self.node = Node(self.mesh, A)
        self.handheld = Handheld(self.mesh, B)
        introduce(self.node, self.handheld.node)
        self.radio = TcpRadio(self.mesh, self.node, speed=FAST)

    def ask(self, text: str) -> None:
        """A text from the handheld, until its radio has the ACK."""
        asked = self.radio.call(lambda: self.handheld.say(text, A))
        assert self.radio.wait_for(lambda: asked.tick == "delivered")
        time.sleep(0.15)  # three seconds of the mesh: past the limit of 2 s between texts


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    with made.radio:
        yield made


def texts(cable: Cable) -> list[bytes]:
    return [packet.decoded.payload for packet in cable.of("packet") if packet.decoded.portnum == 1]


def test_a_client_connects_and_talks(bench: Bench) -> None:
    cable = Cable.of_port(bench.radio.port)
    cable.connect()
    cable.text("hello")
    assert any(packet.decoded.request_id == 77 for packet in cable.read_until("packet"))
    assert bench.radio.call(lambda: [seen.text for seen in bench.handheld.seen]) == ["hello"]
    cable.close()


def test_a_second_client_puts_the_first_one_out(bench: Bench) -> None:
    first = Cable.of_port(bench.radio.port)
    first.connect()
    second = Cable.of_port(bench.radio.port)
    second.connect()
    first.read(1)
    assert (first.hung_up, second.hung_up, bench.radio.kicked) == (True, False, 1)
    first.close()
    second.close()


@pytest.mark.parametrize(("goodbye", "kept"), [(True, [b"while away"]), (False, [])])
def test_hanging_up_without_a_goodbye_loses_what_comes(bench: Bench, goodbye: bool, kept: list[bytes]) -> None:
    first = Cable.of_port(bench.radio.port)
    first.connect()
    if goodbye:
        first.say(disconnect=True)
        assert bench.radio.wait_for(lambda: bench.radio.goodbyes == 1)
    first.close()
    bench.ask("while away")
    second = Cable.of_port(bench.radio.port)
    second.say(want_config_id=3)
    second.read_until("config_complete_id")
    second.read(0.1)
    assert texts(second) == kept
    second.close()


def test_a_node_that_is_away_refuses_and_is_back_at_the_same_port(bench: Bench) -> None:
    cable = Cable.of_port(bench.radio.port)
    cable.connect()
    bench.radio.away()
    cable.read(1)
    assert cable.hung_up
    cable.close()
    with pytest.raises(ConnectionRefusedError):
        Cable.of_port(bench.radio.port)
    bench.radio.back()
    again = Cable.of_port(bench.radio.port)
    again.connect()
    again.close()


def test_the_unmodified_library_connects_and_talks() -> None:
    heard: list[str] = []

    def on_text(packet: Any, interface: Any) -> None:
        heard.append(packet["decoded"]["text"])

    pub.subscribe(on_text, "meshtastic.receive.text")
    before = len(os.listdir("/proc/self/fd"))
    bench = Bench()
    with bench.radio as radio:
        interface = TCPInterface("127.0.0.1", portNumber=radio.port, timeout=10)
        bench.ask("вопрос")
        assert radio.wait_for(lambda: heard == ["вопрос"])
        interface.sendText("ответ", B, wantAck=True)
        assert radio.wait_for(lambda: [seen.text for seen in bench.handheld.seen] == ["ответ"])
        interface.close()
    assert len(os.listdir("/proc/self/fd")) == before
