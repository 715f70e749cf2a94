"""The hourly airtime budget: never passed, shared, and careful where the radio says nothing."""

from __future__ import annotations

import pytest

from gateway.protocol.budget import AirtimeBudget, AirtimeRules, NotNow, minutes_to_wait
from gateway.protocol.messages import LoRaSettings, RadioTelemetry

HOUR = 3600.0
QUIET = RadioTelemetry(channel_utilization=3.0, air_util_tx=0.5, uptime=100)


def budget(region: str = "US", telemetry: RadioTelemetry | None = QUIET, **rules: float) -> AirtimeBudget:
    found = AirtimeBudget(AirtimeRules(**rules), LoRaSettings(region=region))  # type: ignore[arg-type]
    if telemetry is not None:
        found.observe(telemetry, 0.0)
    return found


@pytest.mark.parametrize(("region", "seconds"), [("US", 180), ("EU_868", 180), ("UA_868", 18), ("EU_866", 45)])
def test_five_percent_or_half_of_what_the_region_allows(region: str, seconds: float) -> None:
    assert budget(region).hour_seconds() == pytest.approx(seconds)


def test_a_reservation_counts_all_transmissions_and_gives_back_what_was_not_made() -> None:
    b = budget()
    b.reserve(1, 7, 2.0, 0.0)
    assert b.spent_seconds(1.0) == 6.0
    b.settle(1, 1)
    assert b.spent_seconds(1.0) == 2.0
    b.settle(1, 3)
    assert b.spent_seconds(1.0) == 2.0
    assert b.spent_seconds(HOUR) == 0.0


def test_answers_get_shorter_and_then_have_to_wait() -> None:
    b = budget()
    sizes: list[int] = []
    now, packet = 0.0, 0
    while not isinstance(found := b.reply_budget(7, now), NotNow):
        sizes.append(found)
        packet += 1
        b.reserve(packet, 7, 2.0, now)
        b.settle(packet, 1)
        now += 3.0
        b.observe(QUIET, now)
    assert sizes[0] == 200
    assert sizes == sorted(sizes, reverse=True)
    assert 60 <= sizes[-1] < 100
    assert b.spent_seconds(now, 7) <= 90
    assert 0 < found.seconds <= HOUR
    b.observe(QUIET, now + found.seconds)
    assert not isinstance(b.reply_budget(7, now + found.seconds), NotNow)


def test_one_node_has_its_share_and_the_others_theirs() -> None:
    b = budget()
    for packet in range(45):
        b.restore(7, 2.0, float(packet))
    assert isinstance(b.reply_budget(7, 50.0), NotNow)
    assert b.reply_budget(8, 50.0) == 200


def test_a_notice_may_use_what_is_kept_back() -> None:
    b = budget()
    b.restore(7, 82.0, 0.0)
    assert b.wait_seconds(7, 1.0, 10.0) > 0
    assert b.wait_seconds(7, 1.0, 10.0, notice=True) == 0


@pytest.mark.parametrize(
    ("telemetry", "care"),
    [
        (None, 0.5),
        (RadioTelemetry(None, None, None), 0.5),
        (RadioTelemetry(10.0, 1.0, 5), 1.0),
        (RadioTelemetry(25.0, 1.0, 5), 0.5),
        (RadioTelemetry(60.0, 1.0, 5), 0.25),
    ],
)
def test_a_busy_or_silent_radio_means_care(telemetry: RadioTelemetry | None, care: float) -> None:
    assert budget(telemetry=telemetry).care(1.0) == care


def test_old_telemetry_is_none() -> None:
    assert budget().care(299.0) == 1.0
    assert budget().care(301.0) == 0.5


def test_the_radios_own_duty_cycle_is_honoured() -> None:
    b = budget("EU_868", RadioTelemetry(3.0, 8.95, 5))
    assert isinstance(b.reply_budget(7, 1.0), NotNow)
    assert not isinstance(budget("US", RadioTelemetry(3.0, 50.0, 5)).reply_budget(7, 1.0), NotNow)


@pytest.mark.parametrize(
    ("notice", "seconds"),
    [
        ("Duty cycle limit exceeded. You can send again in 12 mins", 780.0),
        ("duty cycle limit exceeded. You can send again in 1 min", 120.0),
        ("Duty cycle limit exceeded.", None),
        ("You can send again in 12 mins", None),
        ("", None),
    ],
)
def test_the_radios_minutes_are_read_with_one_to_spare(notice: str, seconds: float | None) -> None:
    assert minutes_to_wait(notice) == seconds
