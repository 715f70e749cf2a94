"""The config that `meshseek init` writes: the one template that ships with meshseek, with the answers in it."""

from __future__ import annotations

import contextlib
import os
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from gateway.errors import GatewayError, UsageError
from gateway.radio.devices import RadioTarget

TEMPLATE = Path(__file__).with_name("template.toml")
MODE = 0o600
DIRECTORY_MODE = 0o700


def filled(vault: Path, port: str) -> str:
    """The template's text with this vault and port; `port` as `expect_port` takes it."""
    import tomlkit

    document: Any = tomlkit.parse(TEMPLATE.read_text(encoding="utf-8"))
    document["vault"]["path"] = str(vault)
    kind, place = _kind_of(port)
    if kind == "port":
        document["radio"]["port"] = place
    else:
        del document["radio"]["port"]
        document["radio"].add(kind, place)
    return tomlkit.dumps(document)


def _kind_of(port: str) -> tuple[str, str]:
    for kind in ("tcp", "ble"):
        if port.startswith(f"{kind}:"):
            return kind, port.removeprefix(f"{kind}:")
    return "port", port


def expect_port(text: str) -> str:
    """``auto``, a device file, ``tcp:host[:port]`` or ``ble:address``. Raises UsageError for anything else."""
    kind, place = _kind_of(text)
    try:
        if kind == "tcp":
            RadioTarget.from_tcp(place)
    except ValueError as error:
        raise UsageError(f"--port {text}: {error}") from None
    if not place or (kind == "port" and place != "auto" and not place.startswith("/")):
        raise UsageError(
            f"--port {text!r}: give a device file like /dev/serial/by-id/…, `auto`, or tcp:HOST for a radio on the LAN"
        )
    return text


def says_the_same(one: str, other: str) -> bool:
    """Whether two configs differ in nothing but the handhelds that were let in since, and comments."""
    try:
        return _without_handhelds(one) == _without_handhelds(other)
    except tomllib.TOMLDecodeError:
        return False


def _without_handhelds(text: str) -> dict[str, Any]:
    config = tomllib.loads(text)
    access = config.get("access")
    if isinstance(access, dict):
        access.pop("handheld", None)
    return config


def read_text(file: Path) -> str | None:
    """The config that is there; None when there is none. Raises GatewayError."""
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GatewayError(f"{file}: cannot be read ({error.strerror})") from error


def write(file: Path, text: str) -> Path | None:
    """Write the config in one step, for nobody else to read; returns an earlier one's copy. Raises as `init` does."""
    backup = file.with_name(file.name + ".bak")
    try:
        file.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        before = file.read_bytes() if file.exists() else None
        if before is not None:
            _replace(backup, before)
        _replace(file, text.encode())
    except UnicodeEncodeError:
        raise UsageError("the vault or the port has a name that is no UTF-8, which a config must be") from None
    except OSError as error:
        raise GatewayError(f"{file}: cannot be written ({error.strerror}); choose another with --config") from error
    return backup if before is not None else None


def _replace(file: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), MODE)
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
