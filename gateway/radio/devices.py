"""Which device is the radio, and why it cannot be opened: each trouble in one sentence with its remedy.

Reads ``/dev`` and ``/sys`` below a root that tests replace. Nothing here opens a port.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_TCP_PORT = 4403
"""Meshtastic's network API."""

RADIO_VENDORS = {
    0x239A: "Adafruit or RAK (nRF52)",
    0x303A: "Espressif (ESP32-S3)",
    0x2886: "Seeed",
    0x10C4: "CP210x serial bridge",
    0x1A86: "CH34x serial bridge",
    0x0403: "FTDI serial bridge",
    0x2E8A: "Raspberry Pi (RP2040)",
}
"""USB vendors of boards that carry Meshtastic; a bridge may be something else."""

DIALOUT_REMEDY = "add yourself to its group (`sudo usermod -aG {group} $USER`), then log in again"


class DeviceProblem(Exception):
    """The radio's device cannot be used as things stand; the text says why and what to do."""


class DeviceAbsent(DeviceProblem):
    """There is nothing to open (yet)."""


@dataclass(frozen=True, slots=True)
class RadioTarget:
    """Where the radio is: exactly one of the three, or none for "find the one on USB"."""

    serial: str = ""
    """Device path, best below ``/dev/serial/by-id``."""
    tcp_host: str = ""
    tcp_port: int = DEFAULT_TCP_PORT
    ble: str = ""
    """Bluetooth address or name."""

    @staticmethod
    def from_tcp(text: str) -> RadioTarget:
        """From ``host``, ``host:4403`` or ``[2001:db8::1]:4403``. Raises ValueError with what is allowed."""
        host, port = _split_host(text.strip())
        if not host or any(c.isspace() for c in host):
            raise ValueError(f"{text!r} is not a host or host:port")
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(f"{text!r} has no valid port (1 to 65535)")
        return RadioTarget(tcp_host=host, tcp_port=int(port))

    def __str__(self) -> str:
        if self.tcp_host:
            return f"tcp {self.tcp_host}:{self.tcp_port}"
        if self.ble:
            return f"ble {self.ble}"
        return self.serial or "auto"


def _split_host(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, rest[1:] if rest.startswith(":") else ("" if rest else str(DEFAULT_TCP_PORT))
    if text.count(":") > 1:
        return text, str(DEFAULT_TCP_PORT)
    host, colon, port = text.partition(":")
    return host, port if colon else str(DEFAULT_TCP_PORT)


@dataclass(frozen=True, slots=True)
class UsbSerial:
    """A serial device on USB."""

    device: str
    """The kernel's name, e.g. ``/dev/ttyACM0``; changes when it is plugged in again."""
    vendor: int
    product: int
    serial: str
    by_id: str = ""
    """Its lasting name below ``/dev/serial/by-id``, when udev gives one."""

    @property
    def path(self) -> str:
        return self.by_id or self.device

    @property
    def identity(self) -> tuple[int, int, str] | None:
        """What stays the same when it comes back as another ttyACM; None when it has no serial number."""
        return (self.vendor, self.product, self.serial) if self.serial else None


def usb_serials(root: Path = Path("/")) -> tuple[UsbSerial, ...]:
    """The serial devices on USB, by name."""
    lasting = _by_id(root)
    folder = root / "sys/class/tty"
    names = sorted(folder.iterdir()) if folder.is_dir() else []
    found = (_usb_serial_or_none(entry, lasting) for entry in names if entry.name.startswith(("ttyACM", "ttyUSB")))
    return tuple(device for device in found if device is not None)


def _by_id(root: Path) -> dict[str, str]:
    """Kernel device name → its by-id path."""
    folder = root / "dev/serial/by-id"
    if not folder.is_dir():
        return {}
    return {Path(os.path.realpath(link)).name: f"/dev/serial/by-id/{link.name}" for link in sorted(folder.iterdir())}


def _usb_serial_or_none(entry: Path, lasting: dict[str, str]) -> UsbSerial | None:
    """Climbs from the tty to the USB device that carries it: the first ancestor with an ``idVendor``."""
    start = Path(os.path.realpath(entry / "device"))
    for folder in (start, *list(start.parents)[:4]):
        if (folder / "idVendor").is_file():
            try:
                vendor, product = (int(_read(folder / name), 16) for name in ("idVendor", "idProduct"))
            except ValueError:
                return None
            by_id = lasting.get(entry.name, "")
            return UsbSerial(f"/dev/{entry.name}", vendor, product, _read(folder / "serial"), by_id)
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


class Locator:
    """Finds the target's device path anew for each attempt, and remembers which device it was.

    A device given as ``/dev/ttyACM0`` that comes back under another number is followed by its USB serial number.
    """

    def __init__(self, target: RadioTarget, root: Path = Path("/")) -> None:
        self._target = target
        self._root = root
        self._identity: tuple[int, int, str] | None = None
        self._found = ""

    def locate(self) -> str:
        """The path to open. Raises DeviceAbsent when it is not there, or when nothing or too much fits "auto"."""
        devices = usb_serials(self._root)
        path = self._wanted(devices)
        device = next((d for d in devices if path in (d.device, d.by_id)), None)
        if device is not None and device.identity is not None:
            self._identity = self._identity or device.identity
        self._found = path
        return path

    def mark(self) -> object:
        """Which very file was located last: changes when the device is plugged in anew, None when it is away."""
        try:
            real = os.path.realpath(self._below(self._found))
            status = os.stat(real)
        except OSError:
            return None
        return (real, status.st_rdev, status.st_ino)

    def _wanted(self, devices: tuple[UsbSerial, ...]) -> str:
        if not self._target.serial:
            return the_only_radio(devices)
        path = self._target.serial
        known = self._identity
        there = next((d for d in devices if path in (d.device, d.by_id)), None)
        if known is not None and (there is None or there.identity != known):
            same = next((d for d in devices if d.identity == known), None)
            if same is not None:
                return same.path
        if not os.path.lexists(self._below(path)) or not os.path.exists(self._below(path)):
            raise DeviceAbsent(f"the radio's device {path} is not there: is it plugged in?{_hint(devices)}")
        return path

    def _below(self, path: str) -> str:
        return path if self._root == Path("/") else str(self._root / path.lstrip("/"))


def _hint(devices: tuple[UsbSerial, ...]) -> str:
    likely = [d for d in devices if d.vendor in RADIO_VENDORS]
    return f" What is there: {', '.join(d.path for d in likely)}" if likely else ""


def the_only_radio(devices: tuple[UsbSerial, ...]) -> str:
    """The one device that may be a Meshtastic radio. Raises DeviceAbsent with the list and the config line."""
    likely = [d for d in devices if d.vendor in RADIO_VENDORS]
    if not likely:
        raise DeviceAbsent(
            "no USB device that looks like a Meshtastic radio was found: plug it in with a data cable, "
            'or name it in the config: [radio] port = "/dev/serial/by-id/…"'
        )
    if len(likely) > 1:
        listed = "; ".join(f"{d.path} ({RADIO_VENDORS[d.vendor]})" for d in likely)
        raise DeviceAbsent(
            f'several devices could be the radio: {listed}. Choose in the config: [radio] port = "{likely[0].path}"'
        )
    return likely[0].path


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has the device open."""

    pid: int
    name: str


def holders(path: str, proc: Path = Path("/proc")) -> tuple[Holder, ...]:
    """The other processes that have the device open, as far as we may see them."""
    real = os.path.realpath(path)
    found = []
    for folder in proc.iterdir() if proc.is_dir() else ():
        if folder.name.isdigit() and int(folder.name) != os.getpid() and _has_open(folder, real):
            found.append(Holder(int(folder.name), _read(folder / "comm")))
    return tuple(sorted(found, key=lambda one: one.pid))


def _has_open(folder: Path, real: str) -> bool:
    try:
        return any(os.readlink(fd) == real for fd in (folder / "fd").iterdir())
    except OSError:
        return False


def held_problem(path: str, others: tuple[Holder, ...]) -> str:
    """Said when the port is locked by somebody."""
    if not others:
        return f"{path} is held by another program: stop it (`sudo fuser -v {path}` names it)"
    named = ", ".join(f"{printable(h.name)} (pid {h.pid})" for h in others)
    return f"{path} is held by {named}: one program can use the radio at a time, stop the other"


def permission_problem(path: str) -> str:
    """Said when we may not open the device."""
    return f"no permission to open {path}: {DIALOUT_REMEDY.format(group=_group(path))}"


def _group(path: str) -> str:
    import grp

    try:
        return grp.getgrgid(Path(path).stat().st_gid).gr_name
    except (OSError, KeyError):
        return "dialout"


def open_problem(path: str, error: BaseException) -> str:
    """The sentence for a port that did not open; `error` is what the system said, with its number."""
    code = _error_number(error)
    if code in (errno.EACCES, errno.EPERM):
        return permission_problem(path)
    if code in (errno.EAGAIN, errno.EBUSY):
        return held_problem(path, holders(path))
    if code in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return f"the radio's device {path} is not there: is it plugged in?"
    if code in (errno.ENOTTY, errno.EINVAL):
        return f"{path} is not a serial device"
    return f"{path} cannot be opened ({printable(str(error))})"


def _error_number(error: BaseException) -> int | None:
    """The system's number, or that of the error that it was made from (pyserial drops termios's)."""
    candidates = (getattr(error, "errno", None), *error.args[:1])
    found = next((number for number in candidates if isinstance(number, int)), None)
    return _error_number(error.__context__) if found is None and error.__context__ is not None else found


def others_at(where: str) -> tuple[Holder, ...]:
    """Who else has this open; nobody for a network address or a pseudo-terminal, whose maker holds it too."""
    real = os.path.realpath(where)
    return holders(real) if real.startswith("/dev/") and not real.startswith("/dev/pts/") else ()


def silent_problem(target: str, seconds: float) -> str:
    """Said when the device opened but never spoke Meshtastic; names who else reads from it."""
    others = others_at(target)
    shared = f"; {held_problem(target, others)}" if others else ""
    return (
        f"nothing that speaks Meshtastic answered at {target} for {seconds:g} s: another device, a radio without "
        "Meshtastic firmware, or its serial API is off (app: Security, Serial Console; "
        f"`meshtastic --set security.serial_enabled true` over Bluetooth){shared}"
    )


def bluetooth_problem(address: str, error: BaseException) -> str:
    """Said when there is no Bluetooth connection."""
    return (
        f"no Bluetooth connection to {address} ({type(error).__name__}: {printable(str(error))}): is Bluetooth on, "
        f"the radio paired (`bluetoothctl pair {address}`), and no phone connected to it?"
    )


def printable(text: str, limit: int = 200) -> str:
    """Foreign text made safe for a log line or terminal: one line, no control characters, bounded."""
    tame = "".join(c if c.isprintable() else "?" for c in text[: limit + 1])
    return tame if len(tame) <= limit else f"{tame[:limit]}…"
