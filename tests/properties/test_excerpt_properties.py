"""Whatever the note and the question: an excerpt fits, is made of the note's own characters, and cuts none of them."""

from __future__ import annotations

import regex  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from search_core.excerpt import Excerpts, Unit
from search_core.graphemes import byte_length
from search_core.markdown_text import plain_lines, plain_text
from search_core.terms import fold

MARKS = [
    "# ",
    "\n",
    "\n\n",
    "- ",
    "| a | b |\n|---|---|\n",
    "```\n",
    "`",
    "**",
    "[x](",
    ")",
    "[[",
    "]]",
    "<b>",
    "$",
    "&amp;",
]
WORDS = ["bee ", "Honig ", "蜂蜜", "。", "<Key>", ". ", "42 ", "\ud800", "\x00"]
CLUSTERS = ["👨\u200d👩\u200d👧", "🇩🇪", "e\u0301\u0323", "क्षि", "각\u11a8"]
PIECES = st.sampled_from([*MARKS, *WORDS, *CLUSTERS])
NOTES = st.one_of(st.text(max_size=400), st.lists(PIECES, max_size=120).map("".join))
UNITS = st.lists(st.sampled_from(["bee", "honig", "蜂", "42", "蜂 蜜", "b"]), max_size=3)


def excerpts(note: str, words: list[str]) -> Excerpts:
    return Excerpts(note, [Unit(((word, 1.0),), 4.0) for word in words], "how many " + " ".join(words))


@given(NOTES, UNITS, st.integers(0, 200))
@settings(max_examples=200, deadline=None)
def test_every_excerpt_fits_its_budget(note: str, words: list[str], budget: int) -> None:
    for text in excerpts(note, words).windows(budget, 3):
        assert 0 < byte_length(text) <= budget


@given(NOTES, UNITS)
@settings(max_examples=100, deadline=None)
def test_reading_starts_inside_the_plain_text(note: str, words: list[str]) -> None:
    start = excerpts(note, words).start_of_best()
    text = plain_text(note)
    assert 0 <= start <= len(text)
    assert start == 0 or text[start - 1].isspace() or text[start - 1] in "。…" or start % 600 == 0 or len(text) > 600


@given(st.lists(st.sampled_from([*CLUSTERS, "bee", "蜂", " ", " ", "。"]), max_size=300), UNITS)
@settings(max_examples=150, deadline=None)
def test_no_character_is_cut(pieces: list[str], words: list[str]) -> None:
    note = "".join(pieces)
    whole = set(regex.findall(r"\X", plain_text(note))) | {"…", " "}
    for budget in (20, 60, 150):
        for text in excerpts(note, words).windows(budget, 2):
            assert set(regex.findall(r"\X", text)) <= whole


@given(NOTES)
@settings(max_examples=150, deadline=None)
def test_plain_text_is_its_lines_and_keeps_every_plain_word(note: str) -> None:
    assert plain_text(note) == "\n".join(line.text for line in plain_lines(note))
    assert all(line.text.strip() for line in plain_lines(note))


@given(st.lists(st.from_regex(r"[a-z]{2,9}", fullmatch=True), min_size=1, max_size=60))
@settings(max_examples=50, deadline=None)
def test_words_without_marks_stay_as_they_are(words: list[str]) -> None:
    assert fold(plain_text(" ".join(words))) == " ".join(words)
