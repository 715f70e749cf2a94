"""Delivery on the simulated mesh, beside the plain way: packets and airtime per answered question, share, seconds.

    python tests/benchmarks/delivery.py [--questions 300] [--long 10000]

Three handhelds in direct reach on LongFast, which also relay. Each searches, reads the first hit, then asks for three
more parts, minutes apart; frames are lost at random, each way, and collide. The plain way sends the same words in
chunks of 200 characters, 2 s apart, without asking for acknowledgements. Everything comes from a seed. Counted are
questions that reached the gateway's radio.
"""

from __future__ import annotations

import argparse
import logging
import random
import statistics
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scenarios.world import GATEWAY, START, World, outcome_of

from gateway.protocol import commands, conversation
from gateway.protocol.budget import AirtimeRules
from gateway.protocol.limits import QuestionLimits
from gateway.protocol.messages import IncomingText, LoRaSettings, OutgoingPacket, RadioEvent
from gateway.protocol.replies import Asker, Reply
from gateway.protocol.session import Session
from gateway.radio.port import RadioUnavailable
from gateway.radio.simulated.frames import Port, RadioSetup
from gateway.radio.simulated.handheld import Handheld, Seen
from gateway.radio.simulated.in_process import SimulatedRadio
from gateway.radio.simulated.mesh import Link, Mesh, OnAir
from gateway.radio.simulated.node import Node, introduce
from search_core.notes import EVERYTHING

HANDHELDS = 3
STEPS = ("pressure canning of beans", "1", "m 3")
FULL = {"pressure canning of beans": 1, "1": 1, "m 3": 3}
"""Parts of each answer."""
PATIENCE = 240.0
"""Seconds after which an asker goes on without an answer."""
PLAIN_CHUNK = 200  # characters
PLAIN_GAP = 2.0  # seconds
NO_LIMITS = QuestionLimits(per_hour=10_000, repeat_seconds=10.0)
AMPLE = AirtimeRules(hour_percent=50.0, node_percent=100.0)


@dataclass(slots=True)
class Figures:
    asked: int = 0
    arrived: int = 0
    full: int = 0
    waits: list[float] = field(default_factory=list)
    """From the question's first transmission to the last part on the asker's screen."""
    packets: int = 0
    airtime: float = 0.0
    """Seconds of text that the gateway's radio sent, repetitions too."""
    acknowledged: list[float] = field(default_factory=list)
    """From a question's arrival to its last acknowledgement."""
    doubled: int = 0
    """Parts that an asker saw twice without a mark."""

    def note_air(self, air: OnAir) -> None:
        if air.transmitter == air.frame.origin == GATEWAY and air.frame.data.port == Port.TEXT:
            self.packets += 1
            self.airtime += air.seconds


class Owner:
    """An owner who asks, reads, and asks on."""

    def __init__(self, handheld: Handheld, figures: Figures, rng: random.Random, total: int) -> None:
        self._handheld = handheld
        self._figures = figures
        self._rng = rng
        self._total = total
        self._step = 0
        self._waiting: tuple[float, int, str] | None = None
        self._got: list[str] = []
        handheld.on_text = self._read
        self._later(rng.uniform(1, 60))

    def _later(self, seconds: float) -> None:
        self._handheld.mesh.after(seconds, self._ask)

    def _ask(self) -> None:
        self._close()
        if self._figures.asked >= self._total:
            return
        self._handheld.clear()
        transmitter = self._handheld.node.tx  # Reading its figures makes the simulation forget what is an hour old.
        transmitter.air_util_tx()
        transmitter.channel_utilization()
        text = STEPS[self._step % len(STEPS)]
        self._step += 1
        sent = self._handheld.say(text, GATEWAY)
        self._figures.asked += 1
        self._got = []
        self._waiting = (self._handheld.mesh.now, sent.packet_id, text)
        self._later(PATIENCE + self._rng.expovariate(1 / 30))

    def _read(self, seen: Seen) -> None:
        if self._waiting is None or seen.sender != GATEWAY:
            return
        text = seen.text.removeprefix("*")
        if text in self._got:
            self._figures.doubled += not seen.text.startswith("*")
            return
        self._got.append(text)
        asked_at, _, question = self._waiting
        if len(self._got) == FULL[question]:
            self._figures.full += 1
            self._figures.waits.append(self._handheld.mesh.now - asked_at)

    def _close(self) -> None:
        if self._waiting is not None:
            sent = [m for m in self._handheld.sent if m.packet_id == self._waiting[1]]
            self._figures.arrived += bool(self._got or (sent and sent[0].tick == "delivered"))
            self._waiting = None


class Plain:
    """The plain way: everything at once, in chunks of characters, on a timer."""

    def __init__(self, mesh: Mesh, node: Node) -> None:
        self._mesh = mesh
        self._radio = SimulatedRadio(node)
        self._sessions: dict[int, Session] = {}
        self._ids = random.Random(7)
        self._radio.start(self._on_event)

    def _on_event(self, event: RadioEvent) -> None:
        if isinstance(event, IncomingText) and event.text:
            words = "".join(self._words(event.sender, event.text))
            chunks = [words[at : at + PLAIN_CHUNK] for at in range(0, len(words), PLAIN_CHUNK)]
            for n, chunk in enumerate(chunks):
                self._mesh.after(n * PLAIN_GAP, _sending(self, event.sender, chunk))

    def send(self, node: int, text: str) -> None:
        packet = OutgoingPacket(self._ids.randrange(1, 2**32), node, text, wants_ack=False)
        try:
            self._radio.send(packet)
        except RadioUnavailable:
            self._mesh.after(0.1, _sending(self, node, text))

    def _words(self, node: int, text: str) -> tuple[str, ...]:
        """What our own conversation would say."""
        command, session = commands.parse(text), self._sessions.get(node, Session(at=self._mesh.now))
        planned = conversation.plan(command, session, Asker(node, EVERYTHING), self._mesh.now)
        if planned is None or isinstance(planned, Reply):
            return planned.parts if planned else ()
        reply, session = conversation.compose(command, session, outcome_of(planned), 199, self._mesh.now)
        self._sessions[node] = session
        return reply.parts


def _sending(plain: Plain, node: int, text: str):  # type: ignore[no-untyped-def]
    return lambda: plain.send(node, text)


class Watched(deque[OnAir]):
    """The mesh's log, kept short and counted."""

    def __init__(self, figures: Figures) -> None:
        super().__init__(maxlen=10)
        self._figures = figures

    def append(self, air: OnAir) -> None:
        self._figures.note_air(air)
        super().append(air)


def run_ours(loss: float, questions: int, directory: Path) -> Figures:
    figures = Figures()
    world = World(directory, handhelds=HANDHELDS, link=Link(loss=loss), seed=3, airtime=AMPLE, questions=NO_LIMITS)
    world.mesh.log = Watched(figures)
    rng = random.Random(5)
    for handheld in world.handhelds:
        Owner(handheld, figures, rng, questions)
    while figures.asked < questions:
        world.run(600)
    world.run(600)
    for found in world.store.latest(questions):
        if found["stage"] == "delivered":
            figures.acknowledged.append(float(str(found["ended_at"])) - float(str(found["asked_at"])))
    world.stop()
    return figures


def run_plain(loss: float, questions: int) -> Figures:
    figures = Figures()
    mesh = Mesh(seed=3, lora=LoRaSettings(region="US"), link=Link(loss=loss), start=START)
    mesh.log = Watched(figures)
    node = Node(mesh, GATEWAY, RadioSetup(long_name="gateway"))
    handhelds = [Handheld(mesh, 0xBB01 + n, f"handheld {n}") for n in range(HANDHELDS)]
    for handheld in handhelds:
        introduce(node, handheld.node)
    Plain(mesh, node)
    rng = random.Random(5)
    for handheld in handhelds:
        Owner(handheld, figures, rng, questions)
    while figures.asked < questions:
        mesh.run_for(600)
    mesh.run_for(600)
    return figures


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def run_long(questions: int, directory: Path) -> Iterator[str]:
    """Ten thousand questions: does memory grow, is anything lost?"""
    figures = Figures()
    world = World(directory, handhelds=HANDHELDS, link=Link(loss=0.1), seed=3, airtime=AMPLE, questions=NO_LIMITS)
    world.mesh.log = Watched(figures)
    rng = random.Random(5)
    for handheld in world.handhelds:
        Owner(handheld, figures, rng, questions)
    marks: list[float] = []
    for tenth in range(1, 11):
        while figures.asked < questions * tenth // 10:
            world.run(600)
            world.hand_overs.clear()
        marks.append(resident_megabytes())
    world.run(3600)
    world.service.close()
    counts = world.store.counters()
    over = sum(counts.get(f"answers-{stage}", 0) for stage in ("delivered", "failed", "replaced"))
    under_way = len(list(world.service.outbox.answers()))
    yield f"questions {counts['questions']}, over {over}, parked or under way {under_way}"
    yield ", ".join(f"{name} {counts.get(name, 0)}" for name in ("answers-delivered", "answers-failed", "bug"))
    yield "resident MB after each tenth: " + " ".join(f"{mark:.1f}" for mark in marks)
    yield f"growth after the first tenth: {marks[-1] - marks[0]:+.1f} MB"
    assert world.directory is not None
    yield f"state file {sum(p.stat().st_size for p in world.directory.iterdir()) / 1e6:.2f} MB"
    world.stop()


def row(name: str, loss: float, figures: Figures) -> str:
    full = max(figures.full, 1)
    acknowledged = f"{statistics.median(figures.acknowledged):.1f} s" if figures.acknowledged else "-"
    return (
        f"| {name} | {loss:.0%} | {figures.full / max(figures.arrived, 1):.1%} | {figures.packets / full:.2f} "
        f"| {figures.airtime / full:.2f} s | {statistics.median(figures.waits or [0.0]):.1f} s | {acknowledged} "
        f"| {figures.doubled} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Delivery figures on the simulated mesh.")
    parser.add_argument("--questions", type=int, default=300, help="for each row of the table")
    parser.add_argument("--long", type=int, default=0, help="also run so many questions and watch the memory")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(
        "| way | loss | answered in full | packets each | airtime each | on screen after | last ACK after | doubled |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for loss in (0.0, 0.1, 0.3):
        with tempfile.TemporaryDirectory() as directory:
            print(row("meshseek", loss, run_ours(loss, options.questions, Path(directory))), flush=True)
        print(row("plain", loss, run_plain(loss, options.questions)), flush=True)
    if options.long:
        with tempfile.TemporaryDirectory() as directory:
            for line in run_long(options.long, Path(directory)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
