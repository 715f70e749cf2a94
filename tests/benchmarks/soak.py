"""An hour of bad treatment: ``python tests/benchmarks/soak.py --minutes 60 --seed 1``. Exits with 0 if all is well."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from soak_bench import Result, soak

GROWTH_KIB = 16 * 1024
"""Memory that may be added after the first minute: caches fill."""


def problems(result: Result) -> list[str]:
    """What is not as it should be; empty is well."""
    found = [f"unanswered: {question}" for question in result.unanswered]
    found += [f"fatal: {reason}" for reason in result.fatal]
    if len(result.samples) >= 2:
        first, last = result.samples[0], result.samples[-1]
        if last.threads > first.threads + 1:
            found.append(f"threads grew from {first.threads} to {last.threads}")
        if last.files > first.files + 6:
            found.append(f"open files grew from {first.files} to {last.files}")
        if last.resident_kib > first.resident_kib + GROWTH_KIB:
            found.append(f"memory grew from {first.resident_kib} to {last.resident_kib} KiB")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        result = soak(options.seed, options.minutes * 60, Path(folder))
    print("\n".join(result.lines()))
    found = problems(result)
    print("\n".join(found) or "all is well")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
