"""A whole gateway on a simulated mesh, in the mesh's own time: what the scenarios have in common."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from gateway.protocol.admission import AccessRules
from gateway.protocol.admission import Handheld as Allowed
from gateway.protocol.budget import AirtimeRules
from gateway.protocol.limits import QuestionLimits
from gateway.protocol.messages import LoRaSettings, OutgoingPacket
from gateway.protocol.outbox import DeliveryRules
from gateway.protocol.requests import (
    DeskOutcome,
    InfoRequest,
    NoteRequest,
    Outcome,
    ReadRequest,
    Request,
    Saved,
    SearchRequest,
)
from gateway.radio.simulated.frames import Port, RadioSetup
from gateway.radio.simulated.handheld import Handheld
from gateway.radio.simulated.in_process import SimulatedRadio
from gateway.radio.simulated.mesh import Link, Mesh, OnAir
from gateway.radio.simulated.node import Node, introduce
from gateway.service import Service, ServiceRules
from gateway.store import Store
from search_core.notes import Answer, Hit, Reading, VaultInfo

GATEWAY = 0xAA01
START = 1_750_000_000.0

PASSAGE = " ".join(f"Sentence number {n} of a long note about pressure canning." for n in range(60))


class MeshClock:
    """The mesh's time; the wall may be set apart from it."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self.wall_offset = 0.0

    def now(self) -> float:
        return self._mesh.now

    def wall(self) -> float:
        return self._mesh.now + self.wall_offset


class FakeDesk:
    """Finds three notes for anything, after `seconds` of the mesh's time; None: never answers."""

    def __init__(self, mesh: Mesh, seconds: float | None = 0.05) -> None:
        self._mesh = mesh
        self.seconds = seconds
        self.deliver: Callable[[DeskOutcome], None] = lambda _outcome: None
        self.requests: list[Request] = []

    def submit(self, ticket: int, request: Request) -> None:
        self.requests.append(request)
        if len(self.requests) > 1000:
            del self.requests[:500]
        if self.seconds is not None:
            deliver = self.deliver
            self._mesh.after(self.seconds, lambda: deliver(DeskOutcome(ticket, outcome_of(request))))


def outcome_of(request: Request) -> Outcome:
    match request:
        case SearchRequest(query):
            hits = tuple(_hit(query, n) for n in range(1, 4))
            return Answer(query, hits, "local", 0.01, 3)
        case ReadRequest(path):
            return Reading(path, PASSAGE, 0, "digest", START)
        case InfoRequest():
            return VaultInfo(100, START, 0, "memory", "local")
        case NoteRequest(text):
            return Saved(text, "Inbox.md")


def _hit(query: str, n: int) -> Hit:
    text = f"what note {n} says of {query}, and " + ", ".join(f"detail {n}{m} of it" for m in range(20))
    return Hit(
        path=f"Notes/{query[:20]} {n}.md",
        basename=f"{query[:20]} {n}",
        score=9.0 - n,
        excerpt=text,
        engine="local",
        cut=lambda size: text.encode()[:size].decode(errors="ignore"),
    )


def quick_store(directory: Path | None) -> Store:
    """A store that a dying process leaves whole; the disk need not be waited for."""
    return Store(directory, START, flush=False)


class _Watched(SimulatedRadio):
    """Notes when packets are handed over."""

    def __init__(self, node: Node, hand_overs: list[float]) -> None:
        super().__init__(node)
        self._hand_overs = hand_overs

    def send(self, packet: OutgoingPacket) -> None:
        super().send(packet)
        self._hand_overs.append(self.mesh.now)


class World:
    """One gateway, some handhelds, and the mesh between them. Nothing happens but in `run`."""

    def __init__(
        self,
        directory: Path | None,
        *,
        handhelds: int = 1,
        link: Link | None = None,
        seed: int = 1,
        lora: LoRaSettings | None = None,
        airtime: AirtimeRules | None = None,
        questions: QuestionLimits | None = None,
        delivery: DeliveryRules | None = None,
        collisions: bool = True,
        store: Callable[[Path | None], Store] = quick_store,
    ) -> None:
        self.mesh = Mesh(
            seed=seed, lora=lora or LoRaSettings(region="US"), link=link or Link(), start=START, collisions=collisions
        )
        self.node = Node(self.mesh, GATEWAY, RadioSetup(long_name="gateway"))
        self.handhelds = [Handheld(self.mesh, 0xBB00 + n, f"handheld {n}") for n in range(1, handhelds + 1)]
        for handheld in self.handhelds:
            introduce(self.node, handheld.node)
        self.rules = ServiceRules(
            access=AccessRules(
                handhelds=tuple(Allowed(h.number, h.key, f"owner {h.number:x}") for h in self.handhelds)
            ),
            airtime=airtime or AirtimeRules(),
            questions=questions or QuestionLimits(),
            delivery=delivery or DeliveryRules(),
        )
        self.directory = directory
        self.clock = MeshClock(self.mesh)
        self.desk = FakeDesk(self.mesh)
        self.longest_queue = 0
        self.hand_overs: list[float] = []
        self._open_store = store
        self._ids = random.Random(seed)
        self.boot()

    # The gateway's process

    def boot(self) -> None:
        """Start the gateway's process on what the last one left."""
        self.store = self._open_store(self.directory)
        self.radio = _Watched(self.node, self.hand_overs)
        desk_seconds = self.desk.seconds
        self.desk = FakeDesk(self.mesh, desk_seconds)
        self.service = Service(
            self.radio,
            self.desk,
            self.store,
            self.clock,
            self.rules,
            new_packet_id=lambda: self._ids.randrange(1, 2**32),
        )
        self.desk.deliver = self.service.deliver
        self.service.start()

    def allow(self, handhelds: Iterable[Allowed]) -> None:
        """Who may ask from the next start on."""
        self.rules = replace(self.rules, access=AccessRules(handhelds=tuple(handhelds)))

    def kill(self) -> None:
        """The process dies here, with nothing written and nobody told."""
        self.desk.deliver = lambda _outcome: None
        self.radio.kill()
        self.store.close()

    def stop(self) -> None:
        self.service.close()
        self.radio.close()
        self.store.close()

    # Time

    def run(self, seconds: float) -> None:
        self.run_until(lambda: False, seconds)

    def run_until(self, condition: Callable[[], bool], seconds: float = 600.0) -> bool:
        """Let time pass, event by event, until the condition holds; False when it does not in time."""
        end = self.mesh.now + seconds
        wake = self._turn()
        while not condition():
            if self.mesh.now >= end:
                return False
            due = self.mesh.next_event_time()
            self.mesh.run_until(min(end, wake, due if due is not None else end))
            wake = self._turn()
        return True

    def _turn(self) -> float:
        delay = self.service.step()
        while delay == 0.0:
            delay = self.service.step()
        self.longest_queue = max(self.longest_queue, len(list(self.service.outbox.answers())))
        return self.mesh.now + delay

    # What came of it

    def fates(self) -> dict[int, str]:
        """The last stage of each question, by number."""
        return {int(str(row["number"])): str(row["stage"]) for row in self.store.latest(100_000)}

    def reasons(self) -> dict[int, str]:
        return {int(str(row["number"])): str(row["reason"]) for row in self.store.latest(100_000)}

    def bugs(self) -> int:
        self.service.close()
        return self.store.counters().get("bug", 0)

    def all_settled(self) -> bool:
        return all(stage in ("delivered", "failed", "replaced") for stage in self.fates().values())


def answers_to(handheld: Handheld) -> list[str]:
    """Texts of the gateway on this screen, marks of repetition taken off."""
    return [seen.text.removeprefix("*") for seen in handheld.seen if seen.sender == GATEWAY]


def texts_of_gateway(world: World) -> Iterator[OnAir]:
    """Every transmission of a text of its own by the gateway's radio, repetitions too."""
    for air in world.mesh.log:
        if air.transmitter == air.frame.origin == GATEWAY and air.frame.data.port == Port.TEXT:
            yield air


def worst_hour(world: World) -> float:
    """The most seconds of text that the gateway's radio sent in any hour."""
    sent = [(air.start, air.seconds) for air in texts_of_gateway(world)]
    return max((sum(s for t, s in sent if start <= t < start + 3600) for start, _ in sent), default=0.0)


def shortest_gap(world: World) -> float:
    """Seconds between the two hand-overs that followed each other most closely."""
    times = world.hand_overs
    return min((later - earlier for earlier, later in itertools.pairwise(times)), default=float("inf"))


def assert_sound(world: World, *, parked: bool = False) -> None:
    """What holds after any scenario: nothing lost, nothing said twice without its mark, no limit passed."""
    fates = world.fates()
    left = {number: stage for number, stage in fates.items() if stage not in ("delivered", "failed", "replaced")}
    assert parked or not left, left
    assert all(stage == "parked" for stage in left.values()), left
    for number, stage in fates.items():
        assert stage != "failed" or world.reasons()[number], f"question {number} failed without a reason"
    for handheld in world.handhelds:
        plain = [s for s in handheld.seen if s.sender == GATEWAY and not s.text.startswith("*")]
        per_question = Counter((seen.reply_id, seen.text) for seen in plain)
        assert max(per_question.values(), default=0) <= 1, per_question.most_common(1)
    assert worst_hour(world) <= world.service.budget.hour_seconds()
    assert shortest_gap(world) >= 2.5
    assert world.longest_queue <= 500
    assert world.bugs() == 0
