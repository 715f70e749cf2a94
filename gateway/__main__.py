"""The command `meshseek`. Imports next to nothing: a search pays for every module before its first letter."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs more to import than a search to answer
import os
import sys

OUTSIDE_FAILED = 3
"""As in `gateway.cli`."""


def main() -> int:
    """Run the command line and return its exit code."""
    # Until a command installs handlers of its own, Ctrl-C and a closed pipe end the process silently.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    _open_what_is_closed()
    from gateway.cli import run

    try:
        try:
            return run(sys.argv[1:])
        finally:  # Here it can still be said that it failed.
            sys.stdout.flush()
    except OSError as error:
        return _failed(error)
    finally:
        _flush_errors()


def _open_what_is_closed() -> None:
    """A standard stream that the shell closed (`>&-`) becomes /dev/null: no file of ours may get its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # The lowest free number, which is this stream's.
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


def _failed(error: OSError) -> int:
    """Output that nobody takes (silently), a full disk behind it, or trouble that no command expected."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would complain once more when it ends.
    if not isinstance(error, BrokenPipeError):
        what = error.filename or "the output cannot be written"
        _say(f"meshseek: {what}: {error.strerror or error}\n")
    return OUTSIDE_FAILED


def _say(line: str) -> None:
    try:
        sys.stderr.write(line)
    except OSError:
        return


def _flush_errors() -> None:
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Else Python ends with a code of its own.


if __name__ == "__main__":
    sys.exit(main())
