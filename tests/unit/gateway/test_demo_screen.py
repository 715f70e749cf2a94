"""The demo's picture of a handheld: lines as they came, columns that fit, and what each exchange cost."""

from __future__ import annotations

import io

import pytest

from gateway.demo_screen import Cost, Screen, Turn, columns_of, wrap
from gateway.radio.simulated.handheld import Seen, Sent

QUESTION = Sent(at=10.0, to=1, text="hut key", packet_id=5, tick="delivered")


def seen(text: str) -> Seen:
    return Seen(13.0, 1, text, len(text.encode()), 6, True, 0, 5, False, 0)


def shown(monkeypatch: pytest.MonkeyPatch, columns: int, text: str) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = io.StringIO()
    screen = Screen(out)
    screen.asked(QUESTION)
    screen.answered(QUESTION, seen(text))
    screen.sum_up(Turn(QUESTION, (seen(text),), Cost(3, 1.6), Cost(1, 2.5), acknowledged=False))
    return out.getvalue().splitlines()


def test_the_lines_of_an_answer_stay_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, 80, "1 Hut: key\n2 Shed: none\n2/2")
    assert [line.strip(" │") for line in lines if "│" in line] == ["hut key", "1 Hut: key", "2 Shed: none", "2/2"]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_nothing_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    lines = shown(monkeypatch, columns, "钥匙在柴房第三层木板下面 " * 8 + "x" * 90 + "\n1/1")
    assert max(map(columns_of, lines)) <= columns


def test_it_says_what_is_not_acknowledged_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "answer: 1 packet with ACKs, 2.5 s on the air · not acknowledged yet" in shown(monkeypatch, 80, "a")[-1]


@pytest.mark.parametrize(
    ("line", "width", "pieces"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("see 柴房第三层", 8, ["see 柴房", "第三层"]),
        ("0123456789", 4, ["0123", "4567", "89"]),
        ("家👨‍👩‍👧‍👦家", 8, ["家", "👨‍👩‍👧‍👦", "家"]),
        ("", 5, [""]),
    ],
)
def test_lines_are_cut_between_words_and_never_within_a_character(line: str, width: int, pieces: list[str]) -> None:
    assert wrap(line, width) == pieces


def test_what_a_terminal_obeys_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in "".join(shown(monkeypatch, 80, "red \x1b[31m\r\nnow"))
