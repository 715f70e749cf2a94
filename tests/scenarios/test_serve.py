"""`meshseek serve` as systemd runs it: a process of its own on a device file, from a config, stopped by signals."""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.protocol.messages import LoRaSettings, node_id
from gateway.radio.simulated.frames import RadioSetup
from gateway.radio.simulated.handheld import Handheld
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node, introduce
from gateway.radio.simulated.pty_radio import PtyRadio
from gateway.store import Store

SPEED = 4.0


@dataclass
class Home:
    """A vault, a config and a radio with a handheld in reach."""

    pty: PtyRadio
    handheld: Handheld
    stranger: Handheld
    config: Path
    vault: Path
    log: Path

    def serve(self) -> subprocess.Popen[bytes]:
        env = {**os.environ, "XDG_CACHE_HOME": str(self.vault.parent / "cache")}
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "gateway", "serve", "--config", str(self.config)], stderr=log, env=env
            )

    def ask(self, text: str, who: Handheld | None = None) -> None:
        handheld = who or self.handheld
        self.pty.call(lambda: handheld.say(text, self.pty.node.number))

    def answers(self, count: int, timeout: float = 40) -> list[str]:
        assert self.pty.wait_for(lambda: len(self.handheld.seen) >= count, timeout), self.log.read_text()
        return [seen.text for seen in self.handheld.seen]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Stove.md").write_text("# Stove\n\nIt sputters: the jet is blocked, shake it upside down.\n")
    (vault / "Зимовье.md").write_text("Ключ от зимовья лежит под третьей доской.\n", encoding="utf-8")
    (vault / "山屋.md").write_text("山屋的钥匙在柴房第三层木板下面。\n", encoding="utf-8")
    (vault / "🚀 launch.md").write_text("Three, two, one.\n", encoding="utf-8")
    mesh = Mesh(3, lora=LoRaSettings(region="US"))
    node = Node(mesh, 0xA1B2C3D4, RadioSetup(long_name="Home"))
    handheld, stranger = Handheld(mesh, 0x7C5AE114, "T-Deck"), Handheld(mesh, 0x0BAD0BAD, "Stranger")
    introduce(node, handheld.node)
    introduce(node, stranger.node)
    with PtyRadio(mesh, node, link=str(tmp_path / "radio"), speed=SPEED) as pty:
        config = tmp_path / "meshseek.toml"
        config.write_text(
            f'[vault]\npath = "{vault}"\nsource = "local"\n[radio]\nport = "{pty.path}"\n'
            f'[state]\ndirectory = "{tmp_path / "state"}"\n[[access.handheld]]\nnode = "{node_id(handheld.number)}"\n'
            f'key = "{base64.b64encode(handheld.key).decode()}"\nname = "T-Deck"\n'
        )
        yield Home(pty, handheld, stranger, config, vault, tmp_path / "log")


@contextlib.contextmanager
def running(home: Home) -> Iterator[subprocess.Popen[bytes]]:
    before = home.pty.downloads
    process = home.serve()
    try:
        assert home.pty.wait_for(lambda: home.pty.downloads > before, 30), home.log.read_text()
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def stop(process: subprocess.Popen[bytes], number: int) -> int:
    began = time.monotonic()
    process.send_signal(number)
    code = process.wait(timeout=15)
    assert time.monotonic() - began < 10
    return code


def test_questions_in_four_scripts_are_answered_and_strangers_are_not(home: Home) -> None:
    with running(home) as process:
        home.ask("stove sputters", home.stranger)
        for count, (question, words) in enumerate(
            [("stove sputers", "jet is blocked"), ("ключ", "третьей"), ("钥匙", "柴房"), ("🚀", "launch")], 1
        ):
            home.ask(question)
            assert words in home.answers(count)[-1]
        assert home.stranger.seen == []
        assert stop(process, signal.SIGTERM) == 0
    assert home.pty.goodbyes == 1
    log = home.log.read_text()
    assert "Traceback" not in log
    assert "sputers" not in log
    assert "blocked" not in log


def test_ctrl_c_at_any_moment_of_the_start_is_clean(home: Home) -> None:
    for delay in (0.4, 0.8, 1.4):
        process = home.serve()
        time.sleep(delay)
        assert stop(process, signal.SIGINT) in {0, -signal.SIGINT}
    assert "Traceback" not in home.log.read_text()


def test_a_question_that_came_while_it_was_killed_is_answered_by_the_next_run(home: Home) -> None:
    with running(home) as process:
        home.ask("stove sputters")
        assert home.pty.wait_for(lambda: home.handheld.sent[-1].tick == "delivered", 20)
        time.sleep(0.4)  # the gateway has taken it in by now, or the radio still holds it
        process.send_signal(signal.SIGKILL)
        process.wait()
    with running(home) as process:
        assert "jet is blocked" in home.answers(1, timeout=50)[0]
        assert stop(process, signal.SIGTERM) == 0
    assert len(home.handheld.seen) == 1


def test_a_second_gateway_on_the_same_state_is_refused(home: Home) -> None:
    """Each would answer what the other owes."""
    with running(home) as process:
        second = home.serve()
        assert second.wait(timeout=20) not in (0, -signal.SIGKILL)
        assert process.poll() is None
        assert stop(process, signal.SIGTERM) == 0
    log = home.log.read_text()
    assert "another meshseek is running with this state directory" in log
    assert "Traceback" not in log
    with running(home) as process:
        assert stop(process, signal.SIGTERM) == 0


def test_a_state_file_with_a_time_that_makes_no_sense_is_no_reason_to_stay_away(home: Home) -> None:
    for nonsense in ("garbage", "inf"):
        store = Store(home.vault.parent / "state")
        with store.transaction():
            store.put_fact("last_now", nonsense)
        store.close()
        with running(home) as process:
            assert stop(process, signal.SIGTERM) == 0
