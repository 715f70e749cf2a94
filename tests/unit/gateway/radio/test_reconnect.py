"""The link's state machine and its pulses, at chosen times."""

from __future__ import annotations

import pytest

from gateway.radio.reconnect import MAX_UNCONFIRMED, STABLE_SECONDS, LinkMachine, LinkRules, LinkState, Pulse

RULES = LinkRules()


def failed_attempt(machine: LinkMachine, now: float) -> None:
    machine.opening(now)
    machine.closing(now)
    machine.closed(now)


def test_the_first_attempt_is_due_at_once() -> None:
    assert LinkMachine(RULES, 0.0).may_open(0.0)


def test_pauses_double_from_one_second_to_sixty() -> None:
    machine = LinkMachine(RULES, 0.0)
    pauses = []
    for _ in range(9):
        failed_attempt(machine, 0.0)
        pauses.append(machine.pause())
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_no_attempt_before_the_pause_is_over() -> None:
    machine = LinkMachine(RULES, 0.0)
    failed_attempt(machine, 0.0)
    failed_attempt(machine, 10.0)
    assert not machine.may_open(11.9)
    assert machine.may_open(12.0)


def test_pauses_stay_bounded_after_years_of_failures() -> None:
    machine = LinkMachine(RULES, 0.0)
    machine.failures = 10**9
    assert machine.pause() == RULES.backoff_most_seconds


def test_an_absent_device_is_looked_for_soon_and_starts_afresh_when_it_is_back() -> None:
    machine = LinkMachine(RULES, 0.0)
    for _ in range(8):
        failed_attempt(machine, 0.0)
    machine.device_absent(100.0)
    assert machine.may_open(100.0 + RULES.poll_seconds)
    failed_attempt(machine, 101.0)
    assert machine.pause() == RULES.backoff_first_seconds


def test_a_stable_link_that_is_lost_is_tried_again_at_once() -> None:
    machine = LinkMachine(RULES, 0.0)
    for _ in range(5):
        failed_attempt(machine, 0.0)
    machine.opening(100.0)
    machine.configuring(100.0)
    machine.up(100.0)
    machine.closing(100.0 + STABLE_SECONDS)
    assert machine.pause() == RULES.backoff_first_seconds


def test_links_that_do_not_last_are_made_ever_more_slowly() -> None:
    """Two network clients of one radio throw each other out for ever, each with a whole configuration download."""
    machine, now = LinkMachine(RULES, 0.0), 0.0
    pauses = []
    for _ in range(4):
        machine.opening(now)
        machine.configuring(now)
        machine.up(now)
        now += 1.0
        machine.closing(now)
        machine.closed(now)
        pauses.append(machine.pause())
        now += machine.pause()
    assert pauses == [1, 2, 4, 8]


def test_the_outage_is_counted_from_the_loss_of_the_link() -> None:
    machine = LinkMachine(RULES, 0.0)
    machine.opening(5.0)
    machine.configuring(6.0)
    assert machine.up(7.0) == 7.0
    machine.closing(100.0)
    machine.closed(101.0)
    failed_attempt(machine, 110.0)
    machine.opening(120.0)
    machine.configuring(121.0)
    assert machine.up(123.0) == 23.0


def test_the_outage_of_an_announced_reboot_is_counted_too() -> None:
    machine = LinkMachine(RULES, 0.0)
    machine.configuring(0.0)
    machine.up(1.0)
    machine.configuring(50.0)
    assert machine.up(53.5) == 3.5


@pytest.mark.parametrize(
    ("enter", "seconds", "word"),
    [
        (LinkMachine.opening, RULES.open_seconds, "open"),
        (LinkMachine.configuring, RULES.configure_seconds, "start-up"),
        (LinkMachine.closing, RULES.close_seconds, "close"),
    ],
)
def test_every_passing_state_has_a_deadline(enter: object, seconds: float, word: str) -> None:
    machine = LinkMachine(RULES, 0.0)
    enter(machine, 10.0)  # type: ignore[operator]
    assert machine.overdue(10.0 + seconds - 0.01) is None
    assert word in (machine.overdue(10.0 + seconds) or "")


def test_waiting_and_being_up_may_last() -> None:
    machine = LinkMachine(RULES, 0.0)
    assert machine.overdue(1e9) is None
    machine.up(0.0)
    assert machine.state is LinkState.UP
    assert machine.overdue(1e9) is None


def test_silence_of_five_minutes_is_a_fault() -> None:
    pulse = Pulse(RULES, 0.0)
    pulse.heard(100.0)
    assert pulse.stopped(399.9) is None
    assert "300 s" in (pulse.stopped(400.0) or "")


def test_a_hand_over_that_is_not_confirmed_is_a_fault() -> None:
    pulse = Pulse(RULES, 0.0)
    pulse.handed_over(7, 10.0)
    assert pulse.stopped(39.9) is None
    assert "confirm" in (pulse.stopped(40.0) or "")


def test_a_confirmed_hand_over_is_a_sign_of_life() -> None:
    pulse = Pulse(RULES, 0.0)
    pulse.handed_over(7, 290.0)
    assert pulse.confirmed(7, 291.0)
    assert pulse.stopped(590.9) is None


def test_a_stranger_s_queue_status_is_no_sign_of_life() -> None:
    """A deaf radio answers heartbeats for ever."""
    pulse = Pulse(RULES, 0.0)
    assert not pulse.confirmed(0, 299.0)
    assert pulse.stopped(300.0) is not None


def test_the_oldest_unconfirmed_counts() -> None:
    pulse = Pulse(RULES, 0.0)
    pulse.handed_over(1, 0.0)
    pulse.handed_over(2, 29.0)
    assert pulse.stopped(30.0) is not None


def test_a_failed_hand_over_is_not_waited_for() -> None:
    pulse = Pulse(RULES, 0.0)
    pulse.handed_over(1, 0.0)
    assert pulse.forget(1)
    assert not pulse.forget(1)
    assert pulse.stopped(30.0) is None


def test_the_unconfirmed_are_bounded() -> None:
    pulse = Pulse(RULES, 0.0)
    for packet_id in range(1, 1000):
        pulse.handed_over(packet_id, 0.0)
    assert len(pulse.unconfirmed()) == MAX_UNCONFIRMED


def test_a_quiet_radio_is_asked_once_per_interval_and_not_while_it_talks() -> None:
    pulse = Pulse(RULES, 0.0)
    assert [t for t in range(0, 301, 10) if pulse.probe_due(float(t))] == [120, 240]
    talking = Pulse(RULES, 0.0)
    for t in range(0, 600, 60):
        talking.heard(float(t))
        assert not talking.probe_due(float(t))


def test_a_probe_without_an_answer_is_a_fault() -> None:
    pulse = Pulse(RULES, 0.0)
    assert pulse.probe_due(120.0)
    assert pulse.stopped(149.9) is None
    assert "did not answer" in (pulse.stopped(150.0) or "")


@pytest.mark.parametrize("answer", ["packet", "queue status"])
def test_an_answered_probe_is_none(answer: str) -> None:
    pulse = Pulse(RULES, 0.0)
    assert pulse.probe_due(120.0)
    if answer == "packet":
        pulse.heard(121.0)
    else:
        pulse.replied()
    assert pulse.stopped(150.0) is None
    assert pulse.stopped(421.0) is not None, "silence stays a fault"


def test_heartbeats_are_regular() -> None:
    pulse = Pulse(RULES, 0.0)
    assert [t for t in range(0, 1000, 50) if pulse.heartbeat_due(float(t))] == [300, 600, 900]
