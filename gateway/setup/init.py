"""`meshseek init`: asks or takes what is needed, writes the config, shows what it found, lets the first handheld in."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.config import Config, load_config
from gateway.config_edit import key_from_text, read_handhelds
from gateway.errors import UsageError
from gateway.pairing import Wish, candidates, run_pair
from gateway.places import user_config
from gateway.protocol.messages import node_id
from gateway.setup import init_config
from gateway.setup.checks_basics import check_omnisearch, check_vault, take_state
from gateway.setup.checks_radio import check_device, check_holder, check_keys, check_radio
from gateway.setup.console import Console, short_path
from gateway.setup.doctor import show
from gateway.setup.findings import Findings, Scene
from gateway.setup.init_finds import likely_radios, vault_candidates
from gateway.setup.init_trial import try_question
from gateway.setup.pair import Known, known_nodes
from gateway.setup.radio_look import LOOK_SECONDS

if TYPE_CHECKING:
    import argparse

DONE, NOTHING = 0, 1
MOST_TRIES = 5

CHECKS: tuple[Callable[[Scene], Findings], ...] = (
    check_vault,
    check_omnisearch,
    check_device,
    check_holder,
    check_radio,
    check_keys,
)
"""What is shown of what was found: the same lines as `meshseek doctor`'s."""


def init(options: argparse.Namespace, *, radio_seconds: float = LOOK_SECONDS) -> int:
    """Carry it out. Returns the exit code. Raises UsageError and GatewayError."""
    console = Console()
    # Checked before anything is written.
    wish = Wish(options.node, key_from_text(options.key) if options.key else None, options.name, options.yes)
    file = Path(options.config or os.environ.get("MESHSEEK_CONFIG") or user_config()).expanduser()
    before = init_config.read_text(file)
    if before is not None and not options.yes and not _may_replace(console, file):
        console.say("Nothing was changed; `meshseek doctor` checks the config that is there.")
        return NOTHING
    text = init_config.filled(_vault(options, console), _port(options, console))
    _write(console, file, before, text, yes=options.yes)
    config = load_config(file)
    scene = _look(console, config, radio_seconds)
    console.say()
    is_paired = _pair(console, config, scene, wish, radio_seconds)
    console.say()
    try_question(console, config)
    _next_steps(console, config, scene, is_paired=is_paired)
    return DONE


def _may_replace(console: Console, file: Path) -> bool:
    console.expect_terminal("--yes (which keeps it unless nothing changes)", f"{file} exists; whether to replace it")
    answer = console.ask_with_default(f"{short_path(file)} exists. Replace it (a copy is kept)? [y/N]", "")
    return answer.lower() in {"y", "yes"}


def _write(console: Console, file: Path, before: str | None, text: str, *, yes: bool) -> None:
    if before is not None and init_config.says_the_same(before, text):
        console.say(f"{short_path(file)} says this already; it stays as it is.")
        return
    if before is not None and yes:
        raise UsageError(f"{file} exists and says something else: move it away, or run this without --yes")
    backup = init_config.write(file, text)
    console.say(f"Wrote {short_path(file)}" + (f" (the old one is {backup.name})." if backup else "."))


# What is asked


def _vault(options: argparse.Namespace, console: Console) -> Path:
    if options.vault is not None:
        return _expect_folder(options.vault, "--vault ")
    found = vault_candidates(Path.home())
    if options.yes and len(found) == 1:
        return found[0].absolute()
    if options.yes:
        listed = f"several were found ({', '.join(map(str, found))})" if found else "none was found"
        raise UsageError(f"the vault is not given and {listed}: add --vault DIR")
    console.expect_terminal("--vault DIR", "the vault")
    console.say("Where are your notes?", "bold")
    return _ask_vault(console, found)


def _ask_vault(console: Console, found: tuple[Path, ...]) -> Path:
    for number, path in enumerate(found, 1):
        console.say(f"{number:3}  {short_path(path)}")
    for _ in range(MOST_TRIES):
        answer = console.ask_with_default(
            "A folder, or a number from the list:" if found else "A folder:", "1" * bool(found)
        )
        if answer.isascii() and answer.isdigit() and 1 <= int(answer[:3]) <= len(found):
            return found[int(answer) - 1].absolute()
        try:
            return _expect_folder(answer)
        except UsageError as error:
            console.say(str(error), "warning")
    raise UsageError("no folder with notes was given: add --vault DIR")


def _expect_folder(text: str, option: str = "") -> Path:
    path = Path(text).expanduser().absolute()
    if not text or not path.is_dir():
        raise UsageError(f"{option}{text}: is not a folder")
    return path


def _port(options: argparse.Namespace, console: Console) -> str:
    if options.port is not None:
        return init_config.expect_port(options.port)
    found = likely_radios()
    default = found[0].path if len(found) == 1 else "auto"
    if options.yes or not console.can_ask:
        if len(found) > 1:
            listed = ", ".join(device.path for device in found)
            raise UsageError(f"several devices may be the radio ({listed}): add --port PATH")
        return default
    console.say("Where is the radio?", "bold")
    for number, device in enumerate(found, 1):
        console.say(f"{number:3}  {device.path}")
    if not found:
        console.say("No USB device that looks like a Meshtastic radio is plugged in.")
    return _ask_port(console, tuple(device.path for device in found), default)


def _ask_port(console: Console, found: tuple[str, ...], default: str) -> str:
    listed = ", or a number from the list" if found else ""
    for _ in range(MOST_TRIES):
        answer = console.ask_with_default(f"A device file, `auto` or tcp:HOST{listed}:", default)
        if answer.isascii() and answer.isdigit() and 1 <= int(answer[:3]) <= len(found):
            return found[int(answer) - 1]
        try:
            return init_config.expect_port(answer)
        except UsageError as error:
            console.say(str(error), "warning")
    return default


# What is shown, and the first handheld


def _look(console: Console, config: Config, radio_seconds: float) -> Scene:
    scene = Scene(time.time(), radio_seconds, config.file, config, announce=console.passing)
    take_state(scene)
    console.say()
    for check in CHECKS:
        for finding in check(scene):
            show(console, finding)
    return scene


def _pair(console: Console, config: Config, scene: Scene, wish: Wish, radio_seconds: float) -> bool:
    """Let the first handheld in, if there is one; False when none is let in. Raises UsageError for wrong options."""
    known = _known(scene)
    if wish.node is not None:
        return _run_pair(console, config, known, wish)
    if read_handhelds(config.file):
        return True
    return console.can_ask and not wish.yes and _pair_by_asking(console, config, scene, wish, radio_seconds)


def _pair_by_asking(console: Console, config: Config, scene: Scene, wish: Wish, radio_seconds: float) -> bool:
    """Wait for the owner to make the radio meet a handheld, then choose."""
    known = _known(scene)
    while not candidates(known.nodes, known.asked, ()):
        if scene.info is None:
            console.say("A handheld can be let in once the radio answers.")
            return False
        console.say("The radio knows no handheld yet. Send any text from yours to this radio, then press Enter;")
        if console.ask_with_default("or type s to do without for now:", "", at_end="s").lower() == "s":
            return False
        known = known_nodes(config, console, radio_seconds)
    console.say("Which handheld is yours?", "bold")
    try:
        return _run_pair(console, config, known, wish)
    except UsageError as error:
        console.say(str(error), "warning")
        return False


def _known(scene: Scene) -> Known:
    asked = scene.snapshot.askers() if scene.snapshot is not None else ()
    return Known(scene.info.nodes if scene.info is not None else (), asked)


def _run_pair(console: Console, config: Config, known: Known, wish: Wish) -> bool:
    if not wish.yes:
        console.expect_terminal("--yes", "your consent to the handheld")
    code = run_pair(config.file, known.nodes, known.asked, wish, now=time.time(), ask=console.ask, say=console.tell)
    return code == DONE


def _next_steps(console: Console, config: Config, scene: Scene, *, is_paired: bool) -> None:
    named = "" if config.file == user_config() else f" --config {config.file}"
    console.say()
    console.say("Next:", "bold")
    if not is_paired:
        console.say(f"  meshseek pair{named}      let a handheld in: until then nobody may ask")
    console.say(f"  meshseek serve{named}     answer, until Ctrl-C")
    console.say(f"  meshseek doctor{named}    check everything, now or when it stops")
    if is_paired and scene.info is not None:
        console.say(f"Then send a question as a direct message from the handheld to {node_id(scene.info.node)}.")
