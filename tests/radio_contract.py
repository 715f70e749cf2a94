"""The radios that must keep the port's promises, each with a handheld on the other side of its mesh."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from radio_bench import until

from gateway.protocol.messages import LoRaSettings, OutgoingPacket
from gateway.radio.devices import RadioTarget
from gateway.radio.meshtastic_radio import MeshtasticRadio
from gateway.radio.port import Radio
from gateway.radio.reconnect import LinkRules
from gateway.radio.simulated.frames import RadioSetup
from gateway.radio.simulated.handheld import Handheld
from gateway.radio.simulated.in_process import SimulatedRadio
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node, introduce
from gateway.radio.simulated.pty_radio import PtyRadio
from gateway.radio.simulated.tcp_radio import TcpRadio

T = TypeVar("T")

SPEED = 40.0
"""Mesh seconds per real second on the wire."""
RULES = LinkRules(
    queue_status_seconds=1.5,
    backoff_first_seconds=0.05,
    backoff_most_seconds=0.2,
    poll_seconds=0.02,
    write_pause_seconds=0.01,
    text_gap_seconds=0.0,
)
LIMIT = 120.0
"""Mesh seconds that anything may take."""
PATIENCE = 8.0
"""Real seconds that anything may take on the wire: the machine may be busy."""


class Bench(Protocol):
    """One kind of radio, its mesh, and the ways to break its link."""

    mesh: Mesh
    node: Node
    handheld: Handheld

    def new_radio(self) -> Radio:
        """A client of the node; its own close is the test's."""

    def call(self, action: Callable[[], T]) -> T:
        """Do something with the mesh."""

    def wait(self, condition: Callable[[], bool]) -> None:
        """Let time pass until this holds; fails when it takes too long."""

    def pass_time(self, seconds: float) -> None:
        """Let mesh seconds pass."""

    def cut(self) -> None:
        """The device goes away, the node lives."""

    def mend(self, radio: Radio) -> None:
        """It comes back."""


class _Mesh:
    def __init__(self) -> None:
        self.mesh = Mesh(seed=7, lora=LoRaSettings(region="US"))
        self.node = Node(self.mesh, 0xAA01, RadioSetup())
        self.handheld = Handheld(self.mesh, 0xBB02, "T-Deck")
        introduce(self.node, self.handheld.node)


class InProcess(_Mesh):
    """`SimulatedRadio`, in virtual time."""

    def new_radio(self) -> Radio:
        self._radio = SimulatedRadio(self.node)
        return self._radio

    def call(self, action: Callable[[], T]) -> T:
        return action()

    def wait(self, condition: Callable[[], bool]) -> None:
        assert self.mesh.run_until_true(condition, LIMIT)

    def pass_time(self, seconds: float) -> None:
        self.mesh.run_for(seconds)

    def cut(self) -> None:
        self._radio.unplug(power=False)

    def mend(self, radio: Radio) -> None:
        self._radio.replug()


class Wired(_Mesh):
    """`MeshtasticRadio` with the unmodified library, over a wire in real time."""

    wire: PtyRadio | TcpRadio

    def __init__(self) -> None:
        super().__init__()
        self._made: list[MeshtasticRadio] = []

    def target(self) -> RadioTarget:
        raise NotImplementedError

    def new_radio(self) -> Radio:
        radio = MeshtasticRadio(self.target(), RULES)
        self._made.append(radio)
        return radio

    def call(self, action: Callable[[], T]) -> T:
        return self.wire.call(action)

    def wait(self, condition: Callable[[], bool]) -> None:
        until(lambda: self.wire.call(condition), PATIENCE)

    def pass_time(self, seconds: float) -> None:
        end = self.wire.call(lambda: self.mesh.now) + seconds
        self.wait(lambda: self.mesh.now >= end)

    def close(self) -> None:
        for radio in self._made:
            radio.close()
        self.wire.close()


class OverPty(Wired):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.pty = PtyRadio(self.mesh, self.node, link=str(folder / "radio"), speed=SPEED)
        self.wire = self.pty
        self.wire.open()

    def target(self) -> RadioTarget:
        return RadioTarget(serial=self.pty.path)

    def cut(self) -> None:
        self.pty.unplug(power=False)

    def mend(self, radio: Radio) -> None:
        self.pty.replug()


class OverTcp(Wired):
    def __init__(self) -> None:
        super().__init__()
        self.tcp = TcpRadio(self.mesh, self.node, speed=SPEED)
        self.wire = self.tcp
        self.wire.open()

    def target(self) -> RadioTarget:
        return RadioTarget.from_tcp(f"127.0.0.1:{self.tcp.port}")

    def cut(self) -> None:
        self.tcp.away()

    def mend(self, radio: Radio) -> None:
        self.tcp.back()


def packet(packet_id: int, text: str = "an answer", **fields: object) -> OutgoingPacket:
    return OutgoingPacket(packet_id, 0xBB02, text, **fields)  # type: ignore[arg-type]
