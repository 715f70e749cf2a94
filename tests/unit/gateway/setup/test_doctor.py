"""One thing is broken at a time, and doctor must name it with what to do about it."""

from __future__ import annotations

import base64
import json
import os
import pty
import subprocess
import sys
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from omnisearch_server import OmnisearchServer, Respond, head, hung, raw, row, rows
from setup_bench import SECRET, Bench, not_as_root, setup_bench

from gateway.config import load_config
from gateway.places import user_config
from gateway.protocol.admission import fingerprint
from gateway.protocol.messages import node_id
from gateway.setup.checks_radio import check_radio
from gateway.setup.doctor import doctor, examine
from gateway.setup.findings import FAULT, OK, WARNING, Finding, Scene
from gateway.setup.radio_look import look
from gateway.setup.snapshot import Snapshot
from gateway.store_files import FILE_NAME

ASKED_SECONDS = 8.0
"""For a radio that answers."""
NOT_ASKED = 0.0


def findings(config: Path | None, seconds: float = NOT_ASKED, now: float | None = None) -> list[Finding]:
    scene = Scene(time.time() if now is None else now, seconds)
    return list(examine(str(config) if config is not None else None, scene))


def bad(found: list[Finding], level: str = FAULT) -> dict[str, Finding]:
    """The findings of this level by check; each must say what to do."""
    chosen = [finding for finding in found if finding.level == level]
    assert all(finding.remedy for finding in chosen), chosen
    return {finding.check: finding for finding in chosen}


def test_a_gateway_that_was_never_started_lacks_nothing_but_its_start(bench: Bench) -> None:
    found = findings(bench.config(), ASKED_SECONDS)
    assert bad(found) == {}
    assert list(bad(found, WARNING)) == ["service"]
    order = list(dict.fromkeys(finding.check for finding in found))
    assert order == [
        *("program", "config", "vault", "index", "omnisearch", "device", "permission", "port", "radio", "key"),
        *("handheld", "clock", "state", "service", "watchdog", "channels"),
    ]


def test_the_radio_is_told_goodbye(bench: Bench) -> None:
    findings(bench.config(), ASKED_SECONDS)
    assert bench.pty.wait_for(lambda: bench.pty.goodbyes == 1, timeout=2)


def test_nothing_is_made_or_changed_but_the_index(bench: Bench) -> None:
    config = bench.config()
    before = config.read_bytes()
    findings(config)
    assert config.read_bytes() == before
    assert not bench.state.exists()


def test_the_output_may_be_shown_to_anybody(bench: Bench, capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert doctor(str(bench.config()), radio_seconds=ASKED_SECONDS) == 0
    out = capsys.readouterr().out
    for key in (bench.handheld.key, bench.pty.node.key):
        assert base64.b64encode(key).decode() not in out
        assert key.hex() not in out
        assert fingerprint(key) in out
    assert SECRET.split()[0] not in out
    assert str(home) not in out
    assert "0 faults, 1 warning." in out


def test_json_is_one_object_with_the_same_findings(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.allowed = False
    assert doctor(str(bench.config()), as_json=True, radio_seconds=NOT_ASKED) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["faults"], report["warnings"]) == (False, 1, 1)
    (fault,) = [check for check in report["checks"] if check["level"] == FAULT]
    assert fault["check"] == "handheld"
    assert "meshseek pair" in fault["remedy"]


def test_without_a_config_init_is_the_remedy(home: Path) -> None:
    (fault,) = bad(findings(None)).values()
    assert fault.check == "config"
    assert str(user_config()).replace(str(home), "~") in fault.text
    assert "meshseek init" in fault.remedy


def test_every_mistake_in_the_config_is_named_and_the_rest_goes_on(bench: Bench) -> None:
    bench.extra = '[vualt]\nx = 1\n[limits]\nquestions_per_hour = "many"\n'
    found = findings(bench.config(), ASKED_SECONDS)
    faults = [finding for finding in found if finding.level == FAULT]
    assert [finding.check for finding in faults] == ["config", "config"]
    assert "did you mean vault?" in " ".join(finding.text for finding in faults)
    assert any(finding.check == "radio" and finding.level == OK for finding in found)


def test_a_config_that_is_no_toml_does_not_end_the_examination(bench: Bench) -> None:
    bench.extra = "[limits\n"
    found = findings(bench.config())
    assert "line" in bad(found)["config"].text
    assert {"clock", "watchdog"} <= {finding.check for finding in found}


def test_a_wrong_key_is_not_printed(bench: Bench) -> None:
    true = base64.b64encode(bench.handheld.key).decode()
    bench.replaced = {true: true[:-6]}
    fault = bad(findings(bench.config()))["config"]
    assert "access.handheld[1].key" in fault.text
    assert true[:20] not in fault.text


def test_a_config_that_anybody_may_change(bench: Bench) -> None:
    bench.config().chmod(0o666)
    assert "chmod o-w" in bad(findings(bench.file))["config"].remedy


def test_a_missing_vault(bench: Bench) -> None:
    bench.replaced = {str(bench.vault): "/nowhere/Vault"}
    fault = bad(findings(bench.config()))["vault"]
    assert "/nowhere/Vault is not there" in fault.text


def test_an_empty_vault(bench: Bench) -> None:
    for note in bench.vault.iterdir():
        note.unlink()
    assert "no notes" in bad(findings(bench.config()), WARNING)["vault"].text


@not_as_root
def test_an_unreadable_vault(bench: Bench) -> None:
    bench.vault.chmod(0)
    try:
        assert "chmod u+rx" in bad(findings(bench.config()))["vault"].remedy
    finally:
        bench.vault.chmod(0o700)


def test_a_cache_that_cannot_be_written(bench: Bench, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    (home / "plain").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "plain"))
    assert "writable" in bad(findings(bench.config()), WARNING)["index"].remedy


def test_omnisearch_that_is_wanted_and_does_not_answer(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNISEARCH_URL", "http://127.0.0.1:9")
    bench.replaced = {'source = "local"': 'source = "omnisearch"'}
    fault = bad(findings(bench.config()))["omnisearch"]
    assert "127.0.0.1:9 refused the connection" in fault.text
    assert "HTTP server" in fault.remedy


def test_omnisearch_that_is_not_there_is_no_fault(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNISEARCH_URL", "http://127.0.0.1:9")
    bench.replaced = {'source = "local"': 'source = "auto"'}
    (found,) = [finding for finding in findings(bench.config()) if finding.check == "omnisearch"]
    assert found.level == OK
    assert "127.0.0.1:9" in found.text


@pytest.mark.parametrize(
    ("respond", "remedy"),
    [
        (rows(row("a.md", vault="Other")), "two vaults"),
        (raw(head(2, "text/html") + b"hi"), "another program has this port"),
        (hung, "restart Obsidian"),
    ],
    ids=["other vault", "other program", "hung"],
)
def test_the_remedy_fits_what_is_in_omnisearchs_place(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, respond: Respond, remedy: str
) -> None:
    bench.replaced = {'source = "local"': 'source = "auto"'}
    with OmnisearchServer(respond) as server:
        monkeypatch.setenv("OMNISEARCH_URL", f"http://127.0.0.1:{server.port}")
        assert remedy in bad(findings(bench.config()), WARNING)["omnisearch"].remedy


def test_an_environment_that_names_no_address_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNISEARCH_URL", "junk")
    bench.replaced = {'source = "local"': 'source = "auto"'}
    warning = bad(findings(bench.config()), WARNING)["omnisearch"]
    assert "'junk'" in warning.text
    assert "unset it" in warning.remedy


def test_a_radio_that_is_unplugged(bench: Bench) -> None:
    config = bench.config()
    bench.pty.call(bench.pty.unplug)
    fault = bad(findings(config))["device"]
    assert f"{bench.pty.path} is not there".replace(str(bench.home), "~") in fault.text


@pytest.mark.parametrize("path", ["/dev/null", "plain"])
def test_a_device_that_is_no_serial_port(bench: Bench, path: str) -> None:
    (bench.home / "plain").write_text("")
    bench.replaced = {bench.pty.path: path if path[0] == "/" else str(bench.home / path)}
    faults = bad(findings(bench.config(), 2.0))
    assert "is not a serial device" in " ".join(fault.text for fault in faults.values())


@not_as_root
def test_a_device_that_we_may_not_open(bench: Bench) -> None:
    config = bench.config()
    os.chmod(bench.pty.path, 0)
    assert "usermod" in bad(findings(config))["permission"].remedy


def test_a_port_that_another_program_holds(bench: Bench) -> None:
    config = bench.config()
    with _held(bench.pty.path) as pid:
        fault = bad(findings(config, ASKED_SECONDS))["radio"]
    assert f"(pid {pid})" in fault.text
    assert "stop the other" in fault.remedy


@contextmanager
def _held(path: str) -> Iterator[int]:
    code = "import serial, sys; s = serial.Serial(sys.argv[1], exclusive=True); print('held', flush=True); input()"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        yield holder.pid
    finally:
        holder.communicate("\n")


def test_a_device_that_never_speaks_meshtastic(bench: Bench) -> None:
    ours, theirs = pty.openpty()
    try:
        tty.setraw(theirs)
        bench.replaced = {bench.pty.path: os.ttyname(theirs)}
        fault = bad(findings(bench.config(), 1.5))["radio"]
    finally:
        os.close(ours)
        os.close(theirs)
    assert "nothing that speaks Meshtastic answered" in fault.text
    assert "serial API" in fault.remedy


def test_a_region_that_is_not_set(home: Path) -> None:
    with setup_bench(home, region="UNSET") as bench:
        found = findings(bench.config(), ASKED_SECONDS)
    fault = bad(found)["radio"]
    assert "region is not set" in fault.text
    assert "--set lora.region" in fault.remedy


def test_a_handheld_that_the_radio_has_not_met(home: Path) -> None:
    with setup_bench(home, introduced=False) as bench:
        warning = bad(findings(bench.config(), ASKED_SECONDS), WARNING)["handheld"]
    assert node_id(bench.handheld.number) in warning.text
    assert "send any text" in warning.remedy


def test_a_handheld_with_another_key_is_an_alarm(bench: Bench) -> None:
    bench.handheld_key = b"o" * 32
    fault = bad(findings(bench.config(), ASKED_SECONDS))["handheld"]
    assert fault.text.startswith("ALARM")
    assert fingerprint(b"o" * 32) in fault.text
    assert fingerprint(bench.handheld.key) in fault.text
    assert f"meshseek pair --node '{node_id(bench.handheld.number)}'" in fault.remedy


def test_an_open_gateway_is_said_to_be_open(bench: Bench) -> None:
    bench.extra = "[access]\nopen = true\n"
    assert "anybody" in bad(findings(bench.config()), WARNING)["handheld"].text


def test_a_channel_that_the_radio_does_not_have(bench: Bench) -> None:
    bench.extra = '[access]\nchannels = ["Family"]\n'
    found = findings(bench.config(), ASKED_SECONDS)
    assert 'no channel "Family"' in bad(found)["channels"].text
    assert "everybody knows" in bad(found, WARNING)["radio"].text


def test_a_clock_that_was_never_set(bench: Bench) -> None:
    found = findings(bench.config(), now=86_400.0)
    assert "1970" in bad(found)["clock"].text


def test_a_clock_that_lags_behind_the_notes(bench: Bench) -> None:
    os.utime(bench.vault / "Stove.md", (time.time() + 7200, time.time() + 7200))
    assert "newest note" in bad(findings(bench.config()), WARNING)["clock"].text


def test_a_state_directory_that_cannot_be_made(bench: Bench) -> None:
    (bench.home / "plain").write_text("")
    bench.replaced = {str(bench.state): str(bench.home / "plain" / "state")}
    assert "[state] directory" in bad(findings(bench.config()))["state"].remedy


@not_as_root
def test_a_state_directory_that_cannot_be_written(bench: Bench) -> None:
    bench.state.mkdir(mode=0o500)
    assert "[state] directory" in bad(findings(bench.config()))["state"].remedy


def test_a_damaged_state_file_is_named_and_left_alone(bench: Bench) -> None:
    bench.state.mkdir(mode=0o700)
    (bench.state / FILE_NAME).write_bytes(b"no database" * 1000)
    fault = bad(findings(bench.config()))["state"]
    assert "begins a new one" in fault.remedy
    assert (bench.state / FILE_NAME).read_bytes() == b"no database" * 1000


def test_looking_at_a_radio_takes_no_longer_than_it_may(bench: Bench) -> None:
    ours, theirs = pty.openpty()
    began = time.monotonic()
    try:
        from gateway.radio.devices import RadioTarget

        assert isinstance(look(RadioTarget(serial=os.ttyname(theirs)), 1.0), str)
    finally:
        os.close(ours)
        os.close(theirs)
    assert time.monotonic() - began < 5


def test_a_full_disk_is_named_also_when_the_state_could_not_even_be_begun(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.state.mkdir(mode=0o700)
    (bench.state / FILE_NAME).touch()
    monkeypatch.setattr("shutil.disk_usage", lambda _place: SimpleNamespace(free=0))
    full, empty = [found for found in findings(bench.config()) if found.check == "state"]
    assert full.remedy == "make room"
    assert "is empty" in empty.text
    assert "started again" in empty.remedy


@pytest.mark.parametrize(
    ("port", "reason", "remedy"),
    [
        ('port = "/dev/x"', "/dev/x is gone: unplugged, rebooted or read by another program", "data cable"),
        ('port = "/dev/x"', "nothing came from the radio for 300 s", "ten seconds"),
        ('tcp = "10.0.0.9"', "tcp 10.0.0.9:4403 closed the connection", "within reach"),
        ('tcp = "10.0.0.9"', "no connection to tcp 10.0.0.9:4403: is the radio on?", "is the radio on?"),
    ],
)
def test_a_link_that_is_down_has_a_remedy_for_its_kind(home: Path, port: str, reason: str, remedy: str) -> None:
    file = home / "x.toml"
    file.write_text(f'[vault]\npath = "{home}"\n[radio]\n{port}\n')
    now = time.time()
    status = {"running": True, "at": now, "wall": now, "link": {"up": False, "reason": reason}}
    scene = Scene(now, NOT_ASKED, file, load_config(file), snapshot=Snapshot(home, status=status))
    [fault] = check_radio(scene)
    assert remedy in fault.remedy
