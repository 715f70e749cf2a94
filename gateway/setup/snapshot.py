"""The gateway's state as another process finds it: read only, whether the gateway runs or not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.config import Config
from gateway.pairing import Asked
from gateway.places import SYSTEM_CONFIG, state_directory
from gateway.protocol.messages import RadioInfo
from gateway.setup.other_user import user_of
from gateway.status import QUIET_SECONDS, process_birth, process_space, radio_from_json, read
from gateway.store import Store, StoreTrouble

SYSTEM_STATE = Path("/var/lib/meshseek")
"""Where systemd's StateDirectory= puts it for the unit in ``deploy/``."""
SYSTEM_CACHE = Path("/var/cache/meshseek")
STALE_SECONDS = 3 * QUIET_SECONDS
"""A gateway that runs writes its status at least once in `QUIET_SECONDS`."""


def state_directory_of(config: Config | None, file: Path | None = None) -> Path:
    """Where the gateway of this config keeps its state; the service's own place for the system's config.

    `file` names the config that could not be read.
    """
    if config is not None and config.state_directory is not None:
        return config.state_directory
    file = config.file if config is not None else file
    is_system = file == SYSTEM_CONFIG and "STATE_DIRECTORY" not in os.environ
    return SYSTEM_STATE if is_system and _is_there(SYSTEM_STATE) else state_directory()


def _is_there(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return True  # It is there, though not for us.


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the state file said. Times in it are of the gateway's steady clock: `wall` makes them Unix times."""

    directory: Path
    trouble: str = ""
    """Why nothing could be read; empty when it could."""
    is_absent: bool = False
    """No gateway has ever run here."""
    is_damaged: bool = False
    status: Mapping[str, Any] = field(default_factory=dict)
    questions: tuple[Mapping[str, Any], ...] = ()
    refusals: tuple[Mapping[str, Any], ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)
    radio: RadioInfo | None = None
    """As the radio was when the link came up last, with all nodes heard since."""

    @property
    def is_closed(self) -> bool:
        """It may not be read by us: a gateway may run on it or not."""
        return bool(self.trouble) and not self.is_absent and not self.is_damaged

    def table(self, name: str) -> Mapping[str, Any]:
        value = self.status.get(name)
        return value if isinstance(value, Mapping) else {}

    def wall(self, steady: float) -> float:
        """A time of the state file as Unix seconds."""
        at, wall = self.status.get("at"), self.status.get("wall")
        return steady + (wall - at if isinstance(at, float | int) and isinstance(wall, float | int) else 0.0)

    def written_at(self) -> float | None:
        """When the status was written, Unix seconds."""
        at = self.status.get("at")
        return self.wall(at) if isinstance(at, float | int) else None

    @property
    def process(self) -> int | None:
        """The gateway's process number, where it means something to us."""
        process = self.table("process")
        pid = process.get("pid")
        return pid if isinstance(pid, int) and process.get("space") == process_space() else None

    def is_running(self, now: float) -> bool:
        """Whether a gateway runs on this state; `now` in Unix seconds."""
        written = self.written_at()
        if not self.status.get("running") or written is None:
            return False
        if self.process is not None:
            return process_birth(self.process) == self.table("process").get("born")
        return abs(now - written) < STALE_SECONDS

    def has_died(self, now: float) -> bool:
        """It did not say that it stopped, yet it does not run."""
        return bool(self.status.get("running")) and not self.is_running(now)

    def askers(self) -> tuple[Asked, ...]:
        """The nodes that were refused."""
        return tuple(
            Asked(int(row["node"]), _key(row.get("key")), self.wall(float(row["last"])))
            for row in self.refusals
            if 0 < int(row["node"]) < 0xFFFFFFFF
        )


def _key(value: object) -> bytes | None:
    return bytes(value) if isinstance(value, bytes) else None


def take_snapshot(directory: Path) -> Snapshot:
    """The state in this directory. Never raises: what is the matter stands in `trouble`."""
    try:
        store = Store.for_reading(directory)
    except StoreTrouble as trouble:
        return Snapshot(directory, str(trouble), is_absent=trouble.absent, is_damaged=trouble.damaged)
    try:
        found = read(store)
        return Snapshot(
            directory,
            status=_mapping(found["status"]),
            questions=_rows(found["questions"]),
            refusals=_rows(found["refusals"]),
            counters=_mapping(found["counters"]),
            texts=store.texts(),
            radio=radio_from_json(str(found["radio"])),
        )
    except StoreTrouble as trouble:
        return Snapshot(directory, str(trouble), is_damaged=trouble.damaged)
    except ValueError as error:
        return Snapshot(directory, f"the status in it cannot be read ({error})", is_damaged=True)
    finally:
        store.close()


def remedy_for(snapshot: Snapshot) -> str:
    """What to do when the state cannot be read."""
    if snapshot.is_damaged:
        return "the gateway sets it aside and begins a new one when it is started again"
    owner = user_of(snapshot.directory)
    if owner is not None and owner.pw_uid != os.geteuid():
        return f"it belongs to the user {owner.pw_name}: run this with `sudo -u {owner.pw_name}`"
    return "check its permissions, or set [state] directory"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: object) -> tuple[Mapping[str, Any], ...]:
    return tuple(row for row in value if isinstance(row, Mapping)) if isinstance(value, list) else ()
