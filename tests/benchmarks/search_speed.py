"""The local search against the plain scan that it replaces: figures of one run, as ratios.

python tests/benchmarks/search_speed.py [NOTES ...]      (3000 30000 100000; ten minutes in all, most of it the scan)

What is compared is done in turn, question by question, so that a machine that does something else slows down both;
a ratio is the median over the questions. Time is given as it passed and as the processor worked: where both ratios
differ, the machine was busy.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from original import search as scan
from vault_maker import VaultMaker

from search_core import SearchCore

HERE = Path(__file__).parent
QUESTIONS = {3_000: 60, 30_000: 20}
"""How many are asked of a vault; fewer when the scan of it is slow."""
PROCESSES = 7
STAT_WALK = "bare stat walk"


class Cost(NamedTuple):
    """Milliseconds that passed, and that the processor worked, children included."""

    passed: float
    worked: float


def cost(work: Callable[[], object]) -> Cost:
    began, worked = time.perf_counter(), _worked()
    work()
    return Cost(1000 * (time.perf_counter() - began), _worked() - worked)


def _worked() -> float:
    both = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * sum(usage.ru_utime + usage.ru_stime for usage in both)


def walk(root: str) -> int:
    """The least that tells what changed: every folder listed, every note's stat taken."""
    pending, notes = [root], 0
    while pending:
        path = pending.pop()
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.name[-3:] == ".md":
                    entry.stat(follow_symlinks=False)
                    notes += 1
                elif entry.is_dir(follow_symlinks=False):
                    pending.append(f"{path}/{entry.name}")
        os.close(descriptor)
    return notes


def resident_megabytes() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def ask(core: SearchCore, question: str) -> None:
    """With the excerpts, which are otherwise cut only when somebody looks at them."""
    for hit in core.search(question, source="local").hits:
        hit.settle()


def serve(root: str, cache: str, *questions: str) -> None:
    core = SearchCore(root, cache_dir=cache)
    for question in questions:
        ask(core, question)
    print(resident_megabytes())
    core.close()


def process(argv: Sequence[str], cache: Path) -> Cost:
    """A fresh one, which may keep its compiled modules as an installed program does."""
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "OMNISEARCH_URL": "off"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return cost(lambda: subprocess.run([sys.executable, *argv], stdout=subprocess.DEVNULL, env=env, check=False))


class Bench:
    """One vault, its questions, and the table of it."""

    def __init__(self, folder: Path, notes: int) -> None:
        self.folder, self.notes = folder, notes
        self.root = folder / "vault"
        self.questions = VaultMaker().make(self.root, notes)[: QUESTIONS.get(notes, 9)]
        time.sleep(2.1)  # a vault at rest: notes younger than two seconds are read again

    def run(self) -> None:
        print(f"\n| {self.notes:,} notes | against | took | ratio | of work | to reach |")
        print("| --- | --- | --- | --- | --- | --- |", flush=True)
        first = self._first_runs()
        self._warm()
        self._row("fresh process, index present", "plain scan", self._processes(), "0.45")
        self._row("first run ever, index built", "plain scan", first, "6")

    def _warm(self) -> None:
        core = SearchCore(str(self.root), cache_dir=str(self.folder / "cache/meshseek"))
        for question in self.questions[:2]:
            core.search(question, source="local")
        scans, walks, shown = [], [], []
        for question in self.questions:
            walked = cost(lambda: walk(str(self.root)))
            asked = cost(lambda q=question: core.search(q, source="local"))  # type: ignore[misc]
            scanned = cost(lambda q=question: scan(self.root, q))  # type: ignore[misc]
            whole = cost(lambda q=question: ask(core, q))  # type: ignore[misc]
            walks.append((walked, asked))
            scans.append((scanned, asked))
            shown.append((scanned, whole))
        core.close()
        self._row("warm question, sweep included", "plain scan", scans, "0.143")
        self._row("the same, and ten excerpts", "plain scan", shown, "0.143")
        self._row("warm question, sweep included", STAT_WALK, walks, "1.2")
        print(f"| memory of a process that serves it | | {self._memory():.0f} MB | | | 80 MB |", flush=True)

    def _memory(self) -> float:
        """Resident after all questions, in a process that does nothing else (the scan would leave its own behind)."""
        argv = [
            sys.executable,
            __file__,
            "--serve",
            str(self.root),
            str(self.folder / "cache/meshseek"),
            *self.questions,
        ]
        return float(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)

    def _processes(self) -> list[tuple[Cost, Cost]]:
        return [
            (self._scan_process(question), self._search_process(question, "cache"))
            for question in self.questions[:PROCESSES]
        ]

    def _first_runs(self) -> list[tuple[Cost, Cost]]:
        """Once for a large vault; the last index built is the one that is used from then on.

        Another question each time: what the scan takes depends on it, what a first run takes hardly does.
        """
        places = ["first", "second", "third", "fourth", "cache"] if self.notes < 10_000 else ["cache"]
        asked = zip(self.questions, places, strict=False)
        return [(self._scan_process(question), self._search_process(question, at)) for question, at in asked]

    def _scan_process(self, question: str) -> Cost:
        return process([str(HERE / "original.py"), str(self.root), question], self.folder)

    def _search_process(self, question: str, cache: str) -> Cost:
        argv = ["-m", "gateway", "search", "--vault", str(self.root), question]
        return process(argv, self.folder / cache)

    def _row(self, what: str, against: str, pairs: Iterable[tuple[Cost, Cost]], goal: str) -> None:
        rows = list(pairs)
        passed = median(ours.passed / theirs.passed for theirs, ours in rows)
        worked = median(ours.worked / theirs.worked for theirs, ours in rows)
        theirs, ours = (median(pair[side].passed for pair in rows) for side in (0, 1))
        goal = goal if self.notes == (100_000 if against == STAT_WALK else 3_000) else ""
        print(
            f"| {what} | {against} {theirs:,.0f} ms | {ours:,.0f} ms | {passed:.2f} | {worked:.2f} | {goal} |",
            flush=True,
        )


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
        return
    for argument in sys.argv[1:] or ["3000", "30000", "100000"]:
        with tempfile.TemporaryDirectory() as folder:
            Bench(Path(folder), int(argument)).run()


if __name__ == "__main__":
    main()
