"""Our compact rule is held against the reference: every place where it cuts is a place where \\X ends."""

from __future__ import annotations

import itertools
import random
import sys

import regex  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from search_core.graphemes import boundaries, byte_length, clip, split_point

STICKY = regex.findall(
    r"[\p{GCB=Extend}\p{GCB=Prepend}\p{GCB=SpacingMark}\p{GCB=L}\p{GCB=V}\p{GCB=T}\p{RI}\p{ExtPict}\r\n\u200d]",
    "".join(map(chr, range(sys.maxunicode + 1))),
)
MIXED = st.text(st.one_of(st.sampled_from(STICKY), st.characters()), max_size=40)


def reference(text: str) -> set[int]:
    return {match.end() for match in regex.finditer(r"\X", text)}


@given(MIXED)
@settings(max_examples=300)
def test_every_cut_is_one_of_the_standard(text: str) -> None:
    assert set(boundaries(text)) <= reference(text)


def test_every_cut_is_one_of_the_standard_for_many_sticky_strings() -> None:
    dice = random.Random(1)
    for _ in range(3000):
        text = "".join(dice.choice(STICKY) if dice.random() < 0.8 else chr(dice.randrange(0xD800)) for _ in range(6))
        assert set(boundaries(text)) <= reference(text), text.encode("unicode_escape")


@given(st.text(st.characters(max_codepoint=0x2FFF), max_size=60))
@settings(max_examples=200)
def test_pieces_make_up_the_text(text: str) -> None:
    cuts = [0, *boundaries(text)]
    assert "".join(text[a:b] for a, b in itertools.pairwise(cuts)) == text
    assert cuts == sorted(set(cuts))


@given(MIXED, st.integers(0, 60))
@settings(max_examples=300)
def test_clip_is_the_longest_start_that_fits(text: str, budget: int) -> None:
    start = clip(text, budget)
    assert text.startswith(start)
    assert byte_length(start) <= budget
    longer = [cut for cut in boundaries(text) if cut > len(start)]
    assert not longer or byte_length(text[: longer[0]]) > budget


@given(MIXED, st.integers(4, 60))
@settings(max_examples=300)
def test_splitting_in_a_loop_ends_and_loses_nothing(text: str, budget: int) -> None:
    parts = []
    rest = text
    while rest:
        cut = split_point(rest, budget)
        parts.append(rest[:cut])
        rest = rest[cut:]
    assert "".join(parts) == text
    assert all(0 < byte_length(part) <= budget for part in parts)
