"""systemd is told that we are ready, and fed only while the link is well."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.health import Watchdog


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(0.2)
        yield listening


def received(manager: socket.socket) -> list[str]:
    lines = []
    manager.setblocking(False)
    while True:
        try:
            lines.append(manager.recv(100).decode())
        except BlockingIOError:
            return lines


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def watchdog(manager: socket.socket, healthy: list[bool], time: Time, **more: str) -> Watchdog:
    environ = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "60000000", **more}
    return Watchdog(lambda: healthy[0], environ, time)


def test_it_is_fed_at_a_quarter_of_the_interval_and_not_while_the_link_is_stuck(manager: socket.socket) -> None:
    time, healthy = Time(), [True]
    dog = watchdog(manager, healthy, time)
    dog.ready()
    for time.now in (0.0, 1.0, 14.9, 15.0, 30.0):
        dog.feed()
    healthy[0] = False
    time.now = 90.0
    dog.feed()
    assert received(manager) == ["READY=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"]


def test_the_watchdog_of_another_process_is_not_ours(manager: socket.socket) -> None:
    dog = watchdog(manager, [True], Time(), WATCHDOG_PID=str(os.getpid() + 1))
    dog.feed()
    assert received(manager) == []


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": "/nowhere/at/all", "WATCHDOG_USEC": "junk"}])
def test_without_a_manager_nothing_happens(environ: dict[str, str]) -> None:
    dog = Watchdog(lambda: True, environ)
    dog.ready()
    dog.feed()
    dog.stopping()
