"""Whatever the text: no part too large, nothing lost or repeated, no character cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.protocol.packets import join, part_number, split, unnumbered
from search_core.graphemes import boundaries, byte_length

FRAGMENTS = [
    "👩‍👩‍👧‍👦",
    "🇨🇭",
    "👍🏽",
    "e\u0301",
    "क्षि",
    "각",
    "\u1112\u1161\u11ab",
    "م",
    "急",
    ". ",
    "\n\n",
    "\n",
    "。",
    " ",
    "word",
    "1/2 ",
    "*",
]
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=400),
    st.lists(st.sampled_from(FRAGMENTS), max_size=300).map("".join),
)
BUDGETS = st.integers(min_value=40, max_value=232)


def solid(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=150, deadline=None)
@given(TEXTS, BUDGETS, st.integers(0, 400), st.sampled_from(["", " [end]"]), st.sampled_from(["", "(changed) "]))
@example("1/2 1/2 1/2 " * 20, 40, 12, "", "")
@example("e" + "\u0301" * 300, 40, 0, " [end]", "")
@example(" \u0301" * 100, 40, 3, "", "")
def test_parts(text: str, budget: int, at: int, end: str, label: str) -> None:
    parts, first = split(text, budget, at=at, end=end, label=label)
    assert (not parts) == (not text.strip())
    assert 0 <= first < max(1, len(parts))
    assert all(byte_length(part) <= budget for part in parts)
    assert solid(join(parts, end=end, label=label)) == solid(text)
    if len(parts) > 1:
        assert [part_number(part) for part in parts] == [(n, len(parts)) for n in range(1, len(parts) + 1)]
        assert all(unnumbered(part).removeprefix(label).removesuffix(end) for part in parts)


@settings(max_examples=100, deadline=None)
@given(TEXTS, BUDGETS, st.integers(0, 400))
@example("x" * 36 + " \u0301" + "y" * 60, 40, 0)
@example(" \u0301" * 100, 41, 0)
def test_only_a_giant_character_is_cut(text: str, budget: int, at: int) -> None:
    parts, _ = split(text, budget, at=at)
    allowed = {0, *boundaries(text)}
    giants = [text[a:b] for a, b in _clusters(text) if byte_length(text[a:b]) > budget - 12]
    place = 0
    for part in parts if len(parts) > 1 else ():
        body = unnumbered(part)
        start = text.index(body, place)
        assert not text[place:start].strip()
        place = start + len(body)
        inside = [cut for cut in (start, place) if cut not in allowed]
        assert not inside or giants


def _clusters(text: str) -> list[tuple[int, int]]:
    cuts = [0, *boundaries(text)]
    return list(pairwise(cuts))
