"""Questions with one known right note, over real notes: the figure that the ranking is judged by."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from search_core.core import index_path
from search_core.index import Index
from search_core.local import local_search
from search_core.notes import EVERYTHING
from search_core.query import parse
from search_core.vault import Vault

MRR_OVERALL = 0.95
MRR_PER_KIND = 0.85


@pytest.mark.timeout(300)  # 15 s alone; the limit is for a machine that does much else
@pytest.mark.xdist_group("ranking")
def test_mean_reciprocal_rank(shared_data: Path, real_notes: str, real_cache: str) -> None:
    index = Index(index_path(real_notes, (), real_cache), Vault(real_notes))
    index.refresh()
    ranks: dict[str, list[float]] = defaultdict(list)
    with (shared_data / "questions/known-item.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            question = json.loads(line)
            found = [row.path for row in local_search(index, parse(question["query"]), 10, EVERYTHING).rows]
            place = found.index(question["target"]) + 1 if question["target"] in found else 0
            ranks[question["kind"]].append(1 / place if place else 0.0)
    index.close()
    means = {kind: sum(values) / len(values) for kind, values in ranks.items()}
    overall = sum(map(sum, ranks.values())) / sum(map(len, ranks.values()))
    print(f"\nMRR@10 {overall:.3f}", {kind: round(mean, 3) for kind, mean in means.items()})
    assert {kind: mean for kind, mean in means.items() if mean < MRR_PER_KIND} == {}
    assert overall >= MRR_OVERALL
