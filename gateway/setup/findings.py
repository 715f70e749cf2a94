"""What a check found, and what every check may look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gateway.config import Config
from gateway.protocol.messages import RadioInfo
from gateway.setup.snapshot import Snapshot
from gateway.toml_tables import Problem

OK, WARNING, FAULT = "ok", "warning", "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report."""

    check: str
    level: str
    text: str
    remedy: str = ""
    """What to do; empty where nothing needs to be done."""


Findings = Iterator[Finding]


@dataclass(slots=True)
class Scene:
    """Filled in by the checks as they go; later ones use what earlier ones found."""

    now: float
    """Unix seconds."""
    radio_seconds: float
    """How long the radio may take to answer; 0: it is not asked."""
    file: Path | None = None
    config: Config | None = None
    """With defaults for what is wrong in the file; None when it cannot be read at all."""
    problems: tuple[Problem, ...] = ()
    snapshot: Snapshot | None = None
    device: str = ""
    """The device file that is there and may be opened."""
    info: RadioInfo | None = None
    newest_note: float = 0.0
    announce: Callable[[str], object] = str
    """Says what takes a while."""

    @property
    def is_running(self) -> bool:
        return self.snapshot is not None and self.snapshot.is_running(self.now)


def from_sentence(check: str, level: str, sentence: str, remedy: str = "") -> Finding:
    """A sentence "what is the matter: what to do" as a finding."""
    text, colon, rest = sentence.partition(": ")
    return Finding(check, level, text, rest if colon else remedy)
