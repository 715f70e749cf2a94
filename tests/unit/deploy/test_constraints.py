"""The constraints pin everything that an installation takes, each with its hashes, and name no place to get it from."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
FILES = ("constraints.txt", "build-constraints.txt")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: str) -> dict[str, tuple[str, int]]:
    """Each package with its version and the number of its hashes."""
    found: dict[str, tuple[str, int]] = {}
    for entry in re.split(r"\n(?=\w)", (DEPLOY / file).read_text(encoding="utf-8").split("\n", 3)[3]):
        name, version = entry.split()[0].split("==")
        found[plain(name)] = (version, len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", entry)))
    return found


def needed(name: str, seen: dict[str, list[Requirement]]) -> dict[str, list[Requirement]]:
    """Every package that `name` brings along on this machine, with what is asked of its version."""
    environment: dict[str, str] = {name: str(value) for name, value in default_environment().items()}
    for text in metadata.requires(name) or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({**environment, "extra": ""}):
            is_new = plain(requirement.name) not in seen
            seen.setdefault(plain(requirement.name), []).append(requirement)
            if is_new:
                needed(requirement.name, seen)
    return seen


def test_everything_is_pinned_to_a_version_that_fits() -> None:
    pinned = pins("constraints.txt")
    for name, requirements in needed("meshseek", {}).items():
        assert name in pinned, f"{name} is missing: run deploy/make_constraints.py"
        for requirement in requirements:
            assert requirement.specifier.contains(pinned[name][0]), requirement


def test_what_builds_the_wheel_is_pinned() -> None:
    assert "hatchling" in pins("build-constraints.txt")


@pytest.mark.parametrize("file", FILES)
def test_every_pin_has_a_hash(file: str) -> None:
    assert all(count for _, count in pins(file).values())


@pytest.mark.parametrize("file", FILES)
def test_no_registry_is_named(file: str) -> None:
    assert not re.search(r"://|index|\.org|\.com", (DEPLOY / file).read_text(encoding="utf-8"))
