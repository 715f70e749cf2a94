"""What the demo shows: the handheld as its owner sees it, and beside it what each message cost."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from gateway.protocol.inert import for_terminal
from gateway.radio.simulated.handheld import Handheld, Seen, Sent
from gateway.radio.simulated.mesh import Mesh

SCREEN_WIDTH = 46
"""Columns of the handheld's screen, about those of a T-Deck."""
TICKS = {"sent": "… no tick yet", "relayed": "✓ passed on", "delivered": "✓ delivered", "failed": "✗ not delivered"}
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
    """The gateway's radio has heard that the last part arrived."""

    @staticmethod
    def of(mesh: Mesh, handheld: Handheld, sent: Sent, seen_before: int, frames_before: int) -> Turn:
        frames = list(mesh.log)[frames_before:]
        mine = [f for f in frames if f.transmitter == handheld.number]
        theirs = [f for f in frames if f.transmitter != handheld.number]
        answers = tuple(handheld.seen[seen_before:])
        return Turn(
            question=sent,
            answers=answers,
            asking=Cost(len(mine), sum(f.seconds for f in mine)),
            answering=Cost(len(theirs), sum(f.seconds for f in theirs)),
            acknowledged=bool(answers) and bool(mine),
        )


class Screen:
    """Writes to a terminal or a pipe; colour only on a terminal, and not when NO_COLOR is set."""

    is_reading = False
    """Whether the prompt waits for the keyboard just now; read by the signal handler."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._colour = out.isatty() and not os.environ.get("NO_COLOR")
        columns = shutil.get_terminal_size().columns
        self._width = max(24, min(SCREEN_WIDTH, columns - 6))

    def introduce(self, vault: Path, *, is_own: bool, loss: float) -> None:
        notes = sum(1 for _ in vault.rglob("*.md")) if not is_own else 0
        what = f"your notes in {vault}" if is_own else f"{notes} notes that come with meshseek"
        lost = f", {loss:.0%} of packets lost" if loss else ""
        self._line(f"A simulated radio, preset LongFast{lost}; the gateway answers from {what}.", dim=True)

    def hint(self) -> None:
        self._line("Type a question as on the handheld; `h` for help, `quit` to leave.", dim=True)

    def questions(self) -> Iterator[str]:
        """What is typed, line by line, until the end."""
        if sys.stdin.isatty():
            import readline  # noqa: F401  gives the prompt its history
        while True:
            try:
                Screen.is_reading = True
                line = input("\nyou> " if sys.stdin.isatty() else "")
            except EOFError:
                self.end()
                return
            except UnicodeDecodeError:
                continue
            finally:
                Screen.is_reading = False
            if line.strip().lower() in LEAVE:
                return
            if line.strip():
                yield line

    def show(self, turn: Turn) -> None:
        question = turn.question
        tick = TICKS.get(question.tick, question.tick)
        asked = f"{len(question.text.encode())} B · {self._packets(turn.asking)} · {tick}"
        self._box("you", question.text, asked)
        if not turn.answers:
            self._line("   no answer came; on this link it was lost, or the gateway keeps it until it hears you again")
        for answer in turn.answers:
            after = f"{answer.size} B · {answer.at - question.at:.1f} s after asking"
            self._box("Loft", answer.text, after)
        if turn.answers:
            tick = "✓ acknowledged" if turn.acknowledged else "not acknowledged yet"
            self._line(f"   the answer: {self._packets(turn.answering)} · {tick}", dim=True)

    def end(self) -> None:
        if self._out.isatty():
            self._out.write("\n")

    def _packets(self, cost: Cost) -> str:
        noun = "packet" if cost.packets == 1 else "packets"
        return f"{cost.packets} {noun}, {cost.seconds:.1f} s on the air"

    def _box(self, who: str, text: str, beside: str) -> None:
        inner = self._width - 2
        self._out.write(f"  ╭─ {who} " + "─" * (inner - len(who) - 3) + "╮\n")
        for line in for_terminal(text).split("\n"):
            for piece in wrap(line, inner - 2):
                self._out.write(f"  │ {piece}{' ' * (inner - 2 - columns_of(piece))} │\n")
        self._out.write("  ╰" + "─" * inner + "╯ ")
        self._line(beside, dim=True)

    def _line(self, text: str, *, dim: bool = False) -> None:
        self._out.write(f"\x1b[2m{text}\x1b[0m\n" if dim and self._colour else f"{text}\n")
        self._out.flush()


def columns_of(text: str) -> int:
    """Terminal columns that the text takes: two for wide characters, none for marks."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def wrap(line: str, width: int) -> list[str]:
    """The line in pieces of at most `width` columns, cut between words where there are any."""
    pieces = []
    for piece in textwrap.wrap(line, width, break_on_hyphens=False) or [""]:
        rest = piece
        while columns_of(rest) > width:
            cut = next(n for n in range(len(rest), 0, -1) if columns_of(rest[:n]) <= width)
            pieces.append(rest[:cut])
            rest = rest[cut:]
        pieces.append(rest)
    return pieces
