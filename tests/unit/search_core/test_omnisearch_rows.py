"""Rows from the port: hostile paths go, repeated and empty ones too, excerpts become text."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_core.omnisearch_rows import UnknownShape, decode_excerpt, is_safe, rows_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["path", "score", "vault", "excerpt", "foundWords", "x"]), inner, max_size=6)
    ),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=60)
def test_any_json_gives_safe_sorted_rows_or_a_reason(answer: object) -> None:
    try:
        rows = rows_of(answer)
    except UnknownShape:
        return
    assert all(is_safe(row.path) and row.score > 0 for row in rows)
    assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)
    assert len({row.path for row in rows}) == len(rows)


@pytest.mark.parametrize("path", ["a.md", "Überordner/ё.md", "a b/c d.pdf", "emoji 👩‍🚀.md", "no_ext", "a..b/c.md"])
def test_paths_of_a_vault(path: str) -> None:
    assert is_safe(path)


@pytest.mark.parametrize(
    "path", ["", "/a", "../a", "a/../b", "./a", "a/", "a//b", ".obsidian/x", "a/.b/c", "a\\b", "C:/a", "a\nb", "\udc80"]
)
def test_paths_that_are_not(path: str) -> None:
    assert not is_safe(path)


def test_the_best_row_of_a_path_is_kept() -> None:
    rows = rows_of([{"path": "a.md", "score": s} for s in (0, 3, 7.5, 1)])
    assert [(row.path, row.score) for row in rows] == [("a.md", 7.5)]


def test_a_line_break_in_the_note_stays_text() -> None:
    assert decode_excerpt("a<br>b &lt;br&gt; c &amp;lt;") == "a\nb <br> c &lt;"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_decoding_undoes_the_plugins_escaping(text: str) -> None:
    sent = escape(text, quote=True).replace("&#x27;", "&#039;").replace("\n", "<br>")
    assert decode_excerpt(sent) == text
