"""`meshseek pair`: the nodes that could be let in, from the running gateway or the radio itself, and the dialogue."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from gateway.config import Config, examine_config
from gateway.config_edit import key_from_text, read_handhelds
from gateway.errors import GatewayError
from gateway.pairing import Ask, Asked, Wish, candidates, run_pair
from gateway.protocol.messages import NodeSeen
from gateway.setup.console import Console
from gateway.setup.radio_look import LOOK_SECONDS, look
from gateway.setup.snapshot import remedy_for, state_directory_of, take_snapshot
from gateway.toml_tables import ConfigError


@dataclass(frozen=True, slots=True)
class Known:
    """The nodes that are known, and where from."""

    nodes: tuple[NodeSeen, ...] = ()
    asked: tuple[Asked, ...] = ()
    trouble: str = ""
    """Why the radio could not be asked."""


def pair(
    config_path: str,
    *,
    node: str | None,
    name: str | None,
    key: str | None,
    yes: bool,
    radio_seconds: float = LOOK_SECONDS,
) -> int:
    """Let one handheld in. Returns the exit code. Raises UsageError, GatewayError and ConfigError."""
    console = Console()
    wish = Wish(node, key_from_text(key) if key is not None else None, name, yes)
    if node is not None and not yes:
        console.expect_terminal("--yes", "your consent")
    file = Path(config_path).expanduser()
    # With number and key all is said: the radio need not be there.
    is_complete = wish.node is not None and wish.key is not None
    known = known_nodes(_config_for_radio(file), console, 0.0 if is_complete else radio_seconds)
    if known.trouble:
        console.say(known.trouble, "warning")
        console.say("without the radio a handheld can be let in with --node and --key")
    code = run_pair(file, known.nodes, known.asked, wish, now=time.time(), ask=_ask_of(console), say=console.tell)
    if node is None and candidates(known.nodes, known.asked, read_handhelds(file)):
        console.expect_terminal("--node !… --yes", "the handheld")
    return code


def _ask_of(console: Console) -> Ask:
    """Without a terminal nobody answers; the list of nodes is shown all the same."""

    def nobody(_question: str) -> str:
        raise EOFError

    return console.ask if console.can_ask else nobody


def _config_for_radio(file: Path) -> Config:
    """What is wrong elsewhere in the config does not matter here. Raises ConfigError for what does."""
    config, problems = examine_config(file)
    relevant = [problem for problem in problems if problem.key.startswith(("radio", "access", "state"))]
    if relevant:
        raise ConfigError(str(file), relevant)
    return config


def known_nodes(config: Config, console: Console, seconds: float) -> Known:
    """From the state of a gateway that runs and so owns the port, else from the radio, which takes up to `seconds`.

    With 0 seconds the radio is not asked. Raises GatewayError when it cannot be known whether a gateway runs.
    """
    snapshot = take_snapshot(state_directory_of(config))
    if seconds and snapshot.is_closed:
        # A gateway may run and own the port.
        raise GatewayError(f"{snapshot.directory}: {snapshot.trouble}; {remedy_for(snapshot)}")
    seen = snapshot.radio.nodes if snapshot.radio is not None else ()
    if snapshot.is_running(time.time()) or not seconds:
        return Known(seen, snapshot.askers())
    console.passing(f"asking the radio for the nodes it knows, up to {seconds:.0f} s …")
    info = look(config.radio.target, seconds)
    if isinstance(info, str):
        return Known(seen, snapshot.askers(), info)
    return Known(info.nodes, snapshot.askers())
