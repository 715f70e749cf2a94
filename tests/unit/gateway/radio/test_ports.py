"""Writing to a port that takes little, nothing, or is gone."""

from __future__ import annotations

import os
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.radio.ports import Writer, keep_lines_up, write_all


@pytest.fixture
def port() -> Iterator[tuple[int, int]]:
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(slave, False)
    yield master, slave
    for end in (master, slave):
        try:
            os.close(end)
        except OSError:
            continue


def test_more_than_the_kernel_holds_is_written_as_it_is_read(port: tuple[int, int]) -> None:
    master, slave = port
    data = bytes(range(256)) * 1000
    got = bytearray()

    def read() -> None:
        while len(got) < len(data):
            got.extend(os.read(master, 4096))

    reader = threading.Thread(target=read)
    reader.start()
    write_all(slave, data, 2.0)
    reader.join()
    assert bytes(got) == data


def test_a_port_that_takes_nothing_fails_in_time_and_without_spinning(port: tuple[int, int]) -> None:
    started, busy = time.monotonic(), time.process_time()
    with pytest.raises(TimeoutError):
        write_all(port[1], b"x" * 1_000_000, 0.3)
    assert 0.3 <= time.monotonic() - started < 2
    assert time.process_time() - busy < 0.25


def test_a_port_that_is_gone_fails_at_once(port: tuple[int, int]) -> None:
    master, slave = port
    os.close(master)
    with pytest.raises(OSError, match=r"\[Errno 5\]"):
        write_all(slave, b"x", 5.0)


def test_lines_are_kept_up_twice_over(port: tuple[int, int]) -> None:
    keep_lines_up(port[1])
    keep_lines_up(port[1])


def test_a_write_that_waits_is_ended_by_closing(port: tuple[int, int]) -> None:
    writer = Writer(port[1])
    failed: list[BaseException] = []

    def write() -> None:
        try:
            writer.write(b"x" * 1_000_000, 30.0)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    time.sleep(0.1)
    writer.close()
    writer.close()
    thread.join(2)
    assert isinstance(failed[0], TimeoutError)
    with pytest.raises(OSError, match="closed"):
        writer.write(b"x", 1.0)


def test_a_writer_is_not_misled_by_a_reused_number(port: tuple[int, int], tmp_path: Path) -> None:
    """As when the library closes the port and the database opens its next file."""
    master, slave = port
    writer = Writer(slave)
    os.close(slave)
    other = os.open(tmp_path / "database", os.O_RDWR | os.O_CREAT)
    writer.write(b"frame", 1.0)
    writer.close()
    assert os.read(master, 100) == b"frame"
    assert os.fstat(other).st_size == 0
    if other != slave:
        os.close(other)
