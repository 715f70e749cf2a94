"""The simulated radio shows what firmware 2.7.26 was measured to do, with the measured numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_bench import BROADCAST, PROMPT, A, B, Bench, C, Client

from gateway.protocol.messages import ClientNotice, LoRaSettings, QueueStatus
from gateway.radio.simulated.frames import Data, PkcSeal, Port, RadioSetup, frame_size
from gateway.radio.simulated.mesh import Link, Mesh
from gateway.radio.simulated.node import Node, introduce
from gateway.radio.simulated.transmitter import Window


@pytest.mark.parametrize(
    ("largest", "to", "reply_id"),
    [(232, BROADCAST, 0), (227, BROADCAST, 77), (220, B, 0), (215, B, 77)],
    ids=["channel", "channel reply", "direct", "direct reply"],
)
def test_text_limits_are_exact(largest: int, to: int, reply_id: int) -> None:
    bench = Bench()
    fits = bench.at_a.send("x" * largest, to, reply_id=reply_id)
    bench.mesh.run_for(3)
    too_long = bench.at_a.send("x" * (largest + 1), to, reply_id=reply_id)
    bench.mesh.run_for(0.3)
    assert bench.at_a.statuses(fits)[0].res == 0
    assert bench.mesh.log[0].frame.size() == 255
    assert bench.at_a.statuses(too_long)[0].res == 7
    assert [(origin, reason) for _, origin, reason in bench.at_a.results(too_long)] == [(A, "TOO_LARGE")]
    bench.mesh.run_for(30)
    assert too_long not in {sent.frame.packet_id for sent in bench.mesh.log}


def test_more_than_a_packet_holds_is_ignored_without_a_word() -> None:
    bench = Bench()
    packet_id = bench.at_a.send("x" * 234)
    bench.mesh.run_for(30)
    assert bench.at_a.statuses(packet_id) == []
    assert bench.mesh.frames == 0


def test_an_acknowledgement_is_29_bytes_on_the_air() -> None:
    assert frame_size(Data(Port.ROUTING, request_id=1, reason="NONE"), pkc=False) == 29


def test_a_round_trip_takes_the_measured_time() -> None:
    bench = Bench(setup=replace(PROMPT, read_lag_seconds=0.25))
    question = bench.at_b.send("thirteen byte", A)
    bench.mesh.run_until_true(lambda: bool(bench.at_a.texts()), 5)
    assert 0.55 <= bench.mesh.now <= 1.05
    received = next(packet for packet in bench.at_a.packets() if packet.is_text)
    assert (received.key, received.want_ack, received.packet_id) == (bench.b.key, True, question)
    asked = bench.mesh.now
    answer = bench.at_a.send("x" * 205, B, reply_id=question)
    bench.mesh.run_until_true(lambda: bool(bench.at_b.texts()), 10)
    assert 2.0 <= bench.mesh.now - asked <= 4.0
    bench.mesh.run_for(5)
    when, reporter, reason = bench.at_a.results(answer)[0]
    assert (reporter, reason) == (B, "NONE")
    assert 2.5 <= when - asked <= 7.9


def test_the_acknowledgement_of_a_text_wants_one_itself() -> None:
    bench = Bench()
    bench.at_b.send("hi", A)
    bench.mesh.run_for(5)
    never_sent = [packet for packet in bench.at_a.packets() if packet.data is not None and packet.data.reason]
    assert [packet.origin for packet in never_sent] == [B]


@pytest.mark.parametrize(
    ("size", "gives_up", "on_air"),
    [(13, 21.3, (0.2, 7.1, 14.1)), (100, 25.2, None), (205, 30.0, (0.4, 10.3, 20.1))],
)
def test_an_unreachable_node_gives_three_transmissions_and_max_retransmit(
    size: int, gives_up: float, on_air: tuple[float, ...] | None
) -> None:
    bench = Bench()
    bench.mesh.isolate(B)
    packet_id = bench.at_a.send("x" * size)
    bench.mesh.run_for(0.1)
    assert bench.at_a.statuses(packet_id)[0].res == 0
    bench.mesh.run_for(60)
    [(when, reporter, reason)] = bench.at_a.results(packet_id)
    assert (reporter, reason) == (A, "MAX_RETRANSMIT")
    assert when == pytest.approx(gives_up, rel=0.015)
    assert len(bench.starts()) == 3
    if on_air:
        assert bench.starts() == pytest.approx(on_air, abs=0.45)


def test_a_channel_text_passed_on_by_anybody_is_acknowledged_by_our_own_node() -> None:
    bench = Bench()
    packet_id = bench.at_a.send("x" * 13, BROADCAST)
    bench.mesh.run_for(60)
    [(when, reporter, reason)] = bench.at_a.results(packet_id)
    assert (reporter, reason) == (A, "NONE")
    assert 1.3 <= when <= 5.5
    assert len(bench.starts()) == 1


def test_a_channel_text_that_nobody_hears_ends_as_max_retransmit() -> None:
    bench = Bench()
    bench.mesh.isolate(B)
    packet_id = bench.at_a.send("x" * 13, BROADCAST)
    bench.mesh.run_for(60)
    [(when, reporter, reason)] = bench.at_a.results(packet_id)
    assert (reporter, reason) == (A, "MAX_RETRANSMIT")
    assert when == pytest.approx(21.5, rel=0.03)


def test_lost_acknowledgements_mean_max_retransmit_for_a_text_that_arrived_once() -> None:
    bench = Bench()
    bench.mesh.cut(B, A, both=False)
    packet_id = bench.at_a.send("x" * 100)
    bench.mesh.run_for(60)
    assert bench.at_a.reasons(packet_id) == ["MAX_RETRANSMIT"]
    assert len(bench.at_b.texts()) == 1
    bench.at_a.send("x" * 100)
    bench.mesh.run_for(60)
    assert len(bench.at_b.texts()) == 2, "a resend under a new id is shown again"


def lossy_run(seed: int) -> Bench:
    """Ten direct texts of 150 bytes, 4 s apart, with 30 % loss each way."""
    bench = Bench(seed)
    bench.mesh.link = Link(loss=0.3)
    for number in range(10):
        bench.mesh.after(4.0 * number, lambda number=number: bench.at_a.send("x" * 150, packet_id=1000 + number))  # type: ignore[misc]
    bench.mesh.run_for(160)
    return bench


def test_thirty_percent_loss_delivers_each_text_at_most_once_and_all_have_a_result() -> None:
    benches = [lossy_run(seed) for seed in range(6)]
    arrived = [len(bench.at_b.texts()) for bench in benches]
    assert max(arrived) == 10
    assert sum(arrived) >= 57, "each text is lost with 0.3 ** 3"
    for bench in benches:
        assert all(bench.at_a.results(1000 + number) for number in range(10))
    assert 30 <= sum(bench.mesh.frames for bench in benches) / len(benches) <= 60
    assert 25 <= sum(bench.mesh.airtime for bench in benches) / len(benches) <= 45


def test_one_id_can_have_two_results_max_retransmit_and_then_the_real_one() -> None:
    found = set()
    for seed in range(30):
        bench = lossy_run(seed)
        found |= {tuple(bench.at_a.reasons(1000 + number)[:2]) for number in range(10)}
        if ("MAX_RETRANSMIT", "NONE") in found:
            break
    assert ("MAX_RETRANSMIT", "NONE") in found


def test_a_frame_that_arrives_twice_is_shown_once() -> None:
    bench = Bench()
    bench.mesh.link = Link(duplicates=1.0)
    bench.at_a.send("hello")
    bench.mesh.run_for(30)
    assert bench.at_b.texts() == ["hello"]


def test_without_the_receivers_key_nothing_is_sent() -> None:
    bench = Bench()
    bench.a.db.forget(B)
    packet_id = bench.at_a.send("hello")
    bench.mesh.run_for(0.01)
    assert bench.at_a.statuses(packet_id)[0].res == 39
    assert [(origin, reason) for _, origin, reason in bench.at_a.results(packet_id)] == [
        (A, "PKI_SEND_FAIL_PUBLIC_KEY")
    ]
    bench.mesh.run_for(30)
    assert bench.mesh.frames == 0


def test_a_receiver_without_our_key_says_so_and_the_next_text_gets_through() -> None:
    bench = Bench()
    bench.b.db.forget(A)
    packet_id = bench.at_a.send("hello")
    bench.mesh.run_for(15)
    assert [(origin, reason) for _, origin, reason in bench.at_a.results(packet_id)] == [(B, "PKI_UNKNOWN_PUBKEY")]
    assert bench.at_b.texts() == []
    assert [packet.data for packet in bench.at_b.packets() if packet.packet_id == packet_id] == [None]
    again = bench.at_a.send("hello again")
    bench.mesh.run_for(15)
    assert bench.at_a.reasons(again) == ["NONE"]
    assert bench.at_b.texts() == ["hello again"]


def test_a_demanded_key_that_is_not_the_stored_one_is_refused() -> None:
    bench = Bench()
    packet_id = bench.at_a.send("secret", key=b"\x07" * 32)
    bench.mesh.run_for(30)
    assert bench.at_a.statuses(packet_id)[0].res == 34
    assert bench.at_a.reasons(packet_id) == ["PKI_FAILED"]
    assert bench.mesh.frames == 0
    right = bench.at_a.send("secret", key=bench.b.key)
    bench.mesh.run_for(10)
    assert bench.at_a.reasons(right) == ["NONE"]
    assert isinstance(bench.mesh.log[0].frame.seal, PkcSeal)


def test_a_node_with_a_new_key_is_not_believed() -> None:
    bench = Bench()
    bench.b.change_key()
    bench.b.announce()
    bench.mesh.run_for(10)
    packet_id = bench.at_b.send("it is me", A)
    bench.mesh.run_for(10)
    assert bench.at_a.texts() == []
    assert bench.at_b.reasons(packet_id) == ["NO_CHANNEL"]


def test_a_node_met_in_the_first_minute_is_forgotten_by_a_kill_unless_it_was_made_a_favourite() -> None:
    for favourite in (False, True):
        mesh = Mesh(1)
        a, b = Node(mesh, A, PROMPT), Node(mesh, B, PROMPT)
        b.announce()
        mesh.run_for(5)
        assert a.db.key_of(B) == b.key
        if favourite:
            a.db.set_favorite(B, True)
        a.reboot()
        mesh.run_for(5)
        assert bool(a.db.key_of(B)) is favourite


def test_after_a_minute_a_node_is_remembered() -> None:
    mesh = Mesh(1)
    a, b = Node(mesh, A, PROMPT), Node(mesh, B, PROMPT)
    b.announce()
    mesh.run_for(61)
    a.reboot()
    assert a.db.key_of(B) == b.key


def test_node_info_is_not_sent_again_within_600_seconds_also_across_a_reboot() -> None:
    bench = Bench()
    bench.a.announce()
    bench.mesh.run_for(100)
    bench.a.reboot()
    bench.mesh.run_for(100)
    bench.a.announce()
    bench.mesh.run_for(60)
    assert len(bench.starts(A)) == 1
    bench.mesh.run_for(400)
    bench.a.announce()
    bench.mesh.run_for(10)
    assert len(bench.starts(A)) == 2


# --- the rate limit -------------------------------------------------------------------------------------------


def test_a_second_text_within_two_seconds_is_dropped_and_looks_like_success() -> None:
    bench = Bench()
    bench.at_a.send("first")
    bench.mesh.run_for(1)
    second = bench.at_a.send("second", BROADCAST)
    bench.mesh.run_for(60)
    assert [(status.res, status.free) for status in bench.at_a.statuses(second)] == [(0, 16)]
    assert bench.at_a.results(second) == []
    assert bench.at_b.texts() == ["first"]
    refusals = [sent for sent in bench.mesh.log if sent.transmitter == A and sent.frame.to == 0]
    assert [(sent.frame.size(), sent.frame.data.reason) for sent in refusals] == [(29, "RATE_LIMIT_EXCEEDED")]


def test_the_refusal_reaches_a_client_that_gives_its_own_number() -> None:
    bench = Bench()
    bench.at_a.send("first", sender=A)
    second = bench.at_a.send("second", sender=A)
    bench.mesh.run_for(1)
    assert bench.at_a.reasons(second) == ["RATE_LIMIT_EXCEEDED"]


@pytest.mark.parametrize(("gap", "passes"), [(1.9, False), (2.1, True)])
def test_the_gap_is_two_seconds(gap: float, passes: bool) -> None:
    bench = Bench()
    bench.at_a.send("first")
    bench.mesh.run_for(gap)
    bench.at_a.send("second")
    bench.mesh.run_for(30)
    assert ("second" in bench.at_b.texts()) is passes


def test_a_refused_text_does_not_restart_the_two_seconds() -> None:
    bench = Bench()
    for _ in range(4):
        bench.at_a.send("hi")
        bench.mesh.run_for(0.7)
    bench.mesh.run_for(30)
    assert len(bench.at_b.texts()) == 2, "the fourth, at 2.1 s"


def test_late_reading_makes_two_seconds_unsafe_and_two_and_a_half_safe() -> None:
    dropped = {2.1: 0, 2.5: 0}
    for gap in dropped:
        for seed in range(40):
            bench = Bench(seed, setup=replace(PROMPT, read_lag_seconds=0.25))
            first = bench.at_a.send("first", BROADCAST, want_ack=False)
            bench.mesh.run_for(gap)
            second = bench.at_a.send("second", BROADCAST, want_ack=False)
            bench.mesh.run_for(10)
            heard = {packet.packet_id for packet in bench.at_b.packets()}
            assert first in heard
            dropped[gap] += second not in heard
    assert dropped[2.1] > 0
    assert dropped[2.5] == 0


def test_channel_texts_of_full_length_2_3_seconds_apart_are_all_taken() -> None:
    bench = Bench()
    bench.mesh.isolate(B)
    ids = []
    for _ in range(6):
        ids.append(bench.at_a.send("x" * 232, BROADCAST, want_ack=False))
        bench.mesh.run_for(2.3)
    assert [(bench.at_a.statuses(packet_id)[0].res, bench.at_a.statuses(packet_id)[0].maxlen) for packet_id in ids] == [
        (0, 16)
    ] * 6
    assert all(bench.at_a.statuses(packet_id)[0].free >= 14 for packet_id in ids)
    bench.mesh.run_for(10)
    assert len(bench.starts(A)) == 6


def test_an_id_among_the_last_twenty_is_ignored_without_a_word() -> None:
    bench = Bench()
    first = bench.at_a.send("hello")
    bench.mesh.run_for(5)
    bench.at_a.send("hello", packet_id=first)
    bench.mesh.run_for(5)
    assert len(bench.at_a.statuses(first)) == 1
    for _ in range(20):
        bench.at_a.send("hello", port=Port.ADMIN, to=A)
    bench.mesh.run_for(5)
    bench.at_a.send("hello", packet_id=first)
    bench.mesh.run_for(5)
    assert len(bench.at_a.statuses(first)) == 2


def test_only_the_two_newest_queue_statuses_wait() -> None:
    bench = Bench()
    bench.a.phone.on_ready = lambda: None
    ids = [bench.at_a.send("x", port=Port.ADMIN, to=A, want_ack=False) for _ in range(5)]
    bench.mesh.run_for(1)
    bench.at_a.connect()
    assert [item.packet_id for _, item in bench.at_a.records if isinstance(item, QueueStatus)] == ids[-2:]


def test_the_queue_for_the_air_holds_16_and_says_so_when_it_is_full() -> None:
    bench = Bench()
    ids = [bench.at_a.send("x" * 200, BROADCAST, port=300, want_ack=False) for _ in range(20)]
    bench.mesh.run_for(0.01)
    results = [bench.at_a.statuses(packet_id) for packet_id in ids]
    codes = [status.res for statuses in results for status in statuses]
    assert codes == [0] * 16 + [32] * 4
    assert [status.free for statuses in results[:16] for status in statuses] == list(range(15, -1, -1))


# --- while no client is there ---------------------------------------------------------------------------------


def three_questions(bench: Bench) -> list[int]:
    ids = []
    for number in range(3):
        ids.append(bench.at_b.send(f"q-{number}", A))
        bench.mesh.run_for(10)
    return ids


def test_the_node_acknowledges_whether_or_not_anybody_reads() -> None:
    bench = Bench()
    bench.at_a.vanish()
    ids = three_questions(bench)
    assert [bench.at_b.reasons(packet_id) for packet_id in ids] == [["NONE"]] * 3


def test_after_a_clean_goodbye_everything_is_kept_for_the_next_client_once() -> None:
    bench = Bench()
    bench.at_a.leave()
    ids = three_questions(bench)
    for expected in (ids, []):
        client = Client(bench.a)
        bench.mesh.run_for(0.1)
        texts = [packet for packet in client.packets() if packet.is_text]
        assert [packet.packet_id for packet in texts] == expected
        assert all(packet.key == bench.b.key and packet.rx_time == 0 for packet in texts)
        client.leave()


def test_after_a_client_has_vanished_texts_are_lost_until_a_new_one_comes() -> None:
    bench = Bench()
    bench.at_a.vanish()
    three_questions(bench)
    client = Client(bench.a)
    bench.mesh.run_for(1)
    assert client.texts() == []


def test_a_vanished_client_counts_as_gone_after_fifteen_minutes() -> None:
    bench = Bench()
    bench.at_a.vanish()
    bench.mesh.run_for(901)
    three_questions(bench)
    client = Client(bench.a)
    assert client.texts() == ["q-0", "q-1", "q-2"]


def test_before_the_first_client_everything_is_kept() -> None:
    mesh = Mesh(1)
    a, b = Node(mesh, A, PROMPT), Node(mesh, B, PROMPT)
    introduce(a, b)
    Client(b).send("early", A)
    mesh.run_for(10)
    assert Client(a).texts() == ["early"]


def test_a_full_queue_loses_the_oldest_texts() -> None:
    bench = Bench(setup=replace(PROMPT, to_phone_slots=10))
    bench.at_a.leave()
    for number in range(8):
        bench.at_b.send(f"q-{number}", A)
        bench.mesh.run_for(10)
    client = Client(bench.a)
    assert client.texts() == [f"q-{number}" for number in range(2, 8)]
    assert len(client.packets()) == 10, "and four acknowledgements"
    assert bench.a.phone.lost_packets == 6


# --- reboots, clock, telemetry, limits ------------------------------------------------------------------------


def test_after_an_unannounced_reboot_sends_go_out_but_nothing_comes_back_until_config_is_asked_for() -> None:
    bench = Bench()
    bench.a.reboot(announce=False)
    bench.mesh.run_for(5)
    bench.at_a.records.clear()
    bench.at_a.send("still here")
    bench.at_b.send("and you?", A)
    bench.mesh.run_for(30)
    assert "still here" in bench.at_b.texts()
    assert bench.at_a.records == []
    bench.a.heartbeat()
    assert [item.packet_id for _, item in bench.at_a.records if isinstance(item, QueueStatus)] == [0]
    bench.at_a.connect()
    assert bench.at_a.texts() == ["and you?"]


def test_a_reboot_is_over_after_a_while_and_says_whether_it_is_announced() -> None:
    bench = Bench()
    told: list[tuple[float, bool]] = []
    bench.a.on_boot = lambda announce: told.append((bench.mesh.now, announce))
    bench.a.reboot(announce=True, seconds=3)
    bench.mesh.run_for(10)
    bench.a.reboot(announce=False, seconds=5)
    bench.mesh.run_for(10)
    assert told == [(3, True), (15, False)]
    assert bench.a.uptime == 5


def test_the_clock_is_unset_until_somebody_sets_it() -> None:
    bench = Bench()
    bench.at_b.send("before", A)
    bench.mesh.run_for(5)
    bench.a.set_time(1_800_000_000)
    bench.at_b.send("after", A)
    bench.mesh.run_for(5)
    times = [packet.rx_time for packet in bench.at_a.packets() if packet.is_text]
    assert times[0] == 0
    assert 1_800_000_000 <= times[1] <= 1_800_000_002


def test_own_telemetry_comes_each_minute() -> None:
    bench = Bench(setup=RadioSetup())
    bench.at_b.send("some traffic", A)
    bench.mesh.run_for(601)
    own = [packet for packet in bench.at_a.packets() if packet.data and packet.data.metrics]
    assert len(own) == 10
    assert {packet.origin for packet in own} == {A}
    metrics = [packet.data.metrics for packet in own if packet.data and packet.data.metrics]
    assert metrics[0].channel_utilization > metrics[-1].channel_utilization == 0
    assert metrics[0].air_util_tx == pytest.approx(100 * 0.477 / 3600, rel=0.05)
    assert [item.uptime for item in metrics] == [60 * (number + 1) for number in range(10)]


def test_what_was_heard_long_ago_is_forgotten_though_nobody_asks() -> None:
    window = Window(60.0)
    for second in range(1_000):
        window.add(float(second), 0.5)
    assert len(window.entries) == 60
    assert window.total(999.0) == 30.0


def test_the_duty_cycle_is_enforced_with_the_minutes_to_wait() -> None:
    bench = Bench(lora=LoRaSettings(region="EU_868"))
    bench.a.tx.ledger.note(bench.mesh.now, 361.0, sent=True)
    bench.mesh.run_for(1800)
    packet_id = bench.at_a.send("too much")
    bench.mesh.run_for(1)
    assert bench.at_a.statuses(packet_id)[0].res == 9
    assert bench.at_a.reasons(packet_id) == ["DUTY_CYCLE_LIMIT"]
    notices = [item for _, item in bench.at_a.records if isinstance(item, ClientNotice)]
    assert [(notice.packet_id, notice.text) for notice in notices] == [
        (packet_id, "Duty cycle limit exceeded. You can send again in 30 mins")
    ]
    bench.mesh.run_for(1801)
    later = bench.at_a.send("again")
    bench.mesh.run_for(10)
    assert bench.at_a.reasons(later) == ["NONE"]


@pytest.mark.parametrize("lora", [LoRaSettings(region="UNSET"), LoRaSettings(region="US", tx_enabled=False)])
def test_a_radio_that_may_not_transmit_takes_the_packet_and_gives_up_on_it_later(lora: LoRaSettings) -> None:
    mesh = Mesh(1)
    a, b = Node(mesh, A, PROMPT, lora=lora), Node(mesh, B, PROMPT)
    introduce(a, b)
    client = Client(a)
    packet_id = client.send("hello")
    mesh.run_for(60)
    assert client.statuses(packet_id)[0].res == 34
    assert client.reasons(packet_id) == ["MAX_RETRANSMIT"]
    assert mesh.frames == 0


def test_over_a_relay_our_own_node_reports_first_and_the_destination_later() -> None:
    bench = Bench()
    relay = Node(bench.mesh, C, PROMPT)
    introduce(bench.a, bench.b, relay)
    bench.mesh.cut(A, B)
    packet_id = bench.at_a.send("x" * 40)
    bench.mesh.run_for(30)
    assert [(origin, reason) for _, origin, reason in bench.at_a.results(packet_id)][:2] == [(A, "NONE"), (B, "NONE")]
    text = next(packet for packet in bench.at_b.packets() if packet.is_text)
    assert text.hop_start - text.hop_limit == 1


def test_of_many_that_could_pass_a_packet_on_most_yield_to_the_first() -> None:
    bench = Bench()
    others = [Node(bench.mesh, 0x1000 + number, PROMPT) for number in range(30)]
    introduce(bench.a, bench.b, *others)
    bench.mesh.run_for(10)
    bench.at_a.send("hello")
    bench.mesh.run_for(60)
    assert bench.at_b.texts() == ["hello"]
    assert 3 <= bench.mesh.frames <= 15, "the text, its ACK, the ACK of that, and few relays of each"


def test_a_direct_text_in_channel_encryption_never_reaches_the_client() -> None:
    bench = Bench(setup=replace(PROMPT, has_pkc=True))
    from gateway.radio.simulated.frames import ChannelSeal, Frame

    channel = bench.a.db.channels[0]
    forged = Frame(B, A, 99, Data(Port.TEXT, b"trust me"), ChannelSeal(channel.name, channel.key), want_ack=True)
    bench.mesh.transmit(B, forged)
    bench.mesh.run_for(10)
    assert bench.at_a.texts() == []
