"""What both engines find, joined under the asker's eyes; with a stand-in for the vault."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from search_core.merge import BOTH, LOCAL, OMNISEARCH
from search_core.notes import Answer, Hit, NearWord
from search_core.omnisearch_query import sent
from search_core.omnisearch_rows import Row
from search_core.query import parse
from search_core.two_engines import join


class Asker:
    """Sees all paths but those in `hidden`; `notes` are the texts on disk."""

    def __init__(self, notes: dict[str, str], hidden: tuple[str, ...] = ()) -> None:
        self.notes = notes
        self.hidden = hidden

    def sees(self, path: str) -> bool:
        return path not in self.hidden and (path in self.notes or not path.endswith(".md"))

    def text(self, path: str) -> str | None:
        assert path not in self.hidden, "a hidden note was read"
        return self.notes.get(path)

    def cutter(self, text: str) -> Callable[[int], str]:
        return lambda size: text.encode()[:size].decode()


NOTES = {
    "zebra.md": "A zebra has stripes.",
    "horse.md": "A horse, once a zebra farm.",
    "changed.md": "Now about horses.",
    "secret.md": "The zebra password.",
}
ROWS = tuple(
    Row(path, 10.0 - place, "Vault", f"excerpt of {path}", ("zebra",))
    for place, path in enumerate(["scan.pdf", "changed.md", "secret.md", "horse.md", "private/key.pdf", "zebra.md"])
)
ASKER = Asker(NOTES, hidden=("secret.md", "private/key.pdf"))


def local(*paths: str, engine: str = LOCAL) -> Answer:
    hits = [
        Hit(path=path, basename=path, score=9.0 - place, excerpt="", engine=engine) for place, path in enumerate(paths)
    ]
    return Answer("", tuple(hits), engine, 0.0, len(hits))


def alone(query: str, limit: int = 10) -> Answer:
    return join(local(engine=OMNISEARCH), ROWS, parse(query), limit, ASKER)


def test_joined_under_the_askers_eyes() -> None:
    joined = join(local("zebra.md"), ROWS, parse("zebra"), 10, ASKER)
    assert [(hit.path, hit.engine) for hit in joined.hits] == [
        ("zebra.md", BOTH),
        ("scan.pdf", OMNISEARCH),  # first in Omnisearch's list, but the best note stays first
        ("horse.md", OMNISEARCH),  # a note that only Omnisearch found; changed.md has no zebra any more
    ]
    assert (joined.engine, joined.total) == (BOTH, 3)


def test_nothing_from_omnisearch_leaves_local_alone() -> None:
    assert join(local("zebra.md"), (), parse("zebra"), 10, ASKER) == local("zebra.md")


def test_a_file_goes_first_when_a_word_is_in_no_note() -> None:
    answer = local("zebra.md")._replace(near=(NearWord("zebra", "", 0),))
    assert [hit.path for hit in join(answer, ROWS, parse("zebra"), 2, ASKER).hits] == ["scan.pdf", "zebra.md"]


def test_alone_keeps_its_order_without_hidden_gone_and_changed_notes() -> None:
    found = alone("zebra")
    assert [hit.path for hit in found.hits] == ["scan.pdf", "horse.md", "zebra.md"]
    assert [hit.excerpt for hit in found.hits] == ["excerpt of scan.pdf", NOTES["horse.md"], NOTES["zebra.md"]]
    assert [hit.basename for hit in found.hits] == ["scan", "horse", "zebra"]
    assert {hit.engine for hit in found.hits} == {OMNISEARCH}
    assert [hit.path for hit in alone("zebra", 2).hits] == ["scan.pdf", "horse.md"]
    assert (found.engine, found.total) == (OMNISEARCH, 3)


def test_alone_a_note_that_lost_one_of_the_words_is_stale() -> None:
    rows = [Row("horse.md", 5.0, "Vault", "", ("zebra", "stripes")), Row("zebra.md", 4.0, "Vault", "", ("zebra",))]
    found = join(local(engine=OMNISEARCH), rows, parse("zebra stripes"), 10, ASKER)
    assert [hit.path for hit in found.hits] == ["zebra.md"]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ('"zebra has stripes"', ["scan.pdf", "zebra.md"]),
        ("zebra -stripes", ["scan.pdf", "horse.md"]),
        ("zebra unknown", ["scan.pdf", "horse.md", "zebra.md"]),  # after the wider query, one word is enough
        ("ZÉBRA", ["scan.pdf", "horse.md", "zebra.md"]),
    ],
)
def test_a_query_means_the_same_as_in_the_local_search(query: str, paths: list[str]) -> None:
    assert [hit.path for hit in alone(query).hits] == paths


@pytest.mark.parametrize(
    ("typed", "query", "wider"),
    [
        ("tape backup", "tape backup", ""),
        ("docker run -d", "docker run", ""),
        (".NET in:Work", "NET", ""),
        ('"crème brûlée" recipe', '"crème brûlée" recipe', ""),
        ("how to export my notes -pdf", "how to export my notes -pdf", "export notes -pdf"),
        ("how to export my notes", "how to export my notes", "export notes"),
        ("tape -disk", "tape -disk", ""),
        ("ls -la", "ls la", ""),
        ("d", "", ""),
        ("", "", ""),
        ("in:Work", "", ""),
    ],
)
def test_what_is_sent(typed: str, query: str, wider: str) -> None:
    assert sent(parse(typed)) == (query, wider)
