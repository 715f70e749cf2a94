"""The outbox, case by case: pace, real acknowledgements, every routing error, parking."""

from __future__ import annotations

import itertools

import pytest

from gateway.protocol.answers import AnnounceKeys, Answer, Change, Ended, Moved, Send, Stage, Tell
from gateway.protocol.budget import AirtimeBudget, AirtimeRules
from gateway.protocol.messages import BROADCAST, DeliveryReport, LoRaSettings, QueueStatus, SendFailed
from gateway.protocol.outbox import DeliveryRules, Outbox
from gateway.protocol.routing_errors import TABLE, Action, reason_of_res

OWN, NODE, OTHER = 99, 1, 2
HOUR = 3600.0

MESH_ERRORS = {  # mesh.proto, Routing.Error, but NONE
    *("NO_ROUTE", "GOT_NAK", "TIMEOUT", "NO_INTERFACE", "MAX_RETRANSMIT", "NO_CHANNEL", "TOO_LARGE", "NO_RESPONSE"),
    *("DUTY_CYCLE_LIMIT", "BAD_REQUEST", "NOT_AUTHORIZED", "PKI_FAILED", "PKI_UNKNOWN_PUBKEY"),
    *("ADMIN_BAD_SESSION_KEY", "ADMIN_PUBLIC_KEY_UNAUTHORIZED", "RATE_LIMIT_EXCEEDED", "PKI_SEND_FAIL_PUBLIC_KEY"),
}


class Bench:
    def __init__(self) -> None:
        ids = itertools.count(1000)
        budget = AirtimeBudget(AirtimeRules(hour_percent=50, node_percent=100), LoRaSettings(region="US"))
        self.outbox = Outbox(DeliveryRules(), budget, lambda: next(ids))
        self.outbox.own_node = OWN
        self.outbox.on_link(True, 0.0)
        self.numbers = itertools.count(1)

    def ask(self, now: float, node: int = NODE, parts: int = 1, channel: int | None = None) -> int:
        number = next(self.numbers)
        texts = tuple(f"part {n}" for n in range(parts))
        key = bytes(32) if channel is None else None
        self.outbox.add(Answer(number, node, texts, now, key=key, channel=channel, reply_id=500 + number), now)
        return number

    def due(self, now: float) -> Send | None:
        changes, _ = self.outbox.poll(now)
        return next((change for change in changes if isinstance(change, Send)), None)

    def sent(self, now: float) -> Send:
        found = self.due(now)
        assert found is not None
        return found

    def report(self, send: Send, reason: str, now: float, reporter: int = OWN) -> list[Change]:
        return self.outbox.on_report(DeliveryReport(send.packet.packet_id, reporter, reason), now)

    def stage(self, number: int) -> Stage | None:
        answer = self.outbox.answer_or_none(number)
        return answer.stage if answer else None


@pytest.fixture
def bench() -> Bench:
    return Bench()


def final(changes: list[Change]) -> Answer:
    return [change.answer for change in changes if isinstance(change, Moved)][-1]


def test_a_part_is_encrypted_for_its_node_and_threaded_to_the_question(bench: Bench) -> None:
    bench.ask(0.0, parts=2)
    first = bench.sent(0.0).packet
    assert (first.destination, first.key, first.reply_id, first.wants_ack) == (NODE, bytes(32), 501, True)


def test_texts_keep_their_distance_even_when_acknowledged_at_once(bench: Bench) -> None:
    bench.ask(0.0, parts=2)
    send = bench.sent(0.0)
    bench.report(send, "NONE", 0.5, reporter=NODE)
    assert bench.due(2.4) is None
    second = bench.sent(2.5)
    assert second.packet.text == "part 1"
    assert second.packet.reply_id == 0


def test_a_relay_overheard_is_no_acknowledgement(bench: Bench) -> None:
    number = bench.ask(0.0, parts=2)
    send = bench.sent(0.0)
    assert bench.report(send, "NONE", 3.0) == []
    assert bench.stage(number) is Stage.FLYING
    assert bench.due(6.0) is None
    assert final(bench.report(send, "NONE", 7.0, reporter=NODE)).part == 1


def test_after_a_relay_was_overheard_our_radio_is_charged_no_more(bench: Bench) -> None:
    bench.ask(0.0)
    send = bench.sent(0.0)
    bench.report(send, "NONE", 3.0)
    changes = bench.report(send, "NONE", 21.0, reporter=NODE)
    assert [change.transmissions for change in changes if isinstance(change, Ended)] == [1]


def test_somebody_elses_acknowledgement_is_ignored(bench: Bench) -> None:
    bench.ask(0.0)
    assert bench.report(bench.sent(0.0), "NONE", 1.0, reporter=OTHER) == []


def test_a_negative_result_and_then_the_real_acknowledgement_is_delivered(bench: Bench) -> None:
    number = bench.ask(0.0)
    send = bench.sent(0.0)
    assert final(bench.report(send, "MAX_RETRANSMIT", 33.03)).stage is Stage.WAITING
    assert final(bench.report(send, "NONE", 33.28, reporter=NODE)).stage is Stage.DELIVERED
    assert bench.stage(number) is None
    assert bench.due(100.0) is None


def test_an_acknowledgement_of_the_first_try_ends_the_second(bench: Bench) -> None:
    bench.ask(0.0)
    first = bench.sent(0.0)
    bench.report(first, "MAX_RETRANSMIT", 30.0)
    second = bench.sent(50.0)
    assert second.packet.packet_id != first.packet.packet_id
    assert second.packet.text == "*part 0"
    changes = bench.report(first, "NONE", 51.0, reporter=NODE)
    assert [change.result for change in changes if isinstance(change, Ended)] == ["ACK", "SUPERSEDED"]
    assert final(changes).stage is Stage.DELIVERED
    assert bench.report(second, "NONE", 53.0, reporter=NODE) == []


def test_two_tries_and_then_it_is_parked_until_the_node_is_heard(bench: Bench) -> None:
    number = bench.ask(0.0)
    bench.report(bench.sent(0.0), "MAX_RETRANSMIT", 30.0)
    bench.report(bench.sent(50.0), "MAX_RETRANSMIT", 80.0)
    assert bench.stage(number) is Stage.PARKED
    assert bench.due(10 * HOUR) is None
    bench.outbox.on_heard(OTHER, 10 * HOUR)
    assert bench.due(10 * HOUR) is None
    bench.outbox.on_heard(NODE, 10 * HOUR)
    assert bench.sent(10 * HOUR).packet.text == "*part 0"


def test_a_node_that_is_heard_but_cannot_hear_us_costs_seven_tries_in_a_day(bench: Bench) -> None:
    number = bench.ask(0.0)
    sends = 0
    for now in range(0, int(23 * HOUR), 30):
        bench.outbox.on_heard(NODE, float(now))
        send = bench.due(float(now))
        if send is not None:
            sends += 1
            bench.report(send, "MAX_RETRANSMIT", now + 29.0)
    assert sends == 2 + 5
    assert bench.stage(number) is None


def test_a_parked_answer_is_given_up_after_a_day(bench: Bench) -> None:
    number = bench.ask(0.0)
    bench.report(bench.sent(0.0), "NO_RESPONSE", 1.0, reporter=NODE)
    assert bench.stage(number) is Stage.PARKED
    changes, _ = bench.outbox.poll(24 * HOUR + 1)
    assert final(changes).stage is Stage.FAILED
    assert final(changes).reason.startswith("too-old")


def test_only_the_newest_parked_answers_are_kept(bench: Bench) -> None:
    for turn in range(8):
        bench.ask(100.0 * turn)
        bench.report(bench.sent(100.0 * turn), "NO_RESPONSE", 100.0 * turn + 1, reporter=NODE)
    bench.ask(1000.0, node=OTHER)
    assert sorted(a.question for a in bench.outbox.answers() if a.stage is Stage.PARKED) == [4, 5, 6, 7, 8]


def test_every_routing_error_has_its_row() -> None:
    assert set(TABLE) >= MESH_ERRORS


@pytest.mark.parametrize("reason", sorted(TABLE))
def test_no_error_is_repeated_blindly(bench: Bench, reason: str) -> None:
    """The same error each time: a handful of hand-overs, or none while the radio cannot; never at once."""
    number = bench.ask(0.0)
    now, hand_overs = 0.0, []
    while now < 2 * HOUR and bench.stage(number) not in (None, Stage.PARKED):
        send = bench.due(now)
        if send is not None:
            hand_overs.append(now)
            bench.report(send, reason, now + 0.1)
        now += 1.0
    waits = [later - earlier for earlier, later in itertools.pairwise(hand_overs)]
    assert min(waits, default=99.0) >= 2.5
    if TABLE[reason].action in (Action.LATER, Action.PAUSE):
        assert len(hand_overs) <= 70
        assert waits[-1] >= 100
    else:
        assert len(hand_overs) <= 2


@pytest.mark.parametrize("reason", [r for r in TABLE if TABLE[r].action is Action.STOP])
def test_what_cannot_be_helped_is_told_to_the_operator(bench: Bench, reason: str) -> None:
    bench.ask(0.0)
    changes = bench.report(bench.sent(0.0), reason, 0.1)
    assert final(changes).stage is Stage.FAILED
    assert [change.reason for change in changes if isinstance(change, Tell)] == [reason]


@pytest.mark.parametrize(("reason", "reporter"), [("PKI_SEND_FAIL_PUBLIC_KEY", OWN), ("PKI_UNKNOWN_PUBKEY", NODE)])
def test_unknown_keys_are_exchanged_once_and_then_tried_once_more(bench: Bench, reason: str, reporter: int) -> None:
    number = bench.ask(0.0)
    changes = bench.report(bench.sent(0.0), reason, 0.1, reporter=reporter)
    assert AnnounceKeys() in changes
    assert bench.due(40.0) is None
    again = bench.report(bench.sent(46.0), reason, 46.1, reporter=reporter)
    assert AnnounceKeys() not in again
    assert bench.stage(number) is Stage.PARKED


def test_the_duty_cycle_pauses_everybody(bench: Bench) -> None:
    bench.ask(0.0)
    bench.ask(0.0, node=OTHER)
    bench.report(bench.sent(0.0), "DUTY_CYCLE_LIMIT", 0.1)
    bench.outbox.pause(900.0, 0.2)
    assert bench.due(899.0) is None
    assert bench.sent(901.0).packet.text == "part 0"


@pytest.mark.parametrize("notice_first", [False, True])
def test_the_duty_cycle_pauses_no_longer_than_the_radio_says(bench: Bench, notice_first: bool) -> None:
    bench.ask(0.0)
    send = bench.sent(0.0)
    if notice_first:
        bench.outbox.pause(120.0, 0.1)
    bench.report(send, "DUTY_CYCLE_LIMIT", 0.1)
    if not notice_first:
        bench.outbox.pause(120.0, 0.1)
    assert bench.due(119.0) is None
    assert bench.sent(121.0).packet.text == "part 0"


def test_silence_ends_at_the_deadline_and_is_tried_again(bench: Bench) -> None:
    """A text that came too fast is dropped without a word; its status looks like success."""
    bench.ask(0.0)
    send = bench.sent(0.0)
    bench.outbox.on_queue_status(QueueStatus(send.packet.packet_id, 0, 16, 16), 0.1)
    assert bench.due(40.0) is None
    assert bench.sent(70.0).packet.text == "*part 0"


@pytest.mark.parametrize(("res", "within"), [(32, 20.0), (39, 60.0), (9, 700.0)])
def test_a_refusing_status_is_acted_on_when_no_routing_packet_explains_it(
    bench: Bench, res: int, within: float
) -> None:
    bench.ask(0.0)
    send = bench.sent(0.0)
    bench.outbox.on_queue_status(QueueStatus(send.packet.packet_id, res, 0, 16), 0.1)
    changes, _ = bench.outbox.poll(6.0)
    assert [change.result for change in changes if isinstance(change, Ended)] == [reason_of_res(res)]
    assert bench.due(within) is not None


def test_a_hand_over_that_failed_is_tried_again_marked_since_nobody_knows(bench: Bench) -> None:
    bench.ask(0.0)
    send = bench.sent(0.0)
    bench.outbox.on_send_failed(SendFailed(send.packet.packet_id, "timeout", retry=True), 1.0)
    assert bench.sent(3.5).packet.text == "*part 0"


def test_a_hand_over_that_was_not_taken_is_not_marked(bench: Bench) -> None:
    bench.ask(0.0)
    send = bench.sent(0.0)
    bench.outbox.on_not_taken(send.packet.packet_id, 0.0)
    assert bench.sent(3.0).packet.text == "part 0"


def test_nothing_is_sent_without_a_link(bench: Bench) -> None:
    bench.outbox.on_link(False, 0.0)
    bench.ask(0.0)
    assert bench.due(100.0) is None
    bench.outbox.on_link(True, 100.0)
    assert bench.due(100.0) is not None


def test_a_node_out_of_reach_holds_the_others_up_only_while_the_radio_repeats(bench: Bench) -> None:
    bench.ask(0.0)
    bench.sent(0.0)
    bench.ask(1.0, node=OTHER)
    assert bench.due(15.0) is None
    assert bench.sent(31.0).packet.destination == OTHER


def test_nodes_take_turns(bench: Bench) -> None:
    bench.ask(0.0, parts=3)
    bench.ask(0.0, node=OTHER, parts=3)
    order, now = [], 0.0
    for _ in range(6):
        send = bench.sent(now)
        order.append(send.packet.destination)
        bench.report(send, "NONE", now + 2.5, reporter=send.packet.destination)
        now += 3.0
    assert order == [NODE, OTHER] * 3


def test_on_a_channel_a_relay_overheard_is_all_there_is(bench: Bench) -> None:
    bench.ask(0.0, channel=2)
    send = bench.sent(0.0)
    assert (send.packet.destination, send.packet.channel, send.packet.key) == (BROADCAST, 2, None)
    assert final(bench.report(send, "NONE", 4.0)).stage is Stage.DELIVERED


def test_on_a_channel_nobody_repeating_is_no_reason_to_repeat(bench: Bench) -> None:
    bench.ask(0.0, channel=2)
    assert final(bench.report(bench.sent(0.0), "MAX_RETRANSMIT", 21.0)).stage is Stage.DELIVERED


def test_after_a_restart_the_flight_goes_on(bench: Bench) -> None:
    bench.ask(0.0, parts=2)
    send = bench.sent(0.0)
    next_run = Bench()
    next_run.outbox.restore([send.answer], [send.attempt], 10.0)
    assert next_run.due(11.0) is None
    assert final(next_run.report(send, "NONE", 12.0, reporter=NODE)).part == 1
