"""The loop itself: bounded inbox, order of storing and acting, faults that cost one event, status, log lines."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenarios.world import outcome_of

from gateway.inbox import INBOX_LIMIT, INBOX_RESERVE
from gateway.protocol.admission import AccessRules, Handheld
from gateway.protocol.messages import (
    ClientNotice,
    DeliveryReport,
    IncomingText,
    LinkDown,
    LinkUp,
    LoRaSettings,
    NodeHeard,
    OddPacket,
    OutgoingPacket,
    QueueStatus,
    RadioInfo,
    RadioTelemetry,
    SendFailed,
)
from gateway.protocol.requests import DeskOutcome, Request, Trouble
from gateway.radio.port import Deliver, RadioRejected, RadioUnavailable
from gateway.service import Service, ServiceRules
from gateway.status import read
from gateway.store import Store
from search_core.notes import Answer, Hit

OWN, NODE = 0xAA01, 0xBB01
KEY = bytes(range(1, 33))
NOW = 1_750_000_000.0
INFO = RadioInfo(OWN, firmware="2.7.26", lora=LoRaSettings(region="US"))
RULES = ServiceRules(access=AccessRules(handhelds=(Handheld(NODE, KEY, "Ann"),)))


class FakeClock:
    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time


class FakeRadio:
    """Takes packets; `refuse` is raised instead when it is set."""

    def __init__(self) -> None:
        self.sent: list[OutgoingPacket] = []
        self.protected: tuple[int, ...] = ()
        self.announced = 0
        self.refuse: Exception | None = None
        self.on_send: Callable[[], None] = lambda: None

    def start(self, deliver: Deliver) -> None:
        deliver(LinkUp(INFO))

    def send(self, packet: OutgoingPacket) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.on_send()
        self.sent.append(packet)

    def protect(self, nodes: tuple[int, ...]) -> None:
        self.protected = nodes

    def announce(self) -> None:
        self.announced += 1

    def close(self) -> None:
        pass


class FakeDesk:
    def __init__(self) -> None:
        self.asked: list[tuple[int, Request]] = []
        self.on_submit: Callable[[], None] = lambda: None

    def submit(self, ticket: int, request: Request) -> None:
        self.on_submit()
        self.asked.append((ticket, request))


class Bench:
    def __init__(self, directory: Path | None, rules: ServiceRules = RULES) -> None:
        self.clock, self.radio, self.desk = FakeClock(), FakeRadio(), FakeDesk()
        self.store = Store(directory, NOW, flush=False)
        ids = iter(range(9000, 10**6))
        self.service = Service(self.radio, self.desk, self.store, self.clock, rules, new_packet_id=lambda: next(ids))
        self.service.start()
        self.service.step()
        self.packets = iter(range(1, 10**6))

    def ask(self, text: str, node: int = NODE, key: bytes | None = KEY) -> None:
        raw = text.encode()
        packet = IncomingText(
            next(self.packets), node, OWN, 0, raw, text, key, transport="TRANSPORT_LORA", wants_ack=True, hops=1
        )
        self.service.deliver(packet)
        self.service.step()

    def find(self) -> None:
        ticket, _ = self.desk.asked[-1]
        hit = Hit(
            path="A.md", basename="A", score=1.0, excerpt="words", engine="local", cut=lambda size: "words"[:size]
        )
        self.service.deliver(DeskOutcome(ticket, Answer("q", (hit,), "local", 0.01, 1)))
        self.service.step()

    def later(self, seconds: float) -> None:
        self.clock.time += seconds
        self.service.step()

    def status(self) -> dict[str, object]:
        self.later(100)
        found = json.loads(self.store.fact("status"))
        assert isinstance(found, dict)
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_question_is_stored_before_the_desk_is_asked(bench: Bench) -> None:
    stored: list[int] = []
    bench.desk.on_submit = lambda: stored.append(len(bench.store.owed(NOW).questions))
    bench.ask("where is it")
    assert stored == [1]


def test_a_packet_id_is_stored_before_the_packet_is_handed_over(bench: Bench) -> None:
    stored: list[int] = []
    bench.radio.on_send = lambda: stored.extend(a.packet_id for a, _ in bench.store.owed(NOW).attempts)
    bench.ask("where is it")
    bench.find()
    assert [packet.packet_id for packet in bench.radio.sent] == stored == [9000]


def test_handhelds_are_protected_on_each_link(bench: Bench) -> None:
    assert bench.radio.protected == (NODE,)


def test_the_inbox_is_bounded_and_results_have_their_place(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.ask("where is it")
    bench.find()
    for n in range(5 * INBOX_LIMIT):
        bench.service.deliver(NodeHeard(n))
    for _ in range(INBOX_RESERVE):
        bench.service.deliver(DeliveryReport(9000, NODE, "NONE"))
    with caplog.at_level(logging.WARNING):
        while bench.service.step() == 0.0:
            pass
    assert list(bench.service.outbox.answers()) == []
    assert f"lost={4 * INBOX_LIMIT + INBOX_RESERVE}" in caplog.text
    bench.status()
    assert bench.store.counters()["inbox-overflow"] == 4 * INBOX_LIMIT + INBOX_RESERVE


def test_a_busy_radio_is_asked_again(bench: Bench) -> None:
    bench.radio.refuse = RadioUnavailable("busy")
    bench.ask("where is it")
    bench.find()
    assert bench.radio.sent == []
    bench.radio.refuse = None
    bench.later(5)
    assert [packet.text.startswith("*") for packet in bench.radio.sent] == [False]


def test_what_the_radio_rejects_has_failed_and_is_told(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.radio.refuse = RadioRejected("300 bytes of text")
    bench.ask("where is it")
    bench.find()
    assert bench.store.latest()[0]["stage"] == "failed"
    assert "event=trouble" in caplog.text


def test_keys_are_announced_when_they_are_missing(bench: Bench) -> None:
    bench.ask("where is it")
    bench.find()
    bench.service.deliver(DeliveryReport(9000, OWN, "PKI_SEND_FAIL_PUBLIC_KEY"))
    bench.service.step()
    assert bench.radio.announced == 1


def test_why_the_vault_could_not_be_searched_stands_in_the_log(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.ask("where is it")
    bench.service.deliver(DeskOutcome(1, Trouble("vault", "no vault at /home/anna/Vault")))
    bench.service.step()
    assert "kind=vault why='no vault at /home/anna/Vault'" in caplog.text


def test_a_fault_of_ours_costs_one_event(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    bench.desk.on_submit = fail
    bench.ask("the first")
    bench.desk.on_submit = lambda: None
    bench.ask("the second")
    assert [ticket for ticket, _ in bench.desk.asked] == [2]
    assert "event=bug" in caplog.text
    bench.service.handle(DeskOutcome(2, "no outcome at all"))  # type: ignore[arg-type]
    bench.later(1)
    assert bench.store.owed(NOW) is not None


def test_a_desk_in_trouble_gets_an_honest_line(bench: Bench) -> None:
    bench.ask("where is it")
    bench.service.deliver(DeskOutcome(1, Trouble("vault", "gone")))
    bench.service.step()
    assert "later" in bench.radio.sent[0].text


def test_an_outcome_that_nobody_waits_for_is_forgotten(bench: Bench) -> None:
    bench.service.deliver(DeskOutcome(77, Trouble("failed")))
    bench.service.step()
    assert bench.radio.sent == []


def test_no_text_is_judged_without_a_radio_to_judge_by(bench: Bench) -> None:
    bench.service.deliver(LinkDown("gone"))
    bench.ask("where is it")
    assert bench.desk.asked == []


def test_the_radios_minutes_are_waited_for(bench: Bench) -> None:
    bench.service.deliver(ClientNotice(1, "Duty cycle limit exceeded. You can send again in 5 mins"))
    bench.ask("where is it")
    bench.find()
    bench.later(300)
    assert bench.radio.sent == []
    bench.later(90)
    assert len(bench.radio.sent) == 1


def test_every_kind_of_event_is_taken(bench: Bench) -> None:
    for event in (
        OddPacket("encrypted"), QueueStatus(0, 0, 16, 16), SendFailed(5, "x", retry=True), NodeHeard(4),
        RadioTelemetry(None, None, None), RadioTelemetry(10.0, 1.0, 50), RadioTelemetry(10.0, 1.0, 2),
        DeliveryReport(4, 4, "NONE"), LinkDown("\x1b[31m"), LinkUp(INFO),
    ):  # fmt: skip
        bench.service.handle(event)
    bench.status()
    assert "bug" not in bench.store.counters()


def test_the_log_tells_the_question_by_number_and_never_its_words(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        bench.ask("secret words")
        bench.find()
        bench.later(2)
        bench.service.handle(DeliveryReport(9000, NODE, "NONE"))
    lines = [record.getMessage() for record in caplog.records if record.name == "meshseek.service"]
    assert [line.split()[0] for line in lines] == [
        "event=asked", "event=composed", "event=sent", "event=result", "event=delivered",
    ]  # fmt: skip
    assert all("q=1 node=!0000bb01" in line for line in lines)
    assert "secret" not in caplog.text


def test_the_log_says_sent_only_of_what_the_radio_took(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.radio.refuse = RadioUnavailable("busy")
    with caplog.at_level(logging.INFO):
        bench.ask("where is it")
        bench.find()
        for _ in range(20):
            bench.later(3)
        events = [record.getMessage().split()[0] for record in caplog.records if record.name == "meshseek.service"]
        assert events == ["event=asked", "event=composed", "event=held"]
        bench.radio.refuse = None
        bench.later(60)
    assert caplog.records[-1].getMessage().split()[0] == "event=sent"


def test_a_flood_of_strangers_costs_no_write_and_few_lines(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    writes: list[str] = []
    bench.store._connection.set_trace_callback(writes.append)
    for n in range(1, 500):
        bench.service.handle(IncomingText(n, n, OWN, 0, b"in", "in", bytes([1]) * 32, transport="TRANSPORT_LORA"))
    assert writes == []
    assert len([r for r in caplog.records if "event=refused" in r.getMessage()]) <= 60
    bench.service.handle(IncomingText(1, NODE, OWN, 0, b"in", "in", bytes([1]) * 32, transport="TRANSPORT_LORA"))
    assert "reason=key-mismatch" in caplog.records[-1].getMessage()
    bench.store._connection.set_trace_callback(None)
    bench.later(10)
    assert bench.store.counters()["refused-unknown-node"] == 499
    assert len(bench.store.refusals(1000)) <= 200


def test_the_status_says_what_is_going_on(bench: Bench) -> None:
    bench.ask("where is it")
    bench.find()
    report = bench.status()
    assert report["running"] is True
    assert report["queue"] == {"waiting": 0, "flying": 1, "parked": 0, "parts_waiting": 0, "paused_seconds": 0}
    assert json.dumps(report["link"]).startswith('{"up": true')
    shown = read(bench.store)
    assert "where is it" not in json.dumps(shown, default=str)
    assert isinstance(shown["questions"], list)


def test_a_quiet_gateway_writes_once_a_minute(bench: Bench) -> None:
    bench.later(120)
    writes: list[str] = []
    bench.store._connection.set_trace_callback(writes.append)
    for _ in range(300):
        bench.later(1.0)
    bench.store._connection.set_trace_callback(None)
    assert sum(line == "COMMIT" for line in writes) <= 6


def test_it_runs_until_told_to_stop(tmp_path: Path) -> None:
    beats: list[float] = []
    store = Store(tmp_path, NOW, flush=False)
    stop = threading.Event()

    def beat() -> None:
        beats.append(NOW)
        stop.set()

    service = Service(FakeRadio(), FakeDesk(), store, FakeClock(), RULES, heartbeat=beat)
    service.start()
    thread = threading.Thread(target=service.run, args=(stop,))
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
    assert beats
    assert json.loads(store.fact("status"))["running"] is False


def test_an_answer_owed_is_finished_by_the_next_run(tmp_path: Path) -> None:
    first = Bench(tmp_path)
    first.ask("where is it")
    first.store.close()
    second = Bench(tmp_path)
    assert [ticket for ticket, _ in second.desk.asked] == [1]
    second.find()
    assert second.radio.sent[0].reply_id == 1
    assert second.radio.sent[0].key == KEY


def test_a_file_damaged_while_running_is_replaced_and_what_is_owed_written_anew(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_args: object) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    bench.ask("where is it")
    with monkeypatch.context() as patch:
        patch.setattr(bench.store, "_execute", damaged)
        bench.find()
    assert len(bench.radio.sent) == 1
    bench.later(11)
    assert 1 <= len(list(tmp_path.glob("*.damaged-*"))) <= 2
    assert [answer.question for answer in bench.store.owed(NOW).answers] == [1]


def test_rows_that_make_no_sense_do_not_stop_the_start(tmp_path: Path) -> None:
    first = Bench(tmp_path)
    first.ask("where is it")
    first.store._connection.execute("UPDATE questions SET folders = 'junk'")
    first.store.close()
    second = Bench(tmp_path)
    second.ask("still there")
    second.find()
    assert len(second.radio.sent) == 1
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1


def test_ten_texts_a_second_from_an_allowed_node_are_bounded(bench: Bench) -> None:
    for n in range(1200):
        bench.ask(f"text {n}")
        bench.clock.time += 0.1
    assert len(bench.desk.asked) == 40
    assert len(list(bench.service.outbox.answers())) <= 2
    assert len(bench.store.latest(10_000)) == 41


def test_what_was_replaced_may_be_asked_again_at_once(bench: Bench) -> None:
    bench.ask("the first")
    bench.ask("the second")
    bench.ask("the first")
    assert [ticket for ticket, _ in bench.desk.asked] == [1, 2, 3]


def test_a_result_that_comes_before_the_hand_over_returns_counts(bench: Bench) -> None:
    bench.radio.on_send = lambda: bench.service.deliver(DeliveryReport(9000, NODE, "NONE"))
    bench.ask("where is it")
    bench.find()
    bench.later(0.0)
    assert bench.store.latest()[0]["stage"] == "delivered"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.text(max_size=60) | st.sampled_from(["m", "m 5", "1", "9", "r 2", "i", "h", "ping", "stop", "n x", "?"])
    ),
    st.sampled_from(["found", "trouble", "silence"]),
)
def test_any_text_of_an_allowed_node_ends_in_an_answer_or_a_recorded_end(texts: list[str], desk: str) -> None:
    bench = Bench(None)
    for text in texts:
        bench.ask(text)
        if bench.desk.asked and desk != "silence":
            ticket, request = bench.desk.asked[-1]
            outcome = Trouble("gone") if desk == "trouble" else outcome_of(request)
            bench.service.deliver(DeskOutcome(ticket, outcome))
            bench.service.step()
        if bench.radio.sent:
            bench.service.handle(DeliveryReport(bench.radio.sent[-1].packet_id, NODE, "NONE"))
        bench.later(3)
    bench.later(200)
    for _ in range(10):
        bench.service.handle(DeliveryReport(bench.radio.sent[-1].packet_id if bench.radio.sent else 1, NODE, "NONE"))
        bench.later(3)
    assert {row["stage"] for row in bench.store.latest(1000)} <= {"delivered", "failed", "replaced"}
    assert "bug" not in bench.store.counters()


def test_a_fault_in_the_turn_passes_or_ends_the_process(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_now: float) -> float:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(bench.service.outbox, "poll", fail)
        bench.later(1)
    bench.ask("still there")
    bench.find()
    assert len(bench.radio.sent) == 1
    monkeypatch.setattr(bench.service.outbox, "poll", fail)
    for _ in range(19):
        bench.later(1)
    with pytest.raises(ZeroDivisionError):
        bench.later(1)


def test_a_fault_in_composing_costs_one_answer_and_is_said(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.ask("where is it")
    bench.service.deliver(DeskOutcome(1, Answer("q", (None,), "local", 0.01, 1)))  # type: ignore[arg-type]
    bench.service.step()
    assert "event=bug" in caplog.text
    assert "later" in bench.radio.sent[0].text
    assert bench.store.owed(NOW).questions == ()
