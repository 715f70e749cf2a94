"""Two processes ask while a third rewrites the notes; every answer is compared with a plain scan of the files.

python tests/benchmarks/freshness.py [SECONDS [NOTES]]      (60 seconds, 400 notes)

A note that was touched between the scan before a question and the scan after it proves nothing and is left out of
that comparison; all others must be found if and only if they have the word. Ends with 1 when one answer was wrong.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from search_core import SearchCore

WORDS = 40
PAUSE_SECONDS = 0.01
"""Between two changes: near a hundred a second, so that most notes stand still while one question is answered."""


class Seen(NamedTuple):
    """One note as a scan found it."""

    identity: tuple[int, int, int, int]
    """inode, mtime_ns, ctime_ns, size"""
    text: str


class Tally(NamedTuple):
    """What one process did: questions or changes, notes compared, and what was wrong."""

    done: int
    compared: int
    wrong: list[str]


def word(number: int) -> str:
    return f"zq{number:02d}x"


def text(draw: random.Random) -> str:
    """Always as long, so that the size tells nothing."""
    return f"# Note\n\nIt says {word(draw.randrange(WORDS))} and {word(draw.randrange(WORDS))}.\n"


def scan(root: Path) -> dict[str, Seen]:
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            try:
                stat = path.stat()
                content = path.read_text(encoding="utf-8")
            except OSError:
                continue
            identity = (stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
            found[str(path.relative_to(root))] = Seen(identity, content)
    return found


def change(root: Path, notes: int, draw: random.Random) -> None:
    """One note is written in place, replaced, deleted, moved or made."""
    path = root / f"f{draw.randrange(8)}" / f"n{draw.randrange(notes // 8)}.md"
    kind = draw.randrange(5)
    if kind == 0:
        path.unlink(missing_ok=True)
    elif kind == 1 and path.exists():
        path.rename(root / f"f{draw.randrange(8)}" / path.name)
    elif kind == 2:
        fresh = path.with_suffix(".tmp")
        fresh.write_text(text(draw), encoding="utf-8")
        fresh.rename(path)
    elif path.exists():
        with path.open("r+", encoding="utf-8") as file:
            file.write(text(draw))
    else:
        path.write_text(text(draw), encoding="utf-8")


def rewrite(root: Path, notes: int, until: float) -> Tally:
    draw, done = random.Random(1), 0
    while time.time() < until:
        change(root, notes, draw)
        done += 1
        time.sleep(PAUSE_SECONDS)
    return Tally(done, 0, [])


def ask(root: Path, cache: Path, seed: int, until: float) -> Tally:
    draw, wrong = random.Random(seed), list[str]()
    done = compared = 0
    core = SearchCore(str(root), cache_dir=str(cache))
    while time.time() < until:
        wanted = word(draw.randrange(WORDS))
        before = scan(root)
        hits = {hit.path for hit in core.search(f'"{wanted}"', limit=1_000, source="local").hits}
        after = scan(root)
        still = {path for path, seen in before.items() if path in after and after[path] == seen}
        wrong += [f"{path}: {wanted}" for path in still if (path in hits) != (wanted in before[path].text)]
        wrong += [f"{path}: not there" for path in hits - before.keys() - after.keys()]
        compared += len(still)
        done += 1
    core.close()
    return Tally(done, compared, wrong)


def run(folder: Path, seconds: float, notes: int) -> tuple[Tally, Tally, Tally]:
    """The tallies of the writer and of both askers."""
    root, draw = folder / "vault", random.Random(0)
    for number in range(8):
        (root / f"f{number}").mkdir(parents=True)
        for note in range(notes // 8):
            (root / f"f{number}" / f"n{note}.md").write_text(text(draw), encoding="utf-8")
    until = time.time() + seconds
    with ProcessPoolExecutor(3) as pool:
        writer = pool.submit(rewrite, root, notes, until)
        askers = [pool.submit(ask, root, folder / "cache", seed, until) for seed in (2, 3)]
        return writer.result(), askers[0].result(), askers[1].result()


def main() -> int:
    seconds, notes = (float(sys.argv[1]) if len(sys.argv) > 1 else 60.0), int(sys.argv[2]) if len(sys.argv) > 2 else 400
    with tempfile.TemporaryDirectory() as folder:
        writer, one, two = run(Path(folder), seconds, notes)
    wrong = one.wrong + two.wrong
    print(
        f"{writer.done} changes in {seconds:g} s; {one.done + two.done} questions by two processes,"
        f" {one.compared + two.compared} notes compared: {len(wrong)} wrong"
    )
    for line in wrong[:20]:
        print(line)
    return 1 if wrong or not (writer.done and one.compared and two.compared) else 0


if __name__ == "__main__":
    sys.exit(main())
