"""One packet answers about every second question, and ``m`` most of the rest. Floors are a little under the figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ranking.first_packet import Question, answers, measure, ours, plain, questions

from search_core import SearchCore


@pytest.fixture(scope="module")
def core(real_notes: str, real_cache: str) -> Iterator[SearchCore]:
    vault = SearchCore(real_notes, cache_dir=real_cache)
    yield vault
    vault.close()


@pytest.mark.timeout(300)
@pytest.mark.xdist_group("ranking")
def test_the_first_packet_answers_and_more_helps(core: SearchCore, shared_data: Path) -> None:
    asked = questions([shared_data / "questions" / "answers.jsonl"])
    figures = measure(asked, ours(core))
    assert figures.first >= 0.48, figures  # one question of 29 under the figure
    assert figures.second >= 0.65, figures
    plainly = measure(asked, plain(core, shared_data / "vaults" / "notes"))
    assert figures.first >= 2 * plainly.first, (figures, plainly)


@pytest.mark.parametrize(
    ("packet", "right"),
    [("1 a: Wait  45\nSECONDS", True), ("1 a: wait 4 5 seconds", False), ("1 b: run .import x", True), ("", False)],
)
def test_what_counts_as_an_answer(packet: str, right: bool) -> None:
    assert answers(Question("how long", ("45 seconds", "`.import`")), packet) is right
