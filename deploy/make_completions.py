"""Writes the shell completions from the command line's own description.

.venv/bin/python deploy/make_completions.py
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from gateway.cli import COMMANDS, build_parser
from search_core.cli import Defaults, help_text

HERE = Path(__file__).resolve().parent / "completions"
NOTE = "# Made by make_completions.py. Do not edit."
SOURCES = ("auto", "omnisearch", "local")


class Option(NamedTuple):
    flags: tuple[str, ...]
    summary: str
    takes: str = ""
    """What follows: empty for nothing, else FILE, PATH, DIR, SOURCE or anything."""


def commands() -> dict[str, tuple[Option, ...]]:
    """Every command with its options."""
    parser = build_parser()
    actions = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    found = {name: tuple(_option(a) for a in sub._actions if a.option_strings) for name, sub in actions.choices.items()}
    found["search"] = tuple(_search_options())
    return found


def _option(action: argparse.Action) -> Option:
    takes = "" if action.nargs == 0 else str(action.metavar or "VALUE")
    return Option(tuple(action.option_strings), action.help or "", takes)


def _search_options() -> list[Option]:
    """From the help text of `search`, which reads its arguments by hand."""
    lines = [line.strip() for line in help_text(Defaults(reads_config=True)).splitlines() if line.startswith("  -")]
    options = []
    for line in lines:
        names, summary = line.split("  ", 1)
        words = names.replace(",", " ").split()
        flags = tuple(word for word in words if word.startswith("-"))
        options.append(Option(flags, summary.strip(), next((w for w in words if not w.startswith("-")), "")))
    return options


def bash() -> str:
    cases = "\n".join(
        f"    {name}) options='{' '.join(flag for option in options for flag in option.flags)}' ;;"
        for name, options in commands().items()
    )
    return f"""{NOTE}
_meshseek() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} options
    case $before in
    {"|".join(_flags("DIR", "FOLDER"))}) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    {"|".join(_flags("FILE", "PATH"))}) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    {"|".join(_flags("SOURCE"))}) mapfile -t COMPREPLY < <(compgen -W '{" ".join(SOURCES)}' -- "$word"); return ;;
    esac
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    ((COMP_CWORD == 1)) && options='{" ".join(COMMANDS)} --help --version'
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
}}
complete -o filenames -F _meshseek meshseek
"""


def _flags(*takes: str) -> list[str]:
    return sorted({f for options in commands().values() for o in options if o.takes in takes for f in o.flags})


def zsh() -> str:
    names = "\n".join(f"        {_quoted(f'{name}:{COMMANDS[name][0]}')}" for name in commands())
    cases = "\n".join(
        f"    {name})\n        _arguments"
        + "".join(f" \\\n            {word}" for option in options for word in _zsh_words(option))
        + "\n        ;;"
        for name, options in commands().items()
    )
    return f"""#compdef meshseek
{NOTE}
local -a names
if ((CURRENT == 2)); then
    names=(
{names}
    )
    _describe command names
    return
fi
shift words
((CURRENT--))
case $words[1] in
{cases}
esac
"""


def _zsh_words(option: Option) -> list[str]:
    after = {"": "", "DIR": ":folder:_files -/", "FILE": ":file:_files", "PATH": ":file:_files"}
    value = after.get(option.takes, f":{option.takes.lower()}: ")
    if option.takes == "SOURCE":
        value = f":source:({' '.join(SOURCES)})"
    summary = option.summary.replace("[", "(").replace("]", ")").replace(":", "\\:")
    return [_quoted(f"{flag}[{summary}]{value}") for flag in option.flags]


def fish() -> str:
    lines = [NOTE, "complete -c meshseek -f"]
    for name, options in commands().items():
        lines.append(f"complete -c meshseek -n __fish_use_subcommand -a {name} -d {_quoted(COMMANDS[name][0])}")
        lines += [_fish_line(name, option) for option in options]
    return "\n".join(lines) + "\n"


def _fish_line(command: str, option: Option) -> str:
    flags = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags)
    after = {"": "", "DIR": " -x -a '(__fish_complete_directories)'", "FILE": " -r -F", "PATH": " -r -F"}
    value = after.get(option.takes, " -x")
    if option.takes == "SOURCE":
        value += f" -a {_quoted(' '.join(SOURCES))}"
    condition = f"-n '__fish_seen_subcommand_from {command}'"
    return f"complete -c meshseek {condition} {flags}{value} -d {_quoted(option.summary)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"


FILES = {"meshseek.bash": bash, "_meshseek": zsh, "meshseek.fish": fish}


def main() -> None:
    HERE.mkdir(exist_ok=True)
    for name, make in FILES.items():
        (HERE / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
