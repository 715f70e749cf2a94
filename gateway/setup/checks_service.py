"""Checks of the gateway as it runs: whether it does, who starts it again, and what it has to say."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from gateway.places import SYSTEM_CONFIG
from gateway.setup.console import count, local_time, short_path, span
from gateway.setup.findings import FAULT, OK, WARNING, Finding, Findings, Scene
from gateway.setup.snapshot import STALE_SECONDS

UNIT = "meshseek.service"
BOOTED_BY_SYSTEMD = Path("/run/systemd/system")
"""sd_booted(3)."""
QUESTIONS_LOOKED_AT = 5
SYSTEMCTL_SECONDS = 5.0
START_IT = "`sudo systemctl start meshseek`, or `meshseek serve` in a terminal"
SEE_LOG = "`journalctl -u meshseek -e` says why; then start it again"


def check_service(scene: Scene) -> Findings:
    snapshot = scene.snapshot
    if snapshot is None or (snapshot.trouble and not snapshot.is_absent):
        return
    written, started = snapshot.written_at(), snapshot.status.get("started")
    if written is None:
        yield Finding("service", WARNING, "the gateway has not run yet", START_IT)
    elif snapshot.has_died(scene.now):
        yield Finding("service", FAULT, f"the gateway ended without a word after {local_time(written)}", SEE_LOG)
    elif not scene.is_running:
        yield Finding("service", WARNING, f"the gateway does not run since {local_time(written)}", START_IT)
    else:
        began = snapshot.wall(started) if isinstance(started, float | int) else written
        text = f"the gateway runs for {span(scene.now - began)}; its last sign is {span(scene.now - written)} old"
        yield Finding("service", OK, text)
        yield from _config_is_newer(scene, began)


def _config_is_newer(scene: Scene, began: float) -> Findings:
    if scene.file is not None and scene.file.exists() and scene.file.stat().st_mtime > began + 1:
        text = "the config was changed after the gateway was started"
        yield Finding("service", WARNING, text, "`sudo systemctl restart meshseek`, or end and start `meshseek serve`")


def check_watchdog(scene: Scene) -> Findings:
    if not BOOTED_BY_SYSTEMD.is_dir() or shutil.which("systemctl") is None:
        yield Finding("watchdog", OK, "no systemd here: whoever starts the gateway must start it again when it ends")
        return
    unit = _unit()
    if unit.get("LoadState") != "loaded":
        text = f"{UNIT} is not installed: nothing starts the gateway at boot, or again when it ends"
        yield Finding("watchdog", WARNING, text, "deploy/README.md has the installation as a service")
        return
    yield _unit_state(unit)
    if unit.get("UnitFileState") not in {"enabled", "enabled-runtime", "static"}:
        yield Finding("watchdog", WARNING, f"{UNIT} is not started at boot", "`sudo systemctl enable meshseek`")
    if scene.config is not None and scene.config.file == SYSTEM_CONFIG:
        yield from _vault_of_unit(unit, scene.config.vault.path)


def _unit_state(unit: Mapping[str, str]) -> Finding:
    state = f"{UNIT} is {unit.get('ActiveState')}, restarted {count(int(unit.get('NRestarts') or 0), 'time')}"
    restarts = unit.get("NRestarts") or "0"
    if unit.get("ActiveState") == "failed" or (unit.get("ActiveState") == "activating" and restarts != "0"):
        return Finding("watchdog", FAULT, state, SEE_LOG)
    if unit.get("ActiveState") == "inactive":  # systemd knows the watchdog of a service only while it runs.
        return Finding("watchdog", OK, state)
    if unit.get("WatchdogUSec", "0") in {"0", "infinity"}:
        return Finding("watchdog", WARNING, f"{state}, without a watchdog", "add WatchdogSec=2min to the unit")
    return Finding("watchdog", OK, f"{state}, watchdog {unit['WatchdogUSec']}")


def _vault_of_unit(unit: Mapping[str, str], vault: Path) -> Findings:
    """The unit hides the homes: a vault there must be bound into what the service sees (systemd.exec, ProtectHome)."""
    hidden = vault.is_relative_to("/home") or vault.is_relative_to("/root")
    if not hidden or unit.get("ProtectHome", "no") in {"no", "read-only"}:
        return
    bound = f"{unit.get('BindReadOnlyPaths', '')} {unit.get('BindPaths', '')}".split()
    if not any(vault.is_relative_to(path.split(":")[0].lstrip("-")) for path in bound):
        text = f"{UNIT} does not see {vault}, since it hides the homes (ProtectHome)"
        yield Finding("watchdog", FAULT, text, "deploy/README.md has the drop-in vault.conf that shows it the vault")


def check_prometheus(scene: Scene) -> Findings:
    """The file is written each minute at least, by the gateway's user."""
    if scene.config is None or scene.config.prometheus_file is None or not scene.is_running:
        return
    file = scene.config.prometheus_file
    written = file.stat().st_mtime if file.exists() else 0.0
    if scene.now - written <= STALE_SECONDS:
        yield Finding("prometheus", OK, f"{short_path(file)}, written {span(scene.now - written)} ago")
        return
    remedy = f"the gateway's user must be allowed to write there: `chown` {short_path(file.parent)}"
    yield Finding("prometheus", WARNING, f"{short_path(file)} is not written", remedy)


def check_answers(scene: Scene) -> Findings:
    """What became of the last questions: trouble there is what the handhelds' owners notice first."""
    snapshot = scene.snapshot
    if snapshot is None or not snapshot.questions:
        return
    last = snapshot.questions[:QUESTIONS_LOOKED_AT]
    troubled = [row for row in last if row["kind"] == "trouble"]
    failed = [row for row in last if row["stage"] == "failed"]
    if troubled:
        text = f"{len(troubled)} of the last {len(last)} questions could not be looked up in the vault"
        yield Finding("answers", WARNING, text, "`journalctl -u meshseek | grep desk` says why")
    if failed:
        reasons = ", ".join(sorted({str(row["reason"]) for row in failed}))
        text = f"{len(failed)} of the last {len(last)} answers did not arrive ({reasons})"
        yield Finding(
            "answers", WARNING, text, "`meshseek status` lists them; range, antenna and airtime are the usual"
        )
    if not troubled and not failed:
        text = "the last one did not fail" if len(last) == 1 else f"none of the last {len(last)} failed"
        yield Finding("answers", OK, text)


def _unit() -> dict[str, str]:
    """What systemd says of the unit; nothing when it does not answer."""
    wanted = "LoadState,ActiveState,UnitFileState,WatchdogUSec,NRestarts,ProtectHome,BindPaths,BindReadOnlyPaths"
    try:
        shown = subprocess.run(
            ["systemctl", "show", UNIT, f"--property={wanted}"],
            capture_output=True,
            text=True,
            timeout=SYSTEMCTL_SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
