"""Text → command, case by case, from a file that can be read like a phrase book."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.protocol import commands
from gateway.protocol.commands import Command, Ignore, More, Note, Open, Repeat, Search, parse

GOLDEN = Path(__file__).parents[3] / "golden" / "commands.md"


def _cases() -> list[tuple[str, str]]:
    lines = [line for line in GOLDEN.read_text("utf-8").splitlines() if " => " in line]
    pairs = [line.split(" => ") for line in lines]
    return [(_text(text), wanted) for text, wanted in pairs]


def _text(written: str) -> str:
    if len(written) > 1 and written[0] == written[-1] == "|":
        written = written[1:-1]
    return written.encode("latin-1", "backslashreplace").decode("unicode_escape") if "\\" in written else written


def _shown(command: Command) -> str:
    name = type(command).__name__.lower()
    match command:
        case Search(said) | Note(said) | Ignore(said):
            return f"{name} {said}"
        case More(number) | Open(number) | Repeat(number):
            return f"{name} {number or 'last'}"
    return name


@pytest.mark.parametrize(("text", "wanted"), _cases())
def test_golden(text: str, wanted: str) -> None:
    assert _shown(parse(text)) == wanted


def test_the_golden_file_is_read() -> None:
    assert len(_cases()) > 90


def test_a_long_text_is_looked_at_only_so_far() -> None:
    command = parse("word " * 100_000)
    assert isinstance(command, Search)
    assert len(command.query) <= commands.MAX_QUESTION


def test_a_question_that_begins_with_a_fraction_is_not_taken_for_a_part() -> None:
    assert isinstance(parse("3/4 inch pipe thread, which tap drill?"), Search)
    assert parse("3/4 " + "inch pipe thread " * 5) == Ignore("own")
    assert isinstance(parse("5/4 " + "inch pipe thread " * 5), Search)
