"""What the demo shows: the handheld as its owner sees it, and beside it what each message cost."""

from __future__ import annotations

import os
import select
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TextIO

from gateway.protocol.inert import for_terminal
from gateway.radio.simulated.handheld import Handheld, Seen, Sent
from gateway.radio.simulated.mesh import Mesh
from search_core.graphemes import boundaries

SCREEN_WIDTH = 46
"""Columns of the handheld's screen, about those of a T-Deck."""
MAX_TYPED_BYTES = 4096
"""The longest line that a terminal takes."""
TICKS = {"sent": "… no tick yet", "relayed": "✓ passed on", "delivered": "✓ delivered", "failed": "✗ not delivered"}
NOTHING_SAID = "No answer came: nothing is said to a reaction, nor to the same question again; else it was lost."
LEAVE = {"quit", "exit", "q", ":q", "bye"}


@dataclass(frozen=True, slots=True)
class Cost:
    """What one direction put on the air."""

    packets: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: what the owner sent, what came back, and what it cost."""

    question: Sent
    answers: tuple[Seen, ...]
    asking: Cost
    answering: Cost
    acknowledged: bool
    """The gateway has heard that all it sent arrived."""

    @staticmethod
    def of(
        mesh: Mesh, handheld: Handheld, sent: Sent, seen_before: int, frames_before: int, *, acknowledged: bool
    ) -> Turn:
        frames = list(mesh.log)[frames_before:]
        mine = [f for f in frames if f.transmitter == handheld.number]
        theirs = [f for f in frames if f.transmitter != handheld.number]
        answers = tuple(handheld.seen[seen_before:])
        return Turn(
            question=sent,
            answers=answers,
            asking=Cost(len(mine), sum(f.seconds for f in mine)),
            answering=Cost(len(theirs), sum(f.seconds for f in theirs)),
            acknowledged=acknowledged,
        )


class Screen:
    """Writes to a terminal or a pipe; colour only on a terminal, and not when NO_COLOR is set."""

    is_reading = False
    """Whether the prompt waits for the keyboard just now; read by the signal handler."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._colour = out.isatty() and not os.environ.get("NO_COLOR")
        self._columns = shutil.get_terminal_size().columns
        self._width = max(24, min(SCREEN_WIDTH, self._columns - 6))

    def introduce(self, vault: Path, *, is_own: bool, loss: float) -> None:
        notes = sum(1 for _ in vault.rglob("*.md")) if not is_own else 0
        what = f"your notes in {vault}" if is_own else f"{notes} notes that come with meshseek"
        lost = f", {loss:.0%} of packets lost" if loss else ""
        said = f"A simulated radio{lost}; the gateway answers from {what}."
        for line in wrap(said, self._columns):
            self._line(line, dim=True)

    def hint(self) -> None:
        self._line("Type a question as on the handheld; `h` for help, `quit` to leave.", dim=True)

    def questions(self) -> Iterator[str]:
        """What is typed, line by line, until the end."""
        if sys.stdin.isatty():
            import readline  # noqa: F401  gives the prompt its history
        ahead: list[str] = []
        while True:
            try:
                ahead += _typed_ahead()
                line = ahead.pop(0) if ahead else _read_line()
            except EOFError:
                self.end()
                return
            except UnicodeDecodeError:
                continue
            if line.strip().lower() in LEAVE:
                return
            if line.strip():
                yield line

    def asked(self, question: Sent) -> None:
        self._box("you", question.text, f"{len(question.text.encode())} B")

    def still_waiting(self) -> None:
        self._below("… still waiting; the first question reads all notes, later ones do not.")

    def answered(self, question: Sent, answer: Seen) -> None:
        self._box("Loft", answer.text, f"{answer.size} B · {answer.at - question.at:.1f} s after asking")

    def sum_up(self, turn: Turn) -> None:
        """What the exchange cost, acknowledgements counted, and how far it came."""
        tick = TICKS.get(turn.question.tick, turn.question.tick)
        self._below(f"question: {self._packets(turn.asking)} · {tick}")
        if turn.answers:
            tick = "✓ acknowledged" if turn.acknowledged else "not acknowledged yet"
            self._below(f"answer: {self._packets(turn.answering)} · {tick}")
        else:
            arrived = turn.question.tick == "delivered"
            self._below(NOTHING_SAID if arrived else "No answer came: the question was lost on the way.")

    def end(self) -> None:
        if self._out.isatty():
            self._out.write("\n")

    def _packets(self, cost: Cost) -> str:
        noun = "packet" if cost.packets == 1 else "packets"
        return f"{cost.packets} {noun} with ACKs, {cost.seconds:.1f} s on the air"

    def _box(self, who: str, text: str, beside: str) -> None:
        inner = self._width - 2
        self._out.write(f"  ╭─ {who} " + "─" * (inner - len(who) - 3) + "╮\n")
        for line in text.split("\n"):
            for piece in wrap(for_terminal(line), inner - 2):
                self._out.write(f"  │ {piece}{' ' * (inner - 2 - columns_of(piece))} │\n")
        fits = self._width + 3 + len(beside) <= self._columns
        self._out.write("  ╰" + "─" * inner + "╯" + (" " if fits else "\n   "))
        self._line(beside, dim=True)

    def _below(self, text: str) -> None:
        for line in wrap(text, max(24, self._columns - 4)):
            self._line(f"   {line}", dim=True)

    def _line(self, text: str, *, dim: bool = False) -> None:
        self._out.write(f"\x1b[2m{text}\x1b[0m\n" if dim and self._colour else f"{text}\n")
        self._out.flush()


def _read_line() -> str:
    try:
        Screen.is_reading = True
        return input("\nyou> " if sys.stdin.isatty() else "")
    finally:
        Screen.is_reading = False


def _typed_ahead() -> list[str]:
    """Lines typed while an answer was awaited. Raises EOFError for a Ctrl-D among them, which the prompt would lose."""
    lines: list[str] = []
    while sys.stdin.isatty() and select.select([sys.stdin], [], [], 0)[0]:
        typed = os.read(sys.stdin.fileno(), MAX_TYPED_BYTES)
        if not typed:
            raise EOFError
        lines += typed.decode("utf-8", "ignore").splitlines()
    return lines


def columns_of(text: str) -> int:
    """Terminal columns that the text takes: two for wide characters, none for marks."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def wrap(line: str, width: int) -> list[str]:
    """The line in pieces of at most `width` columns (at least 2), cut between words where there are any."""
    pieces = [""]
    for word in line.split():
        longer = f"{pieces[-1]} {word}".lstrip()
        if columns_of(longer) <= width:
            pieces[-1] = longer
        elif columns_of(word) <= width:
            pieces.append(word)
        else:
            _fill(pieces, word, width)
    return pieces


def _fill(pieces: list[str], word: str, width: int) -> None:
    """Add what is longer than a line (Chinese has no spaces) where the last piece ends."""
    if pieces[-1]:
        pieces[-1] += " "
    for start, end in pairwise((0, *boundaries(word))):
        if columns_of(pieces[-1] + word[start:end]) > width:
            pieces.append("")
        pieces[-1] += word[start:end]
