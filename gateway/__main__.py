"""The command `meshseek`. Imports next to nothing: a search pays for every module before its first letter."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs more to import than a search to answer
import sys


def main() -> int:
    """Run the command line and return its exit code."""
    # Until a command installs handlers of its own, Ctrl-C and a closed pipe end the process silently.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from gateway.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
