"""The search as a command: ``python -m search_core`` and ``meshseek search``.

Exit codes: 0 found, 1 nothing found, 2 wrong use, 3 vault or engine not there, 130 interrupted. The arguments are
read by hand: a few options do not pay for ``argparse``, which takes a fresh process longer than the search.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from search_core.core import SearchCore
from search_core.errors import EngineUnavailable, SearchError, VaultMissing, WrongUse
from search_core.notes import Answer

if TYPE_CHECKING:
    from search_core.omnisearch_place import OmnisearchSettings

FOUND, NOTHING, WRONG, ABSENT, INTERRUPTED = 0, 1, 2, 3, 130
PROGRESS_AFTER_SECONDS = 1.0
HELP = """\
usage: {program} [-n N] [--folder FOLDER] [--json] [--source auto|omnisearch|local] [--vault DIR] QUERY...

Search the Markdown notes of a vault.

  QUERY                 words; "an exact phrase"; -word to leave notes out; in:Folder to look only there
  -n, --limit N         at most N notes (10)
  --folder FOLDER       only notes in or below this folder of the vault
  --json                one JSON object on standard output
  --source SOURCE       auto (default), omnisearch or local
  --vault DIR           the vault; else $OBSIDIAN_VAULT_PATH{config}, else ~/Vault
  -h, --help            this text

Omnisearch is found by itself; OMNISEARCH_URL=http://HOST:PORT names it, OMNISEARCH_URL=off leaves it alone.

exit code: 0 found, 1 nothing found, 2 wrong use, 3 vault or engine not there
"""


class Defaults(NamedTuple):
    """What a caller with a configuration of its own hands in."""

    program: str = "python -m search_core"
    vault: str = ""
    exclude: tuple[str, ...] = ()
    omnisearch: OmnisearchSettings | None = None
    """None takes the defaults."""
    reads_config: bool = False
    """Whether the vault may come from a config: the help says so."""


class Arguments(NamedTuple):
    query: str = ""
    limit: int = 10
    folder: str | None = None
    json: bool = False
    source: str = "auto"
    vault: str = ""
    help: bool = False


_OPTIONS = {
    "-n": "limit",
    "--limit": "limit",
    "--folder": "folder",
    "--source": "source",
    "--vault": "vault",
    "--json": "json",
    "-h": "help",
    "--help": "help",
}
_FLAGS = ("json", "help")


def main(argv: Sequence[str] | None = None, defaults: Defaults | None = None) -> int:
    """Run the command; returns its exit code, raises nothing that a user can cause."""
    if sys.stdout is None:  # closed by the caller: an answer has nowhere to go
        return ABSENT
    try:
        return _run(sys.argv[1:] if argv is None else argv, defaults or Defaults())
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; keep Python from complaining when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND


def _run(argv: Sequence[str], defaults: Defaults) -> int:
    try:
        arguments = parse_arguments(argv)
        if arguments.help:
            sys.stdout.write(help_text(defaults))
            return FOUND
        if not arguments.query.strip():
            raise WrongUse("nothing to look for; say: " + defaults.program + " QUERY")
        answer = _answer(arguments, defaults)
    except WrongUse as error:
        return _complain(error, WRONG)
    except (VaultMissing, EngineUnavailable) as error:
        return _complain(error, ABSENT)
    except SearchError as error:
        return _complain(error, ABSENT)
    for warning in answer.warnings:
        _complain(warning, 0)
    _print(answer, arguments)
    return FOUND if answer.hits else NOTHING


def help_text(defaults: Defaults) -> str:
    """What `--help` prints."""
    return HELP.format(program=defaults.program, config=", else the config's" if defaults.reads_config else "")


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """The arguments; words of the question may stand anywhere. Raises `WrongUse`.

    What looks like an option and is none is a word to leave out (``-tape``) or to look for (``--all-namespaces``),
    as long as a question stands before it.
    """
    given: dict[str, str] = {}
    words: list[str] = []
    rest = list(argv)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            words += rest
            break
        name, equals, value = argument.partition("=")
        field = _OPTIONS.get(name)
        if field is None and argument.startswith("-n") and argument[2:].isdigit():
            field, value, equals = "limit", argument[2:], "="
        if field is None:
            if argument.startswith("-") and not words and " " not in argument:
                raise WrongUse(f"no option {argument} (known: {', '.join(_OPTIONS)}; a question may follow --)")
            words.append(argument)
        elif field in _FLAGS:
            if equals:
                raise WrongUse(f"{name} takes no value")
            given[field] = "yes"
        else:
            if not equals and not rest:
                raise WrongUse(f"{name} needs a value")
            given[field] = value if equals else rest.pop(0)
    return _checked(given, " ".join(words))


def _checked(given: dict[str, str], query: str) -> Arguments:
    limit, source = given.get("limit", "10"), given.get("source", "auto")
    if not limit.isdecimal() or not 1 <= int(limit[:9]) <= 1000:
        raise WrongUse(f"--limit {limit!r} is no number from 1 to 1000")
    if source not in ("auto", "omnisearch", "local"):
        raise WrongUse(f"--source {source!r} is none of auto, omnisearch, local")
    if given.get("vault") == "":
        raise WrongUse("--vault is empty")
    return Arguments(
        query=query,
        limit=int(limit),
        folder=given.get("folder"),
        json="json" in given,
        source=source,
        vault=given.get("vault", ""),
        help="help" in given,
    )


def _answer(arguments: Arguments, defaults: Defaults) -> Answer:
    vault = arguments.vault or defaults.vault or os.environ.get("OBSIDIAN_VAULT_PATH") or "~/Vault"
    progress = _Progress() if sys.stderr.isatty() else None
    core = SearchCore(vault, exclude=defaults.exclude, omnisearch=defaults.omnisearch, progress=progress)
    try:
        answer = core.search(arguments.query, limit=arguments.limit, folder=arguments.folder, source=arguments.source)
        if arguments.folder and not answer.hits:
            _expect_folder(core, arguments.folder)
        return answer
    finally:
        core.close()
        if progress:
            progress.clear()


def _expect_folder(core: SearchCore, folder: str) -> None:
    """A folder that is not there is no reason to try other words. Raises `WrongUse`."""
    near = core.folders_instead_of(folder)
    if near is not None:
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise WrongUse(f"--folder {folder!r}: there is no such folder in the vault {core.root}{hint}")


def _complain(problem: object, code: int) -> int:
    line = " ".join(printable(str(problem)).split())
    sys.stderr.write(f"error: {line}\n" if code else f"warning: {line}\n")
    return code


def _print(answer: Answer, arguments: Arguments) -> None:
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure:
        reconfigure(encoding="utf-8", errors="replace")
    if arguments.json:
        sys.stdout.write(as_json(answer))
    else:
        width, colour = _terminal()
        sys.stdout.write(as_text(answer, width=width, colour=colour))
    sys.stdout.flush()


def _terminal() -> tuple[int, bool]:
    """Columns (0 outside a terminal) and whether to use colour."""
    if not sys.stdout.isatty():
        return 0, False
    return os.get_terminal_size(sys.stdout.fileno()).columns, not os.environ.get("NO_COLOR") and os.environ.get(
        "TERM"
    ) != "dumb"


def as_json(answer: Answer) -> str:
    """The answer as one line of JSON."""
    import json

    return (
        json.dumps(
            {
                "query": answer.query,
                "engine": answer.engine,
                "elapsed_seconds": round(answer.elapsed_seconds, 4),
                "total_results": len(answer.hits),
                "results": list(answer.hits),
            },
            ensure_ascii=False,
        )
        .encode("utf-8", "replace")
        .decode()
        + "\n"
    )


def as_text(answer: Answer, *, width: int = 0, colour: bool = False) -> str:
    """The answer as lines to read; a `width` of 0 folds nothing."""
    bold, mark, plain = ("\x1b[1m", "\x1b[1;33m", "\x1b[0m") if colour else ("", "", "")
    query = printable(answer.query)
    lines = [f"=== Vault Search: '{query}' [{answer.engine} - {answer.elapsed_seconds:.2f}s] ==="]
    for number, hit in enumerate(answer.hits, 1):
        lines.append(f"{number}. [{hit.score:g}] {bold}{printable(hit.path)}{plain}")
        lines += _excerpt_lines(printable(hit.excerpt), width, mark if colour else "", plain, query)
    if not answer.hits:
        lines.append("No results found.")
    for near in answer.near:
        if near.suggestion:
            lines.append(
                f"No note has '{printable(near.word)}'; nearest: '{printable(near.suggestion)}' ({near.notes})"
            )
    return "\n".join(lines) + "\n"


def _excerpt_lines(excerpt: str, width: int, mark: str, plain: str, query: str) -> list[str]:
    lines = [f"   Excerpt: {excerpt}"]
    if width > 20:
        import textwrap

        lines = textwrap.wrap(lines[0], width, initial_indent="   ", subsequent_indent="     ") or ["   Excerpt:"]
    if mark:
        import re

        from search_core.query import parse

        words = sorted((re.escape(word) for word in parse(query).pieces if word.isalnum()), key=len, reverse=True)
        if words:
            pattern = re.compile("|".join(words), re.I)
            lines = [pattern.sub(lambda match: f"{mark}{match[0]}{plain}", line) for line in lines]
    return lines


def printable(text: str) -> str:
    """`text` with nothing in it that a terminal obeys."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\u200d" else " " if letter.isspace() else "\ufffd"
        for letter in text
    )


class _Progress:
    """A line on the terminal while an index is built, once that takes longer than a second."""

    def __init__(self) -> None:
        from time import monotonic

        self._now = monotonic
        self._began = monotonic()
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        if self._now() - self._began > PROGRESS_AFTER_SECONDS and total:
            filled = 30 * done // total
            sys.stderr.write(f"\rindexing [{'#' * filled}{' ' * (30 - filled)}] {done}/{total} ")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
