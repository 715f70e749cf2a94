"""What doctor makes of systemd's answers and of the last questions; systemctl is a script of the test's."""

from __future__ import annotations

import os
import pwd
from dataclasses import replace
from pathlib import Path

import pytest
from setup_bench import is_almighty

from gateway.config import Config, VaultConfig
from gateway.places import SYSTEM_CONFIG
from gateway.setup import checks_service
from gateway.setup.checks_service import check_answers, check_prometheus, check_service, check_watchdog
from gateway.setup.findings import FAULT, OK, WARNING, Finding, Scene
from gateway.setup.other_user import may_read_folder
from gateway.setup.snapshot import Snapshot
from gateway.status import this_process

NOW = 1_800_000_000.0
HEALTHY = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "UnitFileState": "enabled",
    "WatchdogUSec": "2min",
    "NRestarts": "0",
    "ProtectHome": "tmpfs",
    "BindPaths": "",
    "BindReadOnlyPaths": "/home/me/Vault:/home/me/Vault:rbind",
}
SNAPSHOT = Snapshot(
    Path("/state"),
    status={"at": NOW - 30, "wall": NOW - 30, "started": NOW - 7200, "running": True, "process": this_process()},
)


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script's answers are the lines of this file."""
    answers = tmp_path / "answers"
    script = tmp_path / "bin" / "systemctl"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\nexec /bin/cat {answers}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(checks_service, "BOOTED_BY_SYSTEMD", tmp_path)
    return answers


def watched(systemd: Path, vault: str = "/home/me/Vault", **changed: str) -> list[Finding]:
    systemd.write_text("".join(f"{name}={value}\n" for name, value in (HEALTHY | changed).items()))
    config = Config(file=SYSTEM_CONFIG, vault=VaultConfig(Path(vault)))
    return list(check_watchdog(Scene(NOW, 0.0, SYSTEM_CONFIG, config)))


def test_a_healthy_unit_is_one_line(systemd: Path) -> None:
    (found,) = watched(systemd)
    assert found.level == OK
    assert "active, restarted 0 times, watchdog 2min" in found.text


@pytest.mark.parametrize(
    ("changed", "level", "text", "remedy"),
    [
        ({"LoadState": "not-found"}, WARNING, "not installed", "deploy/README.md"),
        ({"ActiveState": "failed"}, FAULT, "failed", "journalctl"),
        ({"ActiveState": "activating", "NRestarts": "12"}, FAULT, "restarted 12 times", "journalctl"),
        ({"WatchdogUSec": "infinity"}, WARNING, "without a watchdog", "WatchdogSec"),
        ({"UnitFileState": "disabled"}, WARNING, "not started at boot", "systemctl enable"),
        ({"BindReadOnlyPaths": "/home/me/Other"}, FAULT, "does not see /home/me/Vault", "vault.conf"),
    ],
)
def test_each_trouble_of_the_unit_has_its_remedy(
    systemd: Path, changed: dict[str, str], level: str, text: str, remedy: str
) -> None:
    (found,) = [finding for finding in watched(systemd, **changed) if finding.level != OK]
    assert found.level == level
    assert text in found.text
    assert remedy in found.remedy


@pytest.mark.parametrize("bound", ["/home/me", "-/home/me/Vault", "/x:/x:rbind /home/me/Vault:/srv"])
def test_a_vault_that_is_bound_is_seen(systemd: Path, bound: str) -> None:
    assert all(finding.level == OK for finding in watched(systemd, BindReadOnlyPaths=bound))


def test_a_stopped_unit_is_not_said_to_have_no_watchdog(systemd: Path) -> None:
    (found,) = watched(systemd, ActiveState="inactive", WatchdogUSec="infinity")
    assert (found.level, found.text) == (OK, "meshseek.service is inactive, restarted 0 times")


def test_a_vault_outside_of_the_homes_is_seen(systemd: Path) -> None:
    assert all(finding.level == OK for finding in watched(systemd, "/srv/vault", BindReadOnlyPaths=""))


def test_a_systemctl_that_says_nothing_is_no_crash(systemd: Path) -> None:
    systemd.write_text("")
    config = Config(file=SYSTEM_CONFIG, vault=VaultConfig(Path("/v")))
    (found,) = check_watchdog(Scene(NOW, 0.0, SYSTEM_CONFIG, config))
    assert found.level == WARNING


def test_a_config_younger_than_the_gateway_asks_for_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("")
    os.utime(file, (NOW - 60, NOW - 60))
    found = list(check_service(Scene(NOW, 0.0, file, snapshot=SNAPSHOT)))
    assert [finding.level for finding in found] == [OK, WARNING]
    assert "runs for 2 h" in found[0].text
    assert "restart" in found[1].remedy
    os.utime(file, (NOW - 9000, NOW - 9000))
    assert len(list(check_service(Scene(NOW, 0.0, file, snapshot=SNAPSHOT)))) == 1


def test_a_file_for_node_exporter_that_is_not_written_is_told(tmp_path: Path) -> None:
    file = tmp_path / "meshseek.prom"
    config = Config(file=SYSTEM_CONFIG, vault=VaultConfig(tmp_path), prometheus_file=file)
    scene = Scene(NOW, 0.0, config=config, snapshot=SNAPSHOT)
    (found,) = check_prometheus(scene)
    assert found.level == WARNING
    assert "chown" in found.remedy
    file.write_text("")
    os.utime(file, (NOW - 60, NOW - 60))
    assert [finding.level for finding in check_prometheus(scene)] == [OK]
    scene.snapshot = None
    assert list(check_prometheus(scene)) == []


def row(**changed: object) -> dict[str, object]:
    return {"number": 1, "kind": "hits", "stage": "delivered", "reason": ""} | changed


def test_answers_that_fail_are_told() -> None:
    rows = (row(), row(stage="failed", reason="no-ack"), row(kind="trouble"))
    found = list(check_answers(Scene(NOW, 0.0, snapshot=replace(SNAPSHOT, questions=rows))))
    assert [finding.level for finding in found] == [WARNING, WARNING]
    assert "vault" in found[0].text
    assert "no-ack" in found[1].text
    assert all(finding.remedy for finding in found)


def test_answers_that_arrive_are_one_line() -> None:
    (found,) = check_answers(Scene(NOW, 0.0, snapshot=replace(SNAPSHOT, questions=(row(),))))
    assert found.level == OK


def test_a_gateway_without_a_sign_of_life_does_not_run_where_its_number_means_nothing() -> None:
    elsewhere = replace(SNAPSHOT, status={**SNAPSHOT.status, "process": {"pid": 1, "space": "pid:[1]", "born": "1"}})
    assert elsewhere.is_running(NOW)
    assert not elsewhere.is_running(NOW + 3600)
    assert SNAPSHOT.is_running(NOW + 3600)


@pytest.mark.skipif(not is_almighty() or os.geteuid() != 0, reason="only root can ask as somebody else")
def test_root_asks_as_the_services_user(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    nobody = pwd.getpwnam("nobody")
    folder.chmod(0o700)
    assert not may_read_folder(nobody, folder)
    assert may_read_folder(pwd.getpwuid(0), folder)
