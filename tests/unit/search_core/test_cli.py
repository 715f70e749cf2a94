"""The command: what it prints, to whom, and how it ends."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from search_core import SearchCore, WrongUse
from search_core.cli import ABSENT, FOUND, INTERRUPTED, NOTHING, WRONG, Defaults, main, parse_arguments, printable


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMNISEARCH_URL", "off")
    monkeypatch.delenv("OBSIDIAN_VAULT_PATH", raising=False)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / "Home/Lab").mkdir(parents=True)
    (root / "Home/Lab/tape backup.md").write_text("# Tape backup\nThe robot loads LTO-4 tapes for nas2 every Sunday.\n")
    (root / "garden.md").write_text("Tomatoes want water, not tape.\n")
    return root


Capture = pytest.CaptureFixture[str]


def test_text(vault: Path, capsys: Capture) -> None:
    assert main(["tape", "nas2", "--vault", str(vault)]) == FOUND
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert re.fullmatch(r"=== Vault Search: 'tape nas2' \[local - \d+\.\d\ds\] ===", lines[0])
    assert re.fullmatch(r"1\. \[[\d.]+\] Home/Lab/tape backup\.md", lines[1])
    assert lines[2].startswith("   Excerpt: ")
    assert "nas2" in lines[2]
    assert re.fullmatch(r"2\. \[[\d.]+\] garden\.md", lines[3])
    assert err == ""


def test_json(vault: Path, capsys: Capture) -> None:
    assert main(["--json", "--vault", str(vault), "tape", "nas2"]) == FOUND
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == ["query", "engine", "elapsed_seconds", "total_results", "results"]
    assert (answer["query"], answer["engine"], answer["total_results"]) == ("tape nas2", "local", 2)
    assert answer["elapsed_seconds"] >= 0
    first = answer["results"][0]
    assert list(first) == ["path", "basename", "score", "excerpt", "engine"]
    assert (first["path"], first["basename"]) == ("Home/Lab/tape backup.md", "tape backup")


@pytest.mark.parametrize("flag", [[], ["--json"]])
def test_nothing_found(vault: Path, capsys: Capture, flag: list[str]) -> None:
    assert main([*flag, "--vault", str(vault), "xylophone"]) == NOTHING
    out = capsys.readouterr().out
    assert json.loads(out)["results"] == [] if flag else "No results found." in out


def test_limit_and_folder(vault: Path, capsys: Capture) -> None:
    assert main(["tape", "-n1", "--vault", str(vault)]) == FOUND
    assert "2. [" not in capsys.readouterr().out
    assert main(["tape", "--folder", "home/lab/", f"--vault={vault}"]) == FOUND
    assert "garden" not in capsys.readouterr().out
    assert main(["xylophone", "--folder", "home/lab/", f"--vault={vault}"]) == NOTHING


@pytest.mark.parametrize("flag", [[], ["--json"]])
@pytest.mark.parametrize(
    ("folder", "near"),
    [
        ("Nope", ""),
        ("../vault", ""),
        ("Hom", "; near it: Home"),
        ("lab", "; near it: Home/Lab"),
        ("Home/Lap", "; near it: Home/Lab, Home"),
    ],
)
def test_a_folder_that_is_not_there(vault: Path, capsys: Capture, folder: str, near: str, flag: list[str]) -> None:
    assert main([*flag, "tape", "--folder", folder, "--vault", str(vault)]) == WRONG
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"error: --folder {folder!r}: there is no such folder in the vault {vault.resolve()}{near}\n"


def test_a_folder_without_notes_is_there_all_the_same(vault: Path, capsys: Capture) -> None:
    (vault / "Pictures").mkdir()
    assert main(["tape", "--folder", "Pictures", "--vault", str(vault)]) == NOTHING
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("reads_config", "said"), [(False, "PATH, else ~/"), (True, "PATH, else the config's, else ~/")]
)
def test_help_says_where_the_vault_comes_from(capsys: Capture, reads_config: bool, said: str) -> None:
    assert main(["--help"], Defaults(reads_config=reads_config)) == FOUND
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        ([], "nothing to look for"),
        (["  "], "nothing to look for"),
        (["tape", "-n"], "-n needs a value"),
        (["tape", "-n", "0"], "--limit '0'"),
        (["tape", "--limit", "many"], "--limit 'many'"),
        (["tape", "--source", "google"], "--source 'google'"),
        (["--jsn", "tape"], "--jsn"),
        (["tape", "--json=yes"], "--json takes no value"),
        (["tape", "--vault", ""], "--vault is empty"),
    ],
)
def test_wrong_use(argv: list[str], names: str, capsys: Capture) -> None:
    assert main(argv) == WRONG
    out, err = capsys.readouterr()
    assert out == ""
    assert names in err
    assert err.count("\n") == 1


def test_a_missing_vault_is_named(tmp_path: Path, capsys: Capture) -> None:
    assert main(["tape", "--vault", str(tmp_path / "no\nwhere")]) == ABSENT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "where" in err


def test_the_vault_comes_from_option_environment_or_home(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert main(["tape"]) == ABSENT
    assert f"{tmp_path}/home/Vault" in capsys.readouterr().err
    monkeypatch.setenv("OBSIDIAN_VAULT_PATH", str(vault))
    assert main(["tape"]) == FOUND
    assert main(["tape", "--vault", str(tmp_path / "none")]) == ABSENT


def test_a_question_may_hold_what_looks_like_an_option(vault: Path) -> None:
    assert parse_arguments(["docker", "run", "-d"]).query == "docker run -d"
    assert parse_arguments(["tape", "-garden"]).query == "tape -garden"
    assert parse_arguments(["--", "--all-namespaces", "-n"]).query == "--all-namespaces -n"
    assert parse_arguments(["get pods --all-namespaces"]).query == "get pods --all-namespaces"
    with pytest.raises(WrongUse, match="--alll"):
        parse_arguments(["--alll"])
    assert main(["tape", "-garden", "-tomatoes", "--vault", str(vault)]) == FOUND


def test_help(capsys: Capture) -> None:
    assert main(["--help"]) == FOUND
    assert "exit code" in capsys.readouterr().out


def test_interrupted_in_silence(vault: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SearchCore, "search", stop)
    assert main(["tape", "--vault", str(vault)]) == INTERRUPTED
    assert capsys.readouterr() == ("", "")


def test_nothing_that_a_terminal_obeys() -> None:
    assert printable("a\x1b[2Jb\tc\u202ed\x07") == "a\ufffd[2Jb c\ufffdd\ufffd"
    assert printable("日本 🚀 é") == "日本 🚀 é"


# -- as a process


def _command(vault: Path, *argv: str) -> list[str]:
    return [sys.executable, "-m", "search_core", "--vault", str(vault), *argv]


def test_a_reader_that_goes_away_hears_no_complaint(vault: Path) -> None:
    for number in range(300):
        (vault / f"n{number}.md").write_text("tape " * 100)
    process = subprocess.Popen(
        _command(vault, "tape", "-n", "300"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert err == b""


def test_ctrl_c_while_indexing_is_silent(vault: Path) -> None:
    for number in range(4000):
        (vault / f"n{number}.md").write_text("some tape words to index " * 40)
    process = subprocess.Popen(_command(vault, "tape"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    cache = Path(os.environ["XDG_CACHE_HOME"]) / "meshseek"
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not list(cache.glob("*-wal")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (INTERRUPTED, b"", b"")


def _on_a_terminal(vault: Path, **env: str) -> str:
    outside, inside = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
    process = subprocess.Popen(
        _command(vault, "tape", "nas2"), stdout=inside, stderr=inside, env={**os.environ, "TERM": "xterm", **env}
    )
    os.close(inside)
    data = io.BytesIO()
    try:
        while chunk := os.read(outside, 4096):
            data.write(chunk)
    except OSError:  # how Linux ends a terminal that nobody has open
        pass
    process.wait()
    os.close(outside)
    return data.getvalue().decode()


def test_colour_and_width_on_a_terminal_only(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = _on_a_terminal(vault)
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert all(len(line) <= 50 for line in plain.splitlines()[1:])
    assert "\x1b" not in _on_a_terminal(vault, NO_COLOR="1")
    piped = subprocess.run(_command(vault, "tape", "nas2"), capture_output=True, check=True).stdout
    assert b"\x1b" not in piped


def test_an_omnisearch_that_is_named_wrongly(vault: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNISEARCH_URL", "junk")
    for question, code in (("tape", FOUND), ("zzzzqqq", NOTHING)):
        assert main([question, "--json", "--vault", str(vault)]) == code
        out, err = capsys.readouterr()
        assert json.loads(out)["engine"] == "local"
        assert err.startswith("warning: OMNISEARCH_URL is 'junk'")
        assert err.count("\n") == 1
    for question in ("tape", "d"):
        assert main([question, "--source", "omnisearch", "--vault", str(vault)]) == WRONG
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("error: OMNISEARCH_URL is 'junk'")
    assert main(["tape", "--source", "local", "--vault", str(vault)]) == FOUND
    assert capsys.readouterr().err == ""
