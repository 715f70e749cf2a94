"""The terminal of the set-up commands: colour, questions, a progress bar, and how figures are written for people."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TextIO

from gateway.errors import UsageError
from gateway.protocol.inert import for_terminal

PROGRESS_AFTER_SECONDS = 1.0
BAR_COLUMNS = 30
LEAST_TEXT_COLUMNS = 20
"""On a narrower terminal nothing is folded."""
CLEAR_LINE = "\x1b[K"
COLOURS = {"ok": "\x1b[32m", "warning": "\x1b[33m", "fault": "\x1b[1;31m", "bold": "\x1b[1m", "dim": "\x1b[2m"}


class Console:
    """Where a command speaks and asks. Nothing foreign reaches the terminal as it is."""

    def __init__(self, out: TextIO | None = None, source: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._source = source or sys.stdin
        self.is_terminal = self._out.isatty()
        self.can_ask = self.is_terminal and self._source.isatty()
        self._colour = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._is_passing = False
        reconfigure = getattr(self._out, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")

    def say(self, text: str = "", style: str = "") -> None:
        """One line."""
        line = for_terminal(text)
        self.raw(f"{self.styled(line, style)}\n")

    def say_folded(self, text: str, *, begun: int, margin: int, style: str = "") -> None:
        """The rest of a line of which `begun` columns stand there, folded on a terminal below `margin`."""
        line = for_terminal(text)
        width = shutil.get_terminal_size().columns - 1 if self.is_terminal else 0
        if width < margin + LEAST_TEXT_COLUMNS:
            self.raw(self.styled(line, style) + "\n")
            return
        first, *rest = textwrap.wrap(
            line,
            width,
            initial_indent=" " * begun,
            subsequent_indent=" " * margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines = [self.styled(first[begun:], style)]
        lines += [" " * margin + self.styled(part[margin:], style) for part in rest]
        self.raw("\n".join(lines) + "\n")

    def tell(self, text: str) -> None:
        """A sentence, folded on a terminal."""
        self.say_folded(text, begun=0, margin=2)

    def passing(self, text: str) -> None:
        """A line that the next one replaces; nothing in a pipe."""
        if self.is_terminal:
            self.raw(f"{self.styled(for_terminal(text), 'dim')}\r")
            self._is_passing = True

    def raw(self, text: str) -> None:
        """Text that is ours, with whatever terminal codes."""
        self._out.write(f"{CLEAR_LINE}{text}" if self._is_passing else text)
        self._out.flush()
        self._is_passing = False

    def styled(self, text: str, style: str) -> str:
        return f"{COLOURS[style]}{text}\x1b[0m" if self._colour and style else text

    def ask(self, question: str) -> str:
        """The answer without its line end. Raises EOFError at the end of the input."""
        self.raw(for_terminal(question))
        line = self._source.readline()
        if not line:
            self.raw("\n")
            raise EOFError
        return line.strip()

    def ask_with_default(self, question: str, default: str, *, at_end: str | None = None) -> str:
        """The answer, or the default for an empty one; `at_end` when there is no more input, else the default."""
        try:
            return self.ask(f"{question} [{default}] " if default else f"{question} ") or default
        except EOFError:
            return default if at_end is None else at_end

    def expect_terminal(self, option: str, what: str) -> None:
        """Raises UsageError, naming the option, where nobody can be asked."""
        if not self.can_ask:
            raise UsageError(f"{what} is not given and there is no terminal to ask on: add {option}")


class Progress:
    """A bar on the terminal's standard error while notes are read, once that takes longer than a second."""

    def __init__(self, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._now = now
        self._began = now()
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        if self._is_terminal and total and self._now() - self._began > PROGRESS_AFTER_SECONDS:
            filled = BAR_COLUMNS * done // total
            self._stream.write(f"\rindexing [{'#' * filled}{' ' * (BAR_COLUMNS - filled)}] {done}/{total} ")
            self._stream.flush()
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def local_time(unix: float) -> str:
    """``2026-12-01 18:07 CET``."""
    return datetime.fromtimestamp(unix).astimezone().strftime("%Y-%m-%d %H:%M %Z")


def iso_time(unix: float) -> str:
    """``2026-12-01T18:07:03+01:00``."""
    return datetime.fromtimestamp(unix).astimezone().isoformat(timespec="seconds")


def span(seconds: float) -> str:
    """A length of time in its two largest units."""
    left = max(int(seconds), 0)
    if left < 60:
        return f"{left} s"
    if left < 3600:
        return f"{left // 60} min"
    if left < 86_400:
        return f"{left // 3600} h {left % 3600 // 60} min"
    return f"{left // 86_400} d {left % 86_400 // 3600} h"


def size(count: float) -> str:
    """Bytes for people: ``12.3 MB``."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def count(number: int, noun: str) -> str:
    """``1 note``, ``1,204 notes``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def short_path(path: Path | str) -> str:
    """With ``~`` for the home directory, so that output can be shown to others."""
    return without_home(str(path))


def without_home(text: str) -> str:
    home = str(Path.home()).rstrip("/")
    if len(home) <= 1:
        return text
    return text.replace(home + "/", "~/") if text != home else "~"
