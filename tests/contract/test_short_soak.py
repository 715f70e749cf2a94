"""A few seconds of the hour's bad treatment (``tests/benchmarks/soak.py``)."""

from __future__ import annotations

from pathlib import Path

from soak_bench import soak


def test_a_short_soak_leaves_every_question_answered_and_nothing_behind(tmp_path: Path) -> None:
    result = soak(seed=5, seconds=8, folder=tmp_path, settle_seconds=35, calm=1.0)
    assert result.accepted >= 1
    assert (result.unanswered, result.fatal) == ([], [])
    assert result.samples[-1].threads <= result.samples[0].threads + 1
    assert result.samples[-1].files <= result.samples[0].files + 6
