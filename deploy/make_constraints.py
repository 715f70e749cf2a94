"""Writes constraints.txt and build-constraints.txt: every package at one version, with the hash of each of its files.

    .venv/bin/python deploy/make_constraints.py

Asks pip which versions a fresh installation takes, downloads their files for every Python and machine below, and
takes the SHA-256 of each. Run it to move to newer versions, then run the checks.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHONS = ("3.11", "3.12", "3.13")
GLIBC = (5, 12, 17, 24, 27, 28, 31, 34, 35, 36)
"""Versions 2.x in the names of wheels; Debian 12 has 2.36."""
OLD_NAMES = ("manylinux1", "manylinux2010", "manylinux2014")
MACHINES = ("x86_64", "aarch64", "armv7l")
BUILD = ("hatchling>=1.21",)
HEADER = """\
# {what}
# CPython 3.11 to 3.13 on x86_64, aarch64 and armv7l. Made by make_constraints.py from the files that pip downloads.
#   pip install --require-hashes -r {name}
"""


def pip(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=check, capture_output=True, text=True)


def versions(*wanted: str) -> list[str]:
    """What pip would install for these into an empty environment, as ``name==version``."""
    report = json.loads(pip("install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-", *wanted).stdout)
    found = [(item["metadata"]["name"].lower(), item["metadata"]["version"]) for item in report["install"]]
    return sorted(f"{name}=={version}" for name, version in found if name != "meshseek")


def hashes(pins: list[str], folder: Path) -> dict[str, set[str]]:
    """The SHA-256 sums of the files of every pin."""
    sums: dict[str, set[str]] = defaultdict(set)
    for pin in pins:
        for python, machine in itertools.product(PYTHONS, MACHINES):
            wheel = ("--only-binary", ":all:", "--python-version", python, *platforms(machine))
            found = download(pin, folder / f"{pin}-{python}-{machine}", *wheel)
            if not found:
                sys.stderr.write(f"no wheel: {pin} for Python {python} on {machine}; taking its source as well\n")
                found = download(pin, folder / f"{pin}-source", "--no-binary", pin.partition("==")[0])
            sums[pin] |= {hashlib.sha256(file.read_bytes()).hexdigest() for file in found}
            if machine == MACHINES[0] and all("-none-any" in file.name for file in found):
                break  # the same file for every other
    return sums


def platforms(machine: str) -> list[str]:
    """Options that name every kind of wheel that fits the machine."""
    tags = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC]
    tags += [f"{name}_{machine}" for name in OLD_NAMES]
    return [word for tag in tags for word in ("--platform", tag)]


def download(pin: str, target: Path, *options: str) -> list[Path]:
    """What pip downloads with these options; nothing when there is no such file."""
    target.mkdir(exist_ok=True)
    pip("download", "-q", "--no-deps", "-d", str(target), *options, pin, check=False)
    return sorted(target.iterdir())


def write(name: str, what: str, pins: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sums = hashes(pins, Path(folder))
    entries = [f"{pin}" + "".join(f" \\\n    --hash=sha256:{value}" for value in sorted(sums[pin])) for pin in pins]
    (HERE / name).write_text(HEADER.format(what=what, name=name) + "\n".join(entries) + "\n", encoding="utf-8")


def main() -> None:
    write("constraints.txt", "What meshseek runs with.", versions(str(HERE.parent)))
    write("build-constraints.txt", "What builds meshseek's wheel from a checkout.", versions(*BUILD))


if __name__ == "__main__":
    main()
