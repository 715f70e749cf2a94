"""The supervisor over links that hang, raise and lie: what no cable can be made to do on demand."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from radio_bench import Listener, until

from gateway.protocol.messages import (
    IncomingText,
    LinkDown,
    LinkUp,
    LoRaSettings,
    NodeHeard,
    NodeSeen,
    OutgoingPacket,
    QueueStatus,
    RadioInfo,
    SendFailed,
)
from gateway.radio.devices import DeviceAbsent
from gateway.radio.link import Link, LinkProblem, Sink
from gateway.radio.port import RadioUnavailable
from gateway.radio.reconnect import LinkRules, LinkState
from gateway.radio.session import MAX_HELD, Session
from gateway.radio.supervisor import Supervisor

RULES = LinkRules(
    open_seconds=0.2,
    configure_seconds=0.3,
    quiet_start_seconds=0.2,
    close_seconds=0.3,
    queue_status_seconds=5,
    handover_seconds=0.2,
    text_gap_seconds=0.15,
    backoff_first_seconds=0.02,
    backoff_most_seconds=0.05,
    poll_seconds=0.01,
)
PACKET = OutgoingPacket(7, 0xBB02, "hi")


def nothing() -> None:
    """Works."""


class FakeLink:
    """A link whose every call can be replaced."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.favored: list[int] = []
        self.clocks: list[int] = []
        self.closed = 0
        self.on_open: Callable[[], None] = nothing
        self.on_send: Callable[[], None] = nothing
        self.on_close: Callable[[], None] = nothing

    def open(self) -> None:
        self.on_open()

    def configure(self) -> None:
        self.sink.configured()

    def info(self) -> RadioInfo:
        return RadioInfo(node=1, lora=LoRaSettings(region="UNSET"))

    def favorites(self) -> frozenset[int]:
        return frozenset({5})

    def send(self, packet: OutgoingPacket) -> None:
        self.on_send()

    def set_clock(self, unix: int) -> None:
        self.clocks.append(unix)

    def set_favorite(self, node: int) -> None:
        self.favored.append(node)

    def announce(self) -> None:
        pass

    def heartbeat(self) -> None:
        self.sink.queue_status(QueueStatus(0, 0, 16, 16))

    def probe(self) -> None:
        pass

    def close(self) -> None:
        self.closed += 1
        self.on_close()


class Bench:
    """A supervisor, and the links that it made."""

    def __init__(self) -> None:
        self.links: list[FakeLink] = []
        self.prepare: Callable[[FakeLink], None] = lambda _link: None
        self.path: Callable[[], str] = lambda: "/dev/fake"
        self.fatal: list[str] = []
        self.heard = Listener()
        self.release = threading.Event()
        self.supervisor = Supervisor(self._connect, self._locate, RULES, self.fatal.append)

    def _connect(self, _path: str, sink: Sink) -> Link:
        link = FakeLink(sink)
        self.prepare(link)
        self.links.append(link)
        return link

    def _locate(self) -> str:
        return self.path()

    def start(self) -> None:
        self.supervisor.start(self.heard)

    def hang(self) -> None:
        self.release.wait(20)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.release.set()
    bench.supervisor.close()


def test_opening_that_hangs_is_left_behind(bench: Bench) -> None:
    def prepare(link: FakeLink) -> None:
        if not bench.links:
            link.on_open = bench.hang

    bench.prepare = prepare
    bench.start()
    bench.heard.wait_up()
    assert bench.heard.events[0] == LinkDown("the port did not open in time")
    assert bench.links[0].closed == 1
    assert bench.fatal == []


def test_opening_that_hangs_again_and_again_ends_the_process(bench: Bench) -> None:
    bench.prepare = lambda link: setattr(link, "on_open", bench.hang)
    bench.start()
    until(lambda: bool(bench.fatal))


def test_closing_that_hangs_ends_the_process(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """The stuck thread keeps the port's lock, so this process could never open it again."""
    bench.prepare = lambda link: setattr(link, "on_close", bench.hang)
    bench.start()
    bench.heard.wait_up()
    bench.links[0].sink.lost("unplugged")
    until(lambda: bool(bench.fatal))
    assert "unplugged" in bench.fatal[0]
    assert any("event=link_stuck" in record.getMessage() for record in caplog.records)


def test_closing_that_hangs_while_stopping_does_not_hold_up_the_stop(bench: Bench) -> None:
    bench.prepare = lambda link: setattr(link, "on_close", bench.hang)
    bench.start()
    bench.heard.wait_up()
    started = time.monotonic()
    bench.supervisor.close()
    assert time.monotonic() - started < 1
    assert bench.fatal == []


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), MemoryError()])
def test_a_library_that_exits_ends_only_its_own_attempt(bench: Bench, error: BaseException) -> None:
    def fail() -> None:
        raise error

    bench.prepare = lambda link: setattr(link, "on_open", fail) if not bench.links else None
    bench.start()
    bench.heard.wait_up()
    assert type(error).__name__ in bench.heard.wait_down()


def test_a_library_that_exits_while_being_made(bench: Bench) -> None:
    def prepare(_link: FakeLink) -> None:
        if not bench.heard.events:
            raise SystemExit(1)

    bench.prepare = prepare
    bench.start()
    bench.heard.wait_up()


def test_a_hand_over_that_never_returns_is_left_behind_with_its_link(bench: Bench) -> None:
    bench.prepare = lambda link: setattr(link, "on_send", bench.hang)
    bench.start()
    bench.heard.wait_up()
    bench.supervisor.send(PACKET)
    bench.heard.wait_up(2)
    failed, down = [e for e in bench.heard.events if isinstance(e, SendFailed | LinkDown)]
    assert isinstance(failed, SendFailed)
    assert isinstance(down, LinkDown)
    assert (failed.packet_id, failed.retry, "took nothing" in down.reason) == (7, True, True)


@pytest.mark.parametrize("error", [LinkProblem("gone"), SystemExit(1), OSError(5, "x"), ValueError("x")])
def test_a_hand_over_that_fails_is_told_and_costs_the_link(bench: Bench, error: BaseException) -> None:
    def fail() -> None:
        raise error

    bench.prepare = lambda link: setattr(link, "on_send", fail)
    bench.start()
    bench.heard.wait_up()
    bench.supervisor.send(PACKET)
    bench.heard.wait_up(2)
    kinds = [type(e).__name__ for e in bench.heard.events if isinstance(e, SendFailed | LinkDown)]
    assert kinds == ["SendFailed", "LinkDown"]


def test_events_of_a_dead_link_are_ignored(bench: Bench) -> None:
    bench.start()
    bench.heard.wait_up()
    old = bench.links[0].sink
    old.lost("unplugged")
    bench.heard.wait_up(2)
    until(lambda: isinstance(bench.heard.events[-1], QueueStatus) and bench.supervisor.state is LinkState.UP)
    count = len(bench.heard.events)
    old.event(NodeHeard(9))
    old.rebooted()
    old.configured()
    old.lost("again")
    time.sleep(0.05)
    assert len(bench.heard.events) == count
    assert bench.supervisor.state is LinkState.UP


def test_one_link_down_per_outage_and_one_warning_per_reason(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def away() -> str:
        raise DeviceAbsent("not there")

    bench.path = away
    with caplog.at_level(logging.INFO, "meshseek.radio"):
        bench.start()
        bench.heard.wait_down()
        time.sleep(0.1)
        bench.path = lambda: "/dev/fake"
        until(lambda: bench.supervisor.state is LinkState.UP)
        until(lambda: any("event=link_up" in r.getMessage() for r in list(caplog.records)))
    down = [r for r in caplog.records if "event=link_down" in r.getMessage()]
    assert (len(bench.heard.of(LinkDown)), len(down)) == (1, 1)
    up = next(r.getMessage() for r in caplog.records if "event=link_up" in r.getMessage())
    assert float(up.split("outage_s=")[1]) >= 0.1


def test_what_is_wrong_with_the_radio_is_said_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.start()
    for times in range(1, 4):
        bench.heard.wait_up(times)
        bench.links[-1].sink.lost("x")
    bench.heard.wait_up(4)
    assert len([r for r in caplog.records if "kind=region-unset" in r.getMessage()]) == 1


def test_a_reboot_that_is_not_finished_is_given_up(bench: Bench) -> None:
    bench.start()
    bench.heard.wait_up()
    bench.links[0].sink.rebooted()
    bench.heard.wait_up(2)
    assert len(bench.links) == 2
    assert [type(e).__name__ for e in bench.heard.of(LinkUp, LinkDown)] == ["LinkUp", "LinkDown", "LinkUp"]


def test_only_nodes_that_are_no_favourites_yet_are_made_so_and_only_once(bench: Bench) -> None:
    bench.supervisor.protect((5, 6))
    bench.start()
    bench.heard.wait_up()
    until(lambda: bench.links[0].favored == [6])
    bench.supervisor.protect((5, 6, 8))
    bench.links[0].sink.event(NodeSeen(6))
    bench.links[0].sink.event(NodeSeen(8))
    until(lambda: bench.links[0].favored == [6, 8])
    time.sleep(0.03)
    assert bench.links[0].favored == [6, 8]


def test_the_clock_is_set_once_when_the_machine_knows_the_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    wall = [5.0]
    monkeypatch.setattr("gateway.radio.supervisor.time.time", lambda: wall[0])
    bench.start()
    bench.heard.wait_up()
    time.sleep(0.05)
    assert bench.links[0].clocks == []
    wall[0] = 1.9e9
    until(lambda: bench.links[0].clocks == [1_900_000_000])
    time.sleep(0.05)
    assert len(bench.links[0].clocks) == 1


def test_a_supervisor_that_is_held_up_is_not_healthy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bench.supervisor.is_healthy()
    monkeypatch.setattr("gateway.radio.supervisor.TURN_LIMIT_SECONDS", 0.05)
    bench.path = lambda: "/dev/fake" if bench.release.wait(20) else ""
    bench.start()
    until(lambda: not bench.supervisor.is_healthy())


def test_closing_from_a_listener_does_not_lock_up() -> None:
    bench = Bench()
    stopped = threading.Event()

    def deliver(event: object) -> None:
        if isinstance(event, LinkUp):
            bench.supervisor.close()
            stopped.set()

    bench.supervisor.start(deliver)
    assert stopped.wait(5)
    bench.supervisor.close()


def text(packet_id: int) -> IncomingText:
    return IncomingText(packet_id, 2, 1, 0, b"", "")


def test_what_waits_for_the_link_is_bounded_and_the_newest_is_kept() -> None:
    heard = Listener()
    session = Session(RULES, heard, nothing)
    for packet_id in range(MAX_HELD + 10):
        session.event(text(packet_id))
    session.configured()
    assert session.go_up(FakeLink(session), LinkUp(RadioInfo(node=1)))
    assert session.shut("done") == ()
    assert [e.packet_id for e in heard.events if isinstance(e, IncomingText)] == list(range(10, MAX_HELD + 10))


def test_a_text_that_waits_for_the_link_outlives_its_connection(bench: Bench) -> None:
    """The radio gives what it kept only once, be the rest of the start-up conversation damaged or not."""

    def tell_and_fail(link: FakeLink) -> None:
        link.sink.event(NodeHeard(0xBB02, None))
        link.sink.event(text(5))
        raise LinkProblem("pulled out")

    bench.prepare = lambda link: setattr(link, "on_open", lambda: tell_and_fail(link)) if not bench.links else None
    bench.supervisor.start(bench.heard)
    bench.heard.wait(lambda e: isinstance(e, IncomingText))
    assert [type(e) for e in bench.heard.events[:3]] == [LinkDown, LinkUp, IncomingText]
    assert bench.heard.of(NodeHeard) == []


def test_a_radio_that_reboots_while_it_is_read_is_not_up() -> None:
    heard = Listener()
    session = Session(RULES, heard, nothing)
    session.configured()
    session.rebooted()
    assert not session.go_up(FakeLink(session), LinkUp(RadioInfo(node=1)))
    assert heard.events == []


def test_a_session_that_is_not_up_takes_nothing() -> None:
    session = Session(RULES, Listener(), nothing)
    with pytest.raises(RadioUnavailable):
        session.send(PACKET)


def test_a_text_goes_before_the_chores(bench: Bench) -> None:
    done: list[str] = []

    def prepare(link: FakeLink) -> None:
        def favor(node: int) -> None:
            done.append("favorite")
            time.sleep(0.05)

        link.set_favorite = favor  # type: ignore[method-assign]
        link.on_send = lambda: done.append("text")

    bench.prepare = prepare
    bench.start()
    bench.heard.wait_up()
    bench.supervisor.protect(tuple(range(10, 20)))
    bench.supervisor.send(PACKET)
    until(lambda: done.count("favorite") == 10 and "text" in done)
    assert done.index("text") <= 5  # it waits for its time, not for its turn


def test_texts_keep_their_distance_though_the_port_is_slow(bench: Bench) -> None:
    """The radio drops, without a word, a text that it gets within 2 s of the last."""
    taken: list[float] = []

    def take_slowly() -> None:
        if not taken:
            time.sleep(0.1)
        taken.append(time.monotonic())
        bench.links[0].sink.queue_status(QueueStatus(6 + len(taken), 0, 16, 16))

    bench.prepare = lambda link: setattr(link, "on_send", take_slowly)
    bench.start()
    bench.heard.wait_up()
    bench.supervisor.send(PACKET)
    until(lambda: len(taken) == 1)
    until(lambda: sent(bench, replace(PACKET, packet_id=8)))
    until(lambda: len(taken) == 2)
    assert taken[1] - taken[0] >= RULES.text_gap_seconds


def test_a_text_waits_until_the_radio_has_read_the_last(bench: Bench) -> None:
    """What lies unread in its port is read in one go, and then too fast (ESP32-S3: up to 20 s late)."""
    taken: list[float] = []
    bench.prepare = lambda link: setattr(link, "on_send", lambda: taken.append(time.monotonic()))
    bench.start()
    bench.heard.wait_up()
    bench.supervisor.send(PACKET)
    until(lambda: len(taken) == 1)
    until(lambda: sent(bench, replace(PACKET, packet_id=8)))
    time.sleep(2 * RULES.text_gap_seconds)
    assert len(taken) == 1
    read = time.monotonic()
    bench.links[0].sink.queue_status(QueueStatus(PACKET.packet_id, 0, 16, 16))
    until(lambda: len(taken) == 2)
    assert taken[1] - read >= RULES.text_gap_seconds


def test_a_new_connection_keeps_its_distance_too(bench: Bench) -> None:
    """What the last one wrote may have been read only just before."""
    taken: list[float] = []
    bench.prepare = lambda link: setattr(link, "on_send", lambda: taken.append(time.monotonic()))
    bench.start()
    bench.heard.wait_up()
    up = time.monotonic()
    bench.supervisor.send(PACKET)
    until(lambda: len(taken) == 1)
    assert taken[0] - up >= RULES.text_gap_seconds - 0.05


def sent(bench: Bench, packet: OutgoingPacket) -> bool:
    """Whether the packet was taken for hand-over."""
    try:
        bench.supervisor.send(packet)
    except RadioUnavailable:
        return False
    return True
