"""The local search against the plain scan that it replaces; ratios from one run.

python tests/benchmarks/search_speed.py [NOTES ...]      (3000; try 3000 30000 100000)
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from original import search as scan
from vault_maker import VaultMaker

from search_core import SearchCore

HERE = Path(__file__).parent
SCANS = {3_000: 20, 30_000: 6}
"""How many questions the scan is given; fewer when it is slow."""


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def walk(root: str) -> int:
    """The least that tells what changed: every folder listed, every note's stat taken."""
    pending, notes = [root], 0
    while pending:
        path = pending.pop()
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(f"{path}/{entry.name}")
                elif entry.name.endswith(".md"):
                    entry.stat(follow_symlinks=False)
                    notes += 1
        os.close(descriptor)
    return notes


def resident_megabytes() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def process(argv: Sequence[str], cache: Path) -> float:
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "OMNISEARCH_URL": "off"}
    return milliseconds(
        lambda: subprocess.run([sys.executable, *argv], stdout=subprocess.DEVNULL, env=env, check=False)
    )


def warm(core: SearchCore, questions: list[str], root: str) -> tuple[float, float, float]:
    """Medians of a question and of the bare walk in ms, and of their ratio; taken in turn, so load is in both."""
    pairs = [
        (milliseconds(lambda q=question: core.search(q, source="local")), milliseconds(lambda: walk(root)))  # type: ignore[misc]
        for question in questions
    ]
    return (
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[0] / pair[1] for pair in pairs),
    )


def measure(notes: int, folder: Path) -> None:
    root, cache = folder / "vault", folder / "cache"
    questions = VaultMaker().make(root, notes)
    time.sleep(2.1)  # a vault at rest: notes younger than two seconds are read again
    before = resident_megabytes()
    core = SearchCore(str(root), cache_dir=str(cache / "meshseek"))
    first = milliseconds(lambda: core.search(questions[0], source="local"))
    core.close()
    again = SearchCore(str(root), cache_dir=str(cache / "meshseek"))
    again.search(questions[0], source="local")
    query, bare, ratio = warm(again, questions, str(root))
    memory = resident_megabytes()
    again.close()
    asked = questions[: SCANS.get(notes, 3)]
    scanned = statistics.median(milliseconds(lambda q=question: scan(root, q)) for question in asked)  # type: ignore[misc]
    one_shot = statistics.median(
        process(["-m", "search_core", "--source", "local", "--vault", str(root), q], cache) for q in asked[:7]
    )
    scan_shot = statistics.median(process([str(HERE / "original.py"), str(root), q], cache) for q in asked[:7])
    fresh = process(["-m", "search_core", "--source", "local", "--vault", str(root), asked[0]], folder / "cache2")
    print(f"\n{notes:,} notes                         scan      meshseek   ratio")
    print(f"warm question, sweep included   {scanned:8.1f} ms {query:8.1f} ms   1/{scanned / query:.1f}")
    print(f"fresh process, index present    {scan_shot:8.1f} ms {one_shot:8.1f} ms   {one_shot / scan_shot:.2f}")
    print(f"first run ever, index built     {scan_shot:8.1f} ms {fresh:8.1f} ms   {fresh / scan_shot:.1f}")
    print(f"warm question / bare stat walk  {bare:8.1f} ms {query:8.1f} ms   {ratio:.2f}")
    print(f"memory {memory:.0f} MB ({before:.0f} before); build {first:.0f} ms")


def main() -> None:
    for argument in sys.argv[1:] or ["3000"]:
        with tempfile.TemporaryDirectory() as folder:
            measure(int(argument), Path(folder))


if __name__ == "__main__":
    main()
