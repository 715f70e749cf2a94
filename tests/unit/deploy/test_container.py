"""The container file and its compose example name what exists, and give the program no more than it needs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gateway.cli import build_parser
from gateway.places import SYSTEM_CONFIG

ROOT = Path(__file__).resolve().parents[3]
FILE = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")


def last(instruction: str) -> str:
    return str(re.findall(rf"^{instruction} (.*)$", FILE, re.MULTILINE)[-1])


def test_everything_that_is_copied_exists() -> None:
    for words in re.findall(r"^COPY (?!--from)(.*)$", FILE, re.MULTILINE):
        for source in words.split()[:-1]:
            assert (ROOT / source).exists(), source


def test_it_does_not_run_as_root() -> None:
    assert int(last("USER")) > 0
    assert FILE.index("\nUSER ") < FILE.index("\nENTRYPOINT ")


@pytest.mark.parametrize("command", re.findall(r"CMD \[(.*)\]$", FILE, re.MULTILINE))
def test_its_commands_are_commands(command: str) -> None:
    words = [word.strip('" ') for word in command.split(",")]
    options = build_parser().parse_args([word for word in words if word != "meshseek"])
    assert Path(options.config) == SYSTEM_CONFIG


@pytest.fixture
def service() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    compose = yaml.safe_load((ROOT / "deploy" / "compose.example.yaml").read_text(encoding="utf-8"))
    found: dict[str, Any] = compose["services"]["meshseek"]
    return found


def test_the_example_gives_one_device_and_no_power(service: dict[str, Any]) -> None:
    assert [device.rpartition(":")[2] for device in service["devices"]] == ["/dev/meshtastic"]
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert service["network_mode"] == "none"
    assert "privileged" not in service


def test_the_vault_cannot_be_written_and_state_is_kept(service: dict[str, Any]) -> None:
    mounts = dict(volume.split(":", 1) for volume in service["volumes"])
    assert mounts["~/Vault"] == "/vault:ro"
    assert {mounts["state"], mounts["cache"]} == set(re.findall(r'"(/[^"]+)"', last("VOLUME")))
    assert f"STATE_DIRECTORY={mounts['state']}" in last("ENV")


def test_it_is_built_from_this_checkout(service: dict[str, Any]) -> None:
    build = service["build"]
    assert (ROOT / "deploy" / build["context"] / build["dockerfile"]).resolve() == ROOT / "deploy" / "Containerfile"
