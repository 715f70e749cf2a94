"""One index of the real notes for all tests here: building it is a third of their time."""

from __future__ import annotations

from pathlib import Path

import pytest

from search_core import SearchCore


@pytest.fixture(scope="session")
def real_notes(shared_data: Path) -> str:
    return str(shared_data / "vaults" / "notes")


@pytest.fixture(scope="session")
def real_cache(real_notes: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The cache folder with the index of `real_notes`; tests that use it are one group for pytest-xdist."""
    cache = str(tmp_path_factory.mktemp("cache"))
    core = SearchCore(real_notes, cache_dir=cache)
    core.info()
    core.close()
    return cache
