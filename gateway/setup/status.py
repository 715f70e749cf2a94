"""`meshseek status`: what the gateway does and has done, from its state file; it need not run for that."""

from __future__ import annotations

import json
import re
import shutil
import signal
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gateway.config import Config, examine_config
from gateway.errors import GatewayError
from gateway.places import find_config
from gateway.protocol.admission import fingerprint
from gateway.protocol.messages import node_id
from gateway.setup.console import Console, iso_time
from gateway.setup.snapshot import Snapshot, remedy_for, state_directory_of, take_snapshot
from gateway.setup.status_text import LABEL_COLUMNS, VaultLook, lines
from gateway.toml_tables import ConfigError
from gateway.version import VERSION

EXIT_OK, EXIT_NOTHING = 0, 1
REDRAW_SECONDS = 2.0
VAULT_SECONDS = 30.0
"""Between two looks at the vault while watching: it is the only part that costs something."""
TOP_LEFT, CLEAR_LINE_END, CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
CLEAR_SCREEN = "\x1b[2J"
ANSI = re.compile("\x1b\\[[0-9;]*m")


def status(config_path: str | None, *, as_json: bool = False, watch: bool = False, show_text: bool = False) -> int:
    """Print it. Returns 0, or 1 when no gateway has run here yet. Raises GatewayError when it cannot be read."""
    # Ctrl-C ends the watching, and nothing else is under way.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config, directory = _config_and_state(config_path)
    look = _VaultWatch(config)
    if not watch:
        return _show_once(_expect_readable(directory), look.look(), as_json=as_json, show_text=show_text)
    console = Console()
    console.raw(CLEAR_SCREEN if console.is_terminal and not as_json else "")
    try:
        while True:
            snapshot = take_snapshot(directory)
            if as_json:
                console.raw(json.dumps(as_object(snapshot, look.look(), time.time(), show_text=show_text)) + "\n")
            else:
                _redraw(console, lines(snapshot, look.look(), time.time(), console.styled, show_text=show_text))
            time.sleep(REDRAW_SECONDS)
    except KeyboardInterrupt:
        return EXIT_OK


def _config_and_state(config_path: str | None) -> tuple[Config | None, Path]:
    """The config, unless it cannot be read (`meshseek doctor` says why), and where the state is in any case."""
    file = Path(config_path).expanduser() if config_path else find_config()
    try:
        config = examine_config(file)[0] if file is not None else None
    except ConfigError:
        if config_path and file is not None and not file.exists():
            raise
        config = None
    return config, state_directory_of(config, file)


def _expect_readable(directory: Path) -> Snapshot:
    """Raises GatewayError with the remedy."""
    snapshot = take_snapshot(directory)
    if snapshot.trouble and not snapshot.is_absent:
        raise GatewayError(f"{snapshot.directory}: {snapshot.trouble}; {remedy_for(snapshot)}")
    return snapshot


def _show_once(snapshot: Snapshot, vault: VaultLook | None, *, as_json: bool, show_text: bool) -> int:
    console, now = Console(), time.time()
    if as_json:
        console.raw(json.dumps(as_object(snapshot, vault, now, show_text=show_text), ensure_ascii=False) + "\n")
    else:
        for line in _folded(console, lines(snapshot, vault, now, console.styled, show_text=show_text)):
            console.raw(line + "\n")
    return EXIT_NOTHING if snapshot.is_absent else EXIT_OK


def _redraw(console: Console, shown: list[str]) -> None:
    """Over what stood there before, without flicker, and no more than fits the screen."""
    if not console.is_terminal:
        console.raw("\n".join(shown) + "\n\n")
        return
    kept = _folded(console, shown)[: max(shutil.get_terminal_size().lines - 1, 1)]
    console.raw(TOP_LEFT + "".join(f"{line}{CLEAR_LINE_END}\n" for line in kept) + CLEAR_BELOW)


def _folded(console: Console, shown: list[str]) -> list[str]:
    """On a terminal, lines that are too long are folded below their text; they lose their colour."""
    if not console.is_terminal:
        return shown
    width = max(shutil.get_terminal_size().columns, 3 * LABEL_COLUMNS)
    margin = " " * LABEL_COLUMNS
    folded: list[str] = []
    for line in shown:
        plain = ANSI.sub("", line)
        short = len(plain) <= width
        folded += [line] if short else textwrap.wrap(plain, width, subsequent_indent=margin, break_on_hyphens=False)
    return folded


class _VaultWatch:
    """The vault, looked at now and then."""

    def __init__(self, config: Config | None, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._monotonic = monotonic
        self._looked_at = float("-inf")
        self._found: VaultLook | None = None

    def look(self) -> VaultLook | None:
        if self._config is not None and self._monotonic() - self._looked_at >= VAULT_SECONDS:
            self._found = VaultLook.of(self._config)
            self._looked_at = self._monotonic()
        return self._found


def as_object(snapshot: Snapshot, vault: VaultLook | None, now: float, *, show_text: bool) -> dict[str, Any]:
    """Everything, with ISO times and without keys."""
    status = dict(snapshot.status)
    for private in ("process", "wall"):
        status.pop(private, None)
    if not snapshot.is_running(now):
        status["link"] = {**snapshot.table("link"), "up": False}
    return {
        "version": VERSION,
        "now": iso_time(now),
        "running": snapshot.is_running(now),
        "state": str(snapshot.directory),
        "trouble": snapshot.trouble,
        "status": _with_iso_times(status, snapshot),
        "vault": vault.as_object() if vault is not None else None,
        "questions": [_question(row, snapshot, show_text=show_text) for row in snapshot.questions],
        "refusals": [_refusal(row, snapshot) for row in snapshot.refusals],
        "counters": dict(snapshot.counters),
    }


TIMES = frozenset(("at", "started", "since", "last_heard", "asked_at", "ended_at", "last"))
"""Names of the fields that hold a time."""


def _with_iso_times(value: Any, snapshot: Snapshot, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _with_iso_times(item, snapshot, str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_iso_times(item, snapshot) for item in value]
    return iso_time(snapshot.wall(value)) if name in TIMES and isinstance(value, float | int) else value


def _question(row: Mapping[str, Any], snapshot: Snapshot, *, show_text: bool) -> dict[str, Any]:
    shown = {"node": node_id(row["node"])} | {key: value for key, value in row.items() if key != "node"}
    for name in ("search_ms", "airtime"):
        shown[name] = round(row[name], 2) if row[name] is not None else None
    if show_text:
        shown["text"] = snapshot.texts.get(row["number"])
    return dict(_with_iso_times(shown, snapshot))


def _refusal(row: Mapping[str, Any], snapshot: Snapshot) -> dict[str, Any]:
    key = row.get("key")
    return {
        "node": node_id(row["node"]),
        "reason": row["reason"],
        "count": row["count"],
        "last": iso_time(snapshot.wall(row["last"])),
        "fingerprint": fingerprint(key) if isinstance(key, bytes) else None,
        "sentence": row["sentence"],
    }
