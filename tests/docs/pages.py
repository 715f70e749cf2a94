"""The documentation as the tests see it: its pages, their blocks, and a desk to try the examples at."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
README, GUIDE = ROOT / "README.md", ROOT / "deploy" / "README.md"
PAGES = (README, GUIDE, ROOT / "deploy" / "SECURITY.md", ROOT / "DESIGN.md", ROOT / "CHANGELOG.md")
EXAMPLE = ROOT / "deploy" / "meshseek.example.toml"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    page: str
    language: str
    """``sh`` and ``python`` are run by the tests; ``console`` needs root, a radio or the network."""
    text: str


def blocks(*pages: Path) -> list[Block]:
    """The fenced blocks of these pages."""
    found: list[Block] = []
    for page in pages:
        name = str(page.relative_to(ROOT))
        found += [Block(name, language, text) for language, text in _BLOCK.findall(page.read_text(encoding="utf-8"))]
    return found


def prose(*pages: Path) -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def desk(folder: Path) -> dict[str, str]:
    """Lay out `folder` like a fresh checkout with its environment; returns the environment variables to run in it.

    Home, cache and state are its own, so nothing of the machine's user is read or changed.
    """
    for name in ("gateway", "search_core", "deploy", "tests"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").mkdir()
    scripts = Path(sys.executable).parent
    (folder / ".venv" / "bin").symlink_to(scripts)
    home = folder / "home"
    home.mkdir()
    return {
        "PATH": f"{scripts}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "OMNISEARCH_URL": "off",
        "OBSIDIAN_VAULT_PATH": str(ROOT / "gateway" / "demo_vault"),
    }
