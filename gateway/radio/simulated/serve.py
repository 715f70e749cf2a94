"""`meshseek simulate`: a radio on a pseudo-terminal until stopped, with a handheld beside it that you type for."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

from gateway.protocol.inert import for_terminal
from gateway.protocol.messages import LoRaSettings, node_id
from gateway.radio.simulated.frames import RadioSetup
from gateway.radio.simulated.handheld import Handheld, Seen, Sent
from gateway.radio.simulated.mesh import Link, Mesh
from gateway.radio.simulated.node import Node, introduce
from gateway.radio.simulated.pty_radio import PtyRadio

RADIO_NUMBER, HANDHELD_NUMBER = 0x51E00001, 0x51E00002
TICK_SECONDS = 0.2
"""Real seconds between two looks at what has happened."""
EXIT_OK, EXIT_UNAVAILABLE = 0, 3
READ_SIZE = 4096
LONGEST_LINE = 4096
"""Bytes; a longer line without an end is cut there."""


def serve(
    link: str = "",
    *,
    speed: float = 1.0,
    seed: int = 1,
    loss: float = 0.0,
    lora: LoRaSettings | None = None,
    chatter: bool = False,
    out: TextIO | None = None,
) -> int:
    """Serve a simulated radio until SIGINT or SIGTERM; returns the exit code.

    `link` is a path that will be a symbolic link to the terminal. Each line on standard input is sent by the handheld
    to the radio as a direct message; what the handheld receives is printed. The end of the input does not end it.
    Call from the main thread.
    """
    screen = out or sys.stdout
    mesh = Mesh(seed, lora=lora, link=Link(loss=loss))
    node = Node(mesh, RADIO_NUMBER, RadioSetup(long_name="Simulated radio", short_name="SIM"))
    handheld = Handheld(mesh, HANDHELD_NUMBER, "Simulated handheld")
    introduce(node, handheld.node)
    radio = PtyRadio(mesh, node, link=link, speed=speed, chatter=chatter)
    try:
        radio.open()
    except OSError as error:
        why = error.strerror or error
        sys.stderr.write(f"meshseek: cannot serve a radio at {link or 'a pseudo-terminal'}: {why}\n")
        return EXIT_UNAVAILABLE
    try:
        with _stop_signals() as stopped:
            _Console(radio, handheld, screen).run(stopped)
    finally:
        radio.close()
    return EXIT_OK


@contextmanager
def _stop_signals() -> Iterator[Callable[[], bool]]:
    """SIGINT and SIGTERM only set a flag meanwhile."""
    seen: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        seen.append(number)

    kept = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


class _Console:
    """The handheld's owner at a terminal."""

    def __init__(self, radio: PtyRadio, handheld: Handheld, out: TextIO) -> None:
        self._radio = radio
        self._handheld = handheld
        self._out = out
        self._typed = b""
        self._input_open = True
        self._shown = 0
        self._ticks: dict[int, str] = {}

    def run(self, stopped: Callable[[], bool]) -> None:
        node = self._radio.node
        self._say(f"{self._radio.path}")
        self._say(f"radio {node_id(node.number)}, handheld {node_id(self._handheld.number)}; Ctrl-C ends it")
        while not stopped():
            for line in self._lines():
                self._radio.call(lambda line=line: self._handheld.say(line, node.number))  # type: ignore[misc]
            self._report()

    def _say(self, line: str) -> None:
        self._out.write(line + "\n")
        self._out.flush()

    def _lines(self) -> list[str]:
        """What has been typed, after waiting for a moment."""
        source = [sys.stdin] if self._input_open else []
        readable, _, _ = select.select(source, [], [], TICK_SECONDS)
        if not readable:
            return []
        data = os.read(sys.stdin.fileno(), READ_SIZE)
        self._input_open = bool(data)
        *lines, self._typed = (self._typed + data).split(b"\n")
        self._typed = self._typed[:LONGEST_LINE]
        return [text for line in lines if (text := line.decode("utf-8", "replace").strip())]

    def _report(self) -> None:
        seen, sent = self._radio.call(lambda: (self._handheld.seen[self._shown :], list(self._handheld.sent)))
        self._shown += len(seen)
        for text in seen:
            self._say(_received_line(text))
        for message in sent:
            if self._ticks.get(message.packet_id, "sent") != message.tick:
                self._say(_tick_line(message))
            self._ticks[message.packet_id] = message.tick


def _received_line(seen: Seen) -> str:
    kind = "direct" if seen.direct else f"channel {seen.channel}"
    return f"[{seen.at:.1f} s] {node_id(seen.sender)} ({kind}, {seen.size} bytes): {for_terminal(seen.text)}"


def _tick_line(message: Sent) -> str:
    took = (message.settled_at or message.at) - message.at
    reason = f" {message.reason}" if message.reason else ""
    return f"[{message.at:.1f} s] your message: {message.tick}{reason} after {took:.1f} s"
