"""Limits by arithmetic, and cuts where a reader would make them."""

from __future__ import annotations

import pytest

from gateway.protocol.packets import join, mark_again, part_number, split, target_budget, text_budget, unnumbered
from search_core.graphemes import byte_length

FAMILY = "👩‍👩‍👧‍👦"

# Kinds of text on which splitters are known to fail.
HARD_TEXTS = {
    "ascii 500": "lorem ipsum dolor sit amet " * 19,
    "ascii without spaces": "x" * 2_000,
    "cyrillic 160": "съешь же ещё этих мягких булок " * 5,
    "cyrillic path": "папка/" * 53,
    "emoji": "😀" * 150,
    "emoji off by one": "a" + "😀" * 150,
    "families": FAMILY * 25,
    "flags": "🇨🇭🇩🇪🇯🇵" * 40,
    "hangul": "응급처치" * 60,
    "devanagari": "प्राथमिक उपचार " * 30,
    "chinese": "急救箱里有绷带、剪刀和消毒水。每年检查一次。" * 12,
    "one line, eight times": "the same line again\n" * 8,
}


@pytest.mark.parametrize(
    ("direct", "reply_id", "limit"), [(True, False, 220), (True, True, 215), (False, False, 232), (False, True, 227)]
)
def test_the_limits_are_those_the_firmware_keeps(direct: bool, reply_id: bool, limit: int) -> None:
    assert text_budget(direct=direct, reply_id=reply_id) == limit


def test_a_target_leaves_room_for_the_mark_of_a_repeat() -> None:
    assert target_budget(direct=True, reply_id=True) == 200
    assert target_budget(direct=True, reply_id=True, wanted=215) == 214


@pytest.mark.parametrize("name", HARD_TEXTS)
@pytest.mark.parametrize("budget", [200, 215, 220, 232])
def test_no_part_is_too_large_and_nothing_is_lost(name: str, budget: int) -> None:
    text = HARD_TEXTS[name]
    parts, first = split(text, budget)
    assert first == 0
    assert max(byte_length(part) for part in parts) <= budget
    assert "".join(join(parts).split()) == "".join(text.split())


def test_clusters_stay_whole() -> None:
    parts, _ = split(FAMILY * 25, 200)
    assert all(set(unnumbered(part).split(FAMILY)) == {""} for part in parts)
    flags, _ = split("🇨🇭" * 100, 200)
    assert all(set(unnumbered(part).split("🇨🇭")) == {""} for part in flags)


def test_one_character_larger_than_a_part_is_cut_between_code_points() -> None:
    giant = "e" + "\u0301" * 500
    parts, _ = split(giant, 100)
    assert max(byte_length(part) for part in parts) <= 100
    assert join(parts) == giant


def test_text_that_fits_has_no_number() -> None:
    assert split("short", 200) == (("short",), 0)
    assert split(" short\n", 200, end=" [end]") == (("short [end]",), 0)


def test_nothing_gives_no_parts() -> None:
    assert split("", 200) == ((), 0)
    assert split(" \n ", 200) == ((), 0)


def test_cuts_prefer_a_paragraph_then_a_sentence_then_a_word() -> None:
    assert split("a" * 36 + "\n\n" + "b b " * 10, 50)[0][0] == "1/2 " + "a" * 36
    assert split("One two three four five six. Seven eight nine ten", 40)[0] == (
        "1/2 One two three four five six.",
        "2/2 Seven eight nine ten",
    )
    assert split("one two three four five six seven", 26)[0] == ("1/2 one two three four", "2/2 five six seven")


def test_a_nicer_cut_is_taken_where_it_costs_no_part_more() -> None:
    text = "The first sentence of it all. Then a second one which is longer."
    assert split(text, 50)[0] == ("1/2 The first sentence of it all.", "2/2 Then a second one which is longer.")
    parts, _ = split(text + " And" + " more" * 7, 50)
    assert len(parts) == 3
    assert split("The first sentence of it all. " + "word " * 200, 50)[0][0].endswith("word word")


def test_a_sentence_end_early_in_the_part_costs_too_much() -> None:
    part = split("Yes. " + "word " * 50, 100)[0][0]
    assert byte_length(part) > 90


def test_numbers_of_two_digits_fit_too() -> None:
    parts, _ = split("word " * 300, 60)
    assert part_number(parts[0]) == (1, len(parts))
    assert len(parts) > 9
    assert [part_number(part) for part in parts] == [(n, len(parts)) for n in range(1, len(parts) + 1)]
    assert max(byte_length(part) for part in parts) <= 60


def test_over_a_thousand_parts_keep_counting() -> None:
    parts, _ = split("word " * 30_000, 60)
    assert len(parts) > 1_000
    assert part_number(parts[-1]) == (len(parts), len(parts))


def test_a_part_begins_at_the_place_asked_for() -> None:
    text = "First sentence here. " * 10 + "The passage. " + "Then the rest. " * 10
    parts, first = split(text, 120, at=text.index("The passage"))
    assert unnumbered(parts[first]).startswith("The passage.")
    assert "".join(join(parts).split()) == "".join(text.split())


def test_the_part_of_an_indented_line_is_that_which_begins_with_it() -> None:
    text = "def light(stove):\n" + "    pump(stove)\n" * 8 + "    open_valve(stove)\n" + "    wait()\n" * 20
    parts, first = split(text, 100, at=text.index("    open_valve"))
    assert parts[first].partition(" ")[2].startswith("open_valve(stove)")


def test_a_place_inside_a_word_is_inside_its_part() -> None:
    text = "alphabet " * 40
    parts, first = split(text, 100, at=text.index("bet", 150))
    start = len(join(parts[:first]))
    assert start <= 150 <= start + 100


def test_the_end_is_never_alone() -> None:
    for length in range(150, 240):
        parts, _ = split("x" * length, 100, end=" [end]")
        assert parts[-1].endswith("x [end]")
        assert max(byte_length(part) for part in parts) <= 100


def test_a_label_stands_in_each_part() -> None:
    parts, _ = split("word " * 50, 100, label="(changed) ")
    assert all("(changed) word" in part for part in parts)
    assert max(byte_length(part) for part in parts) <= 100
    assert "".join(join(parts, label="(changed) ").split()) == "word" * 50


def test_a_budget_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError):
        split("words enough", 6)


def test_a_repeat_is_marked_once_and_only_where_it_fits() -> None:
    assert mark_again("2/5 text", 200) == "*2/5 text"
    assert mark_again("*2/5 text", 200) == "*2/5 text"
    assert mark_again("x" * 215, 215) == "x" * 215
    assert byte_length(mark_again("x" * 213, 215)) - 213 <= 2
    assert part_number(mark_again("2/5 text", 200)) == (2, 5)
