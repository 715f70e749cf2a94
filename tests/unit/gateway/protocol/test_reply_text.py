"""What an answer looks like on a handheld: whole talks from a file, and the rules for paths and for dividing bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gateway.protocol.commands import parse
from gateway.protocol.conversation import Session, compose, plan
from gateway.protocol.redaction import Redactor
from gateway.protocol.replies import Asker, Reply
from gateway.protocol.reply_text import CLEAR, TIED, Frame, excerpt, first_page, list_page, passage_page, paths
from gateway.protocol.requests import Outcome, ReadRequest, Request, SearchRequest, Trouble
from search_core.graphemes import byte_length, clip
from search_core.notes import EVERYTHING, Answer, Hit, NearWord, Reading

GOLDEN = Path(__file__).parents[3] / "golden" / "replies.md"
_WORD = re.compile(r"\w+")


@dataclass
class Talk:
    """One section of the file: the notes, then what is said in turn."""

    title: str
    scores: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    near: list[NearWord] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    """The lines that begin with ``>``, ``<``, ``|`` or ``~``."""


def talks(text: str) -> Iterator[Talk]:
    for section in text.split("\n## ")[1:]:
        lines = section.splitlines()
        talk, path = Talk(lines[0]), ""
        for line in lines[1:]:
            if line.startswith("note "):
                _, score, path = line.split(" ", 2)
                talk.scores[path], talk.notes[path] = float(score), ""
            elif line.startswith("  "):
                talk.notes[path] += line[2:].encode("latin-1", "backslashreplace").decode("unicode_escape") + "\n"
            elif line.startswith("near "):
                _, word, suggestion, count = line.split(" ")
                talk.near.append(NearWord(word, suggestion.removeprefix("None"), int(count)))
            elif line:
                talk.turns.append(line)
        yield talk


def play(talk: Talk) -> list[str]:
    """The turns of `talk` with what really comes back."""
    session, said = Session(), []
    redact = Redactor().redact
    for line in [line for line in talk.turns if line[0] in ">~"]:
        said.append(line)
        if line[0] == "~":
            _change(talk, line[2:])
            continue
        command = parse(line[2:])
        reply = plan(command, session, Asker(node=1, scope=EVERYTHING), 0.0)
        if reply is not None and not isinstance(reply, Reply):
            reply, session = compose(command, session, _outcome(talk, reply), 200, 0.0, redact=redact)
        for part in reply.parts if reply else ():
            assert byte_length(part) <= 201
            said += [("< " if n == 0 else "| ") + text for n, text in enumerate(part.split("\n"))]
    return said


def _change(talk: Talk, line: str) -> None:
    path, _, text = line.partition(" ")
    if text:
        talk.notes[path] = text
    else:
        del talk.notes[path]


def _outcome(talk: Talk, request: Request) -> Outcome:
    if isinstance(request, ReadRequest):
        if request.path not in talk.notes:
            return Trouble("gone")
        text = talk.notes[request.path]
        return Reading(request.path, text, _starts(text, request.query)[0], str(hash(text)), 0.0)
    assert isinstance(request, SearchRequest)
    words = _WORD.findall(request.query.casefold())
    found = [path for path, text in talk.notes.items() if any(word in (path + text).casefold() for word in words)]
    hits = tuple(_hit(path, talk.notes[path], talk.scores[path], request.query) for path in found)
    return Answer(request.query, hits, "local", 0.0, len(hits), tuple(talk.near))


def _hit(path: str, text: str, score: float, query: str = "") -> Hit:
    def windows(room: int, count: int) -> list[str]:
        taken: list[str] = []
        end = -1
        for start in _starts(text, query):
            if start >= end and len(taken) < count:
                taken.append(clip(text[start:], room))
                end = start + len(taken[-1])
        return taken

    name = path.rsplit("/", 1)[-1].removesuffix(".md")
    return Hit(
        path=path,
        basename=name,
        score=score,
        excerpt="",
        engine="local",
        cut=lambda room: windows(room, 1)[0],
        windows=windows,
    )


def _starts(text: str, query: str) -> list[int]:
    """Where the sentences begin that have a word of the query."""
    words = _WORD.findall(query.casefold())
    sentences = list(re.finditer(r"[^\s.。।][^.。।\n]*[.。।\n]?", text))
    return [s.start() for s in sentences if any(word in s[0].casefold() for word in words)] or [0]


@pytest.mark.parametrize("talk", list(talks(GOLDEN.read_text("utf-8"))), ids=lambda talk: talk.title)
def test_golden(talk: Talk) -> None:
    assert play(talk) == talk.turns


def test_the_golden_file_is_read() -> None:
    assert len(list(talks(GOLDEN.read_text("utf-8")))) > 14


def frame(hits: int, total: int = 0) -> Frame:
    return Frame(200, hits, total)


def note(path: str, score: float, text: str = "word " * 80) -> Hit:
    return _hit(path, text, score)


def test_hits_share_when_their_scores_are_level_and_only_then() -> None:
    best = note("a/best.md", 10.0)
    level, behind = note("b/level.md", 10.0 * TIED), note("b/behind.md", 10.0 * TIED - 0.1)
    assert first_page([best, level], frame(2)).last == 2
    assert first_page([best, behind], frame(2)).last == 1
    assert first_page([best, level, level], frame(3)).last == 2


def test_level_hits_get_equal_bytes_and_leave_none_unused() -> None:
    text = first_page([note("a/one.md", 1.0), note("a/two.md", 1.0)], frame(9)).text
    one, two, footer = text.split("\n")
    assert abs(len(one) - len(two)) <= 2
    assert 196 <= byte_length(text) <= 200
    assert footer == "2/9 m"


def test_what_a_short_excerpt_leaves_goes_to_the_other() -> None:
    text = first_page([note("a/one.md", 1.0), note("a/two.md", 1.0, "short")], frame(2)).text
    assert byte_length(text) >= 195
    assert "2 two: short" in text


def test_a_passage_follows_only_a_clear_winner_that_has_one() -> None:
    two_passages = "x" * 250 + ". and more words of it"
    clear, rival = note("a/b.md", 1.0, two_passages), note("a/c.md", CLEAR)
    windows = lambda room, count: [clip("x" * 250, room), "and more"][:count]  # noqa: E731
    with_more = Hit(
        path="a/b.md", basename="b", score=1.0, excerpt="", engine="", cut=lambda n: "x" * n, windows=windows
    )
    assert first_page([with_more], frame(1)).text.endswith("\n1/1 m")
    assert first_page([with_more], frame(1)).passage_follows
    assert not first_page([with_more, rival], frame(2)).passage_follows
    assert not first_page([clear], frame(1)).passage_follows
    assert first_page([clear], frame(1)).text.endswith("\n1/1")
    page = passage_page(with_more, frame(1))
    assert page is not None
    assert page.text == "1 a/b: and more\n1/1"


def test_more_matches_than_can_be_numbered_are_said() -> None:
    assert list_page([note("a.md", 1.0)], 8, frame(9, total=400)).text.endswith("\n9/9+")


@pytest.mark.parametrize("budget", [60, 100, 200, 232])
@pytest.mark.parametrize("name", ["n", "long name " * 30, "имя " * 40, "名" * 90, "👩‍👩‍👧‍👦" * 12])
def test_no_packet_is_too_large_whatever_the_names(budget: int, name: str) -> None:
    hits = [_hit(f"folder {n}/{name}.md", name * 9, 1.0) for n in range(3)]
    tight = Frame(budget, 3, 99, str, "aside" * 20)
    pages = [first_page(hits, tight), list_page(hits, 0, tight), passage_page(hits[0], tight)]
    assert all(byte_length(page.text) <= budget for page in pages if page)


@pytest.mark.parametrize(
    ("full", "short"),
    [
        (["Home/Drafts/Cold Storage.md"], ["Home/Drafts/Cold Storage"]),
        (["A very long folder name/Drafts/Cold Storage.md"], ["…/Drafts/Cold Storage"]),
        (["x/y/a.md", "x/y/b.md"], ["a", "b"]),
        (["x/y/a.md", "x/z/b.md"], ["y/a", "z/b"]),
        (["x/y/a.md", "a.md"], ["x/y/a", "a"]),
        (["x/README.md", "x/index.md"], ["x/README", "x/index"]),
        (["x/y/same.md", "x/z/same.md"], ["y/same", "z/same"]),
        (["note.MD"], ["note"]),
        (["a\u202e\nb/c\x1b.md"], ["a b/c"]),
    ],
)
def test_paths(full: list[str], short: list[str]) -> None:
    assert paths(full) == short


def test_folders_go_before_the_name_is_touched() -> None:
    name = "A name of more than twenty-eight bytes"
    assert paths([f"Some folder/{name}.md"]) == [name]
    assert paths(["Some folder/" + "n" * 60 + ".md"]) == ["n" * 45 + "…"]
    assert paths(["Folder/Some longer name.md"], 16) == ["Some longer name"]
    assert paths(["Folder/Some longer name.md"], 15) == ["Some longer …"]


def test_an_excerpt_does_not_repeat_the_title_before_it() -> None:
    hit = note("Stove.md", 1.0, "Stove: shake it upside down. The jet is blocked.")
    assert excerpt(hit, 40) == "shake it upside down. The jet is blocked"
    assert excerpt(note("Stove.md", 1.0, "The Stove is red"), 40) == "The Stove is red"


def test_an_excerpt_is_harmless_lines_without_blank_ones_and_secrets() -> None:
    hit = note("a.md", 1.0, "one\n\n two\t\u202ethree\x07 secret")
    assert excerpt(hit, 60, lambda text: text.replace("secret", "[hidden]")) == "one\ntwo three [hidden]"


@pytest.mark.parametrize(
    ("passage", "shown"),
    [
        ("the card is 4111 1111 1111 …", "the card is …"),
        ("the key is 3f9a0c77b1e2d4…", "the key is …"),
        ("call 0171 234 or come…", "call 0171 234 or come…"),
        ("a long word, unfortunately…", "a long word, unfortunately…"),
        ("on port 8089…", "on port 8089…"),
        ("whole: 3f9a0c77b1e2d4", "whole: 3f9a0c77b1e2d4"),
    ],
)
def test_the_beginning_of_a_secret_that_was_cut_is_not_shown(passage: str, shown: str) -> None:
    hit = Hit(path="a.md", basename="a", score=1.0, excerpt="", engine="local", cut=lambda _: passage)
    assert excerpt(hit, 60, Redactor().redact) == shown
    assert excerpt(hit, 60) == passage
