"""`meshseek demo`: the real gateway on a simulated radio, seen from the handheld's side.

Everything but the air is real: the gateway runs over the Meshtastic library on a serial device file, whose
other end is a simulated radio that speaks the stream protocol. A simulated handheld sends what you type.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from gateway.app import running_gateway
from gateway.config import Config, RadioConfig, VaultConfig
from gateway.demo_screen import Screen, Turn
from gateway.errors import GatewayError, UsageError
from gateway.protocol.admission import AccessRules, Handheld
from gateway.protocol.commands import Ignore, parse
from gateway.protocol.messages import LoRaSettings
from gateway.radio.devices import RadioTarget
from gateway.radio.meshtastic_radio import MeshtasticRadio
from gateway.radio.reconnect import LinkState
from gateway.radio.simulated.frames import RadioSetup
from gateway.radio.simulated.handheld import Handheld as SimulatedHandheld
from gateway.radio.simulated.handheld import Sent
from gateway.radio.simulated.mesh import Link, Mesh
from gateway.radio.simulated.node import Node, introduce
from gateway.radio.simulated.pty_radio import PtyRadio
from search_core.omnisearch_place import OmnisearchSettings

DEMO_VAULT = Path(__file__).resolve().parent / "demo_vault"
GATEWAY_NODE, HANDHELD_NODE = 0xA1B2C3D4, 0x7C5AE114
LINK_SECONDS = 30.0
"""Real seconds until the gateway must be connected."""
ANSWER_SECONDS = 180.0
"""Mesh time that an answer may take; at the loss of 0.9 many do not come."""
QUIET_SECONDS = 8.0
"""Mesh time without a packet after which nothing more is waited for; a lost acknowledgement is repeated sooner."""
TAIL_SECONDS = 0.6
"""Mesh time in which the radios acknowledge the acknowledgements, once the gateway has nothing left to do."""
REPEAT_SECONDS = 5.0
"""Real seconds waited for an answer to a question that was asked before: to a doubled one nothing is said."""
PATIENCE_SECONDS = 8.0
"""Real seconds after which the screen says that it still waits: a first look at thousands of notes takes long."""
WAIT_STEP_SECONDS = 0.1
MAX_QUESTION_BYTES = 200
"""What the official apps let their owner type."""


@dataclass(slots=True)
class Demo:
    """The running demo: the radio's pseudo-terminal and the handheld beside it."""

    pty: PtyRadio
    mesh: Mesh
    handheld: SimulatedHandheld
    interrupted: threading.Event
    at_rest: threading.Event
    """Set while the gateway owes nobody anything: all that it sent was acknowledged."""

    def ask(self, question: str, screen: Screen) -> Turn:
        """Send the question and show what comes; returns when all is acknowledged, or the time is over."""
        sent, seen_before, frames_before = self.pty.call(lambda: self._say(question))
        screen.asked(sent)
        asked_at, shown, is_over, is_patient = time.monotonic(), 0, False, True
        while not is_over:
            if self.interrupted.is_set():
                raise KeyboardInterrupt
            is_over = self.pty.wait_for(
                lambda: self._is_over(sent, seen_before, time.monotonic() - asked_at), timeout=WAIT_STEP_SECONDS
            )
            seen = self.pty.call(lambda: tuple(self.handheld.seen[seen_before:]))
            for answer in seen[shown:]:
                screen.answered(sent, answer)
            shown = len(seen)
            if is_patient and not shown and time.monotonic() - asked_at > PATIENCE_SECONDS:
                is_patient = False
                screen.still_waiting()
        acknowledged = self.at_rest.is_set()
        return self.pty.call(
            lambda: Turn.of(self.mesh, self.handheld, sent, seen_before, frames_before, acknowledged=acknowledged)
        )

    def _say(self, question: str) -> tuple[Sent, int, int]:
        seen, frames = len(self.handheld.seen), len(self.mesh.log)
        return self.handheld.say(question, GATEWAY_NODE), seen, frames

    def _is_over(self, sent: Sent, seen_before: int, waited: float) -> bool:
        """All that was to come has come and is acknowledged, or nothing can come any more."""
        now = self.mesh.now
        if now - sent.at > ANSWER_SECONDS or (sent.tick == "failed" and now - (sent.settled_at or now) > QUIET_SECONDS):
            return True
        if sent.tick == "sent" or not self.mesh.log:
            return False
        quiet = now - self.mesh.log[-1].end
        if len(self.handheld.seen) > seen_before:
            return quiet > (TAIL_SECONDS if self.at_rest.is_set() else QUIET_SECONDS)
        is_repeat = any(other.text == sent.text for other in self.handheld.sent if other is not sent)
        unanswered = isinstance(parse(sent.text), Ignore) or (is_repeat and waited > REPEAT_SECONDS)
        return unanswered and self.at_rest.is_set() and quiet > TAIL_SECONDS


def run_demo(question: str | None, *, vault: str | None, loss: float, seed: int, speed: float) -> int:
    """One exchange when there is a question, else a prompt. Returns the exit code."""
    folder = Path(vault).expanduser() if vault else DEMO_VAULT
    if not folder.is_dir():
        raise UsageError(f"--vault {folder}: is not a folder")
    if question is not None and not question.strip():
        raise UsageError("the question is empty; ask something, or leave it out for a prompt")
    interrupted = threading.Event()
    screen = Screen(sys.stdout)
    with interrupts_set(interrupted), ExitStack() as stack:
        try:
            demo = stack.enter_context(_running_demo(folder, Link(loss=loss), seed, speed, interrupted))
            screen.introduce(folder, is_own=vault is not None, loss=loss)
            if question is not None:
                return _one_exchange(demo, screen, question)
            return _prompt(demo, screen)
        except KeyboardInterrupt:
            screen.end()
            return 0 if question is None else 130


def _one_exchange(demo: Demo, screen: Screen, question: str) -> int:
    turn = demo.ask(_fit(question), screen)
    screen.sum_up(turn)
    return 0 if turn.answers else 3


def _prompt(demo: Demo, screen: Screen) -> int:
    screen.hint()
    for question in screen.questions():
        screen.sum_up(demo.ask(_fit(question), screen))
        if demo.interrupted.is_set():  # between the answer and the prompt
            raise KeyboardInterrupt
    return 0


def _fit(question: str) -> str:
    return question.encode("utf-8", "replace")[:MAX_QUESTION_BYTES].decode("utf-8", "ignore")


@contextlib.contextmanager
def _running_demo(folder: Path, link: Link, seed: int, speed: float, interrupted: threading.Event) -> Iterator[Demo]:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="meshseek-demo-")))
        # What the gateway has to say of its radio is not for this screen.
        logging.getLogger("meshseek").addHandler(logging.NullHandler())
        mesh = Mesh(seed, lora=LoRaSettings(region="US"), link=link)
        node = Node(mesh, GATEWAY_NODE, RadioSetup(long_name="Loft"))
        handheld = SimulatedHandheld(mesh, HANDHELD_NODE, "T-Deck")
        introduce(node, handheld.node)
        pty = stack.enter_context(PtyRadio(mesh, node, link=str(directory / "radio"), speed=speed))
        config = _config(folder, directory, pty.path, handheld)
        at_rest = _run_gateway(stack, config, interrupted)
        yield Demo(pty, mesh, handheld, interrupted, at_rest)


def _config(folder: Path, directory: Path, device: str, handheld: SimulatedHandheld) -> Config:
    allowed = Handheld(node=handheld.number, key=handheld.key, name="T-Deck")
    return Config(
        file=directory / "meshseek.toml",
        vault=VaultConfig(path=folder, omnisearch=OmnisearchSettings(enabled="off"), source="local"),
        radio=RadioConfig(RadioTarget(serial=device)),
        access=AccessRules(handhelds=(allowed,)),
        state_directory=directory / "state",
        cache_directory=directory / "cache" if folder == DEMO_VAULT else None,
    )


def _run_gateway(stack: ExitStack, config: Config, interrupted: threading.Event) -> threading.Event:
    """Start the gateway on a thread of its own, as `serve` does on the main one, and wait for the link.

    The event that comes back is set while the gateway has nothing to send and nothing to wait for.
    """
    linked, at_rest, stop = threading.Event(), threading.Event(), threading.Event()
    radio = MeshtasticRadio(config.radio.target)

    def note_state() -> None:
        if radio.state is LinkState.UP:
            linked.set()
        if any(service.outbox.answers()):
            at_rest.clear()
        else:
            at_rest.set()

    service = stack.enter_context(running_gateway(config, radio, heartbeat=note_state))
    thread = threading.Thread(target=service.run, args=(stop,), name="meshseek gateway")
    thread.start()
    stack.callback(thread.join)
    stack.callback(stop.set)
    waited = 0.0
    while not linked.wait(WAIT_STEP_SECONDS):
        waited += WAIT_STEP_SECONDS
        if interrupted.is_set():
            raise KeyboardInterrupt
        if waited > LINK_SECONDS:
            raise GatewayError("the gateway did not connect to the simulated radio; please report this")
    return at_rest


@contextlib.contextmanager
def interrupts_set(interrupted: threading.Event) -> Iterator[None]:
    """Ctrl-C sets the event; at the prompt, where only an exception ends the reading, it raises as well."""

    def note(_number: int, frame: FrameType | None) -> None:
        interrupted.set()
        if Screen.is_reading:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    signal.signal(signal.SIGTERM, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
