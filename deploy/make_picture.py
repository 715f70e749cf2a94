"""Draws exchange.svg: what `meshseek demo` answers, as it looks on a handheld.

.venv/bin/python deploy/make_picture.py
"""

from __future__ import annotations

import subprocess
import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
QUESTIONS = ("tape backup nas2", "m", "насос на даче")
LINE, LETTER, PAD, WIDTH = 18, 8.43, 10, 430
"""Pixels: of a line, of a monospaced letter, around a text, of the screen."""
INK = {"you": ("#1d6f42", "#ffffff"), "Loft": ("#2b2f36", "#e8e8e8")}
STYLE = "font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


class Message(NamedTuple):
    who: str
    lines: tuple[str, ...]
    beside: str


def run_demo() -> str:
    """The demo's own words for the questions, at the pace of the air."""
    command = [sys.executable, "-m", "gateway", "demo", "--speed", "1"]
    typed = "\n".join((*QUESTIONS, "quit", ""))
    return subprocess.run(command, input=typed, capture_output=True, text=True, check=True, timeout=120).stdout


def messages(screen: str) -> list[Message]:
    """The boxes that the demo draws."""
    found: list[Message] = []
    who = ""
    lines: list[str] = []
    for line in screen.splitlines():
        text = line.strip()
        if text.startswith("╭─"):
            who, lines = text.split()[1], []
        elif text.startswith("│"):
            lines.append(text.strip("│").rstrip()[1:])
        elif text.startswith("╰"):
            found.append(Message(who, tuple(lines), text.partition("╯")[2].strip()))
    return found


def draw(talk: list[Message]) -> str:
    """The talk as SVG: questions right, answers left, what each took below it."""
    body, y = [], PAD * 2
    for message in talk:
        width = max(len(line) for line in message.lines) * LETTER + 2 * PAD
        x = WIDTH - PAD * 2 - width if message.who == "you" else PAD * 2
        height = len(message.lines) * LINE + PAD
        paper, ink = INK[message.who]
        body.append(f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{height}" rx="8" fill="{paper}"/>')
        for number, line in enumerate(message.lines, 1):
            body.append(_text(x + PAD, y + number * LINE, ink, line))
        y += height + 16
        anchor = ' text-anchor="end"' if message.who == "you" else ""
        edge = WIDTH - PAD * 2 if message.who == "you" else PAD * 2
        body.append(_text(edge, y, "#8a919c", message.beside, f'{anchor} font-size="11"'))
        y += LINE
    size = f'width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
    frame = f'<rect width="{WIDTH}" height="{y}" rx="14" fill="#14161a"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{STYLE}">\n{frame}\n' + "\n".join(body) + "\n</svg>\n"
    )


def _text(x: float, y: float, ink: str, words: str, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{ink}" xml:space="preserve"{more}>{escape(words)}</text>'


def main() -> None:
    (HERE / "exchange.svg").write_text(draw(messages(run_demo())), encoding="utf-8")


if __name__ == "__main__":
    main()
