"""Every command, option and config key is documented, and what is documented exists."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
from docs.pages import EXAMPLE, GUIDE, PAGES, README, ROOT, prose

from gateway.cli import COMMANDS, build_parser
from gateway.config import load_config
from gateway.protocol import commands
from gateway.protocol.admission import RefusalReason
from gateway.protocol.answers import Stage
from gateway.toml_tables import Table
from search_core.cli import Defaults, help_text, parse_arguments

KEY = "A" * 42 + "E="


def options() -> dict[str, set[str]]:
    """Every command with its long options."""
    parser = build_parser()
    choices = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices
    found = {name: {o for a in sub._actions for o in a.option_strings} for name, sub in choices.items()}
    found["search"] = set(re.findall(r"(?<=[ ,])--[a-z-]+", "\n".join(help_text(Defaults()).splitlines()[1:])))
    return {name: {o for o in flags if o.startswith("--")} - {"--help"} for name, flags in found.items()}


def table_row(name: str) -> str:
    """The row of the command in the guide's table of all commands."""
    row = re.search(rf"^\| `meshseek {name}\b.*$", prose(GUIDE), re.MULTILINE)
    assert row is not None, f"deploy/README.md, All commands: no row for `meshseek {name}`"
    return row[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_row_with_all_its_options_and_no_other(name: str) -> None:
    assert set(re.findall(r"--[a-z-]+", table_row(name))) == options()[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_page_names_every_command(name: str) -> None:
    assert f"meshseek {name}" in prose(README)


def test_only_commands_and_options_that_exist_are_named() -> None:
    known = options()
    for name, rest in re.findall(r"(?<!exec )meshseek ([a-z]+)((?: [^`\n]*)?)`", prose(*PAGES)):
        assert name in known, f"`meshseek {name}` is no command"
        for option in re.findall(r"(?<= )--[a-z-]+", rest):
            assert option in known[name], f"`meshseek {name}` has no option {option}"


def test_the_search_command_takes_what_its_help_names() -> None:
    given = {"limit": "3", "folder": "Homelab", "source": "local", "vault": "/srv"}
    for option in options()["search"]:
        parse_arguments([option, given[option[2:]], "words"] if option[2:] in given else [option, "words"])


@pytest.fixture
def config_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Every (table, key) that the config reader asks for."""
    asked: set[tuple[str, str]] = set()
    take = Table._take

    def noted(table: Table, key: str, default: object) -> object:
        asked.add((re.sub(r"\[\d+\]", "", table.name), key))
        return take(table, key, default)

    monkeypatch.setattr(Table, "_take", noted)
    file = tmp_path / "meshseek.toml"
    entry = f'[[access.handheld]]\nnode = "!a1b2c3d4"\nkey = "{KEY}"\n'
    file.write_text(f'[vault]\npath = "{tmp_path}"\n{entry}', encoding="utf-8")
    load_config(file)
    return {(table, key) for table, key in asked if table} - {("access", "handheld")}


def example_keys() -> set[tuple[str, str]]:
    """Every (table, key) of the example, commented out or not."""
    found: set[tuple[str, str]] = set()
    table = ""
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"(?:# )?\[+([a-z.]+)\]+(?: +#.*)?", line):
            table = heading[1]
        elif key := re.match(r"(?:# )?([a-z_]+) = ", line):
            found.add((table, key[1]))
    return found


def test_the_example_has_every_key_and_no_other(config_keys: set[tuple[str, str]]) -> None:
    assert example_keys() == config_keys


def test_every_key_of_the_example_says_what_it_is_for() -> None:
    bare = [line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if re.match(r"[a-z_]+ = [^#]*$", line)]
    assert bare == []


def test_every_key_named_in_prose_exists(config_keys: set[tuple[str, str]]) -> None:
    for table, key in re.findall(r"`\[([a-z]+)\] ([a-z_]+)", prose(*PAGES)):
        assert (table, key) in config_keys, f"[{table}] {key}"


def logged_events() -> set[str]:
    """The names after ``event=`` in the gateway's sources; answers' stages stand for the one that is computed."""
    found: set[str] = set()
    for file in (ROOT / "gateway").rglob("*.py"):
        found |= set(re.findall(r"event=([a-z][a-z_-]*)", file.read_text(encoding="utf-8")))
    return found | {str(stage) for stage in Stage} - {Stage.WAITING, Stage.FLYING}


def described_events() -> set[str]:
    section = prose(GUIDE).split("## What the log says")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([a-z_-]+)`", row)}


def test_every_event_of_the_log_is_described_and_no_other() -> None:
    assert described_events() == logged_events()


def typed_forms() -> list[str]:
    """What the first page's table says that can be typed, but for ranges and places to fill in."""
    section = prose(README).split("## Ask")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [form.replace("TEXT", "the stove leaks") for cell in cells for form in re.findall(r"`([^`]+)`", cell)]


def test_what_the_first_page_says_can_be_typed_is_understood() -> None:
    operators = {'"exact phrase"', "-without", "in:Folder"}
    forms = typed_forms()
    assert operators < set(forms)
    for form in set(forms) - operators - {"find", "note"}:
        if form != "f ping":
            assert not isinstance(commands.parse(form), commands.Search), form
    assert commands.parse("f ping") == commands.Search("ping")


def test_the_first_page_has_every_short_form() -> None:
    forms = set(typed_forms()) | {"n", "f", "next"}
    assert set(commands._WORDS) <= forms, set(commands._WORDS) - forms


def symptoms() -> list[str]:
    """The rows of the guide's table of troubles."""
    section = prose(GUIDE).split("## Troubleshooting")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ")][2:]


def source() -> str:
    """The gateway's words, with texts that are written over several lines put together."""
    files = (file.read_text(encoding="utf-8") for file in sorted((ROOT / "gateway").rglob("*.py")))
    return re.sub(r'"\s*\n\s*f?"', "", "\n".join(files))


def test_what_the_log_says_of_a_trouble_is_what_it_says() -> None:
    words = source()
    quoted = [
        said for row in symptoms() if re.search("link_down|status|hour", row) for said in re.findall(r'"([^"]+)"', row)
    ]
    own = [said for said in quoted if said not in {"over-current", "disconnect"}]
    assert len(own) >= 5
    assert [said for said in own if said not in words] == []


def test_reasons_of_refusal_in_the_table_of_troubles_exist() -> None:
    reasons = {
        name
        for row in symptoms()
        if "refused reason" in row
        for name in re.findall(r"`(?:refused reason=)?([a-z-]+)`", row)
    }
    assert len(reasons) >= 4
    assert reasons - {"pair"} <= {str(reason) for reason in RefusalReason}
