"""Whatever the text from the air: a command, bounded and plain, and never an exception."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.protocol.commands import MAX_QUESTION, More, Note, Open, Repeat, Search, parse
from gateway.protocol.replies import one_line

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
            assert not set(words) & set("\x00\x07\n\x1b\x9b\u200b\u202e\u2066")
            words.encode()
        case More(count):
            assert 1 <= count <= 5
        case Open(number):
            assert 1 <= number <= 9
        case Repeat(part):
            assert part is None or 1 <= part <= 9999
