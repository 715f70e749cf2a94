"""Where files live: XDG directories for a person, the directories that systemd hands over for a service."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

SYSTEM_CONFIG = Path("/etc/meshseek/meshseek.toml")
CONFIG_NAME = "meshseek.toml"


def user_config(env: Mapping[str, str] = os.environ) -> Path:
    """The config file of the person who runs this, whether it exists or not."""
    base = env.get("XDG_CONFIG_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".config")
    return Path(base) / "meshseek" / CONFIG_NAME


def find_config(env: Mapping[str, str] = os.environ) -> Path | None:
    """The config file to read when none was named: MESHSEEK_CONFIG, the user's, then the system's."""
    named = env.get("MESHSEEK_CONFIG")
    if named:
        return Path(named).expanduser()
    return next((path for path in (user_config(env), SYSTEM_CONFIG) if _is_there(path)), None)


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return True  # In a folder that is not for us to enter: whoever reads it will say so.


def state_directory(env: Mapping[str, str] = os.environ) -> Path:
    """Where the gateway keeps what it owes: STATE_DIRECTORY (set by systemd), else the XDG state directory."""
    from_systemd = env.get("STATE_DIRECTORY", "").split(":", maxsplit=1)[0]
    if from_systemd:
        return Path(from_systemd)
    base = env.get("XDG_STATE_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".local" / "state")
    return Path(base) / "meshseek"


def default_vault(env: Mapping[str, str] = os.environ) -> str:
    """OBSIDIAN_VAULT_PATH, else ``~/Vault``."""
    return env.get("OBSIDIAN_VAULT_PATH") or "~/Vault"
