"""Status reads what a gateway wrote, and changes nothing of it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from setup_bench import not_as_root

from gateway.cli import run
from gateway.errors import GatewayError
from gateway.protocol.admission import RefusalReason, Refused
from gateway.protocol.answers import Question
from gateway.protocol.budget import AirtimeBudget, AirtimeRules
from gateway.protocol.messages import (
    ChannelInfo,
    ChannelPrivacy,
    LoRaSettings,
    NodeSeen,
    RadioInfo,
    RadioTelemetry,
)
from gateway.protocol.outbox import DeliveryRules, Outbox
from gateway.setup.console import span
from gateway.setup.snapshot import take_snapshot
from gateway.setup.status import as_object, status
from gateway.setup.status_text import lines
from gateway.status import NODES_LIMIT, Board, process_birth, radio_as_json, radio_from_json
from gateway.store import Store
from gateway.store_files import FILE_NAME
from gateway.toml_tables import ConfigError

NOW = 1_800_000_000.0
KEY = bytes(range(32))
INFO = RadioInfo(
    node=0xA1B2C3D4,
    key=KEY,
    firmware="2.7.26",
    lora=LoRaSettings(region="EU_868"),
    channels=(ChannelInfo(0, "", ChannelPrivacy.PUBLIC), ChannelInfo(1, "Familie", ChannelPrivacy.PRIVATE, True)),
    nodes=(NodeSeen(0x7C5AE114, "T-Deck", "TD", KEY, 1_799_999_000), NodeSeen(0xBB, "keyless")),
    mqtt_enabled=True,
)
STRANGER = Refused(RefusalReason.UNKNOWN_NODE, 0x0BAD0BAD, b"k" * 32)


@pytest.fixture
def directory(home: Path) -> Path:
    return home / "state"


@pytest.fixture
def config(home: Path, directory: Path) -> str:
    (home / "vault").mkdir()
    (home / "vault" / "Note.md").write_text("Some words.\n")
    file = home / "meshseek.toml"
    file.write_text(f'[vault]\npath = "{home}/vault"\nsource = "local"\n[state]\ndirectory = "{directory}"\n')
    return str(file)


def a_board(now: float = NOW) -> Board:
    board = Board(now - 3600)
    board.note_link(True, now - 3500, "")
    board.note_radio(INFO)
    board.note_heard(now - 12)
    board.note_telemetry(RadioTelemetry(4.25, 0.5, 100), now)
    board.count("questions", 2)
    board.refuse(STRANGER, now - 60)
    board.note_engine("omnisearch+local")
    return board


def written(directory: Path, board: Board, *, now: float = NOW, wall: float = NOW, stopped: bool = False) -> None:
    store = Store(directory)
    budget = AirtimeBudget(AirtimeRules())
    if stopped:
        board.note_stopped()
    report = board.report(Outbox(DeliveryRules(), budget, lambda: 1), budget, INFO, now) | {"wall": wall, "asked": 0}
    with store.transaction():
        store.accept(_question(1, "where is the key"))
        store.describe(1, "hits", 12.5)
        store.end_question(1, "delivered", "", NOW - 93)
        store.accept(_question(2, "is it still kept"))
        board.write(store, report, now)
    store.close()


def _question(number: int, text: str) -> Question:
    return Question(
        number=number,
        node=0x7C5AE114,
        packet_id=number,
        text=text,
        asked_at=NOW - 100,
        wall_time=NOW - 100,
        name="T-Deck",
        key=KEY,
        folders=(),
        channel=None,
        hops=0,
        snr=None,
        rssi=None,
    )


def shown(directory: Path, now: float = NOW, *, show_text: bool = False) -> str:
    return "\n".join(lines(take_snapshot(directory), None, now, show_text=show_text))


def test_a_running_gateway_is_told_with_all_its_figures(directory: Path) -> None:
    written(directory, a_board())
    text = shown(directory)
    assert "running for 1 h 0 min" in text
    assert "up for 58 min · !a1b2c3d4 · firmware 2.7.26 · EU_868 LONG_FAST" in text
    assert "12 s ago" in text
    assert re.search(r"0 s of [\d.]+ s this hour · channel 4\.2 % busy · radio sent 0\.5 % of the hour", text)
    assert "questions 2" in text
    assert "delivered after 7 s (hits, searched in 12 ms)" in text
    assert "1 time, last 1 min ago: !0bad0bad" in text
    assert "meshseek pair --node '!0bad0bad'" in text


def test_words_are_shown_only_when_asked_for_and_only_while_they_are_kept(directory: Path) -> None:
    written(directory, a_board())
    assert "is it still kept" not in shown(directory)
    text = shown(directory, show_text=True)
    assert "is it still kept" in text
    assert "where is the key" not in text
    assert "its words are not kept" in text


def test_a_gateway_that_stopped_is_told_from_one_that_died(directory: Path) -> None:
    written(directory, a_board(), stopped=True)
    assert "stopped since" in shown(directory, NOW + 300)
    report = as_object(take_snapshot(directory), None, NOW + 300, show_text=False)
    assert not report["running"]
    assert not report["status"]["link"]["up"]
    store = Store(directory)
    report = json.loads(store.fact("status")) | {"running": True}
    report["process"]["born"] = "1"
    with store.transaction():
        store.put_fact("status", json.dumps(report))
    store.close()
    assert "ended without a word" in shown(directory)
    assert "journalctl" in shown(directory)


def test_times_follow_the_machines_clock_when_it_was_set_after_the_start(directory: Path) -> None:
    """The steady clock lags two hours behind: ages must not show it."""
    written(directory, a_board(), wall=NOW + 7200)
    assert "12 s ago" in shown(directory, NOW + 7200)


def test_looking_makes_no_file_and_changes_none(directory: Path, config: str) -> None:
    assert status(config) == 1
    assert not directory.exists()
    written(directory, a_board(), stopped=True)
    before = (directory / FILE_NAME).read_bytes()
    assert status(config) == 0
    assert (directory / FILE_NAME).read_bytes() == before


def test_json_has_iso_times_with_zone_and_no_keys(
    directory: Path, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(directory, a_board())
    assert status(config, as_json=True) == 0
    out = capsys.readouterr().out
    report = json.loads(out)
    assert report["running"] is True
    assert report["vault"]["notes"] == 1
    for when in (report["now"], report["status"]["link"]["since"], report["questions"][0]["asked_at"]):
        assert datetime.fromisoformat(when).tzinfo is not None
    assert datetime.fromisoformat(report["questions"][0]["asked_at"]).timestamp() == NOW - 100
    assert report["refusals"][0]["node"] == "!0bad0bad"
    assert KEY.hex() not in out
    assert (b"k" * 32).hex() not in out
    assert "text" not in report["questions"][0]


def test_a_damaged_state_is_said_in_one_line(directory: Path, config: str) -> None:
    directory.mkdir()
    (directory / FILE_NAME).write_bytes(b"no database" * 500)
    with pytest.raises(GatewayError, match="sets it aside"):
        status(config)


def test_without_a_config_the_state_is_in_its_usual_place(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(home / ".local" / "state" / "meshseek", a_board())
    assert status(None) == 0
    assert "!a1b2c3d4" in capsys.readouterr().out


def test_what_strangers_wrote_cannot_act_on_the_terminal(directory: Path) -> None:
    board = a_board()
    board.note_radio(replace(INFO, firmware="2.7\x1b[2J"))
    board.note_link(False, NOW, "it said \x1b[31mred\u202e")
    written(directory, board)
    assert "\x1b" not in shown(directory)
    assert "\u202e" not in shown(directory)


def test_the_radio_is_read_back_as_it_was_written() -> None:
    assert radio_from_json(radio_as_json(INFO, INFO.nodes)) == INFO


@pytest.mark.parametrize("junk", ["", "{}", "[]", "null", '{"node": 1}', '{"key": 5}', "\x00"])
def test_a_radio_that_cannot_be_read_back_is_none(junk: str) -> None:
    assert radio_from_json(junk) is None


def test_the_nodes_that_are_kept_are_bounded_and_handhelds_are_among_them(directory: Path) -> None:
    board = Board(NOW, keep=frozenset({7}))
    board.note_radio(replace(INFO, nodes=()))
    for number in range(1, 5 * NODES_LIMIT):
        board.note_node(NodeSeen(number, f"node {number}", last_heard=number))
    written(directory, board)
    radio = take_snapshot(directory).radio
    assert radio is not None
    assert len(radio.nodes) == NODES_LIMIT + 1
    assert {7, 5 * NODES_LIMIT - 1} <= {node.node for node in radio.nodes}


def test_a_key_that_is_known_is_not_lost_to_a_card_without_one() -> None:
    board = Board(NOW)
    board.note_radio(INFO)
    board.note_node(NodeSeen(0x7C5AE114, "new name"))
    assert board._nodes[0x7C5AE114].key == KEY


def test_a_process_is_known_by_its_birth() -> None:
    assert process_birth(os.getpid())
    assert process_birth(2**22 + 1) == ""


def test_spans_have_two_units_at_most() -> None:
    assert [span(s) for s in (0, 59, 60, 3599, 3600, 90_000)] == [
        "0 s",
        "59 s",
        "1 min",
        "59 min",
        "1 h 0 min",
        "1 d 1 h",
    ]


@not_as_root
def test_a_services_files_are_found_by_everybody_but_read_by_its_user(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As installed: config and state in folders that only the service's user may enter."""
    for name in ("etc", "lib"):
        (home / name).mkdir()
    system = home / "etc" / "meshseek.toml"
    system.write_text('[vault]\npath = "/nowhere"\n')
    written(home / "lib", a_board())
    monkeypatch.setattr("gateway.places.SYSTEM_CONFIG", system)
    monkeypatch.setattr("gateway.setup.snapshot.SYSTEM_CONFIG", system)
    monkeypatch.setattr("gateway.setup.snapshot.SYSTEM_STATE", home / "lib")
    for name in ("etc", "lib"):
        (home / name).chmod(0)
    try:
        with pytest.raises(GatewayError, match="Permission denied"):
            status(None)
        assert run(["search", "--source", "local", "words"]) == 3  # No vault of our own; not the service's.
        assert "~/Vault".replace("~", str(home)) in capsys.readouterr().err
        assert run(["serve"]) == 2
        assert "Permission denied" in capsys.readouterr().err
    finally:
        for name in ("etc", "lib"):
            (home / name).chmod(0o700)


def test_a_config_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        status(str(tmp_path / "elsewhere.toml"))
