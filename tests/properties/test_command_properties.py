"""Whatever the text from the air: a command, bounded and plain, and never an exception."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.protocol.commands import MAX_QUESTION, More, Note, Open, Repeat, Search, parse
from gateway.protocol.replies import inert, one_line

PIECES = [
    "m",
    "more",
    "1",
    "９",
    "r ",
    "again",
    "n ",
    "note:",
    "f ",
    "?",
    "\u202e",
    "\u200b",
    "\x1b[2J",
    "\n",
    "“",
    "in:",
    "-",
    "👍",
    "2/5 ",
    "» ",
    "SNR: 5",
]
TEXTS = st.one_of(st.text(max_size=400), st.lists(st.sampled_from(PIECES), max_size=20).map("".join))


@settings(max_examples=300, deadline=None)
@given(TEXTS)
@example("\ud800")
@example("1/" + "9" * 400)
@example("[" * 500)
def test_any_text_is_a_command(text: str) -> None:
    command = parse(text)
    match command:
        case Search(words) | Note(words):
            assert words
            assert len(words) <= MAX_QUESTION
            assert words == one_line(words)
            assert all(char.isprintable() or char in "\u200c\u200d" for char in words)
            words.encode()
        case More(count):
            assert 1 <= count <= 5
        case Open(number):
            assert 1 <= number <= 9
        case Repeat(part):
            assert part is None or 1 <= part <= 9999


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
@example("مي\u200cخواهم")
@example("👩\u200d👩\u200d👧 a\u200db \u202eevil\u202c \u2066x\u2069")
@example("क्\u200dष 2\ufe0f\u20e3 ❤\ufe0f")
@example("z" + "\u0310" * 60)
@example("क\u200d\u200b")
@example("क\u200d\u200d")
@example("❤\ufe0f\u200b\ufe0f\ufe0f\u200d👍")
def test_inert_text_shows_all_it_holds_and_stays_as_it_is(text: str) -> None:
    shown = inert(text)
    assert inert(shown) == shown
    assert not set(shown) & set(
        "\u200b\u2060\ufeff\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u061c\u200e\u200f\x1b\x07\x00\x85"
    )
    assert all(char.isprintable() or char in "\n\u200c\u200d" or ord(char) in range(0x600, 0x11100) for char in shown)
    plain = [char for char in text if char.isalnum() and char not in "\u115f\u1160\u3164\uffa0"]
    assert [char for char in shown if char.isalnum()] == plain
    shown.encode()
