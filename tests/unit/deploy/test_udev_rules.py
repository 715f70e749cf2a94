"""The udev rule names the radio and leaves every device's owner and mode alone."""

from __future__ import annotations

import re
from pathlib import Path

from gateway.radio.devices import RADIO_VENDORS

RULES = (Path(__file__).resolve().parents[3] / "deploy" / "60-meshseek.rules").read_text(encoding="utf-8")
LINES = [line for line in RULES.splitlines() if line and not line.startswith("#")]
TERM = re.compile(r'(?:[A-Z]+(?:\{[A-Za-z_]+\})?)(?:==|!=|\+=|=)"[^"]*"')


def test_every_line_is_a_list_of_terms() -> None:
    for line in LINES:
        assert all(TERM.fullmatch(term) for term in line.split(", ")), line


def test_every_jump_has_its_label() -> None:
    assert set(re.findall(r'GOTO="(\w+)"', RULES)) == set(re.findall(r'LABEL="(\w+)"', RULES))


def test_every_vendor_that_the_program_takes_for_a_radio_is_named_and_no_other() -> None:
    named = {int(vendor, 16) for vendor in re.findall(r'ATTRS\{idVendor\}=="([0-9a-f]{4})"', RULES)}
    assert named == set(RADIO_VENDORS)


def test_no_device_changes_hands() -> None:
    assert not re.search(r"\b(MODE|GROUP|OWNER|RUN|PROGRAM)\b", "\n".join(LINES))


def test_the_name_is_given_after_what_is_no_usb_serial_device_has_left() -> None:
    assert LINES[1:3] == [
        'SUBSYSTEM!="tty", GOTO="meshseek_end"',
        'KERNEL!="ttyACM[0-9]*|ttyUSB[0-9]*", GOTO="meshseek_end"',
    ]
    naming = next(number for number, line in enumerate(LINES) if "SYMLINK" in line)
    assert LINES[naming - 2 : naming] == ['GOTO="meshseek_end"', 'LABEL="meshseek_radio"']
    assert 'SYMLINK+="meshtastic"' in LINES[naming]
