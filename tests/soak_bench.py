"""Soak: the whole gateway on a pseudo-terminal whose radio is unplugged, rebooted, wedged and flooded, from a seed."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from meshtastic.protobuf import mesh_pb2, portnums_pb2

from gateway.app import running_gateway
from gateway.config import Config, RadioConfig, VaultConfig
from gateway.demo import DEMO_VAULT
from gateway.protocol.admission import AccessRules
from gateway.protocol.admission import Handheld as Allowed
from gateway.protocol.budget import AirtimeRules
from gateway.protocol.limits import QuestionLimits
from gateway.protocol.messages import IncomingText, LinkDown, LoRaSettings, RadioEvent
from gateway.radio.devices import RadioTarget
from gateway.radio.meshtastic_radio import MeshtasticRadio
from gateway.radio.port import Deliver
from gateway.radio.reconnect import LinkRules, LinkState
from gateway.radio.simulated.frames import RadioSetup
from gateway.radio.simulated.handheld import Handheld
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node, introduce
from gateway.radio.simulated.pty_radio import PtyRadio
from gateway.radio.simulated.stream import frame_bytes
from search_core.omnisearch_place import OmnisearchSettings

SPEED = 8.0
"""Mesh seconds per real second; the gateway and the library run in real time."""
FLOOD_PER_SECOND = 50
ASK_SECONDS = 3.0
"""Mean time between two questions; the gateway answers one in 2.5 s at most."""
PATIENCE_SECONDS = 30.0
"""After which somebody asks again although no answer came."""
GATEWAY, FIRST_HANDHELD = 0xAA01, 0xBB02
RULES = LinkRules(
    queue_status_seconds=4,
    silence_seconds=15,
    probe_seconds=9,
    quiet_start_seconds=4,
    configure_seconds=15,
    write_seconds=2,
    backoff_most_seconds=4,
)
LORA = LoRaSettings(region="US", preset="SHORT_FAST", spreading_factor=7)
SUBJECTS = ("tape backup", "nas2", "water filter", "battery", "router", "tent", "raid", "knots")


@dataclass
class Sample:
    """The process at one time."""

    minute: float
    threads: int
    files: int
    resident_kib: int


@dataclass
class Result:
    asked: int = 0
    accepted: int = 0
    """Questions that reached the gateway's adapter."""
    answered: int = 0
    """Of those, the ones whose handheld got a reply."""
    replaced: int = 0
    """Of those, the ones that their sender gave up for a newer one before an answer came."""
    unanswered: list[str] = field(default_factory=list)
    outages: int = 0
    flooded: int = 0
    heard: int = 0
    fatal: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)

    def lines(self) -> list[str]:
        """For a person."""
        text = [
            f"asked {self.asked}, reached the gateway {self.accepted}, answered {self.answered}, "
            f"replaced by a newer one {self.replaced}",
            f"events {self.heard}, flooded packets {self.flooded}, outages {self.outages}, faults {dict(self.faults)}",
            *(f"unanswered: {question}" for question in self.unanswered),
            *(f"fatal: {reason}" for reason in self.fatal),
        ]
        rows = [
            f"{s.minute:7.1f} min  {s.threads:3} threads  {s.files:3} files  {s.resident_kib:7} KiB"
            for s in self.samples
        ]
        return text + rows


def sample(started: float) -> Sample:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return Sample(
        (time.monotonic() - started) / 60,
        threading.active_count(),
        len(os.listdir("/proc/self/fd")),
        pages * os.sysconf("SC_PAGE_SIZE") // 1024,
    )


class Watched(MeshtasticRadio):
    """Remembers which questions came through."""

    def __init__(self, target: RadioTarget, result: Result) -> None:
        super().__init__(target, RULES, result.fatal.append)
        self._result = result
        self.questions: dict[int, tuple[int, str]] = {}
        """Packet id → sender and text."""

    def start(self, deliver: Deliver) -> None:
        def note(event: RadioEvent) -> None:
            self._result.heard += 1
            if isinstance(event, IncomingText) and event.key is not None:
                self.questions[event.packet_id] = (event.sender, event.text or "")
            elif isinstance(event, LinkDown):
                self._result.outages += 1
            deliver(event)

        super().start(note)


class Soak:
    """One run. Faults and questions come from the seed; their times are real, so two runs differ in the details."""

    def __init__(self, seed: int, folder: Path, handhelds: int = 8) -> None:
        self.random = random.Random(seed)
        self.result = Result()
        self.mesh = Mesh(seed, lora=LORA)
        self.node = Node(self.mesh, GATEWAY, RadioSetup(long_name="Soak"))
        self.handhelds = [Handheld(self.mesh, FIRST_HANDHELD + n, f"h{n}") for n in range(handhelds)]
        for handheld in self.handhelds:
            introduce(self.node, handheld.node)
        self.folder = folder
        self.pty = PtyRadio(self.mesh, self.node, link=str(folder / "radio"), speed=SPEED, chatter=True)
        self._count = 0
        self._patience: dict[int, float] = {}
        self._last: dict[int, int] = {}

    def config(self) -> Config:
        allowed = tuple(Allowed(node=h.number, key=h.key, name=h.node.setup.long_name) for h in self.handhelds)
        return Config(
            file=self.folder / "meshseek.toml",
            vault=VaultConfig(path=DEMO_VAULT, omnisearch=OmnisearchSettings(enabled="off"), source="local"),
            radio=RadioConfig(RadioTarget(serial=self.pty.path)),
            access=AccessRules(handhelds=allowed),
            limits=QuestionLimits(per_hour=10_000, repeat_seconds=0.0),
            airtime=AirtimeRules(hour_percent=100.0, node_percent=100.0, busy_percent=100.0, crowded_percent=100.0),
            state_directory=self.folder / "state",
            cache_directory=self.folder / "cache",
        )

    @contextmanager
    def running(self) -> Iterator[Watched]:
        with ExitStack() as stack:
            stack.enter_context(self.pty)
            radio = Watched(RadioTarget(serial=self.pty.path), self.result)
            service = stack.enter_context(running_gateway(self.config(), radio, heartbeat=lambda: None))
            stop = threading.Event()
            thread = threading.Thread(target=service.run, args=(stop,), name="soak gateway")
            thread.start()
            stack.callback(thread.join)
            stack.callback(stop.set)
            yield radio

    def ask(self) -> None:
        """Somebody asks who has no question open, or has waited long enough: a newer question replaces an older one."""
        now = time.monotonic()
        free = [h for h in self.handhelds if now >= self._patience.get(h.number, 0.0) or self._has_reply(h)]
        if not free:
            return
        handheld = self.random.choice(free)
        self._count += 1
        self.result.asked += 1
        question = f"{self.random.choice(SUBJECTS)} {self._count}"
        sent = self.pty.call(lambda: handheld.say(question, GATEWAY))
        self._patience[handheld.number] = now + PATIENCE_SECONDS
        self._last[handheld.number] = sent.packet_id

    def _has_reply(self, handheld: Handheld) -> bool:
        last = self._last[handheld.number]
        return self.pty.call(lambda: any(seen.reply_id == last for seen in handheld.seen))

    def break_something(self, pause: Callable[[float], None]) -> None:
        fault = self.random.choice(
            (self._unplug, self._reboot, self._reboot_unannounced, self._wedge, self._noise, self._flood)
        )
        self.result.faults[fault.__name__.lstrip("_")] += 1
        fault(pause)

    def _unplug(self, pause: Callable[[float], None]) -> None:
        self.pty.unplug(power=self.random.random() < 0.5)
        pause(self.random.uniform(0.1, 2))
        self.pty.replug()

    def _reboot(self, pause: Callable[[float], None]) -> None:
        self.pty.reboot(announce=True)

    def _reboot_unannounced(self, pause: Callable[[float], None]) -> None:
        self.pty.reboot(announce=False)

    def _wedge(self, pause: Callable[[float], None]) -> None:
        self.pty.freeze(reading=self.random.random() < 0.7, writing=self.random.random() < 0.7)
        pause(self.random.uniform(0.1, 4))
        self.pty.thaw()

    def _noise(self, pause: Callable[[float], None]) -> None:
        noise = self.random.randbytes(self.random.randint(1, 600))
        self.pty.raw(noise + b"\x94\xc3\x00\x04" + self.random.randbytes(4))

    def _flood(self, pause: Callable[[float], None]) -> None:
        for _ in range(FLOOD_PER_SECOND):
            self.pty.raw(frame_bytes(stray_packet(self.random)))
            self.result.flooded += 1
            pause(1 / FLOOD_PER_SECOND)

    def settle(self, radio: Watched, seconds: float) -> None:
        """Nothing breaks any more; what is parked goes out when its handheld is heard."""
        deadline = time.monotonic() + seconds
        next_ask = 0.0
        while time.monotonic() < deadline and self.open_questions(radio):
            if time.monotonic() >= next_ask:
                next_ask = time.monotonic() + 20
                for handheld in self.handhelds:
                    self.pty.call(lambda handheld=handheld: handheld.say_on_channel("here", 0))  # type: ignore[misc]
                    time.sleep(0.5)
            time.sleep(0.1)

    def open_questions(self, radio: Watched) -> list[str]:
        """Questions that came through, whose sender has no reply to them and has not asked anew since."""
        replied = self.pty.call(lambda: {seen.reply_id for h in self.handhelds for seen in h.seen})
        questions = dict(radio.questions)
        newest = {sender: packet_id for packet_id, (sender, _) in questions.items()}
        without = [packet_id for packet_id in questions if packet_id not in replied]
        left = [packet_id for packet_id in without if newest[questions[packet_id][0]] == packet_id]
        self.result.accepted = len(questions)
        self.result.answered = len(questions) - len(without)
        self.result.replaced = len(without) - len(left)
        return [f"{packet_id:#x} {questions[packet_id][1]}" for packet_id in left]


def stray_packet(source: random.Random) -> bytes:
    """Telemetry of a node that nobody knows, or something undecodable: what a busy mesh is full of."""
    packet = mesh_pb2.MeshPacket(to=0xFFFFFFFF, id=source.getrandbits(32), rx_snr=1.0)
    setattr(packet, "from", source.randint(0x1000_0000, 0x1000_FFFF))
    if source.random() < 0.3:
        packet.encrypted = source.randbytes(40)
    else:
        packet.decoded.portnum = portnums_pb2.PortNum.TELEMETRY_APP
        packet.decoded.payload = source.randbytes(20)
    return bytes(mesh_pb2.FromRadio(packet=packet).SerializeToString())


def soak(seed: int, seconds: float, folder: Path, settle_seconds: float = 120.0, calm: float = 5.0) -> Result:
    """Run for `seconds` of real time, then let it come to rest. The pseudo-terminal and the state are in `folder`.

    `calm` is the mean time between two faults, seconds.
    """
    run = Soak(seed, folder)
    quiet = logging.getLogger("meshseek")
    nowhere = logging.NullHandler()
    quiet.addHandler(nowhere)
    quiet.propagate = False
    try:
        with run.running() as radio:
            _go(run, radio, seconds, calm)
            run.settle(radio, settle_seconds)
            run.result.unanswered = run.open_questions(radio)
    finally:
        quiet.removeHandler(nowhere)
        quiet.propagate = True
    return run.result


def _go(run: Soak, radio: Watched, seconds: float, calm: float) -> None:
    started = time.monotonic()
    every = max(1.0, min(60.0, seconds / 10))
    next_ask, next_fault, next_sample = started, started + min(2.0, calm), started + min(60.0, seconds / 4)

    def turn() -> None:
        nonlocal next_ask, next_sample
        now = time.monotonic()
        if now >= next_ask:
            next_ask = now + run.random.uniform(0.7, 1.3) * ASK_SECONDS
            run.ask()
        if now >= next_sample and radio.state is LinkState.UP:
            next_sample = now + every
            run.result.samples.append(sample(started))

    def pause(length: float) -> None:
        end = time.monotonic() + length
        while time.monotonic() < end:
            turn()
            time.sleep(min(0.02, length))

    while time.monotonic() - started < seconds:
        pause(0.05)
        if time.monotonic() >= next_fault:
            run.break_something(pause)
            next_fault = time.monotonic() + run.random.uniform(0.4, 1.6) * calm
