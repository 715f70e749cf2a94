"""The query language: four operators, and everything else literal."""

from __future__ import annotations

import pytest

from search_core.query import MAX_PIECES, ParsedQuery, literally, parse, quoted


def parts(raw: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    query = parse(raw)
    return query.pieces, query.phrases, query.excluded, query.folders


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("tape backup", (("tape", "backup"), (), (), ())),
        ('nas "tape backup"', (("nas", "tape", "backup"), ("tape backup",), (), ())),
        ("“tape backup”", (("tape", "backup"), ("tape backup",), (), ())),
        ("tape -lto", (("tape",), (), ("lto",), ())),
        ('tape -"old drive"', (("tape",), (), ("old drive",), ())),
        ("磁带 -备份", (("磁带",), (), ("备份",), ())),
        ("tape in:Home", (("tape",), (), (), ("Home",))),
        ("tape IN:Home/Lab path:Old", (("tape",), (), (), ("Home/Lab", "Old"))),
        ('tape in:"My Folder"', (("tape",), (), (), ("My Folder",))),
    ],
)
def test_operators(raw: str, expected: object) -> None:
    assert parts(raw) == expected


@pytest.mark.parametrize(
    "raw",
    [
        "docker run -d",
        "ls -la",
        "kubectl get pods --all-namespaces",
        "LTO-4",
        "-5 degrees",
        "a - b",
        "C++ .NET E.ON",
        "MY_ENV_VAR=1",
        "in: the box",
        "NEAR(a b)",
        "title:tape",
        "a* ^b",
        "wg0:192.168.0.1",
    ],
)
def test_everything_else_is_literal(raw: str) -> None:
    query = parse(raw)
    assert query.phrases == query.excluded == query.folders == ()
    assert set("".join(query.pieces)) >= {c for c in raw if c.isalnum()}


@pytest.mark.parametrize("raw", ['"', '""', 'tape "', '"tape', 'a"b"c', '" "', "''"])
def test_unbalanced_quotes_are_nothing(raw: str) -> None:
    query = parse(raw)
    assert query.phrases == ()
    assert '"' not in "".join(query.pieces)


def test_an_exclusion_alone_is_looked_for() -> None:
    assert parse("-tape").pieces == ("-tape",)
    assert parse("-tape").excluded == ()


def test_a_folder_alone_asks_for_nothing() -> None:
    assert parts("in:Home") == ((), (), (), ("Home",))


def test_long_questions_are_bounded() -> None:
    query = parse("tape " * 10_000)
    assert len(query.pieces) == MAX_PIECES
    assert parse("x" * 10_000).folded_words == ("x" * 1000,)


def test_a_zero_byte_is_white_space() -> None:
    assert parse("tape\0drive").pieces == ("tape", "drive")


def test_exclusions_can_be_taken_literally() -> None:
    assert literally(ParsedQuery("find -name", ("find",), (), ("name",))).pieces == ("find", "name")


def test_quoting_leaves_no_way_out() -> None:
    assert quoted('a" OR "b') == '"a"" OR ""b"'
