"""The radios that must keep the port's promises."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from radio_bench import Listener
from radio_contract import Bench, InProcess, OverPty, OverTcp

from gateway.radio.devices import RadioTarget
from gateway.radio.port import Radio


@pytest.fixture(params=["in-process", "serial", "tcp"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    if request.param == "in-process":
        yield InProcess()
        return
    wired = OverPty(tmp_path) if request.param == "serial" else OverTcp()
    with contextlib.closing(wired):
        yield wired


@pytest.fixture
def heard() -> Listener:
    return Listener()


@pytest.fixture
def radio(bench: Bench, heard: Listener) -> Iterator[Radio]:
    """Up and talking."""
    radio = bench.new_radio()
    radio.start(heard)
    bench.wait(lambda: bool(heard.events))
    yield radio
    radio.close()


HARDWARE = {
    "serial": ("MESHSEEK_TEST_SERIAL", "a radio's device path, e.g. /dev/serial/by-id/usb-…"),
    "tcp": ("MESHSEEK_TEST_TCP", "a radio's host:port"),
    "ble": ("MESHSEEK_TEST_BLE", "a paired radio's Bluetooth address"),
}


@pytest.fixture(params=list(HARDWARE))
def real_target(request: pytest.FixtureRequest) -> RadioTarget:
    """A radio of the owner's, named by an environment variable; nothing is transmitted by its tests."""
    name, meaning = HARDWARE[request.param]
    value = os.environ.get(name)
    if not value:
        pytest.skip(f"needs hardware: set {name} to {meaning}")
    return {
        "serial": lambda: RadioTarget(serial=value),
        "tcp": lambda: RadioTarget.from_tcp(value),
        "ble": lambda: RadioTarget(ble=value),
    }[request.param]()
