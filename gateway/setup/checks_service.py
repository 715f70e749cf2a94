"""Checks of the gateway as it runs: whether it does, who starts it again, and what it has to say."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from gateway.setup.console import local_time, span
from gateway.setup.findings import FAULT, OK, WARNING, Finding, Findings, Scene

UNIT = "meshseek.service"
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


def check_watchdog(_scene: Scene) -> Findings:
    if not Path("/run/systemd/system").is_dir() or shutil.which("systemctl") is None:
        yield Finding("watchdog", OK, "no systemd here: whoever starts the gateway must start it again when it ends")
        return
    unit = _unit()
    if unit.get("LoadState") != "loaded":
        text = f"{UNIT} is not installed: nothing starts the gateway at boot, or again when it ends"
        yield Finding("watchdog", WARNING, text, "deploy/README.md has the installation as a service")
        return
    state = f"{UNIT} is {unit.get('ActiveState')}, restarted {unit.get('NRestarts', '?')} times"
    if unit.get("ActiveState") == "failed":
        yield Finding("watchdog", FAULT, state, SEE_LOG)
    elif unit.get("WatchdogUSec", "0") in {"0", "infinity"}:
        yield Finding("watchdog", WARNING, f"{state}, without a watchdog", "add WatchdogSec=2min to the unit")
    else:
        yield Finding("watchdog", OK, f"{state}, watchdog {unit['WatchdogUSec']}")
    if unit.get("UnitFileState") not in {"enabled", "enabled-runtime", "static"}:
        yield Finding("watchdog", WARNING, f"{UNIT} is not started at boot", "`sudo systemctl enable meshseek`")


def _unit() -> dict[str, str]:
    """What systemd says of the unit; nothing when it does not answer."""
    wanted = "LoadState,ActiveState,UnitFileState,WatchdogUSec,NRestarts"
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
