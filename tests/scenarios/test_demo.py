"""The demo as its user sees it: a process of its own, over the Meshtastic library on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DEMO = [sys.executable, "-m", "gateway", "demo"]


def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "c")}


def ask(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DEMO, *arguments],
        capture_output=True,
        text=True,
        timeout=50,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_one_question_is_answered_from_the_demos_vault(tmp_path: Path) -> None:
    result = ask(tmp_path, "--speed", "4", "tape backup nas2")
    assert result.returncode == 0
    assert "Ultrium" in result.stdout
    assert "✓ delivered" in result.stdout
    assert "✓ acknowledged" in result.stdout
    assert result.stderr == ""
    assert list(tmp_path.glob("meshseek-demo-*")) == []


def test_bytes_that_are_no_text_are_sent_as_a_mark(tmp_path: Path) -> None:
    result = ask(tmp_path, "--speed", "10", os.fsdecode(b"tape \xff backup"))
    assert result.returncode == 0
    assert result.stderr == ""


def test_it_searches_the_users_own_vault(tmp_path: Path) -> None:
    vault = tmp_path / "own"
    vault.mkdir()
    (vault / "Зимовье.md").write_text("Ключ лежит под третьей доской.\n", encoding="utf-8")
    result = ask(tmp_path, "--speed", "4", "--vault", str(vault), "где ключ")
    assert result.returncode == 0
    assert "третьей доской" in result.stdout


@pytest.mark.parametrize("delay", [0.3, 0.7, 1.5, 3.0])
def test_ctrl_c_ends_it_at_once_without_a_traceback(tmp_path: Path, delay: float) -> None:
    process = subprocess.Popen(
        [*DEMO, "tape"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment(tmp_path),
    )
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, errors = process.communicate(timeout=10)
    assert time.monotonic() - began < 4
    assert "Traceback" not in errors
    assert process.returncode in {130, -signal.SIGINT}


def test_the_prompt_ends_with_ctrl_d(tmp_path: Path) -> None:
    terminal, slave = pty.openpty()
    process = subprocess.Popen(
        [*DEMO, "--speed", "5"], stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=environment(tmp_path)
    )
    os.close(slave)
    shown = _read_until(terminal, b"you> ")
    os.write(terminal, b"ping\n")
    shown += _read_until(terminal, b"you> ")
    os.write(terminal, b"\x04")
    assert process.wait(timeout=10) == 0
    os.close(terminal)
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert b"pong" in shown


@pytest.mark.parametrize("typed", [b"\x04", b"quit\n"])
def test_what_is_typed_while_an_answer_is_awaited_counts(tmp_path: Path, typed: bytes) -> None:
    terminal, slave = pty.openpty()
    process = subprocess.Popen(
        [*DEMO, "--speed", "5"], stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=environment(tmp_path)
    )
    os.close(slave)
    _read_until(terminal, b"you> ")
    os.write(terminal, b"ping\n")
    _read_until(terminal, b" B")
    os.write(terminal, typed)
    shown = _read_until(terminal, b"acknowledged")
    assert process.wait(timeout=10) == 0
    os.close(terminal)
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert b"pong" in shown


def _read_until(terminal: int, end: bytes) -> bytes:
    shown, deadline = b"", time.monotonic() + 30
    while end not in shown:
        assert time.monotonic() < deadline, shown
        shown += os.read(terminal, 4096)
    return shown
