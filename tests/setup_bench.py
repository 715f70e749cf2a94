"""A home directory, a vault and a radio on a pseudo-terminal: the bench on which the set-up commands are tried."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gateway.protocol.messages import LoRaSettings, node_id
from gateway.radio.simulated.frames import RadioSetup
from gateway.radio.simulated.handheld import Handheld
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node, introduce
from gateway.radio.simulated.pty_radio import PtyRadio

SPEED = 10.0
SECRET = "hunter2 under the third board"
"""Stands in a note; no command but `init` may print it."""

CAP_DAC_OVERRIDE = 1 << 1
"""capabilities(7): whoever has it reads and writes everything."""


def is_almighty() -> bool:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return bool(int(status.partition("CapEff:")[2].split()[0], 16) & CAP_DAC_OVERRIDE)


not_as_root = pytest.mark.skipif(is_almighty(), reason="root may read and write everything; run as a user")


@dataclass
class Bench:
    home: Path
    vault: Path
    pty: PtyRadio
    handheld: Handheld
    extra: str = ""
    """More lines of config."""
    allowed: bool = True
    handheld_key: bytes | None = None
    """Configured instead of the true one."""
    replaced: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def file(self) -> Path:
        return self.home / "meshseek.toml"

    def config(self) -> Path:
        """Write the config as it stands now."""
        text = f'[vault]\npath = "{self.vault}"\nsource = "local"\n[radio]\nport = "{self.pty.path}"\n'
        text += f'[state]\ndirectory = "{self.state}"\n{self.extra}\n'
        if self.allowed:
            key = base64.b64encode(self.handheld_key or self.handheld.key).decode()
            text += f'[[access.handheld]]\nnode = "{node_id(self.handheld.number)}"\nkey = "{key}"\nname = "T-Deck"\n'
        for old, new in self.replaced.items():
            assert old in text
            text = text.replace(old, new)
        self.file.write_text(text, encoding="utf-8")
        self.file.chmod(0o600)
        return self.file


@contextmanager
def setup_bench(home: Path, *, region: str = "US", introduced: bool = True, speed: float = SPEED) -> Iterator[Bench]:
    vault = home / "vault"
    vault.mkdir()
    (vault / "Stove.md").write_text("# Stove\n\nIt sputters: the jet is blocked, shake it upside down.\n")
    (vault / "Safe.md").write_text(f"# Safe\n\nThe combination: {SECRET}.\n")
    mesh = Mesh(3, lora=LoRaSettings(region=region))
    node = Node(mesh, 0xA1B2C3D4, RadioSetup(long_name="Loft"))
    handheld = Handheld(mesh, 0x7C5AE114, "T-Deck")
    if introduced:
        introduce(node, handheld.node)
    with PtyRadio(mesh, node, link=str(home / "radio"), speed=speed) as pty:
        yield Bench(home, vault, pty, handheld)
