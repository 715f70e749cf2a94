"""Every command runs in a home directory of its own."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from setup_bench import Bench, setup_bench


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "MESHSEEK_CONFIG", "OBSIDIAN_VAULT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.setenv("OMNISEARCH_URL", "off")
    monkeypatch.setattr(sys, "stdin", io.StringIO())  # Nobody is at the terminal.
    return tmp_path


@pytest.fixture
def bench(home: Path) -> Iterator[Bench]:
    with setup_bench(home) as made:
        yield made
