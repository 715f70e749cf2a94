"""The way it was done before, to measure against: read and scan all notes for every question, in plain Python.

Written anew from its description: 20 points per matched term, 50 when all match, 80 and 30 for the whole question in
file name and body, 15 per term in the file name, 8 per heading with a term, at most 25 occurrences counted, and an
excerpt that begins 70 characters before the first match.
"""

from __future__ import annotations

import re
import sys
from os import walk
from pathlib import Path


def search(root: Path, query: str, limit: int = 10) -> list[tuple[float, str, str]]:
    """Score, path and excerpt of the best notes."""
    terms = [re.escape(term) for term in query.lower().split()]
    found = []
    for folder, folders, names in walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.endswith(".md"):
                continue
            path = Path(folder) / name
            path.stat()
            text = path.read_text(encoding="utf-8", errors="ignore")
            score = _score(terms, query.lower(), path.stem.lower(), text.lower())
            if score:
                found.append((score, str(path.relative_to(root)), text))
    found.sort(key=lambda row: -row[0])
    return [(score, path, _excerpt(terms, text)) for score, path, text in found[:limit]]


def _score(terms: list[str], query: str, name: str, text: str) -> float:
    score = matched = 0
    for term in terms:
        count = len(re.findall(term, text))
        if count:
            matched += 1
            score += 20 + min(count, 25)
        if term in name:
            score += 15
            matched += not count
        if count:
            score += 8 * len(re.findall(rf"^#+ .*{term}", text, re.M))
    if matched == len(terms):
        score += 50
    if query in name:
        score += 80
    if query in text:
        score += 30
    return score if matched else 0


def _excerpt(terms: list[str], text: str) -> str:
    match = re.search("|".join(terms), text, re.I)
    start = max(0, (match.start() if match else 0) - 70)
    return " ".join(text[start : start + 200].split())


if __name__ == "__main__":
    for place, (points, where, excerpt) in enumerate(search(Path(sys.argv[1]), " ".join(sys.argv[2:])), 1):
        print(f"{place}. [{points}] {where}\n   Excerpt: {excerpt}")
