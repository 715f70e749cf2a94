"""Changes one thing in the owner's config file: which handhelds may ask.

Comments and order stay, a copy is kept beside the file (``….bak``), the new text replaces the old in one step with the
same permissions and owner, and before that it is read back: it must let in whom it should and change nothing else.
"""

from __future__ import annotations

import base64
import binascii
import os
import tempfile
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gateway.errors import GatewayError, UsageError
from gateway.protocol.admission import KEY_BYTES, Handheld, RefusalReason, Refused, explain
from gateway.protocol.inert import for_terminal
from gateway.protocol.messages import node_id, node_number
from search_core.graphemes import clip

NAME_BYTES = 24
"""Longest name of a handheld that is shown or written."""


def is_key(key: bytes) -> bool:
    """Whether this could be a public key at all."""
    return len(key) == KEY_BYTES and any(key)


def short_name(name: str) -> str:
    """A name made inert and short."""
    return clip(for_terminal(name).strip(), NAME_BYTES).strip()


def key_from_text(text: str) -> bytes:
    """A public key as the apps show it: base64 of 32 bytes. Raises UsageError."""
    try:
        key = base64.b64decode(text.strip().removeprefix("base64:"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not is_key(key):
        raise UsageError(f"{for_terminal(text[:60])!r} is not a public key: 44 characters of base64 are expected")
    return key


def read_handhelds(config_path: Path) -> tuple[Handheld, ...]:
    """The handhelds that the config lets in.

    Raises UsageError when it is absent, not TOML or has wrong entries, GatewayError when it cannot be read.
    """
    return _handhelds_in(_parsed(_read(config_path), config_path))


def _handhelds_in(config: dict[str, Any]) -> tuple[Handheld, ...]:
    access = config.get("access", {})
    entries = access.get("handheld", []) if isinstance(access, dict) else []
    try:
        return tuple(
            Handheld(node_number(entry["node"]), key_from_text(entry["key"]), str(entry.get("name", "")))
            for entry in entries
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f'[[access.handheld]]: every entry needs node = "!a1b2c3d4" and key = "…" ({error})') from None


def write_handheld(config_path: Path, node: int, key: bytes, name: str = "", *, change_key: bool = False) -> Path:
    """Add one handheld to the config; with `change_key` give a configured number this key. Returns the backup's path.

    Raises UsageError when the number is configured with another key and `change_key` is not set, or the file is not a
    config; GatewayError when it cannot be read or written.
    """
    path = Path(os.path.realpath(config_path))
    before = _read(path)
    after = _with_handheld(before, path, Handheld(node, key, short_name(name)), change_key=change_key)
    backup = path.with_name(path.name + ".bak")
    try:
        mode = path.stat().st_mode & 0o777
        _write_atomically(backup, before, mode)
        _write_atomically(path, after, mode)
    except OSError as error:
        raise GatewayError(f"{path}: cannot be written ({error.strerror}); nothing was changed") from error
    return backup


def _with_handheld(before: str, path: Path, new: Handheld, *, change_key: bool) -> str:
    configured = _handhelds_in(_parsed(before, path))
    same = [h for h in configured if h.node == new.node]
    if any(h.key != new.key for h in same) and not change_key:
        raise UsageError(explain(Refused(RefusalReason.KEY_MISMATCH, new.node, new.key, same[0].key)))
    elsewhere = next((h.node for h in configured if h.key == new.key and h.node != new.node), None)
    if elsewhere is not None:
        raise UsageError(
            f"{path}: this key is configured for {node_id(elsewhere)} already; if the handheld's number has changed, "
            "remove that entry first"
        )
    after = _edited(before, path, new)
    if not _says_only(after, new, configured, before):
        raise GatewayError(f"{path}: its layout could not be kept; add the entry by hand:\n{_entry_text(new)}")
    return after


def _says_only(after: str, new: Handheld, configured: Sequence[Handheld], before: str) -> bool:
    """Whether the new text lets in the new handheld, those of before, and changes nothing else."""
    expected = {(h.node, h.key) for h in configured if h.node != new.node} | {(new.node, new.key)}
    old = tomllib.loads(before)
    try:
        changed = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        return False
    let_in = {(h.node, h.key) for h in _handhelds_in(changed)}
    for config in (old, changed):
        config.setdefault("access", {}).pop("handheld", None)
    return let_in == expected and old == changed


def _edited(before: str, path: Path, new: Handheld) -> str:
    """The file's text with the entry in it, by tomlkit, which keeps every comment."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(before)
        entries = document.get("access", {}).get("handheld", [])
        old = next((e for e in entries if node_number(str(e["node"])) == new.node), None)
        if old is not None:
            old["key"] = key_text(new.key)
            return tomlkit.dumps(document)
    except (TOMLKitError, AttributeError, TypeError) as error:
        raise UsageError(f"{path}: {error}") from error
    if entries and isinstance(entries, tomlkit.items.Array):
        entries.append({"node": node_id(new.node), "key": key_text(new.key), "name": new.name})
        return tomlkit.dumps(document)
    return before.rstrip("\n") + "\n\n" + _entry_text(new)


def _entry_text(new: Handheld) -> str:
    """A table of its own at the end of the file: the one place where it can change the meaning of nothing else."""
    import tomlkit

    entry = tomlkit.table()
    entry.update({"node": node_id(new.node), "key": key_text(new.key), "name": new.name})
    return "[[access.handheld]]\n" + entry.as_string()


def key_text(key: bytes) -> str:
    """A key as the apps show it, and as the config has it."""
    return base64.b64encode(key).decode("ascii")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")  # Line ends as they are.
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no config here yet; `meshseek init` writes one") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text") from None
    except OSError as error:
        raise GatewayError(f"{path}: cannot be read ({error.strerror})") from error


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None


def _write_atomically(path: Path, text: str, mode: int) -> None:
    """Whole or not at all, even when the power fails; never readable by more people than before."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600 from the start
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            _keep_owner(file.fileno(), path)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_directory(path.parent)


def _keep_owner(descriptor: int, path: Path) -> None:
    """Under sudo the service's file must not become root's."""
    with suppress(FileNotFoundError, PermissionError):
        old = path.stat()
        os.fchown(descriptor, old.st_uid, old.st_gid)


def _sync_directory(directory: Path) -> None:
    with suppress(OSError):  # Some file systems cannot; the file itself is safe by then.
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
