"""The command line: arguments in, exit codes out; the work is done elsewhere, imported when it is needed.

Exit codes: 0 answered, 1 nothing found, 2 wrong use or config, 3 the outside world failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

TYPE_CHECKING = False  # As in `typing`, whose import would be a tenth of what `meshseek --help` takes.
if TYPE_CHECKING:
    import argparse

    from search_core.cli import Defaults

WRONG_USE = 2
OUTSIDE_FAILED = 3


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line; returns the exit code."""
    if arguments and arguments[0] == "search":
        return _search(arguments[1:])
    import argparse

    parser = build_parser()
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        return _unknown_command(arguments[0])
    try:
        options, unknown = parser.parse_known_args(arguments)
    except argparse.ArgumentError as error:
        return _complain(str(error))
    if unknown:
        return _unknown_option(unknown[0], options)
    if options.command is None:
        parser.print_help()
        return WRONG_USE
    return _guarded(COMMANDS[options.command][2], options)


def _guarded(command: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run the command; whatever a user can cause becomes one line and an exit code."""
    from gateway.errors import GatewayError, UsageError
    from gateway.toml_tables import ConfigError
    from search_core.errors import SearchError, WrongUse

    try:
        return command(options)
    except ConfigError as error:
        return _complain(str(error), OUTSIDE_FAILED if error.is_outside else WRONG_USE)
    except (UsageError, WrongUse) as error:
        return _complain(str(error))
    except (GatewayError, SearchError) as error:
        return _complain(str(error), OUTSIDE_FAILED)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return OUTSIDE_FAILED


def _complain(message: str, code: int = WRONG_USE) -> int:
    try:
        for line in message.splitlines():
            sys.stderr.write(f"meshseek: {line}\n")
    except OSError:
        return code  # Nobody listens; the exit code still tells.
    return code


def _unknown_command(word: str) -> int:
    import difflib

    near = difflib.get_close_matches(word, COMMANDS, n=1, cutoff=0.5)
    hint = f"did you mean `meshseek {near[0]}`?" if near else "the commands are: " + ", ".join(COMMANDS)
    return _complain(f"there is no command {word[:40]!r}; {hint}")


def _unknown_option(word: str, options: argparse.Namespace) -> int:
    import difflib
    import re

    program = f"meshseek {options.command}" if options.command else "meshseek"
    if not word.startswith("-"):
        return _complain(f"`{program}` does not take {word[:40]!r}; `{program} --help` says what it takes")
    known = re.findall("--[a-z-]+", options.usage())
    near = difflib.get_close_matches(word.partition("=")[0], known, n=1, cutoff=0.5)
    hint = f"did you mean `{near[0]}`?" if near else "its options are: " + ", ".join(known)
    return _complain(f"`{program}` has no option {word[:40]!r}; {hint}")


def _search(arguments: Sequence[str]) -> int:
    """`meshseek search`: the search core's own command, with the vault of the config when there is one."""
    import gc

    gc.set_threshold(100_000)  # Modules and a sweep are many objects and no garbage: looking for some takes a tenth.
    from search_core.cli import main

    try:
        return main(list(arguments), _search_defaults(arguments))
    except ValueError as error:
        return _complain(str(error))
    finally:
        gc.freeze()  # Nor is it looked for once more on the way out.


def _search_defaults(arguments: Sequence[str]) -> Defaults:
    """A vault named on the command line or in the environment is not the config's: neither is what it leaves out."""
    import os

    from search_core.cli import Defaults

    given = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "-h" in given or "--help" in given:  # Help is for when the config is wrong, too.
        return Defaults(program="meshseek search", reads_config=True)
    if any(a == "--vault" or a.startswith("--vault=") for a in arguments) or os.environ.get("OBSIDIAN_VAULT_PATH"):
        return Defaults(program="meshseek search", reads_config=True)
    from gateway.places import SYSTEM_CONFIG, find_config

    path = find_config()
    if path is None or (path == SYSTEM_CONFIG and not os.access(path, os.R_OK)):  # A service's is not everybody's.
        return Defaults(program="meshseek search", reads_config=True)
    from gateway.search_defaults import load_search_defaults

    return load_search_defaults(path)


def _demo(options: argparse.Namespace) -> int:
    from gateway.demo import run_demo

    return run_demo(options.question, vault=options.vault, loss=options.loss, seed=options.seed, speed=options.speed)


def _serve(options: argparse.Namespace) -> int:
    path = _config_path(options)
    from gateway.app import serve

    return serve(path)


def _simulate(options: argparse.Namespace) -> int:
    from gateway.radio.simulated.serve import serve

    return serve(options.link, speed=options.speed, seed=options.seed, loss=options.loss, chatter=options.chatter)


def _note(options: argparse.Namespace) -> int:
    path = _config_path(options)
    from gateway.app import note

    return note(path, " ".join(options.text))


def _pair(options: argparse.Namespace) -> int:
    path = _config_path(options)
    from gateway.setup.pair import pair

    return pair(path, node=options.node, name=options.name, key=options.key, yes=options.yes)


def _init(options: argparse.Namespace) -> int:
    from gateway.setup.init import init

    return init(options)


def _doctor(options: argparse.Namespace) -> int:
    from gateway.setup.doctor import doctor

    return doctor(options.config, as_json=options.json)


def _status(options: argparse.Namespace) -> int:
    from gateway.setup.status import status

    return status(options.config, as_json=options.json, watch=options.watch, show_text=options.show_text)


def _config_path(options: argparse.Namespace) -> str:
    """The config named or found; raises UsageError when there is none."""
    from gateway.errors import UsageError
    from gateway.places import SYSTEM_CONFIG, find_config, user_config

    if options.config:
        return str(options.config)
    found = find_config()
    if found is None:
        looked_for = f"{user_config()} and {SYSTEM_CONFIG}"
        raise UsageError(f"no config found: looked for {looked_for}; make one with `meshseek init`")
    return str(found)


COMMANDS: dict[str, tuple[str, str, Callable[[argparse.Namespace], int]]] = {
    "search": ("search the vault from this terminal", "", lambda _options: WRONG_USE),
    "demo": ("see it work: no radio, no Obsidian, no configuration", "", _demo),
    "serve": ("the gateway: answer handhelds until stopped", "config", _serve),
    "init": ("set up: vault, radio, first handheld", "", _init),
    "pair": ("allow a handheld to ask", "config", _pair),
    "doctor": ("check every precondition and name the remedy", "config", _doctor),
    "status": ("what the gateway is doing and has done", "config", _status),
    "note": ("append a line to the inbox note", "config", _note),
    "simulate": ("serve a simulated radio on a pseudo-terminal", "", _simulate),
}


def build_parser() -> argparse.ArgumentParser:
    """The whole command line as argparse sees it (also read by the documentation's tests)."""
    import argparse

    from gateway.version import VERSION

    parser = argparse.ArgumentParser(
        prog="meshseek",
        description="Ask your notes by Meshtastic text message, and from your terminal.",
        epilog="Exit codes: 0 answered, 1 nothing found, 2 wrong use or config, 3 the outside world failed.",
    )
    parser.add_argument("--version", action="version", version=f"meshseek {VERSION}")
    parser.set_defaults(usage=parser.format_usage)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (summary, needs, _function) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        command.set_defaults(usage=command.format_usage)
        if needs == "config":
            command.add_argument(
                "--config", metavar="FILE", help="the config file (default: where `meshseek init` writes)"
            )
        add_options = OPTIONS.get(name)
        if add_options:
            add_options(command)
    return parser


def _demo_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="?", help="ask once and end; without it, a prompt to type on")
    parser.add_argument("--vault", metavar="DIR", help="search your own notes instead of the demo's")
    parser.add_argument("--loss", type=_share, default=0.0, metavar="P", help="share of packets lost, 0 to 0.9")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the loss is the same for the same number")
    parser.add_argument("--speed", type=_speed, default=1.0, metavar="X", help="run simulated time faster, 1 to 20")


def _share(text: str) -> float:
    return _bounded(text, 0.0, 0.9)


def _speed(text: str) -> float:
    return _bounded(text, 1.0, 20.0)


def _bounded(text: str, low: float, high: float) -> float:
    import argparse

    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low:g} to {high:g}")
    return value


def _simulate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--link", type=_free_path, metavar="PATH", required=True, help="where to put the link to the device file"
    )
    parser.add_argument("--loss", type=_share, default=0.0, metavar="P", help="share of packets lost, 0 to 0.9")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the loss is the same for the same number")
    parser.add_argument("--speed", type=_speed, default=1.0, metavar="X", help="run simulated time faster, 1 to 20")
    parser.add_argument("--chatter", action="store_true", help="print debug lines between the frames, as real radios")


def _free_path(text: str) -> str:
    """Where nothing is, or what a simulated radio left behind that did not end in order: a link to a gone terminal."""
    import argparse
    import os

    if not text:
        raise argparse.ArgumentTypeError("is empty")
    if not os.path.lexists(text):
        return text
    if not os.path.islink(text):
        raise argparse.ArgumentTypeError(f"{text} is there already; name a path where nothing is")
    target = os.readlink(text)
    if not target.startswith("/dev/pts/") or os.path.exists(target):
        todo = "end the simulated radio that made it, or " if target.startswith("/dev/pts/") else ""
        raise argparse.ArgumentTypeError(f"{text} is a link to {target} already; {todo}name a path where nothing is")
    return text


def _note_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", help="the line to append")


def _pair_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--node", metavar="!ID", help="the node to allow, e.g. !a1b2c3d4")
    parser.add_argument("--key", metavar="BASE64", help="its 32-byte public key, when the radio does not know it yet")
    parser.add_argument("--name", help="how you call it, for logs")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _doctor_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def _status_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--watch", action="store_true", help="show it again every two seconds until Ctrl-C")
    parser.add_argument(
        "--show-text", action="store_true", help="also show the words of questions whose answer is still under way"
    )


def _init_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="where to write (default: the XDG config directory)")
    parser.add_argument("--vault", metavar="DIR", help="the folder with the notes")
    parser.add_argument("--port", metavar="PATH", help="the radio's device file, or `auto`")
    parser.add_argument("--node", metavar="!ID", help="the first handheld to allow")
    parser.add_argument("--key", metavar="BASE64", help="its public key")
    parser.add_argument("--name", help="how you call it")
    parser.add_argument("--yes", action="store_true", help="take what was found and ask nothing")


OPTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "demo": _demo_options,
    "simulate": _simulate_options,
    "note": _note_options,
    "pair": _pair_options,
    "doctor": _doctor_options,
    "status": _status_options,
    "init": _init_options,
}
