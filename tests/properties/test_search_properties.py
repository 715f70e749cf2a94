"""Whatever is asked and whatever is in the notes: no error, no private byte, the same as a plain scan."""

from __future__ import annotations

import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_core import Scope, SearchCore
from search_core.note_fields import fields_of, front_matter
from search_core.query import MAX_PIECES, parse
from search_core.terms import edits, fold, spaced, words
from search_core.vault import decode

TEXT = st.text(max_size=60)
NASTY = st.lists(
    st.sampled_from(
        [
            '"',
            "'",
            "*",
            "^",
            "(",
            ")",
            "NEAR(",
            "OR",
            "AND",
            "NOT",
            "-",
            "--",
            "in:",
            "path:",
            ":",
            "\0",
            "+",
            "{",
            "}",
            "tape",
            "title:",
            "磁带",
            "é",
            "\ud800",
            "🚀",
            "a",
            "1",
            "_",
            ".",
            "\\",
            "%",
            ";",
            "--x",
            "-tape",
            '"tape',
            "in:Home",
            "~/..",
            "\n",
        ]
    ),
    max_size=8,
).map(" ".join)


@pytest.fixture(scope="module")
def core() -> Iterator[SearchCore]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        (root / "Home").mkdir(parents=True)
        (root / "Home/tape.md").write_text("# Tape\nbackup to tape, 磁带, café\n")
        (root / "other.md").write_text("other words entirely\n")
        (root / "secret.md").write_text("---\nprivate: yes\n---\nxylophone marzipan tape\n")
        core = SearchCore(str(root), cache_dir=str(Path(folder) / "cache"))
        yield core
        core.close()


@settings(max_examples=60, deadline=None)
@given(query=TEXT | NASTY)
def test_any_question_has_an_answer(core: SearchCore, query: str) -> None:
    answer = core.search(query, source="local")
    assert answer.total >= len(answer.hits)
    assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)


@settings(max_examples=60, deadline=None)
@given(
    query=st.lists(
        st.sampled_from(["xylophone", "xylophon", "marzipan", "marzi", "tape", "private", "secret", '"', "-other", "m"])
    ).map(" ".join)
)
def test_no_question_brings_up_a_private_note(core: SearchCore, query: str) -> None:
    answer = core.search(query, source="local", scope=Scope(private_key="private"))
    shown = repr((answer.hits, answer.near))
    assert "secret.md" not in shown
    assert not any(near.suggestion in ("xylophone", "marzipan", "secret", "private") for near in answer.near)
    assert answer.total <= 2


@settings(max_examples=200, deadline=None)
@given(raw=TEXT | NASTY)
def test_parsing_keeps_bounds_and_is_repeatable(raw: str) -> None:
    query = parse(raw)
    assert len(query.pieces) <= MAX_PIECES
    assert parse(raw) == query
    assert all('"' not in piece for piece in query.pieces)


@settings(max_examples=200, deadline=None)
@given(text=TEXT)
def test_unicode_forms_are_the_same(text: str) -> None:
    assert fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text))


@settings(max_examples=200, deadline=None)
@given(text=TEXT)
def test_spaced_words_are_found_as_the_index_spells_them(text: str) -> None:
    assert all(f" {word} " in spaced(text) for word in words(fold(text)))
    assert "  " not in spaced(text).strip()


@settings(max_examples=150, deadline=None)
@given(stem=st.text(max_size=10), text=st.text(max_size=200))
def test_any_text_has_fields(stem: str, text: str) -> None:
    fields = fields_of(stem, text)
    assert fields.words == len(fields.body.split())


@settings(max_examples=100, deadline=None)
@given(
    before=st.sampled_from(["", "title: x\n", "tags: [a]\n"]),
    value=st.sampled_from(["true", "True", '"true"', "yes", "on"]),
)
def test_a_true_key_hides_wherever_it_stands(before: str, value: str) -> None:
    assert "private" in front_matter(f"---\n{before}Private: {value} # x\n---\ntext").true_keys


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=80))
def test_any_bytes_are_text(data: bytes) -> None:
    decode(data).encode()


@settings(max_examples=200, deadline=None)
@given(a=st.text("abc", max_size=6), b=st.text("abc", max_size=6))
def test_edits_are_a_symmetric_distance(a: str, b: str) -> None:
    assert edits(a, b, 6) == edits(b, a, 6)
    assert (edits(a, b, 6) == 0) == (a == b)


@settings(max_examples=15, deadline=None)
@given(
    notes=st.lists(
        st.lists(st.sampled_from(["alpha", "bravo", "charlie", "delta"]), max_size=4).map(" ".join),
        min_size=1,
        max_size=5,
    ),
    word=st.sampled_from(["alpha", "bravo", "charlie", "delta"]),
)
def test_the_index_finds_what_a_plain_scan_finds(notes: list[str], word: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(notes):
            (Path(folder) / f"n{number}.md").write_text(text + "\n")
        core = SearchCore(folder, cache_dir=f"{folder}/.cache")
        found = {hit.path for hit in core.search(word, source="local", limit=50).hits}
        core.close()
        assert found == {f"n{number}.md" for number, text in enumerate(notes) if word in text.split()}
