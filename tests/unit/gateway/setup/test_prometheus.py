"""The file for node_exporter: its format, how it is replaced, and that it never stops the gateway."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from gateway.prometheus import WRITE_SECONDS, PrometheusFile, render

REPORT = {
    "running": True,
    "wall": 1_800_000_000.25,
    "started": 1_799_000_000.0,
    "link": {"up": True},
    "last_heard": None,
    "queue": {"waiting": 1, "flying": 0, "parked": 2},
    "airtime": {"budget_seconds": 180.0, "spent_seconds": 3.5, "channel_utilization": None, "air_util_tx": 0.5},
    "radio": {"node": "!a1b2c3d4", "firmware": 'odd "\\\n', "region": "US", "preset": "", "role": "CLIENT"},
}
COUNTERS = {"questions": 7, "answers-delivered": 5, "answers-failed": 1, "refused-unknown-node": 3}
SAMPLE = re.compile(r'^[a-z_]+(\{([a-z]+="([^"\\\n]|\\["\\n])*",?)+\})? -?[0-9.e+]+$')


def test_every_line_is_a_sample_or_speaks_of_the_metric_that_follows() -> None:
    text = render(REPORT, COUNTERS)
    assert text.endswith("\n")
    metric = ""
    for line in text.splitlines():
        if line.startswith("# "):
            metric = line.split()[2]
            assert re.match(r"# (HELP [a-z_]+ \S.*|TYPE [a-z_]+ (gauge|counter))$", line)
        else:
            assert SAMPLE.match(line), line
            assert re.split(r"[{ ]", line)[0] == metric
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))


def test_figures_are_there_and_the_unknown_is_left_out() -> None:
    text = render(REPORT, COUNTERS)
    assert "meshseek_link_up 1\n" in text
    assert 'meshseek_answers_open{state="parked"} 2\n' in text
    assert "meshseek_questions_total 7\n" in text
    assert 'meshseek_answers_total{end="failed"} 1\n' in text
    assert 'meshseek_refusals_total{reason="unknown-node"} 3\n' in text
    assert 'firmware="odd \\"\\\\\\n"' in text
    assert "last_heard" not in text
    assert "channel_utilization" not in text


def test_an_empty_report_is_no_trouble() -> None:
    assert "meshseek_running 0\n" in render({}, {})


def test_the_file_is_for_all_to_read_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "meshseek.prom"
    file = PrometheusFile(path)
    file.write(REPORT, COUNTERS, 0.0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert path.read_text() == render(REPORT, COUNTERS)
    assert list(tmp_path.iterdir()) == [path]


def test_it_is_written_now_and_then_and_at_once_when_the_link_changes(tmp_path: Path) -> None:
    path = tmp_path / "meshseek.prom"
    file = PrometheusFile(path)
    file.write(REPORT, {"questions": 1}, 0.0)
    file.write(REPORT, {"questions": 2}, WRITE_SECONDS - 1)
    assert "questions_total 1\n" in path.read_text()
    file.write(REPORT, {"questions": 3}, WRITE_SECONDS)
    assert "questions_total 3\n" in path.read_text()
    file.write(REPORT | {"link": {"up": False}}, {"questions": 4}, WRITE_SECONDS + 1)
    assert "link_up 0\n" in path.read_text()


def test_a_stopped_gateway_has_no_link(tmp_path: Path) -> None:
    assert "meshseek_link_up 0\n" in render(REPORT | {"running": False}, {})


def test_a_place_that_cannot_be_written_is_said_once(tmp_path: Path, caplog: object) -> None:
    file = PrometheusFile(tmp_path / "absent" / "meshseek.prom")
    for n in range(3):
        file.write(REPORT, COUNTERS, 100.0 * n)
    records = [r for r in caplog.records if "prometheus_failed" in r.getMessage()]  # type: ignore[attr-defined]
    assert len(records) == 1
