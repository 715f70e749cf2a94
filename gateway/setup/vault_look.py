"""The vault and its index as the set-up commands see them."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from gateway.config import Config
from gateway.places import SYSTEM_CONFIG
from gateway.protocol.admission import PrivacyRules, scope_for
from gateway.setup.console import Progress
from gateway.setup.snapshot import SYSTEM_CACHE
from search_core import Scope, SearchCore, VaultInfo


@dataclass(frozen=True, slots=True)
class IndexLook:
    """An index file; times in Unix seconds."""

    place: str
    """Path, or ``memory``."""
    size: int
    modified: float | None


def open_core(config: Config, progress: Progress | None = None) -> SearchCore:
    """The search core of this config, with our own index: the service's belongs to the service's user."""
    # An index that is kept in memory is said by the commands themselves.
    logging.getLogger("meshseek.search").addHandler(logging.NullHandler())
    vault = config.vault
    cache = str(config.cache_directory) if config.cache_directory else None
    return SearchCore(
        str(vault.path), exclude=vault.exclude, omnisearch=vault.omnisearch, cache_dir=cache, progress=progress
    )


def owner_scope(privacy: PrivacyRules) -> Scope:
    """What a handheld without a list of folders may see."""
    return scope_for((), privacy)


def vault_info(config: Config, *, engine: bool = False) -> VaultInfo:
    """Counts, with the index brought up to date; with `engine` also whether Omnisearch answers. Raises SearchError."""
    progress = Progress()
    core = open_core(config, progress)
    try:
        return core.info(source="auto" if engine else "local")
    finally:
        progress.clear()
        core.close()


def index_look(config: Config, info: VaultInfo) -> IndexLook:
    """The index that the gateway uses: the service's when it has one that we may see, else ours."""
    place = info.index_place
    if config.file == SYSTEM_CONFIG and place != "memory":
        of_service = SYSTEM_CACHE / os.path.basename(place)
        place = str(of_service) if os.path.exists(of_service) else place
    try:
        found = Path(place).stat()
    except OSError:
        return IndexLook(place, info.index_bytes, None)
    return IndexLook(place, found.st_size, found.st_mtime)
