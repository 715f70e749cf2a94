"""``python -m search_core QUERY``: the local search as a command."""

from __future__ import annotations

import sys

from search_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
