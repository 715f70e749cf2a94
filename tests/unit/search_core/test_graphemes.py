"""What a reader sees as one character is never cut."""

from __future__ import annotations

import pytest

from search_core.graphemes import boundaries, clip, split_point

WHOLE = [
    pytest.param("🇩🇪", id="flag"),
    pytest.param("👨\u200d👩\u200d👧\u200d👦", id="family"),
    pytest.param("👍🏽", id="skin tone"),
    pytest.param("❤\ufe0f\u200d🔥", id="heart on fire"),
    pytest.param("🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", id="flag of Scotland"),
    pytest.param("1\ufe0f\u20e3", id="keycap"),
    pytest.param("e\u0301\u0323", id="stacked accents"),
    pytest.param("\u1112\u1161\u11ab", id="Hangul by its parts"),
    pytest.param("각\u11a8", id="Hangul syllable with a final"),
    pytest.param("क्षि", id="Devanagari conjunct"),
    pytest.param("ক্ষ", id="Bengali conjunct"),
    pytest.param("กำ", id="Thai sara am"),
    pytest.param("\u0600\u0661", id="Arabic number sign before its digit"),
    pytest.param("\r\n", id="line end"),
]


@pytest.mark.parametrize("cluster", WHOLE)
def test_a_cluster_is_one(cluster: str) -> None:
    assert list(boundaries(f"a{cluster}b")) == [1, 1 + len(cluster), 2 + len(cluster)]


@pytest.mark.parametrize("cluster", WHOLE)
def test_clip_takes_all_of_a_cluster_or_nothing(cluster: str) -> None:
    size = len(cluster.encode())
    assert clip(cluster, size) == cluster
    assert clip(cluster, size - 1) == ""
    assert clip(f"a{cluster}", size) == "a"


def test_flags_in_a_row_are_cut_in_pairs() -> None:
    assert list(boundaries("🇩🇪🇫🇷🇮")) == [2, 4, 5]


def test_every_ascii_character_is_its_own() -> None:
    assert list(boundaries("a b\n")) == [1, 2, 3, 4]
    assert clip("abc", 2) == "ab"
    assert clip("abc", 0) == ""
    assert clip("abc", -1) == ""


def test_a_letter_joins_on_to_a_virama_but_not_to_a_plain_letter() -> None:
    assert list(boundaries("कख")) == [1, 2]


def test_a_giant_cluster_does_not_clip_but_splits() -> None:
    giant = "e" + "\u0301" * 500
    assert clip(giant, 100) == ""
    assert split_point(giant, 100) == 50
    assert split_point("x" + giant, 100) == 1


def test_splitting_always_gets_on() -> None:
    assert split_point("👍🏽", 3) == 1
    assert split_point("", 10) == 0
    assert split_point("abc", 10) == 3


def test_lone_surrogates_are_text_like_any_other() -> None:
    assert clip("a\ud800b", 4) == "a\ud800"
    assert split_point("\ud800\ud800", 3) == 1
