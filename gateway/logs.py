"""Logging of the gateway: one line an event on standard error, written by a thread of its own.

A terminal or journal that takes no more lines must hold up neither the loop nor the library's threads, so
records go through a bounded queue and are dropped when it is full.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import queue
import sys
import time
from collections.abc import Iterator

from gateway.protocol.inert import for_log

RECORDS_WAITING = 10_000
SEARCH = "meshseek.search"
"""The logger of `search_core`, which speaks in sentences."""


class _Line(logging.Formatter):
    """ISO time with zone; under the journal, which has its own, none."""

    def __init__(self, *, with_time: bool) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s" if with_time else "%(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        if record.name == SEARCH:
            record.message = f"event=search_trouble why={for_log(record.message)!r}"
        return super().formatMessage(record)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(record.created))


@contextlib.contextmanager
def logging_to_stderr(level: str) -> Iterator[None]:
    """Log the gateway's events while this lasts."""
    logging.raiseExceptions = False  # a closed standard error is no reason for a traceback
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(_Line(with_time="JOURNAL_STREAM" not in os.environ))
    records: queue.Queue[logging.LogRecord] = queue.Queue(RECORDS_WAITING)
    listener = logging.handlers.QueueListener(records, stream)
    handler = logging.handlers.QueueHandler(records)
    root = logging.getLogger("meshseek")
    root.setLevel(level.upper())
    root.propagate = False
    root.addHandler(handler)
    listener.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        listener.stop()
