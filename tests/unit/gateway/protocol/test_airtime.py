"""Airtime against the table computed from the firmware's constants, and against what was measured on it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.protocol import airtime
from gateway.protocol.messages import LoRaSettings

LONG_FAST = LoRaSettings(region="US")


@pytest.mark.parametrize(
    ("preset", "bytes_on_air", "milliseconds"),
    [
        ("SHORT_TURBO", 255, 102),
        ("SHORT_FAST", 233, 189),
        ("SHORT_SLOW", 235, 336),
        ("MEDIUM_FAST", 135, 375),
        ("MEDIUM_SLOW", 55, 361),
        ("LONG_TURBO", 255, 1656),
        ("LONG_FAST", 29, 477),
        ("LONG_FAST", 95, 968),
        ("LONG_FAST", 233, 1993),
        ("LONG_MODERATE", 235, 7410),
        ("LONG_SLOW", 55, 3809),
        ("LITE_SLOW", 233, 2157),
        ("NARROW_FAST", 255, 967),
        ("TINY_SLOW", 135, 4993),
    ],
)
def test_airtime_of_every_preset(preset: str, bytes_on_air: int, milliseconds: int) -> None:
    seconds = airtime.airtime_seconds(bytes_on_air, LoRaSettings(region="US", preset=preset))
    assert seconds * 1000 == pytest.approx(milliseconds, abs=1)


def test_custom_settings_count_when_there_is_no_preset() -> None:
    custom = LoRaSettings(region="US", preset="", spreading_factor=7, bandwidth_khz=250, coding_rate=5)
    assert airtime.airtime_seconds(255, custom) == airtime.airtime_seconds(
        255, LoRaSettings(region="US", preset="SHORT_FAST")
    )


def test_unknown_preset_is_modulated_like_the_default() -> None:
    strange = replace(LONG_FAST, preset="ERROR_99")
    assert airtime.airtime_seconds(100, strange) == airtime.airtime_seconds(100, LONG_FAST)


@pytest.mark.parametrize(
    ("text_bytes", "direct", "reply_id"),
    [(232, False, False), (227, False, True), (220, True, False), (215, True, True)],
)
def test_the_largest_text_of_each_kind_fills_the_frame_exactly(text_bytes: int, direct: bool, reply_id: bool) -> None:
    assert airtime.frame_bytes(text_bytes, direct=direct, reply_id=reply_id) == 255


@pytest.mark.parametrize(("text_bytes", "measured"), [(13, 21.3), (100, 25.2), (205, 30.0)])
def test_three_transmissions_take_as_long_as_measured(text_bytes: int, measured: float) -> None:
    frame = airtime.frame_bytes(text_bytes, direct=True, reply_id=False)
    assert 3 * airtime.retransmission_wait(frame, LONG_FAST) == pytest.approx(measured, rel=0.06)


@pytest.mark.parametrize(("preset", "measured"), [("SHORT_FAST", 16), ("MEDIUM_FAST", 19), ("LONG_MODERATE", 66)])
def test_patience_is_twice_the_firmwares_and_grows_with_relays(preset: str, measured: float) -> None:
    lora = LoRaSettings(region="US", preset=preset)
    direct = airtime.ack_deadline(235, lora, 0)
    assert direct == pytest.approx(2 * measured, rel=0.1)
    assert direct < airtime.ack_deadline(235, lora, 1) < airtime.ack_deadline(235, lora, 3)
    assert airtime.ack_deadline(235, lora, None) == airtime.ack_deadline(235, lora, lora.hop_limit)


def test_usual_ack_covers_the_measured_round_trips() -> None:
    """A 205-byte answer was acknowledged after 3.3 to 4.0 s."""
    frame = airtime.frame_bytes(205, direct=True, reply_id=True)
    assert 4.0 < airtime.usual_ack_seconds(frame, LONG_FAST, 0) < 8.0


def test_number_of_transmissions_is_told_from_the_time_of_the_result() -> None:
    assert [airtime.transmissions_within(t, 240, LONG_FAST) for t in (-5, 3, 12, 25, 90)] == [1, 1, 2, 3, 3]


@pytest.mark.parametrize(("region", "percent"), [("EU_868", 10), ("UA_868", 1), ("US", 100), ("UNSET", 100)])
def test_duty_cycle_by_region(region: str, percent: float) -> None:
    assert airtime.duty_cycle_percent(LoRaSettings(region=region)) == percent
    assert airtime.duty_cycle_percent(LoRaSettings(region=region, override_duty_cycle=True)) == 100


def test_wide_band_is_faster_by_its_factor() -> None:
    wide = airtime.airtime_seconds(100, LoRaSettings(region="LORA_24"))
    assert wide == pytest.approx(airtime.airtime_seconds(100, LONG_FAST) / 3.25)


def test_bandwidth_codes_of_custom_settings() -> None:
    assert [airtime.bandwidth_khz(code) for code in (31, 62, 125, 250, 1600)] == [31.25, 62.5, 125, 250, 1625]
