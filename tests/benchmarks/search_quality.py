"""How good the search is, beside the plain scan that it replaces: ``python tests/benchmarks/search_quality.py``.

Over the shared notes and questions, which are not part of this project: `--data` names their folder. Two figures: the
mean reciprocal rank of the right note among ten, by kind of question; and how often the first 150 bytes of excerpt
hold the right string, when the right note came first. The scan is slow: some minutes in all.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from original import search as scan

from search_core import SearchCore
from search_core.graphemes import clip

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
EXCERPT_BYTES = 150

Found = list[tuple[str, str]]
"""Path and excerpt, best first."""


def by_scan(notes: Path) -> Callable[[str], Found]:
    def ask(query: str) -> Found:
        return [(path, clip(excerpt, EXCERPT_BYTES)) for _score, path, excerpt in scan(notes, query)]

    return ask


def by_core(notes: Path) -> Callable[[str], Found]:
    core = SearchCore(str(notes))

    def ask(query: str) -> Found:
        return [(hit.path, hit.cut(EXCERPT_BYTES)) for hit in core.search(query, source="local").hits]

    return ask


def ranks(questions: list[dict[str, str]], ask: Callable[[str], Found]) -> dict[str, list[float]]:
    """Reciprocal ranks by kind, and all of them under ``all``."""
    found: dict[str, list[float]] = defaultdict(list)
    for question in questions:
        paths = [path for path, _ in ask(question["query"])]
        value = 1 / (paths.index(question["target"]) + 1) if question["target"] in paths else 0.0
        found[question["kind"]].append(value)
        found["all"].append(value)
    return found


def excerpts(questions: list[dict[str, str]], ask: Callable[[str], Found]) -> tuple[int, int]:
    """How many right notes came first, and how many of those showed the answer."""
    first = right = 0
    for question in questions:
        hits = ask(question["query"])
        if hits and hits[0][0] == question["target"]:
            first += 1
            shown = " ".join(hits[0][1].casefold().split())
            right += any(part.strip("`").casefold() in shown for part in question["answer"].split("|"))
    return first, right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    data = parser.parse_args().data
    if not data.is_dir():
        raise SystemExit(f"{data}: the notes and questions are not there; name their folder with --data")
    notes = data / "vaults" / "notes"
    known, answers = (_rows(data / "questions" / name) for name in ("known-item.jsonl", "answers.jsonl"))
    ours, plain = by_core(notes), by_scan(notes)
    theirs, found = ranks(known, plain), ranks(known, ours)
    print("| questions | MRR@10 | plain scan |\n| --- | --- | --- |")
    for kind, values in found.items():
        print(f"| {kind} ({len(values)}) | {_mean(values):.2f} | {_mean(theirs[kind]):.2f} |")
    for name, ask in (("ours", ours), ("plain scan", plain)):
        first, right = excerpts(answers, ask)
        print(
            f"\n{name}: right note first {first} of {len(answers)}, answer in {EXCERPT_BYTES} bytes {right} of {first}"
        )


def _rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
