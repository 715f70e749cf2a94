"""From nothing to an answered question by the commands alone, as processes, on a radio that is a device file.

Then what the owner sees a year later: while it runs, after it was stopped, and after it was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from setup_bench import Bench, setup_bench

from gateway.config import load_config
from gateway.protocol.messages import node_id
from gateway.setup.snapshot import take_snapshot
from gateway.setup.status_text import lines

MESHSEEK = [sys.executable, "-m", "gateway"]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with setup_bench(tmp_path, speed=4.0) as made:
        yield made


def environment(bench: Bench) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "OBSIDIAN_", "MESHSEEK"))}
    return kept | {"HOME": str(bench.home), "OMNISEARCH_URL": "off", "TERM": "xterm", "LC_ALL": "C.UTF-8"}


def run(bench: Bench, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*MESHSEEK, *arguments],
        check=False,
        env=environment(bench),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=40,
    )
    assert "Traceback" not in done.stderr
    return done


@contextlib.contextmanager
def serving(bench: Bench, config: Path) -> Iterator[subprocess.Popen[bytes]]:
    log = bench.home / "serve.log"
    with log.open("ab") as stream:
        process = subprocess.Popen([*MESHSEEK, "serve", "--config", str(config)], env=environment(bench), stderr=stream)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(15)


def until_status(bench: Bench, wanted: str, timeout: float = 30) -> str:
    """What status shows of the state, once it matches."""
    directory = bench.home / ".local" / "state" / "meshseek"
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        shown = "\n".join(lines(take_snapshot(directory), None, time.time(), show_text=False))
        if re.search(wanted, shown):
            return shown
        time.sleep(0.05)
    pytest.fail(f"{wanted!r} was not shown in time:\n{shown}\n{(bench.home / 'serve.log').read_text()}")


def test_from_nothing_to_an_answer_and_what_is_seen_of_it(bench: Bench) -> None:
    """One long story, since each step needs the last."""
    handheld, node = bench.handheld, node_id(bench.handheld.number)
    done = run(bench, "init", "--vault", str(bench.vault), "--port", bench.pty.path, "--node", node, "--yes")
    assert done.returncode == 0, done.stderr
    config = bench.home / ".config" / "meshseek" / "meshseek.toml"
    prometheus = bench.home / "meshseek.prom"
    config.write_text(config.read_text().replace('prometheus_file = ""', f'prometheus_file = "{prometheus}"'))
    assert "has not run yet" in run(bench, "status").stdout

    with serving(bench, config) as gateway:
        until_status(bench, r"radio +up for")
        bench.pty.call(lambda: handheld.say("stove jet", bench.pty.node.number))
        assert bench.pty.wait_for(lambda: len(handheld.seen) == 1, 30)
        until_status(bench, r"q 1 .*delivered after \d+ s")
        shown = run(bench, "status")
        assert shown.returncode == 0
        assert "!7c5ae114  delivered" in shown.stdout
        doctor = run(bench, "doctor")
        assert doctor.returncode == 0, doctor.stdout
        assert f"held by the gateway itself (pid {gateway.pid})" in doctor.stdout
        assert "the gateway runs for" in doctor.stdout
        assert "known to the radio with this key" in doctor.stdout
        assert "meshseek_link_up 1\n" in prometheus.read_text()
        gateway.kill()
        gateway.wait()
        assert "ended without a word" in run(bench, "status").stdout
        doctor = run(bench, "doctor", "--json")
        assert doctor.returncode == 1
        faults = [check for check in json.loads(doctor.stdout)["checks"] if check["level"] == "fault"]
        assert [fault["check"] for fault in faults] == ["service"]
        assert "journalctl" in faults[0]["remedy"]

    with serving(bench, config):
        until_status(bench, r"radio +up for")
        bench.pty.call(bench.pty.unplug)
        until_status(bench, r"radio +down for .*(gone|not there)")
        doctor = run(bench, "doctor")
        assert doctor.returncode == 1
        assert re.search(r"fault +device .*is not there", doctor.stdout)
        assert re.search(r"fault +radio +the gateway has no link since", doctor.stdout)
    assert "stopped since" in run(bench, "status").stdout
    assert "meshseek_running 0\n" in prometheus.read_text()


class Terminal:
    """A process on a pseudo-terminal, with a person who reads before typing."""

    def __init__(self, bench: Bench, *arguments: str) -> None:
        self.seen = ""
        pid, self._side = pty.fork()
        if pid == 0:
            os.execve(sys.executable, [*MESHSEEK, *arguments], environment(bench))
        self._pid = pid

    def expect(self, pattern: str, timeout: float = 30) -> str:
        """What came until the pattern; it is not looked at again."""
        until = time.monotonic() + timeout
        while (found := re.search(pattern, self.seen)) is None:
            assert time.monotonic() < until, f"{pattern!r} did not come:\n{self.seen}"
            readable, _, _ = select.select([self._side], [], [], 0.2)
            if readable:
                self._read(pattern)
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before

    def _read(self, pattern: str) -> None:
        try:
            self.seen += os.read(self._side, 65536).decode("utf-8", "replace")
        except OSError:
            pytest.fail(f"{pattern!r} did not come before the end:\n{self.seen}")

    def type(self, text: str) -> None:
        os.write(self._side, text.encode())

    def end(self) -> int:
        """The wait status when the process is over."""
        with contextlib.suppress(OSError):
            while data := os.read(self._side, 65536):
                self.seen += data.decode("utf-8", "replace")
        os.close(self._side)
        return os.waitpid(self._pid, 0)[1]


def test_init_asks_what_it_needs(bench: Bench) -> None:
    (bench.vault / ".obsidian").mkdir()
    terminal = Terminal(bench, "init")
    terminal.expect("Where are your notes")
    assert "~/vault" in terminal.expect(r"list: \[1\] ")
    terminal.type("\n")
    terminal.expect(r"Where is the radio")
    terminal.expect(r"tcp:HOST: \[auto\] ")
    terminal.type(f"{bench.pty.path}\n")
    terminal.expect("firmware 2.7.26")
    terminal.expect("Which handheld is yours")
    assert node_id(bench.handheld.number) in terminal.expect("nothing to stop. ")
    terminal.type("1\n")
    terminal.expect(r"\[y/N\] ")
    terminal.type("y\n")
    terminal.expect("one packet")
    assert os.waitstatus_to_exitcode(terminal.end()) == 0
    config = load_config(bench.home / ".config" / "meshseek" / "meshseek.toml")
    assert config.vault.path == bench.vault
    assert [handheld.key for handheld in config.access.handhelds] == [bench.handheld.key]

    again = Terminal(bench, "init")
    again.expect(r"Replace it .*\[y/N\] ")
    again.type("\n")
    assert os.waitstatus_to_exitcode(again.end()) == 1
    assert "Nothing was changed" in again.seen


@pytest.mark.parametrize(
    ("arguments", "when"),
    [(["status", "--watch"], "gateway"), (["doctor"], "asking the radio"), (["init"], "Where are your notes")],
)
def test_ctrl_c_is_silent(bench: Bench, arguments: list[str], when: str) -> None:
    config = bench.config()
    extra = [] if arguments[0] == "init" else ["--config", str(config)]
    bench.pty.call(lambda: setattr(bench.pty.node.phone, "want_config", lambda _nonce: None))  # It never answers.
    terminal = Terminal(bench, *arguments, *extra)
    terminal.expect(when)
    terminal.type("\x03")
    status = terminal.end()
    assert "Traceback" not in terminal.seen
    assert "KeyboardInterrupt" not in terminal.seen
    assert (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT) or os.WEXITSTATUS(status) in (0, 130)
