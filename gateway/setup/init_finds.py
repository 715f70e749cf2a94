"""What `meshseek init` finds by itself: vaults, the radio's port, a question worth trying. Every look is bounded."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from gateway.config import Config
from gateway.radio.devices import RADIO_VENDORS, UsbSerial, usb_serials
from search_core import NoteGone, Scope, SearchCore

SEARCH_DEPTH = 4
"""Folders below home."""
FOLDERS_LIMIT = 3_000
SEARCH_SECONDS = 2.0
CANDIDATES_LIMIT = 9
NOTES_LIMIT = 200_000
NEWEST_TRIED = 20
WORD = re.compile(r"[^\W\d_]{4,24}")
SKIPPED = frozenset(("node_modules", "snap", "Library", "site-packages", "venv"))


def vault_candidates(home: Path, env: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Folders that look like a vault, the likeliest first."""
    named = env.get("OBSIDIAN_VAULT_PATH")
    usual = [Path(named).expanduser()] if named else []
    usual += [home / "Vault", home / "Obsidian"]
    found: dict[str, Path] = {}
    for path in (*usual, *_with_obsidian_settings(home)):
        real = os.path.realpath(path)
        holds_vaults = path == home / "Obsidian" and not (path / ".obsidian").is_dir() and not any(path.glob("*.md"))
        if path.is_dir() and real not in found and not holds_vaults:
            found[real] = path
    return tuple(found.values())[:CANDIDATES_LIMIT]


def _with_obsidian_settings(home: Path) -> Iterator[Path]:
    until = time.monotonic() + SEARCH_SECONDS
    waiting = deque([(home, 0)])
    for _ in range(FOLDERS_LIMIT):
        if not waiting or time.monotonic() > until:
            return
        folder, depth = waiting.popleft()
        below = _folders_in(folder)
        if ".obsidian" in below:
            yield folder
        elif depth < SEARCH_DEPTH:
            waiting += [(folder / name, depth + 1) for name in below if name[0] != "." and name not in SKIPPED]


def _folders_in(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def likely_radios() -> tuple[UsbSerial, ...]:
    """The USB devices that may be a Meshtastic radio."""
    return tuple(device for device in usb_serials() if device.vendor in RADIO_VENDORS)


def question_to_try(config: Config, core: SearchCore, scope: Scope) -> tuple[str, str] | None:
    """A word of one of the newest notes that a handheld may see, and that note's path; None without any."""
    for path in _newest(config.vault.path):
        try:
            text = core.read(path, scope=scope).text
        except NoteGone:
            continue
        words = WORD.findall(Path(path).stem) or WORD.findall(text[:2000])
        if words:
            return max(words, key=len), path
    return None


def _newest(vault: Path) -> list[str]:
    """Paths of the newest notes, below the vault."""
    found: list[tuple[float, str]] = []
    for folder, names, files in os.walk(vault):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            if name.endswith(".md") and len(found) < NOTES_LIMIT:
                place = Path(folder) / name
                found.append((_modified(place), str(place.relative_to(vault))))
    return [path for _, path in sorted(found, reverse=True)[:NEWEST_TRIED]]


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
