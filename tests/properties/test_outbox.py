"""The outbox against a naive model: whatever is acknowledged, lost, refused or restarted, in whatever order."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.protocol.answers import Answer, Attempt, Change, Moved, Send, Stage
from gateway.protocol.budget import AirtimeBudget, AirtimeRules
from gateway.protocol.messages import DeliveryReport, LoRaSettings, QueueStatus, SendFailed
from gateway.protocol.outbox import DeliveryRules, Outbox
from gateway.protocol.routing_errors import TABLE, Action

OWN = 99
NODES = (1, 2, 3)
LORA = LoRaSettings(region="US")
ERRORS = (*(name for name in TABLE if TABLE[name].tell == ""), "ERROR_77")
FATAL = tuple(name for name in TABLE if TABLE[name].action is Action.STOP)


def _means_unheard(reason: str) -> bool:
    """On a channel this is as good as it gets: it was sent."""
    return reason == "ERROR_77" or (reason in TABLE and TABLE[reason].action is Action.ONCE_MORE)


class Bench:
    """An outbox, what a store would hold, and the naive model: which parts were acknowledged."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.ids = itertools.count(1)
        self.numbers = itertools.count(1)
        self.stored: dict[int, Answer] = {}
        self.attempts: list[Attempt] = []
        self.acknowledged: dict[int, set[int]] = {}
        self.handed: dict[tuple[int, int], int] = {}
        self.last_send = float("-inf")
        self.link = True
        self.start()

    def start(self) -> None:
        self.budget = AirtimeBudget(AirtimeRules(hour_percent=50.0, node_percent=100.0), LORA)
        self.outbox = Outbox(DeliveryRules(), self.budget, lambda: next(self.ids))
        self.outbox.own_node = OWN

    def restart(self) -> None:
        """Killed and started again on what was stored."""
        self.start()
        live = [answer for answer in self.stored.values() if not answer.over]
        self.outbox.restore(live, self.attempts, self.now)
        self.outbox.on_link(self.link, self.now)

    def add(self, node: int, parts: int, channel: bool) -> None:
        number = next(self.numbers)
        texts = tuple(f"{number}:{part}" for part in range(parts))
        answer = Answer(
            number, node, texts, self.now, key=None if channel else bytes(32), channel=0 if channel else None
        )
        self.acknowledged[number] = set()
        self.take(self.outbox.add(answer, self.now))

    def report(self, pick: int, reason: str, from_node: bool) -> None:
        if not self.attempts:
            return
        attempt = self.attempts[-1 - pick % min(len(self.attempts), 4)]
        live = self.stored[attempt.question]
        reporter = attempt.node if from_node else OWN
        counts = reason == "NONE" and (from_node or not live.direct)
        if counts and not live.over and live.part == attempt.part:
            self.acknowledged[attempt.question].add(attempt.part)
        if not live.direct and not counts and self.is_flying(attempt) and _means_unheard(reason):
            self.acknowledged[attempt.question].add(attempt.part)
        self.take(self.outbox.on_report(DeliveryReport(attempt.packet_id, reporter, reason), self.now))

    def is_flying(self, attempt: Attempt) -> bool:
        return self.outbox._flights.get(attempt.packet_id) is not None

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        while True:
            changes, wake = self.outbox.poll(self.now)
            for change in changes:
                if isinstance(change, Moved) and change.answer.channel is not None:
                    self.acknowledged[change.answer.question].update(range(change.answer.part))
            self.take(changes)
            if self.now >= end:
                return
            assert wake >= self.now
            self.now = min(max(wake, self.now + 0.05), end)

    def take(self, changes: list[Change]) -> None:
        for change in changes:
            match change:
                case Moved(answer):
                    self.stored[answer.question] = answer
                case Send():
                    self.check_send(change)
                    self.stored[change.answer.question] = change.answer
                    self.attempts.append(change.attempt)
        self.check()

    def check_send(self, send: Send) -> None:
        number, part = send.attempt.question, send.attempt.part
        answer = send.answer
        assert self.link
        assert self.now >= self.last_send + 2.5
        self.last_send = self.now
        assert part not in self.acknowledged[number], "sent again after its acknowledgement"
        if answer.direct:
            assert self.acknowledged[number] == set(range(part)), "a part before its turn"
        before = self.handed.get((number, part), 0)
        self.handed[number, part] = before + 1
        assert send.packet.text.removeprefix("*") == answer.parts[part]
        assert before or not send.packet.text.startswith("*"), "marked as a repeat the first time"
        assert send.packet.packet_id not in [attempt.packet_id for attempt in self.attempts]

    def check(self) -> None:
        live = {answer.question: answer for answer in self.outbox.answers()}
        assert live == {number: a for number, a in self.stored.items() if not a.over}, "what is stored is what is so"
        flying = [a.node for a in live.values() if a.stage is Stage.FLYING]
        assert len(flying) == len(set(flying)) == self.outbox.flying <= 3
        for number, answer in self.stored.items():
            if answer.direct and answer.stage is Stage.DELIVERED:
                assert self.acknowledged[number] == set(range(len(answer.parts)))
            elif answer.direct and not answer.over:
                assert self.acknowledged[number] == set(range(answer.part))
            assert answer.reason or answer.stage is not Stage.FAILED
        assert self.budget.spent_seconds(self.now) <= self.budget.hour_seconds()


steps = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(NODES), st.integers(1, 3), st.integers(0, 9)),
    st.tuples(st.just("ack"), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("error"), st.integers(0, 3), st.sampled_from(ERRORS), st.booleans()),
    st.tuples(st.just("fatal"), st.integers(0, 3), st.sampled_from(FATAL)),
    st.tuples(st.just("time"), st.sampled_from([0.1, 2.5, 10.0, 40.0, 130.0, 3000.0])),
    st.tuples(st.just("heard"), st.sampled_from(NODES)),
    st.tuples(st.just("link"), st.booleans()),
    st.tuples(st.just("status"), st.integers(0, 3), st.sampled_from([0, 9, 32, 34, 39, 99])),
    st.tuples(st.just("failed"), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("stranger"), st.integers(10**6, 10**7)),
    st.tuples(st.just("stop"), st.sampled_from(NODES)),
    st.tuples(st.just("restart")),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=40))
def test_against_the_model(script: list[tuple[object, ...]]) -> None:
    bench = Bench()
    bench.take(bench.outbox.on_link(True, bench.now))
    for step in script:
        _do(bench, step)
        bench.pass_time(0.0)
    _all_ends_well(bench)


def _do(bench: Bench, step: tuple[object, ...]) -> None:  # noqa: C901 - one case per kind of event
    match step:
        case ("add", int(node), int(parts), int(kind)):
            bench.add(node, parts, channel=kind == 0)
        case ("ack", int(pick), bool(from_node)):
            bench.report(pick, "NONE", from_node)
        case ("error", int(pick), str(reason), bool(from_node)):
            bench.report(pick, reason, from_node)
        case ("fatal", int(pick), str(reason)):
            bench.report(pick, reason, False)
        case ("time", float(seconds)):
            bench.pass_time(seconds)
        case ("heard", int(node)):
            bench.take(bench.outbox.on_heard(node, bench.now))
        case ("link", bool(up)):
            bench.link = up
            bench.take(bench.outbox.on_link(up, bench.now))
        case ("status", int(pick), int(res)) if bench.attempts:
            packet_id = bench.attempts[-1 - pick % len(bench.attempts)].packet_id
            bench.take(bench.outbox.on_queue_status(QueueStatus(packet_id, res, 15, 16), bench.now))
        case ("failed", int(pick), bool(retry)) if bench.attempts:
            packet_id = bench.attempts[-1 - pick % len(bench.attempts)].packet_id
            bench.take(bench.outbox.on_send_failed(SendFailed(packet_id, "UNSURE", retry), bench.now))
        case ("stranger", int(packet_id)):
            assert bench.outbox.on_report(DeliveryReport(packet_id, 1, "NONE"), bench.now) == []
        case ("stop", int(node)):
            bench.take(bench.outbox.drop_all(node, "stopped"))
        case ("restart",):
            bench.restart()


def _all_ends_well(bench: Bench) -> None:
    """Once every node is heard and acknowledges, nothing is left; a day later nothing is left in any case."""
    bench.link = True
    bench.take(bench.outbox.on_link(True, bench.now))
    for _ in range(300):
        if not list(bench.outbox.answers()):
            break
        for node in NODES:
            bench.take(bench.outbox.on_heard(node, bench.now))
        bench.pass_time(3.0 if bench.outbox.flying or bench.outbox.parts_waiting() else 600.0)
        for back in range(min(4, len(bench.attempts))):
            attempt = bench.attempts[-1 - back]
            if bench.is_flying(attempt):
                bench.report(back, "NONE", bench.stored[attempt.question].direct)
    assert list(bench.outbox.answers()) == []
    assert all(answer.over for answer in bench.stored.values())
