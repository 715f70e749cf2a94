"""What is taken out of foreign text, what stays, and that all of Unicode was thought of."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Callable

import pytest

from gateway.protocol.inert import MAX_LOG_CHARS, for_air, for_log, for_terminal

ALL = (for_air, for_log, for_terminal)
VISIBLE_FORMAT = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Signs of category Cf that are drawn, around or before numbers."""
SHOWS_NOTHING = "\u034f\u115f\u1160\u3164\uffa0\u17b4\u17b5\u180b\u180c\u180d\u180f\ufe00\ufe0f\U000e0100\U000e01ef"


CATEGORIES = {chr(code): unicodedata.category(chr(code)) for code in range(sys.maxunicode + 1)}
DANGEROUS = [
    char
    for char, category in CATEGORIES.items()
    if (category in {"Cc", "Cf", "Cs", "Zl", "Zp"} and char not in VISIBLE_FORMAT)
    or char in SHOWS_NOTHING
    or ord(char) & 0xFFFE == 0xFFFE
]


@pytest.mark.parametrize("make_inert", ALL)
def test_no_character_that_acts_or_hides_survives_alone(make_inert: Callable[[str], str]) -> None:
    assert not [char for char in DANGEROUS if char in make_inert(f"a{char}b").replace("\n", "")]


def test_every_letter_mark_number_and_sign_survives() -> None:
    visible = [char for char, category in CATEGORIES.items() if category[0] in "LMNPSZ"]
    lost = set(visible) - set(for_air("a".join(visible)))
    hidden = {char for char in lost if "VARIATION SELECTOR" in unicodedata.name(char)}
    assert lost - hidden <= set(SHOWS_NOTHING + "\u2028\u2029")


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "zwei\nLinien",
        "👩‍👩‍👧‍👦 👩🏽‍🚒 ❤️‍🔥 1️⃣ ☎️ 🏳️‍🌈",
        "می‌خواهم",  # Persian with a zero-width non-joiner
        "क्‍ष ක්‍ෂ",  # Devanagari and Sinhala with a joiner after the virama
        "e\u0301 Việt q\u0323\u0307",
        "שָׁלוֹם العربية ไทย 한국어 日本語",
    ],
)
def test_ordinary_writing_goes_over_the_air_unchanged(text: str) -> None:
    assert for_air(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[2Jb", "a[2Jb"),
        ("a\x9b31mb\x07", "a31mb"),
        ("safe\u202egpj.exe", "safegpj.exe"),
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("a\tb", "a b"),
        ("pass\u200bword", "password"),
        ("a\u200db", "ab"),
        ("a\ufe0fb\U000e0041", "ab"),
        ("👩\u200d x", "👩 x"),
        ("क\u200d\u200dक", "कक"),
        ("Z" + "\u0301" * 40 + "x", "Z" + "\u0301" * 4 + "x"),
        ("\ud800x", "x"),
        ("\ufeffq", "q"),
    ],
)
def test_dangerous_characters_are_left_out_over_the_air(text: str, expected: str) -> None:
    assert for_air(text) == expected


def test_a_log_shows_what_it_takes_out_on_one_line() -> None:
    assert for_log("a\nERROR forged\x1b[0m\u202e\U000e0041") == "a\\x0aERROR forged\\x1b[0m\\u202e\\U000e0041"


def test_a_log_line_is_bounded_and_says_that_it_was_cut() -> None:
    assert for_log("x" * 10_000) == "x" * (MAX_LOG_CHARS - 1) + "…"
    assert len(for_log("\u202e" * 10_000)) == MAX_LOG_CHARS
    assert for_log("abcdef", 3) == "ab…"


def test_a_terminal_gets_one_line_with_the_holes_marked() -> None:
    assert for_terminal("Anna\x1b]0;pwned\x07\nroot#\t\u2066ok") == "Anna\ufffd]0;pwned\ufffd root# \ufffdok"


@pytest.mark.parametrize("make_inert", ALL)
@pytest.mark.parametrize(
    "text",
    [
        "\u0301" * 50_000,
        "👩\u200d" * 25_000,
        "\u200d" * 50_000,
        "\x1b[" * 25_000,
        "क\u200c" * 25_000,
        "\r" * 50_000,
    ],
    ids=["marks", "families", "joiners", "escapes", "scripts", "returns"],
)
def test_time_grows_with_the_text_and_no_faster(make_inert: Callable[[str], str], text: str) -> None:
    started = time.process_time()
    make_inert(text)
    assert time.process_time() - started < 2.0
