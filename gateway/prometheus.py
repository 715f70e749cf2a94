"""The gateway's figures as a file for node_exporter's textfile collector, replaced in one step.

The text format is Prometheus' exposition format 0.0.4: HELP and TYPE before the samples of each metric.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

log = logging.getLogger("meshseek.status")

WRITE_SECONDS = 15.0
"""Least time between two writes while the link stays as it is; Prometheus looks about that often."""
MODE = 0o644
"""node_exporter runs as a user of its own. There are only numbers in the file."""


class PrometheusFile:
    """Writes the file; without a path it does nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._written_at = float("-inf")
        self._news: object = None
        self._is_failing = False

    def write(self, report: Mapping[str, Any], counters: Mapping[str, int], now: float) -> None:
        """Take the status as it is at `now`, unless the file is fresh. Never raises: trouble is logged once."""
        news = (report.get("running"), _table(report, "link").get("up"))
        if self._path is None or (now - self._written_at < WRITE_SECONDS and news == self._news):
            return
        self._written_at, self._news = now, news
        try:
            _replace(self._path, render(report, counters))
        except OSError as error:
            if not self._is_failing:
                log.error("event=prometheus_failed file=%s why=%r", self._path, error.strerror or str(error))
            self._is_failing = True
        else:
            self._is_failing = False


def _replace(path: Path, text: str) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), MODE)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def render(report: Mapping[str, Any], counters: Mapping[str, int]) -> str:
    """The whole file. What the status does not know is left out."""
    lines: list[str] = []
    for name, kind, text, samples in _metrics(report, counters):
        known = [(labels, value) for labels, value in samples if value is not None]
        if known:
            lines += [f"# HELP meshseek_{name} {text}", f"# TYPE meshseek_{name} {kind}"]
            lines += [f"meshseek_{name}{_labels(labels)} {value!r}" for labels, value in known]
    return "\n".join(lines) + "\n"


_Sample = tuple[Mapping[str, str], float | None]


def _metrics(report: Mapping[str, Any], counters: Mapping[str, int]) -> Iterator[tuple[str, str, str, list[_Sample]]]:
    """Name, type, help and samples."""
    link, queue, airtime = (_table(report, name) for name in ("link", "queue", "airtime"))
    up = bool(report.get("running")) and bool(link.get("up"))
    yield "running", "gauge", "1 while the gateway runs", [({}, int(bool(report.get("running"))))]
    yield "heartbeat_timestamp_seconds", "gauge", "When this file was written, Unix time", _one(report, "wall")
    yield "start_timestamp_seconds", "gauge", "When the gateway started, Unix time", _one(report, "started")
    yield "link_up", "gauge", "1 while the radio is connected", [({}, int(up))]
    yield "last_heard_timestamp_seconds", "gauge", "When a node was heard last, Unix time", _one(report, "last_heard")
    waiting = [({"state": state}, _number(queue.get(state))) for state in ("waiting", "flying", "parked")]
    yield "answers_open", "gauge", "Answers that are not over, by state", [*waiting]
    yield "airtime_budget_seconds", "gauge", "Airtime allowed in an hour", _one(airtime, "budget_seconds")
    yield "airtime_spent_seconds", "gauge", "Airtime of the last hour", _one(airtime, "spent_seconds")
    channel, own = _number(airtime.get("channel_utilization")), _number(airtime.get("air_util_tx"))
    yield "channel_utilization_percent", "gauge", "Share of the last minute that the channel was busy", [({}, channel)]
    yield "air_util_tx_percent", "gauge", "Share of the last hour that our radio transmitted", [({}, own)]
    trouble = int(bool(report.get("store_trouble")))
    yield "store_failing", "gauge", "1 while the state file cannot be written", [({}, trouble)]
    yield "radio_info", "gauge", "The radio, always 1", _radio(report)
    yield "questions_total", "counter", "Questions accepted", [({}, counters.get("questions", 0))]
    yield "answers_total", "counter", "Answers that are over, by how they ended", _counted(counters, "answers-", "end")
    yield "refusals_total", "counter", "Texts ignored, by reason", _counted(counters, "refused-", "reason")
    yield "odd_packets_total", "counter", "Packets that are nothing for us, by kind", _counted(counters, "odd-", "kind")


def _table(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = report.get(name)
    return value if isinstance(value, Mapping) else {}


def _one(report: Mapping[str, Any], name: str) -> list[_Sample]:
    return [({}, _number(report.get(name)))]


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


def _radio(report: Mapping[str, Any]) -> list[_Sample]:
    radio = _table(report, "radio")
    names = ("node", "firmware", "region", "preset", "role")
    return [({name: str(radio.get(name, "")) for name in names}, 1)] if radio else []


def _counted(counters: Mapping[str, int], prefix: str, label: str) -> list[_Sample]:
    return [({label: name.removeprefix(prefix)}, n) for name, n in sorted(counters.items()) if name.startswith(prefix)]


def _labels(labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
