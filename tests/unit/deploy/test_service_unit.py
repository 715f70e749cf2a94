"""The systemd unit: what systemd itself says of it, and that it fits the program."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli import WRONG_USE
from gateway.places import SYSTEM_CONFIG, state_directory
from search_core.core import index_path

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
UNIT = DEPLOY / "meshseek.service"
needs_systemd_analyze = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")


def settings() -> dict[str, list[str]]:
    """The values of every key, in order."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


@needs_systemd_analyze
def test_the_exposure_is_low() -> None:
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(UNIT)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout
    exposure = re.search(r"Overall exposure level for meshseek.service: ([0-9.]+)", said)
    assert exposure is not None, said
    assert float(exposure[1]) <= 1.5


@needs_systemd_analyze
def test_systemd_finds_no_mistake_in_it(tmp_path: Path) -> None:
    program = tmp_path / "meshseek"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    unit = tmp_path / UNIT.name
    unit.write_text(
        UNIT.read_text(encoding="utf-8").replace("/opt/meshseek/current/bin/meshseek", str(program)), "utf-8"
    )
    command = ["systemd-analyze", "verify", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    mine = [line for line in done.stderr.splitlines() if UNIT.name in line and "Failed to find module" not in line]
    assert mine == []


def test_a_wrong_config_does_not_loop() -> None:
    unit = settings()
    assert unit["Restart"] == ["on-failure"]
    assert unit["RestartPreventExitStatus"] == [str(WRONG_USE)]


def test_it_starts_what_the_installer_installs_with_the_config_that_the_commands_find() -> None:
    assert settings()["ExecStart"] == [f"/opt/meshseek/current/bin/meshseek serve --config {SYSTEM_CONFIG}"]


def test_state_and_index_lie_in_the_directories_that_systemd_makes() -> None:
    unit = settings()
    assert unit["StateDirectory"] == unit["CacheDirectory"] == ["meshseek"]
    assert unit["StateDirectoryMode"] == ["0700"]
    assert state_directory({"STATE_DIRECTORY": "/var/lib/meshseek"}) == Path("/var/lib/meshseek")
    assert "XDG_CACHE_HOME=%C" in unit["Environment"][0].split()


def test_the_index_follows_that_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert index_path("/srv/vault", ()).startswith("/var/cache/meshseek/")


def test_only_serial_devices_and_only_this_machine() -> None:
    unit = settings()
    assert unit["DevicePolicy"] == ["closed"]
    assert unit["DeviceAllow"] == ["char-ttyACM rw", "char-ttyUSB rw"]
    assert "PrivateDevices" not in unit  # it would take the serial devices away
    assert (unit["IPAddressDeny"], unit["IPAddressAllow"]) == (["any"], ["localhost"])


def test_the_same_command_in_the_same_environment_says_what_is_wrong_and_ends_with_2(tmp_path: Path) -> None:
    config = tmp_path / "meshseek.toml"
    config.write_text('[vault]\npath = "."\nexlude = []\n', encoding="utf-8")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        env = {
            **{name: os.environ[name] for name in ("PATH",)},
            "STATE_DIRECTORY": str(tmp_path / "state"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
        }
        command = [sys.executable, "-m", "gateway", "serve", "--config", str(config)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == WRONG_USE
    assert "exlude" in done.stderr
    assert "exclude" in done.stderr
