"""Init without a terminal: what it finds, writes, refuses and shows. With one: ``tests/scenarios/test_setup.py``."""

from __future__ import annotations

import argparse
import os
import stat
from pathlib import Path

import pytest
from setup_bench import Bench

from gateway.cli import build_parser
from gateway.config import load_config
from gateway.errors import GatewayError, UsageError
from gateway.places import user_config
from gateway.protocol.messages import node_id
from gateway.radio.devices import RadioTarget
from gateway.setup import init_config
from gateway.setup.init import init
from gateway.setup.init_finds import FOLDERS_LIMIT, vault_candidates

EXAMPLE = Path(__file__).resolve().parents[4] / "deploy" / "meshseek.example.toml"
SECONDS = 8.0


def options(*arguments: str) -> argparse.Namespace:
    return build_parser().parse_args(["init", *arguments])


def run(*arguments: str) -> int:
    return init(options(*arguments), radio_seconds=SECONDS)


def test_the_template_is_the_example() -> None:
    assert init_config.TEMPLATE.read_bytes() == EXAMPLE.read_bytes()


def test_options_suffice(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    node = node_id(bench.handheld.number)
    assert run("--vault", str(bench.vault), "--port", bench.pty.path, "--node", node, "--name", "TD", "--yes") == 0
    file = user_config()
    config = load_config(file)
    assert config.vault.path == bench.vault
    assert config.radio.target == RadioTarget(serial=bench.pty.path)
    assert [(h.node, h.key, h.name) for h in config.access.handhelds] == [
        (bench.handheld.number, bench.handheld.key, "TD")
    ]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    out = capsys.readouterr().out
    assert "2 notes" in out
    assert "firmware 2.7.26" in out
    assert "region US" in out
    assert "one packet" in out
    assert "meshseek serve" in out


def test_every_comment_of_the_template_is_kept() -> None:
    text = init_config.filled(Path("/home/me/Vault"), "/dev/meshtastic")
    comments = [line.partition("#")[2] for line in EXAMPLE.read_text().splitlines() if "#" in line]
    assert all(comment in text for comment in comments)


@pytest.mark.parametrize(
    ("port", "target"),
    [
        ("auto", RadioTarget()),
        ("/dev/ttyUSB0", RadioTarget(serial="/dev/ttyUSB0")),
        ("tcp:loft.local", RadioTarget(tcp_host="loft.local")),
        ("tcp:loft:4404", RadioTarget(tcp_host="loft", tcp_port=4404)),
        ("ble:AA:BB:CC:DD:EE:FF", RadioTarget(ble="AA:BB:CC:DD:EE:FF")),
    ],
)
def test_each_kind_of_port_is_written_where_it_belongs(home: Path, port: str, target: RadioTarget) -> None:
    file = home / "x.toml"
    file.write_text(init_config.filled(home, init_config.expect_port(port)))
    assert load_config(file).radio.target == target


@pytest.mark.parametrize("port", ["", "ttyUSB0", "tcp:", "tcp:host:99999", "COM3"])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    with pytest.raises(UsageError, match="--port"):
        init_config.expect_port(port)


def test_awkward_names_survive_the_writing(home: Path) -> None:
    vault = home / 'my "notes" \\ Зимовье # 1'
    vault.mkdir()
    file = home / "x.toml"
    file.write_text(init_config.filled(vault, "auto"))
    assert load_config(file).vault.path == vault


def test_a_name_that_is_no_utf_8_is_said_before_anything_is_written(home: Path) -> None:
    vault = home / os.fsdecode(b"notes-\xff")
    vault.mkdir()
    with pytest.raises(UsageError, match="no UTF-8"):
        run("--config", str(home / "x.toml"), "--vault", str(vault), "--port", "auto", "--yes")
    assert [path.name for path in home.iterdir() if path.name.startswith("x.toml")] == []


def test_a_second_run_changes_nothing(bench: Bench) -> None:
    arguments = ("--vault", str(bench.vault), "--port", bench.pty.path, "--node", node_id(bench.handheld.number))
    assert run(*arguments, "--yes") == 0
    before = user_config().read_bytes()
    assert run(*arguments, "--yes") == 0
    assert user_config().read_bytes() == before


def test_yes_does_not_overwrite_what_differs(bench: Bench) -> None:
    bench.config()
    before = bench.file.read_bytes()
    with pytest.raises(UsageError, match="exists"):
        run("--config", str(bench.file), "--vault", str(bench.vault), "--port", bench.pty.path, "--yes")
    assert bench.file.read_bytes() == before


def test_without_a_terminal_an_existing_config_stays(bench: Bench) -> None:
    bench.config()
    with pytest.raises(UsageError, match="exists"):
        run("--config", str(bench.file), "--vault", str(bench.vault))


@pytest.mark.parametrize("yes", [(), ("--yes",)])
def test_without_a_terminal_the_missing_option_is_named(home: Path, yes: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="add --vault DIR"):
        run(*yes)
    assert not user_config().exists()


def test_what_is_wrong_in_the_options_is_said_before_anything_is_written(bench: Bench) -> None:
    for wrong in (["--vault", "/nowhere"], ["--vault", str(bench.vault), "--key", "short"]):
        with pytest.raises(UsageError):
            run(*wrong, "--port", bench.pty.path, "--yes")
    assert not user_config().exists()


def test_a_radio_that_is_not_there_yet_is_shown_and_the_config_written(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--vault", str(bench.vault), "--port", "/dev/nowhere", "--yes") == 0
    out = capsys.readouterr().out
    assert "/dev/nowhere is not there" in out
    assert "meshseek pair" in out
    assert load_config(user_config()).access.handhelds == ()


def test_nobody_is_let_in_by_yes_alone(bench: Bench) -> None:
    assert run("--vault", str(bench.vault), "--port", bench.pty.path, "--yes") == 0
    assert load_config(user_config()).access.handhelds == ()


def test_the_question_to_try_leaves_private_notes_alone(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    for note in bench.vault.iterdir():
        note.unlink()
    (bench.vault / "Diary.md").write_text("---\nprivate: true\n---\nsecretive\n")
    assert run("--vault", str(bench.vault), "--port", "/dev/nowhere", "--yes") == 0
    out = capsys.readouterr().out
    assert "Diary" not in out
    assert "secretive" not in out


def test_a_place_that_cannot_be_written_is_one_sentence(home: Path) -> None:
    (home / "plain").write_text("")
    with pytest.raises(GatewayError, match="--config"):
        init_config.write(home / "plain" / "meshseek.toml", "x")


def test_the_only_vault_is_found(home: Path) -> None:
    (home / "Documents" / "My notes" / ".obsidian").mkdir(parents=True)
    (home / ".hidden" / ".obsidian").mkdir(parents=True)
    (home / "Obsidian").mkdir()  # holds nothing
    assert vault_candidates(home) == (home / "Documents" / "My notes",)


def test_the_named_vault_comes_first(home: Path) -> None:
    for name in ("Vault", "Elsewhere"):
        (home / name).mkdir()
    assert vault_candidates(home, {"OBSIDIAN_VAULT_PATH": str(home / "Elsewhere")}) == (
        home / "Elsewhere",
        home / "Vault",
    )


def test_looking_for_vaults_is_bounded_and_follows_no_loop(home: Path) -> None:
    (home / "loop").symlink_to(home)
    for n in range(FOLDERS_LIMIT // 10):
        (home / f"d{n}").mkdir()
    assert vault_candidates(home) == ()
