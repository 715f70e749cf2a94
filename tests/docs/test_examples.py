"""Every example of the documentation that can run here, runs; the others name things that exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from docs.pages import GUIDE, PAGES, README, Block, blocks, desk, prose

SHELL = [block for block in blocks(*PAGES) if block.language == "sh"]
PYTHON = [block for block in blocks(*PAGES) if block.language == "python"]
CONSOLE = [block for block in blocks(README, GUIDE) if block.language == "console"]
FRESH_MACHINE = (
    'python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/meshseek demo "tape backup nas2"',
    "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/pytest",
)


def lines(found: list[Block]) -> list[str]:
    return [line for block in found for line in block.text.splitlines()]


def run(command: list[str], tmp_path: Path, words: str = "") -> subprocess.CompletedProcess[str]:
    env = desk(tmp_path)
    done = subprocess.run(
        command, cwd=tmp_path, env=env, input=words, capture_output=True, text=True, timeout=50, check=False
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("line", lines(SHELL))
def test_a_line_of_shell_runs(line: str, tmp_path: Path) -> None:
    done = run(["bash", "-euo", "pipefail", "-c", line], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.page)
def test_a_block_of_python_runs(block: Block, tmp_path: Path) -> None:
    done = run([sys.executable, "-c", block.text], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Tape backup nas2" in done.stdout


def test_a_fresh_machine_needs_two_commands_and_they_come_first() -> None:
    assert tuple(blocks(README)[0].text.splitlines()) == FRESH_MACHINE


def test_the_last_part_of_the_first_command_works(tmp_path: Path) -> None:
    demo = FRESH_MACHINE[0].rpartition("&&")[2].strip()
    done = run(["bash", "-c", f"{demo} --speed 20"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "LTO-4" in done.stdout


def test_the_picture_shows_what_the_demo_answers(tmp_path: Path) -> None:
    picture = (README.parent / "deploy" / "exchange.svg").read_text(encoding="utf-8")
    drawn = re.findall(r'fill="#(?:ffffff|e8e8e8)"[^>]*>([^<]*)</text>', picture)
    asked = re.search(r"QUESTIONS = \((.*)\)", (README.parent / "deploy" / "make_picture.py").read_text("utf-8"))
    assert asked is not None
    typed = re.findall(r'"([^"]+)"', asked[1])
    done = run(["meshseek", "demo", "--speed", "20"], tmp_path, "\n".join((*typed, "quit", "")))
    shown = [line.strip().strip("│").strip() for line in done.stdout.splitlines() if line.strip().startswith("│")]
    said = [line.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">").strip() for line in drawn]
    assert said == shown, "run `.venv/bin/python deploy/make_picture.py`"


def test_no_block_is_left_out_by_a_slip_of_its_language() -> None:
    assert {block.language for block in blocks(README, GUIDE)} <= {"sh", "python", "console", "markdown"}


def radio_commands() -> list[str]:
    """Those of the blocks and those in the text."""
    inline = re.findall(r"`(meshtastic [^`\n]*)`", prose(*PAGES))
    return [*inline, *(line for line in lines(CONSOLE) if line.startswith("meshtastic "))]


def test_the_radios_settings_are_named_as_its_library_names_them() -> None:
    from meshtastic.protobuf import localonly_pb2

    local, modules = localonly_pb2.LocalConfig.DESCRIPTOR, localonly_pb2.LocalModuleConfig.DESCRIPTOR
    settings = [field for line in radio_commands() for field in re.findall(r"--set (\S+) \S+", line)]
    assert len(settings) > 5
    for setting in settings:
        section, _, name = setting.partition(".")
        table = local.fields_by_name.get(section) or modules.fields_by_name.get(section)
        assert table is not None, setting
        assert table.message_type.fields_by_name.get(name) is not None, setting


def test_the_radios_command_has_the_options_that_are_used() -> None:
    spec = importlib.util.find_spec("meshtastic.__main__")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    used = {word for line in radio_commands() for word in shlex.split(line) if word.startswith("--")}
    assert used
    for option in used:
        assert f'"{option}"' in source, option


def test_the_installer_has_the_options_that_are_used(tmp_path: Path) -> None:
    known = run(["sh", "deploy/install.sh", "--help"], tmp_path).stdout
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    used = {option for rest in re.findall(r"install\.sh([^`\n]*)", text) for option in re.findall(r"--[a-z-]+", rest)}
    assert {"--vault", "--inbox", "--uninstall"} <= used
    for option in used:
        assert option in known
