"""The command line: exit codes, one-line complaints, and what it does not import."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from gateway.cli import COMMANDS, WRONG_USE, build_parser, run
from gateway.version import VERSION


def test_the_version_is_the_packages() -> None:
    assert version("meshseek") == VERSION


def test_a_misspelt_command_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serch", "x"]) == 2
    assert "did you mean `meshseek search`" in capsys.readouterr().err


def test_an_unknown_command_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["xyzzyx"]) == 2
    error = capsys.readouterr().err
    assert all(name in error for name in COMMANDS)
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("command", ["serve", "note", "pair"])
def test_a_missing_config_names_where_it_was_looked_for(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("MESHSEEK_CONFIG", raising=False)
    assert run([command] + (["text"] if command == "note" else [])) == 2
    error = capsys.readouterr().err
    assert str(tmp_path / "meshseek" / "meshseek.toml") in error
    assert len(error.splitlines()) == 1


def test_every_mistake_of_a_config_is_a_line_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('[vault]\npath = "/nowhere"\nexclud = []\n[radio]\nprot = "x"\n')
    assert run(["serve", "--config", str(file)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith(f"meshseek: {file}: ") for line in lines)


def test_a_vault_that_is_not_there_is_the_outside_worlds_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ok.toml"
    file.write_text('[vault]\npath = "/nowhere"\n')
    assert run(["serve", "--config", str(file)]) == 3
    assert "/nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["demo", "--loss", "2"], ["demo", "--speed", "x"], ["demo", "--vault", "/nowhere", "x"], ["demo", " "], ["note"]],
)
def test_wrong_use_is_exit_code_2_without_a_traceback(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = run(arguments)
    except SystemExit as left:  # argparse's own way
        code = int(left.code or 0)
    assert code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_help_of_search_needs_no_right_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wrong.toml").write_text("[vault")
    monkeypatch.setenv("MESHSEEK_CONFIG", str(tmp_path / "wrong.toml"))
    assert run(["search", "--help"]) == 0
    assert "$OBSIDIAN_VAULT_PATH, else the config's, else ~/Vault" in capsys.readouterr().out


def test_a_simulated_radio_takes_no_path_from_anybody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terminal, slave = os.openpty()
    file, foreign, used = tmp_path / "file", tmp_path / "foreign", tmp_path / "used"
    file.write_text("mine")
    foreign.symlink_to(file)
    used.symlink_to(os.ttyname(slave))
    for path, said in ((file, "is there already"), (foreign, f"a link to {file}"), (used, "end the simulated radio")):
        before = path.readlink() if path.is_symlink() else path.read_text()
        with pytest.raises(SystemExit) as left:  # argparse's own way
            run(["simulate", "--link", str(path)])
        assert left.value.code == WRONG_USE
        assert said in capsys.readouterr().err
        assert before == (path.readlink() if path.is_symlink() else path.read_text())
    os.close(slave)
    os.close(terminal)


def test_what_a_simulated_radio_left_behind_is_taken_over(tmp_path: Path) -> None:
    link = tmp_path / "radio"
    link.symlink_to("/dev/pts/999999")
    assert build_parser().parse_args(["simulate", "--link", str(link)]).link == str(link)


def _imported(code: str) -> set[str]:
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_a_search_imports_no_radio_library_and_none_of_the_gateways_rooms() -> None:
    demo = Path(sys.modules["gateway"].__path__[0]) / "demo_vault"
    code = f"""
import contextlib, io
from gateway.cli import run
with contextlib.redirect_stdout(io.StringIO()):
    run(["search", "--vault", {str(demo)!r}, "tape"])
"""
    modules = _imported(code)
    assert not {"meshtastic", "serial", "pubsub", "google.protobuf", "gateway.config", "gateway.service"} & modules
    assert not {"dataclasses", "http.client", "asyncio", "argparse"} & modules


def test_help_imports_no_radio_library() -> None:
    assert "meshtastic" not in _imported("from gateway.cli import build_parser\nbuild_parser().format_help()")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["status", "--jsn"], "`meshseek status` has no option '--jsn'; did you mean `--json`?"),
        (["doctor", "--xyzzy"], "`meshseek doctor` has no option '--xyzzy'; its options are: --config, --json"),
        (["status", "now"], "`meshseek status` does not take 'now'"),
        (["--jsn"], "`meshseek` has no option '--jsn'"),
    ],
)
def test_an_option_that_is_none_is_one_line_with_the_nearest(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


DESK = [["--help"], ["status"], ["doctor", "--json"], ["search", "--vault", "VAULT", "tape"], ["search"], ["serch"]]


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full", "2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("arguments", DESK, ids=" ".join)
def test_whatever_the_shell_does_to_the_streams_there_is_no_traceback(
    arguments: list[str], redirection: str, tmp_path: Path
) -> None:
    (tmp_path / "VAULT").mkdir()
    (tmp_path / "VAULT" / "tape.md").write_text("The tape is in the drawer.\n")
    program = f"{sys.executable} -m gateway {' '.join(arguments)}"
    done = subprocess.run(
        ["/bin/sh", "-c", f"{program} {redirection}"],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "OMNISEARCH_URL": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1, 2, 3}
    assert "Traceback" not in done.stderr
    if done.returncode == 3 and redirection == ">/dev/full":
        assert done.stderr == "meshseek: the output cannot be written: No space left on device\n"
