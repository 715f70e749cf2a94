"""What holds for the simulated radio whatever happens on its cable and on the air."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_bench import A, Bench

from gateway.radio.simulated.mesh import Link
from gateway.radio.simulated.stream import Deframer, frame_bytes

messages = st.lists(st.binary(max_size=512), max_size=6)
noise = st.binary(max_size=40).map(lambda data: data.replace(b"\x94", b"."))


@given(messages, st.lists(noise, min_size=7, max_size=7), st.integers(1, 600))
def test_messages_come_whole_out_of_noise_in_whatever_pieces(
    sent: list[bytes], between: list[bytes], piece: int
) -> None:
    stream = between[0] + b"".join(frame_bytes(m) + n for m, n in zip(sent, between[1:], strict=False))
    deframer = Deframer()
    got = [message for at in range(0, len(stream), piece) for message in deframer.feed(stream[at : at + piece])]
    assert got == sent


@given(st.binary(max_size=3000), st.integers(1, 100))
def test_no_bytes_upset_the_stream_and_nothing_piles_up(data: bytes, piece: int) -> None:
    deframer = Deframer()
    taken = 0
    for at in range(0, len(data), piece):
        taken += sum(len(message) + 4 for message in deframer.feed(data[at : at + piece]))
    assert len(data) - taken - deframer.skipped <= 516


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 0.6), st.floats(0, 2), st.floats(0, 1))
def test_each_text_is_shown_at_most_once_and_each_has_a_result(
    seed: int, loss: float, delay: float, duplicates: float
) -> None:
    bench = Bench(seed)
    bench.mesh.link = Link(loss=loss, delay=delay, duplicates=duplicates)
    ids = []
    for number in range(5):
        ids.append(bench.at_a.send(f"text {number}"))
        bench.mesh.run_for(2.5)
    bench.mesh.run_for(200)
    texts = bench.at_b.texts()
    assert len(texts) == len(set(texts))
    for number, packet_id in enumerate(ids):
        reasons = bench.at_a.reasons(packet_id)
        assert set(reasons) <= {"NONE", "MAX_RETRANSMIT"}
        assert reasons, "a text that wants an ACK always has a result"
        assert "NONE" not in reasons or f"text {number}" in texts
    assert all(packet.origin in (A, bench.b.number) for packet in bench.at_a.packets())
    assert not bench.a.tx.waiting
