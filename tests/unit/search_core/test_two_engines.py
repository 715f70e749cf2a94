"""What both engines find, joined under the asker's eyes; with a stand-in for the vault."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from search_core.merge import BOTH, LOCAL, OMNISEARCH
from search_core.notes import Answer, Hit, NearWord
from search_core.omnisearch_query import sending
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
    ("query", "paths"),
    [
        ("zebra -d", ["flags.md", "zebra.md", "horse.md"]),
        ("zebra_stripes", ["flags.md", "zebra.md", "horse.md"]),
        ("zebra .NET", ["horse.md", "zebra.md", "flags.md"]),
        ("zebra stripes", ["zebra.md", "horse.md", "flags.md"]),  # all of it was sent: the order is Omnisearch's
    ],
)
def test_alone_what_holds_the_question_as_typed_comes_first(query: str, paths: list[str]) -> None:
    texts = {
        "zebra.md": "A zebra with stripes, in a fishing net.",
        "horse.md": "A zebra with stripes, written in .NET once.",
        "flags.md": "The net shows zebra stripes: zebra-stripes -d.",
    }
    words = ("zebra", "stripes", "net")
    rows = [Row(path, 9.0 - place, "Vault", "", words) for place, path in enumerate(texts)]
    found = join(local(engine=OMNISEARCH), rows, parse(query), 10, Asker(texts))
    assert [hit.path for hit in found.hits] == paths
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


@pytest.mark.parametrize("query", ["zebra R&D", "zebra .NET", "zebra -d"])
def test_a_file_that_does_not_show_what_could_not_be_sent_comes_after_the_notes(query: str) -> None:
    shows = Row("shows.pdf", 9.0, "Vault", "Our R&D in .NET, run with -d", ("zebra", "net"))
    other = Row("other.pdf", 10.0, "Vault", "a zebra in a net", ("zebra", "net"))
    joined = join(local("zebra.md", "horse.md"), [other, shows], parse(query), 10, ASKER)
    assert [hit.path for hit in joined.hits] == ["zebra.md", "shows.pdf", "horse.md", "other.pdf"]


def test_a_letter_alone_is_no_more_to_files_than_to_omnisearch() -> None:
    row = Row("vitamins.pdf", 9.0, "Vault", "a zebra", ("zebra",))
    joined = join(local("zebra.md", "horse.md"), [row], parse("what is zebra vitamin d"), 10, ASKER)
    assert "vitamins.pdf" in [hit.path for hit in joined.hits]
    joined = join(local("zebra.md", "horse.md"), [row], parse("zebra d"), 10, ASKER)
    assert [hit.path for hit in joined.hits] == ["zebra.md", "vitamins.pdf", "horse.md"]


def test_a_note_that_only_omnisearch_found_holds_what_could_not_be_sent() -> None:
    notes = {"att.md": "The AT&T line.", "node.md": "At version 1.", "local.md": ""}
    rows = [Row(path, 9.0, "Vault", "", ("at",)) for path in ("node.md", "att.md")]
    joined = join(local("local.md"), rows, parse("AT&T"), 10, Asker(notes))
    assert [hit.path for hit in joined.hits] == ["local.md", "att.md"]


@pytest.mark.parametrize("engine", [LOCAL, OMNISEARCH])
def test_phrases_and_excluded_words_hold_for_files_as_far_as_can_be_known(engine: str) -> None:
    def files(query: str, *rows: Row) -> list[str]:
        return [hit.path for hit in join(local(engine=engine), rows, parse(query), 10, ASKER).hits]

    flags = Row("flags.pdf", 9.0, "Vault", "docker run -d nginx", ("docker", "run"))
    other = Row("other.pdf", 8.0, "Vault", "docker runs", ("docker", "runs"))
    assert files('"docker run -d"', flags, other) == ["flags.pdf"]  # not sent as a phrase, so it must show
    assert files('"docker run"', flags, other) == ["flags.pdf", "other.pdf"]  # Omnisearch looked for the phrase
    assert files('"runs" docker', flags, other) == ["other.pdf"]
    assert files("docker -nginx", flags, other) == ["other.pdf"]
    assert files('docker -"run -d"', flags, other) == ["other.pdf"]


@pytest.mark.parametrize(
    ("typed", "query", "wider"),
    [
        ("tape backup", "tape backup", ""),
        ("docker run -d", "docker run", ""),
        (".NET", "NET", ""),
        ('"crème brûlée" recipe', '"crème brûlée" recipe', ""),
        ("how to export my notes -pdf", "how to export my notes -pdf", "export notes -pdf"),
        ("how to export my notes", "how to export my notes", "export notes"),
        ("tape -disk", "tape -disk", ""),
        ('tape -"two words" -disk', "tape -'two words' -disk", ""),
        ('tape -"run -d"', "tape", ""),  # half of it would keep out all that holds "run"
        ("ls -la", "ls la", ""),
        ("d", "", ""),
        ("", "", ""),
        ("in:Work", "", ""),
    ],
)
def test_what_is_sent(typed: str, query: str, wider: str) -> None:
    asked = sending(parse(typed))
    assert (asked.strict.query, asked.strict.wider) == (query, wider)
    assert not asked.without or asked.without not in asked.query


@pytest.mark.parametrize(
    ("folder", "where"),
    [
        ("Work", "path:'work/'"),
        ("/Work/My notes/", "path:'work/my notes/'"),
        ("Überordner", "path:'berordner/'"),
        ("U\u0308berordner/Tief", "path:'berordner/tief/'"),
        ("Café Noté", "path:'caf'"),
        ("Ёжик", "path:'жик/'"),
        ("日本語", "path:'日本語/'"),
        ("O'Neil, and more", "path:'and more/'"),
        ("é", ""),
        ("가", ""),
        ("\"'`:,", ""),
    ],
)
def test_omnisearch_is_asked_for_the_folder_as_far_as_it_can_tell_folders(folder: str, where: str) -> None:
    expected = f"tape {where}".strip()
    assert sending(parse("tape"), folder).query == expected
    if '"' not in folder:
        assert sending(parse(f'tape in:"{folder}"')).query == expected


def test_several_folders_are_sent_together_or_not_at_all() -> None:
    assert sending(parse("tape in:Work in:Home")).query == "tape path:'work/' path:'home/'"
    assert sending(parse("tape in:Work in:é")).query == "tape"
    assert sending(parse("tape in:Sub"), "Work").query == "tape path:'work/'"
    assert sending(parse("how to export my notes"), "Work").wider == "export notes path:'work/'"
