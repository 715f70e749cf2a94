"""Two lists become one: whole expected orders with the reason for each, and what holds for any two lists."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from search_core.merge import BOTH, LOCAL, OMNISEARCH, Question, has_all, merge, still_holds
from search_core.notes import Hit
from search_core.omnisearch_rows import Row


def note(path: str, score: float = 1.0) -> Hit:
    return Hit(path=path, basename=path, score=score, excerpt="", engine=LOCAL, cut=lambda size: path[:size])


def found(path: str, *words: str, score: float = 5.0) -> Row:
    return Row(path, score, "Vault", "", words or ("tape",))


def to_hit(row: Row) -> Hit:
    return Hit(path=row.path, basename=row.path, score=row.score, excerpt=row.excerpt, engine=OMNISEARCH)


def merged(
    local: list[str], rows: list[Row], *, limit: int = 10, in_no_note: bool = False, stale: tuple[str, ...] = ()
) -> tuple[list[str], str]:
    notes = [note(path, 10.0 - place) for place, path in enumerate(local)]
    question = Question(("tape",), limit, in_no_note)
    hits, engine = merge(notes, rows, question, to_hit, lambda row: row.path not in stale)
    return [hit.path for hit in hits], engine


def test_notes_alone_stay_as_they_are() -> None:
    assert merged(["a.md", "b.md"], []) == (["a.md", "b.md"], LOCAL)


def test_the_local_order_of_shared_notes_wins() -> None:
    assert merged(["a.md", "b.md"], [found("b.md"), found("a.md")]) == (["a.md", "b.md"], BOTH)


def test_a_pdf_keeps_its_place_of_omnisearchs_list() -> None:
    rows = [found("a.md"), found("b.md"), found("scan.pdf"), found("c.md")]
    assert merged(["c.md", "b.md", "a.md"], rows) == (["c.md", "b.md", "scan.pdf", "a.md"], BOTH)


def test_the_best_note_stays_first() -> None:
    assert merged(["a.md", "b.md"], [found("scan.pdf"), found("a.md")])[0] == ["a.md", "scan.pdf", "b.md"]


def test_a_pdf_goes_first_when_a_word_is_in_no_note() -> None:
    assert merged(["a.md"], [found("scan.pdf")], in_no_note=True)[0] == ["scan.pdf", "a.md"]


def test_pictures_do_not_crowd_out_the_notes() -> None:
    rows = [found(f"{n}.png") for n in range(5)]
    expected = ["a.md", "0.png", "b.md", "1.png", "c.md", "2.png", "3.png", "4.png"]
    assert merged(["a.md", "b.md", "c.md"], rows)[0] == expected


def test_a_file_that_nearly_matches_comes_after_all_notes() -> None:
    assert merged(["a.md", "b.md"], [found("taper.pdf", "tope"), found("scan.pdf", "tope")])[0] == [
        "a.md",
        "taper.pdf",  # the word begins its name
        "b.md",
        "scan.pdf",
    ]


def test_notes_that_only_omnisearch_found_come_last_unless_stale() -> None:
    rows = [found("old.md"), found("extra.md"), found("a.md")]
    assert merged(["a.md", "b.md"], rows, stale=("old.md",))[0] == ["a.md", "b.md", "extra.md"]


def test_only_omnisearch_found_anything() -> None:
    assert merged([], [found("scan.pdf"), found("x.md")]) == (["scan.pdf", "x.md"], OMNISEARCH)


def test_omnisearch_found_only_what_is_gone() -> None:
    assert merged(["a.md"], [found("x.md")], stale=("x.md",)) == (["a.md"], LOCAL)
    assert merged([], [found("x.md")], stale=("x.md",)) == ([], LOCAL)


def test_notes_beyond_the_limit_are_not_even_looked_at() -> None:
    asked: list[str] = []
    rows = [found("x.md"), found("y.md"), found("z.md")]

    def holds(row: Row) -> bool:
        asked.append(row.path)
        return True

    merge([note("a.md")], rows, Question(("tape",), 2), to_hit, holds)
    assert asked == ["x.md"]


def test_each_hit_says_who_found_it_and_can_still_be_cut() -> None:
    rows = [found("a.md"), found("scan.pdf")]
    hits, _ = merge([note("a.md"), note("b.md")], rows, Question(("tape",), 9), to_hit, lambda _row: True)
    assert [(hit.path, hit.engine) for hit in hits] == [("a.md", BOTH), ("scan.pdf", OMNISEARCH), ("b.md", LOCAL)]
    assert hits[0].cut(2) == "a."


PATHS = st.sampled_from([f"{name}.{kind}" for name in "abcdef" for kind in ("md", "pdf", "png")])
NOTES = st.lists(st.sampled_from([f"{name}.md" for name in "abcdefgh"]), unique=True)
ROWS = st.lists(PATHS, unique=True).map(lambda paths: [found(p, "tape" if p[0] < "d" else "tope") for p in paths])


@given(NOTES, ROWS, st.booleans(), st.integers(1, 12))
def test_for_any_two_lists(local: list[str], rows: list[Row], in_no_note: bool, limit: int) -> None:
    notes = [note(path, 20.0 - place) for place, path in enumerate(local)]
    hits, engine = merge(notes, rows, Question(("tape",), limit, in_no_note), to_hit, lambda row: row.path != "a.md")
    paths = [hit.path for hit in hits]
    assert len(paths) == len(set(paths)) <= limit
    assert [path for path in paths if path in local] == local[: sum(path in local for path in paths)]
    assert all(paths.index(path) <= 2 * local.index(path) + in_no_note for path in paths if path in local)
    if local:
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    if engine == LOCAL:
        assert paths == local[:limit]


@given(NOTES, st.lists(st.sampled_from([f"{name}.md" for name in "abcxyz"]), unique=True))
def test_without_other_files_a_full_local_list_is_unchanged(local: list[str], others: list[str]) -> None:
    assert merged(local, [found(path) for path in others], limit=len(local) or 1)[0][: len(local)] == local


def test_a_word_may_be_in_the_path_or_begin_what_was_found() -> None:
    row = found("Backups/Bänder.pdf", "tapes", "élan")
    assert has_all(row, ("tape", "backup", "bander", "Elan"))
    assert not has_all(row, ("tape", "drive"))
    assert has_all(found("a.pdf", "иогурт", "елка"), ("Йогурт", "ёлка"))


def test_a_note_holds_the_words_as_typed_or_as_omnisearch_took_them() -> None:
    row = found("Backups/a.md", "zebra", "stripes")
    assert still_holds(row, ("zebra", "stripe"), "The Zebra has stripes.")
    assert still_holds(row, ("zebras",), "a zebra")
    assert still_holds(row, ("backup",), "")
    assert not still_holds(row, ("zebra",), "a horse now")
    assert not still_holds(row, ("zebra", "stripes"), "a zebra")
    assert not still_holds(row, ("horse",), "a zebra")
