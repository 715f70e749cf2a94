"""Questions per hour, doubled packets, and messages from before the link came up."""

from __future__ import annotations

import pytest

from gateway.protocol.limits import Backlog, OverLimit, QuestionCounter, QuestionLimits, SeenPackets

HOUR = 3600.0


def test_questions_of_each_node_are_counted_for_an_hour() -> None:
    counter = QuestionCounter(QuestionLimits(per_hour=2))
    assert [counter.ask(1, t) for t in (0.0, 10.0)] == [None, None]
    assert counter.ask(1, 20.0) == OverLimit(HOUR - 20, tell=True)
    assert counter.ask(2, 20.0) is None
    assert counter.ask(1, HOUR + 1) is None


def test_being_over_the_limit_is_told_once_each_spell() -> None:
    counter = QuestionCounter(QuestionLimits(per_hour=1))
    counter.ask(1, 0.0)
    told = [limit.tell for t in (1.0, 2.0, 3000.0) if (limit := counter.ask(1, t))]
    assert told == [True, False, False]
    assert counter.ask(1, HOUR + 1) is None
    again = counter.ask(1, HOUR + 2)
    assert again is not None
    assert again.tell


def test_refused_questions_do_not_prolong_the_wait() -> None:
    counter = QuestionCounter(QuestionLimits(per_hour=1))
    counter.ask(1, 0.0)
    for t in range(1, 3600, 60):
        counter.ask(1, float(t))
    assert counter.ask(1, HOUR) is None


def test_a_limit_of_none_at_all_refuses() -> None:
    refused = QuestionCounter(QuestionLimits(per_hour=0)).ask(1, 0.0)
    assert refused == OverLimit(HOUR, tell=True)


def test_the_counter_is_bounded_in_nodes() -> None:
    counter = QuestionCounter(QuestionLimits(), nodes_limit=10)
    for node in range(1, 1000):
        counter.ask(node, float(node))
    assert len(counter) == 10


def test_a_packet_is_taken_once_per_sender() -> None:
    seen = SeenPackets()
    assert seen.add(1, 77)
    assert not seen.add(1, 77)
    assert seen.add(2, 77)


def test_seen_packets_are_bounded_and_the_oldest_goes_first() -> None:
    seen = SeenPackets(limit=3)
    for packet in (1, 2, 3, 4):
        seen.add(1, packet)
    assert len(seen) == 3
    assert not seen.add(1, 4)
    assert seen.add(1, 1)


@pytest.mark.parametrize(
    ("rx_time", "after_link", "stale"),
    [
        (10_000 - 60, 0.1, False),
        (10_000 - 1000, 0.1, True),
        (10_000 - 1000, 9.0, True),
        (10_000 - 1000, 60.0, False),  # not replayed: its sender's question of just now, and a wrong clock
        (0, 0.1, False),  # the radio has no clock
        (10_000 + 5_000_000, 0.1, False),  # our clock is in the past
    ],
)
def test_only_replayed_messages_can_be_too_old(rx_time: int, after_link: float, stale: bool) -> None:
    backlog = Backlog(QuestionLimits(backlog_seconds=900))
    backlog.begin(now=500.0, wall=10_000.0)
    assert backlog.is_stale(rx_time, 500.0 + after_link) is stale


def test_nothing_is_too_old_before_the_first_link() -> None:
    assert not Backlog(QuestionLimits()).is_stale(1, 10.0)
