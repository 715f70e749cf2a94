"""Finding the radio among USB devices (a made-up /dev and /sys), and the sentences for what is wrong."""

from __future__ import annotations

import errno
import os
import termios
from pathlib import Path

import pytest

from gateway.radio.devices import (
    DeviceAbsent,
    Holder,
    Locator,
    RadioTarget,
    UsbSerial,
    held_problem,
    holders,
    open_problem,
    others_at,
    permission_problem,
    printable,
    silent_problem,
    usb_serials,
)

RAK = ("239a", "8029", "ABC123")
HELTEC = ("303a", "1001", "F00D")
KEYBOARD_PROGRAMMER = ("dead", "beef", "1")


class Machine:
    """A made-up /dev and /sys."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "dev/serial/by-id").mkdir(parents=True)
        (root / "sys/class/tty").mkdir(parents=True)

    def plug(self, name: str, usb: tuple[str, str, str], by_id: str = "") -> None:
        vendor, product, serial = usb
        device = self.root / f"sys/devices/usb1/{name}-port"
        (device / "iface").mkdir(parents=True)
        for file, text in (("idVendor", vendor), ("idProduct", product), ("serial", serial)):
            (device / file).write_text(text + "\n")
        (self.root / f"sys/class/tty/{name}").mkdir()
        (self.root / f"sys/class/tty/{name}/device").symlink_to(device / "iface")
        (self.root / f"dev/{name}").touch()
        if by_id:
            (self.root / f"dev/serial/by-id/{by_id}").symlink_to(f"../../{name}")

    def unplug(self, name: str) -> None:
        (self.root / f"dev/{name}").unlink()
        (self.root / f"sys/class/tty/{name}/device").unlink()
        (self.root / f"sys/class/tty/{name}").rmdir()
        for link in (self.root / "dev/serial/by-id").iterdir():
            if os.readlink(link).endswith(name):
                link.unlink()

    def locate(self, target: RadioTarget) -> str:
        return Locator(target, self.root).locate()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_lasting_name_is_preferred(machine: Machine) -> None:
    machine.plug("ttyACM0", RAK, by_id="usb-RAK_ABC123-if00")
    assert usb_serials(machine.root) == (
        UsbSerial("/dev/ttyACM0", 0x239A, 0x8029, "ABC123", "/dev/serial/by-id/usb-RAK_ABC123-if00"),
    )
    assert machine.locate(RadioTarget()) == "/dev/serial/by-id/usb-RAK_ABC123-if00"


def test_the_one_radio_is_taken_and_other_devices_are_not(machine: Machine) -> None:
    machine.plug("ttyACM0", KEYBOARD_PROGRAMMER)
    machine.plug("ttyUSB0", HELTEC)
    assert machine.locate(RadioTarget()) == "/dev/ttyUSB0"


def test_no_radio_says_what_to_do(machine: Machine) -> None:
    machine.plug("ttyACM0", KEYBOARD_PROGRAMMER)
    with pytest.raises(DeviceAbsent, match=r"no USB device .* \[radio\] port = "):
        machine.locate(RadioTarget())


def test_several_radios_are_listed_with_the_line_for_the_config(machine: Machine) -> None:
    machine.plug("ttyACM0", RAK, by_id="usb-RAK")
    machine.plug("ttyACM1", HELTEC)
    with pytest.raises(DeviceAbsent) as problem:
        machine.locate(RadioTarget())
    text = str(problem.value)
    assert "/dev/ttyACM1" in text
    assert '[radio] port = "/dev/serial/by-id/usb-RAK"' in text


def test_a_machine_without_usb_is_no_error(tmp_path: Path) -> None:
    assert usb_serials(tmp_path) == ()


def test_a_named_device_that_is_away_says_so_and_what_is_there_instead(machine: Machine) -> None:
    machine.plug("ttyUSB3", HELTEC)
    with pytest.raises(
        DeviceAbsent, match=r"/dev/ttyACM0 is not there: is it plugged in\? What is there: /dev/ttyUSB3"
    ):
        machine.locate(RadioTarget(serial="/dev/ttyACM0"))


def test_a_link_to_a_device_that_went_away_is_an_absent_device(machine: Machine) -> None:
    (machine.root / "dev/radio").symlink_to("ttyACM9")
    with pytest.raises(DeviceAbsent):
        machine.locate(RadioTarget(serial="/dev/radio"))


def test_a_radio_that_comes_back_under_another_number_is_followed(machine: Machine) -> None:
    machine.plug("ttyACM0", RAK)
    locator = Locator(RadioTarget(serial="/dev/ttyACM0"), machine.root)
    assert locator.locate() == "/dev/ttyACM0"
    machine.unplug("ttyACM0")
    with pytest.raises(DeviceAbsent):
        locator.locate()
    machine.plug("ttyACM1", RAK)
    assert locator.locate() == "/dev/ttyACM1"


def test_another_device_under_the_radio_s_old_number_is_not_taken_for_it(machine: Machine) -> None:
    machine.plug("ttyACM0", RAK)
    locator = Locator(RadioTarget(serial="/dev/ttyACM0"), machine.root)
    locator.locate()
    machine.unplug("ttyACM0")
    machine.plug("ttyACM1", RAK)
    (machine.root / "sys/devices/usb1/ttyACM0-port").rename(machine.root / "sys/devices/usb1/gone")
    machine.plug("ttyACM0", KEYBOARD_PROGRAMMER)
    assert locator.locate() == "/dev/ttyACM1"


def test_unreadable_identity_is_no_radio(machine: Machine) -> None:
    machine.plug("ttyACM0", ("zzzz", "1", ""))
    assert usb_serials(machine.root) == ()


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("radio.local", "radio.local", 4403),
        ("10.0.0.7:4404", "10.0.0.7", 4404),
        ("[2001:db8::1]:99", "2001:db8::1", 99),
        ("[2001:db8::1]", "2001:db8::1", 4403),
        ("2001:db8::1", "2001:db8::1", 4403),
    ],
)
def test_network_addresses(text: str, host: str, port: int) -> None:
    assert RadioTarget.from_tcp(text) == RadioTarget(tcp_host=host, tcp_port=port)


@pytest.mark.parametrize("text", ["", ":4403", "host:", "host:0", "host:65536", "host:x", "a b", "[::1]4403", "h:²"])
def test_what_is_no_network_address(text: str) -> None:
    with pytest.raises(ValueError):
        RadioTarget.from_tcp(text)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "no permission"),
        (errno.EAGAIN, "held by another program"),
        (errno.EBUSY, "held by another program"),
        (errno.ENOENT, "is it plugged in?"),
        (errno.ENXIO, "is it plugged in?"),
        (errno.ENOTTY, "not a serial device"),
        (errno.EIO, "cannot be opened"),
    ],
)
def test_each_trouble_in_opening_has_its_own_sentence(number: int, words: str) -> None:
    assert words in open_problem("/dev/ttyACM0", OSError(number, "whatever"))
    assert words in open_problem("/dev/ttyACM0", termios.error(number, "whatever"))


def test_missing_permission_names_the_device_s_group(tmp_path: Path) -> None:
    assert "`sudo usermod -aG dialout $USER`" in permission_problem("/dev/none-such")
    device = tmp_path / "tty"
    device.touch()
    assert "usermod -aG" in permission_problem(str(device))


def test_who_holds_the_device_is_named(tmp_path: Path) -> None:
    device = tmp_path / "ttyACM0"
    device.touch()
    for pid, name, target in (("77", "minicom", device), ("78", "bash", tmp_path), ("self", "x", device)):
        (tmp_path / f"proc/{pid}/fd").mkdir(parents=True)
        (tmp_path / f"proc/{pid}/comm").write_text(name + "\n")
        (tmp_path / f"proc/{pid}/fd/3").symlink_to(target)
    found = holders(str(device), tmp_path / "proc")
    assert found == (Holder(77, "minicom"),)
    assert "minicom (pid 77)" in held_problem("/dev/ttyACM0", found)


def test_a_program_s_name_cannot_garble_the_terminal() -> None:
    assert "\x1b" not in held_problem("/dev/ttyACM0", (Holder(1, "\x1b[2Jrm"),))
    assert printable("a\nb\x00c") == "a?b?c"
    assert printable("x" * 1000) == "x" * 200 + "…"


def test_a_pseudo_terminal_s_maker_is_no_rival() -> None:
    master, slave = os.openpty()
    try:
        assert others_at(os.ttyname(slave)) == ()
    finally:
        os.close(master)
        os.close(slave)


def test_silence_names_the_three_causes() -> None:
    text = silent_problem("/dev/ttyACM0", 30.0)
    assert "30 s" in text
    assert "serial_enabled" in text
    assert "firmware" in text
