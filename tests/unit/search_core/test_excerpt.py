"""Which passage is shown for a budget of bytes, and that it is always a fair piece of the note."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from search_core.excerpt import Excerpts, Unit
from search_core.excerpt_match import Matcher, is_spelled_out
from search_core.graphemes import clip
from search_core.markdown_text import plain_text
from search_core.terms import fold, words

GOLDEN = Path(__file__).parents[2] / "golden" / "excerpts.md"
CASE = re.compile(
    r"^## (?P<name>[^\n]+)\n\nquestion: (?P<query>[^\n]+)\nbytes: (?P<budget>\d+)\n\n"
    r"~~~note\n(?P<note>.*?)\n~~~\n~~~excerpt\n(?P<excerpt>.*?)\n~~~$",
    re.M | re.S,
)
COMMON = frozenset(("which", "what", "is", "the", "does", "how", "long", "may", "to", "use", "a"))


def units_of(query: str) -> list[Unit]:
    """The question's words, all of equal weight but the commonest; the ranking has better weights."""
    pieces = [" ".join(words(fold(piece))) for piece in query.split() if fold(piece) not in COMMON]
    return [Unit(((piece, 1.0),), 5.0) for piece in pieces if piece]


def excerpts(note: str, query: str) -> Excerpts:
    return Excerpts(note, units_of(query), query)


CASES = [pytest.param(case, id=case["name"]) for case in CASE.finditer(GOLDEN.read_text(encoding="utf-8"))]


def test_every_golden_case_is_read() -> None:
    assert len(CASES) == GOLDEN.read_text(encoding="utf-8").count("\nquestion: ")


@pytest.mark.parametrize("case", CASES)
def test_golden(case: re.Match[str]) -> None:
    assert excerpts(case["note"], case["query"]).cut(int(case["budget"])) == case["excerpt"]


def test_in_lines_each_item_row_paragraph_and_line_of_code_has_its_own() -> None:
    items = "## Sauna\n\nHeat the sauna. Then:\n\n- open the flue\n- light birch\n1. wait\n"
    assert (
        excerpts(items, "sauna flue").cut_in_lines(100) == "Heat the sauna. Then:\nopen the flue\nlight birch\n1. wait"
    )
    assert excerpts(items, "sauna flue").cut(100) == "Heat the sauna. Then: - open the flue - light birch 1. wait"
    table = "| tank | litres |\n| --- | --- |\n| rain | 300 |\n| well | 900 |\n"
    assert excerpts(table, "tank litres").cut_in_lines(60) == "tank · litres\nrain · 300\nwell · 900"
    barrel = "tank number one, of old oak, in the garden"
    assert excerpts(f"- {barrel}\n- Elasticsearchcluster\n", "tank").cut_in_lines(56) == f"{barrel}…"
    code = "Mount the tank:\n\n```\nmount /tank\nls /tank\n```\n"
    assert excerpts(code, "mount tank").windows_in_lines(60, 1) == ["Mount the tank:\nmount /tank\nls /tank"]


NOTE = """# Bees

Bees sleep in winter. The hive stays at 35 degrees.

## Feeding

Sugar syrup is mixed two to one. Feed bees in autumn, never in spring.

## Swarms

A swarm of bees hangs in a tree for a day.
"""


def test_windows_do_not_repeat_each_other() -> None:
    found = excerpts(NOTE, "bees swarm autumn").windows(60, 5)
    sentences = [s for text in found for s in re.split(r"(?<=\.)\s", text.rstrip("…")) if len(s) > 20]
    assert len(found) >= 2
    assert len(sentences) == len(set(sentences))


def test_reading_begins_where_the_best_passage_begins() -> None:
    start = excerpts(NOTE, "syrup autumn").start_of_best()
    assert plain_text(NOTE)[start:].startswith("Sugar syrup is mixed")


def test_reading_begins_at_the_start_when_nothing_matches() -> None:
    assert excerpts(NOTE, "zebra").start_of_best() == 0


def test_empty_notes_and_budgets_give_nothing() -> None:
    assert excerpts("", "bees").cut(100) == ""
    assert excerpts("---\ntitle: x\n---\n", "bees").cut(100) == ""
    assert excerpts(NOTE, "bees").cut(0) == ""
    assert Excerpts(NOTE, []).cut(40) == "Bees sleep in winter. The hive stays…"


def test_nfd_notes_and_positions_agree() -> None:
    note = "Erste Zeile über nichts.\n\nDas Café öffnet früh.\n"
    assert excerpts(note, "cafe offnet").cut(60) == "Das Café öffnet früh."


def test_a_long_sentence_is_cut_near_the_match() -> None:
    note = "Once " + "and again " * 40 + "the wrench lies under the stairs."
    text = excerpts(note, "wrench").cut(60)
    assert "wrench lies under the stairs." in text
    assert text.startswith("…")


def test_a_large_note_is_answered_from_any_place() -> None:
    filler = "Nothing of interest stands in this paragraph about weather and walks.\n\n"
    note = filler * 2000 + "## Cellar\n\nThe fuse is rated 16 ampere.\n\n" + filler * 2000
    found = excerpts(note, "cellar fuse rating")
    assert found.cut(80).startswith("Cellar: The fuse is rated 16 ampere.")
    assert plain_text(note)[found.start_of_best() :].startswith("The fuse is rated")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SNR (Signal-to-Noise Ratio): clarity", "SNR"),
        ("the Team Awareness Kit (TAK) ecosystem", "TAK"),
        ("CoT stands for Cursor on Target.", "CoT"),
        ("PKC: Public Key Cryptography", "PKC"),
    ],
)
def test_an_abbreviation_that_is_written_out_is_known(text: str, word: str) -> None:
    start = text.index(word)
    assert is_spelled_out(text, start, start + len(word))


@pytest.mark.parametrize("text", ["SNR above the limit", "SNR (see below)", "SNR is good", "a chat with TAK users"])
def test_other_abbreviations_are_not(text: str) -> None:
    start = text.index("TAK") if "TAK" in text else 0
    assert not is_spelled_out(text, start, start + 3)


@pytest.mark.parametrize(
    "piece",
    ["bees ", "bees,", "bees. ", "bees\n", "- bees\n", "# bees\n", "|bees|\n|-|\n", "`bees`", "bees蜂", "```\nbees\n"],
)
def test_cost_grows_with_the_note_and_not_with_its_square(piece: str) -> None:
    def cost(size: int) -> float:
        note = piece * (size // len(piece))
        before = time.process_time()
        excerpts(note, "bees").windows(150, 3)
        return time.process_time() - before

    cost(2_000)
    small = max(min(cost(15_000) for _ in range(3)), 0.002)
    assert any(cost(120_000) < 40 * small for _ in range(5))  # eightfold the text; a square would be 64-fold


def test_importing_is_light() -> None:
    heavy = {"dataclasses", "pathlib", "asyncio", "inspect"}
    probe = "import sys; before = set(sys.modules); import search_core.excerpt;print(*(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", probe], capture_output=True, text=True, check=True, cwd=GOLDEN.parents[2]
    )
    assert not heavy & set(done.stdout.split())


def test_words_that_ranking_also_looks_up_together_count_once() -> None:
    note = "Do not move during a firmware update.\n\nAn update of the firmware needs the phone within two metres.\n"
    apart = units_of("phone firmware update")
    together = [*apart, Unit((("firmwareupdate", 1.0),), 9.0)]
    assert Excerpts(note, together).cut(70) == Excerpts(note, apart).cut(70)
    assert "FirmwareUpdate" in Excerpts("Nothing here.\n\nSee FirmwareUpdate there.\n", together).cut(40)


def first_match(note: str, units: list[Unit], max_bytes: int) -> str:
    """The plain way, to compare with: from the first place of the question's rarest word that the note has."""
    finder = Matcher(tuple(units), "")
    text = " ".join(plain_text(note).split())
    places: dict[int, int] = {}
    for found in finder.find(text):
        places.setdefault(found.unit, found.start)
    rarest = max(places, key=lambda unit: units[unit].weight, default=-1)
    return clip(text[places.get(rarest, 0) :], max_bytes)


def holds(answer: str, excerpt: str) -> bool:
    shown = " ".join(excerpt.split()).lower()
    return any(" ".join(form.split()).lower() in shown for form in answer.split("|"))


def test_the_answer_is_within_the_excerpt_more_often_than_by_the_plain_way(shared_data: Path) -> None:
    questions = (shared_data / "questions" / "answers.jsonl").read_text("utf-8").splitlines()
    cases = [json.loads(line) for line in questions]
    notes = {case["target"]: (shared_data / "vaults" / "notes" / case["target"]).read_text("utf-8") for case in cases}
    seen = Counter(word for note in notes.values() for word in set(words(fold(note))))
    good = {60: 0, 100: 0, 150: 0}
    plain = dict(good)
    for case in cases:
        note, query = notes[case["target"]], case["query"]
        terms = dict.fromkeys(words(fold(query)))
        units = [Unit(((term, 1.0),), max(0.05, math.log(len(notes) / (seen[term] + 0.5)))) for term in terms]
        for budget in good:
            good[budget] += holds(case["answer"], Excerpts(note, units, query).cut(budget))
            plain[budget] += holds(case["answer"], first_match(note, units, budget))
    print(
        f"answer within the excerpt of the right note, of {len(cases)}: ours {good}, first match of the rarest {plain}"
    )
    assert good[150] >= 0.6 * len(cases)
    assert all(good[budget] > plain[budget] for budget in good)
