"""Checks of this machine's side: program, config, vault, index, Omnisearch, clock, state directory."""

from __future__ import annotations

import os
import platform
import shutil
import stat
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gateway.config import examine_config
from gateway.places import SYSTEM_CONFIG, find_config, user_config
from gateway.radio.supervisor import EARLIEST_CLOCK
from gateway.setup.console import count, local_time, short_path, size, span
from gateway.setup.findings import FAULT, OK, WARNING, Finding, Findings, Scene
from gateway.setup.other_user import may_read_folder, user_of
from gateway.setup.snapshot import Snapshot, remedy_for, state_directory_of, take_snapshot
from gateway.setup.vault_look import index_look, open_core, vault_info
from gateway.store_files import FILE_NAME
from gateway.toml_tables import ConfigError, Problem
from gateway.version import VERSION
from search_core.errors import SearchError

CLOCK_SLACK_SECONDS = 600.0
LEAST_FREE_BYTES, FEW_FREE_BYTES = 5_000_000, 100_000_000
UNREADABLE_SHOWN = 3
FOLDERS_LIMIT = 5_000
"""Folders looked into for ones that may not be entered."""


OPEN_VAULT = "open this vault in Obsidian and switch on the HTTP server in Omnisearch's settings"
OMNISEARCH_REMEDIES = {
    "late": "wait until Omnisearch has made its index, or restart Obsidian",
    "hung": "wait until Omnisearch has made its index, or restart Obsidian",
    "wrong-vault": f"{OPEN_VAULT}; with two vaults open, give each its own port there",
    "wrongly-named": "set OMNISEARCH_URL right, or unset it",
    "not-omnisearch": f"another program has this port: set another one in Omnisearch's settings; {OPEN_VAULT}",
}
"""By what was found where Omnisearch should be."""


def check_program(_scene: Scene) -> Findings:
    libraries = ", ".join(f"{name} {_version(name)}" for name in ("meshtastic", "pyserial", "pypubsub", "tomlkit"))
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield Finding("program", OK, f"meshseek {VERSION}, Python {platform.python_version()}, {libraries}; {system}")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(absent)"


def config_check(named: str | None) -> Callable[[Scene], Findings]:
    """The check of the config that was named, or of the one that is found."""

    def check_config(scene: Scene) -> Findings:
        scene.file = Path(named).expanduser() if named else find_config()
        if scene.file is None:
            yield Finding("config", FAULT, f"there is none at {short_path(user_config())}", "`meshseek init` makes one")
            return
        try:
            scene.config, scene.problems = examine_config(scene.file)
        except ConfigError as error:
            scene.problems = error.problems
        yield from _config_findings(scene)

    return check_config


def _config_findings(scene: Scene) -> Findings:
    assert scene.file is not None
    inside = [problem for problem in scene.problems if not problem.outside]
    for problem in inside:
        yield Finding("config", FAULT, f"{short_path(scene.file)}: {_shown(problem)}", _config_remedy(scene, problem))
    if not inside:
        yield Finding("config", OK, short_path(scene.file))
    if scene.config is not None and scene.file.stat().st_mode & stat.S_IWOTH:
        remedy = f"`chmod o-w {short_path(scene.file)}`"
        yield Finding("config", FAULT, "anybody on this machine may change it, and so let handhelds in", remedy)


def _shown(problem: Problem) -> str:
    """Keys are not printed, not even wrong ones."""
    return str(Problem(problem.key, "", problem.allowed) if problem.key.endswith(".key") else problem)


def _config_remedy(scene: Scene, problem: Problem) -> str:
    if "No such file" in problem.allowed:
        return "`meshseek init` makes one"
    if "cannot be read" in problem.allowed:
        return "run this as its owner, or as root"
    return f"correct this line of {short_path(scene.file or '')}"


def check_vault(scene: Scene) -> Findings:
    config = scene.config
    if config is None:
        return
    if config.vault.path == Path():
        yield Finding("vault", FAULT, "unknown, since the config does not name it", "set [vault] path")
        return
    path = config.vault.path
    if not path.is_dir():
        text = f"{short_path(path)} is not a folder" if path.exists() else f"{short_path(path)} is not there"
        yield Finding("vault", FAULT, text, "mount or create it, or correct [vault] path in the config")
        return
    if not os.access(path, os.R_OK | os.X_OK):
        yield Finding("vault", FAULT, f"{short_path(path)} may not be read by this user", f"`chmod u+rx {path}`")
        return
    yield from _for_service(scene, path)
    yield from _unreadable(path)
    yield from _notes(scene)


def _for_service(scene: Scene, vault: Path) -> Findings:
    """Root may read everything; the service runs as the owner of its state, who may not."""
    if os.geteuid() != 0 or scene.snapshot is None or scene.config is None or scene.config.file != SYSTEM_CONFIG:
        return
    owner = user_of(scene.snapshot.directory)
    if owner is not None and owner.pw_uid != 0 and not may_read_folder(owner, vault):
        remedy = f"`sudo setfacl -R -m u:{owner.pw_name}:rX {vault}`, and x on each folder above it"
        yield Finding(
            "vault", FAULT, f"{short_path(vault)} may not be read by the service's user {owner.pw_name}", remedy
        )


def _unreadable(path: Path) -> Findings:
    """Folders below that may not be entered: their notes are missing without a word."""
    found: list[str] = []
    for number, (_folder, _names, _files) in enumerate(
        os.walk(path, onerror=lambda error: found.append(str(error.filename)))
    ):
        if number >= FOLDERS_LIMIT or len(found) > UNREADABLE_SHOWN:
            break
    if found:
        listed = ", ".join(short_path(one) for one in found[:UNREADABLE_SHOWN])
        yield Finding("vault", WARNING, f"folders that may not be read: {listed}", "their notes are not searched")


def _notes(scene: Scene) -> Findings:
    assert scene.config is not None
    try:
        info = vault_info(scene.config)
    except SearchError as error:
        yield Finding("vault", FAULT, str(error), "check the disk, and [vault] path in the config")
        return
    scene.newest_note = info.newest
    path = short_path(scene.config.vault.path)
    if not info.notes:
        yield Finding(
            "vault", WARNING, f"{path} has no notes that may be searched", "is [vault] path the right folder?"
        )
    else:
        notes = count(info.notes, "note")
        yield Finding("vault", OK, f"{path}: {notes}, the newest of {local_time(info.newest)}")
    index = index_look(scene.config, info)
    if index.place == "memory":
        text = "is kept in memory, since the cache directory cannot be written: each command reads all notes anew"
        yield Finding("index", WARNING, text, "make ~/.cache/meshseek (or XDG_CACHE_HOME) writable")
        return
    age = f", written {span(scene.now - index.modified)} ago" if index.modified else ""
    yield Finding("index", OK, f"{short_path(index.place)}, {size(index.size)}{age}")


def check_omnisearch(scene: Scene) -> Findings:
    config = scene.config
    if config is None or not config.vault.path.is_dir():
        return
    if config.vault.source == "local" or config.vault.omnisearch.enabled == "off":
        yield Finding("omnisearch", OK, "switched off in the config; the local search answers")
        return
    core = open_core(config)
    try:
        attempts = core.omnisearch().probe()
    except SearchError as error:
        yield Finding("omnisearch", WARNING, str(error), "the local search answers alone")
        return
    finally:
        core.close()
    tried = "; ".join(f"{attempt.address} {attempt.text}".strip() for attempt in attempts)
    if any(attempt.kind == "ok" for attempt in attempts):
        yield Finding("omnisearch", OK, tried)
        return
    is_wanted = config.vault.source == "omnisearch" or config.vault.omnisearch.enabled == "on"
    odd = next((attempt.kind for attempt in attempts if attempt.kind not in {"refused", "unknown"}), "")
    level = FAULT if is_wanted else WARNING if odd else OK
    remedy = (
        f'{OMNISEARCH_REMEDIES.get(odd, OPEN_VAULT)}, or set [omnisearch] enabled = "off" and [vault] source = "auto"'
    )
    alone = "nobody answers" if config.vault.source == "omnisearch" else "the local search answers alone"
    yield Finding("omnisearch", level, f"not there, {alone} ({tried})", remedy if level != OK else "")


def check_clock(scene: Scene) -> Findings:
    remedy = "set it: `sudo timedatectl set-ntp true`, or add a battery clock"
    if scene.now < EARLIEST_CLOCK:
        yield Finding("clock", FAULT, f"this machine thinks that it is {local_time(scene.now)}", remedy)
        return
    written = scene.snapshot.written_at() if scene.snapshot is not None else None
    for when, what in ((written, "the gateway's last status"), (scene.newest_note, "the newest note")):
        if when and when - scene.now > CLOCK_SLACK_SECONDS:
            text = f"{what} is of {local_time(when)}, but this machine thinks that it is {local_time(scene.now)}"
            yield Finding("clock", WARNING, text, remedy)
            return
    yield Finding("clock", OK, local_time(scene.now))


def take_state(scene: Scene) -> None:
    """Read the state first: what runs decides how the rest is checked."""
    scene.snapshot = take_snapshot(state_directory_of(scene.config, scene.file))


def check_state(scene: Scene) -> Findings:
    snapshot = scene.snapshot
    if snapshot is None:
        return
    place = short_path(snapshot.directory)
    if snapshot.is_absent and not snapshot.directory.is_dir():
        yield _state_to_be_made(snapshot)
        return
    yield from _room(snapshot.directory)
    if snapshot.trouble and not snapshot.is_absent:
        yield Finding("state", FAULT, f"{place}: {snapshot.trouble}", remedy_for(snapshot))
        return
    if not os.access(snapshot.directory, os.W_OK | os.X_OK):
        remedy = "run the gateway as its owner, or set [state] directory to one that can be written"
        yield Finding("state", FAULT, f"{place} may not be written by this user", remedy)
        return
    yield from _state_details(scene, snapshot)


def _state_to_be_made(snapshot: Snapshot) -> Finding:
    above = next((folder for folder in snapshot.directory.parents if folder.exists()), Path("/"))
    place = short_path(snapshot.directory)
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return Finding("state", OK, f"{place} will be made at the first start")
    remedy = "set [state] directory to one that can be written"
    return Finding("state", FAULT, f"{place} is not there and cannot be made in {short_path(above)}", remedy)


def _room(directory: Path) -> Findings:
    try:
        free = shutil.disk_usage(directory).free
    except OSError:  # Said below, with the rest of what may not be read.
        return
    if free < FEW_FREE_BYTES:
        level = FAULT if free < LEAST_FREE_BYTES else WARNING
        yield Finding("state", level, f"{short_path(directory)}: only {size(free)} free on this disk", "make room")


def _state_details(scene: Scene, snapshot: Snapshot) -> Findings:
    place, directory = short_path(snapshot.directory), snapshot.directory
    mode = stat.S_IMODE(directory.stat().st_mode)
    if mode & 0o077 and not snapshot.is_absent:
        yield Finding("state", WARNING, f"{place} is open to others (mode {mode:o})", f"`chmod 700 {place}`")
    for old in sorted(directory.glob(f"{FILE_NAME}.damaged-*"))[-1:]:
        text = f"a damaged state file was set aside on {local_time(old.stat().st_mtime)}: {old.name}"
        yield Finding("state", WARNING, text, "check the memory card or disk, then delete that file")
    trouble = snapshot.status.get("store_trouble")
    if trouble and scene.is_running:
        yield Finding("state", FAULT, f"the gateway cannot write it: {trouble}", "make room, or check the disk")
    else:
        yield Finding("state", OK, place)
