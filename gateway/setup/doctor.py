"""`meshseek doctor`: every precondition in order, each with its remedy. Changes nothing, and prints no key or note."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

from gateway.setup.checks_basics import (
    check_clock,
    check_omnisearch,
    check_program,
    check_state,
    check_vault,
    config_check,
    take_state,
)
from gateway.setup.checks_radio import (
    check_channels_used,
    check_device,
    check_handhelds,
    check_holder,
    check_keys,
    check_radio,
)
from gateway.setup.checks_service import check_answers, check_prometheus, check_service, check_watchdog
from gateway.setup.console import Console, count, iso_time, without_home
from gateway.setup.findings import FAULT, OK, WARNING, Finding, Findings, Scene
from gateway.setup.radio_look import LOOK_SECONDS
from gateway.version import VERSION

EXIT_OK, EXIT_FAULT = 0, 1
LEVEL_COLUMNS, CHECK_COLUMNS = 9, 12

CHECKS: tuple[Callable[[Scene], Findings], ...] = (
    check_vault,
    check_omnisearch,
    check_device,
    check_holder,
    check_radio,
    check_keys,
    check_handhelds,
    check_clock,
    check_state,
    check_service,
    check_watchdog,
    check_channels_used,
    check_answers,
    check_prometheus,
)
"""After program and config, which the others need."""


def doctor(config_path: str | None, *, as_json: bool = False, radio_seconds: float = LOOK_SECONDS) -> int:
    """Check everything and print it. Returns 0 without a fault, else 1."""
    console = Console()
    scene = Scene(time.time(), radio_seconds, announce=str if as_json else console.passing)
    found: list[Finding] = []
    for finding in examine(config_path, scene):
        found.append(finding)
        if not as_json:
            show(console, finding)
    if as_json:
        console.raw(json.dumps(as_object(found, scene.now), ensure_ascii=False) + "\n")
    else:
        _sum_up(console, found)
    return EXIT_FAULT if any(finding.level == FAULT for finding in found) else EXIT_OK


def examine(config_path: str | None, scene: Scene) -> Iterator[Finding]:
    """All findings, as they are made."""
    for check in (check_program, config_check(config_path)):
        yield from map(_without_home, check(scene))
    take_state(scene)
    for check in CHECKS:
        yield from map(_without_home, check(scene))


def _without_home(finding: Finding) -> Finding:
    return Finding(finding.check, finding.level, without_home(finding.text), without_home(finding.remedy))


def show(console: Console, finding: Finding) -> None:
    """One finding, with its remedy below it."""
    console.raw(console.styled(f"{finding.level:<{LEVEL_COLUMNS}}", finding.level))
    margin = LEVEL_COLUMNS + CHECK_COLUMNS
    console.say_folded(f"{finding.check:<{CHECK_COLUMNS}}{finding.text}", begun=LEVEL_COLUMNS, margin=margin)
    if finding.remedy:
        console.raw(" " * (margin - 2))
        console.say_folded(f"→ {finding.remedy}", begun=margin - 2, margin=margin, style="bold")


def _sum_up(console: Console, found: list[Finding]) -> None:
    faults, warnings = (sum(f.level == level for f in found) for level in (FAULT, WARNING))
    console.say()
    if not faults and not warnings:
        console.say("All is well.", OK)
        return
    console.say(f"{count(faults, 'fault')}, {count(warnings, 'warning')}.", FAULT if faults else WARNING)


def as_object(found: list[Finding], now: float) -> dict[str, object]:
    """The report for programs."""
    return {
        "version": VERSION,
        "at": iso_time(now),
        "ok": all(finding.level != FAULT for finding in found),
        "faults": sum(finding.level == FAULT for finding in found),
        "warnings": sum(finding.level == WARNING for finding in found),
        "checks": [{"check": f.check, "level": f.level, "text": f.text, "remedy": f.remedy} for f in found],
    }
