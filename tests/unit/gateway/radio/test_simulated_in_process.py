"""The in-process face keeps the promises of the radio port, in virtual time."""

from __future__ import annotations

import doctest

import pytest
from simulated_bench import PROMPT, A, B

import gateway.radio.simulated as package
from gateway.protocol.messages import (
    BROADCAST,
    ChannelPrivacy,
    ClientNotice,
    DeliveryReport,
    IncomingText,
    LinkDown,
    LinkUp,
    LoRaSettings,
    NodeHeard,
    NodeSeen,
    OddPacket,
    OutgoingPacket,
    QueueStatus,
    RadioEvent,
    RadioTelemetry,
    SendFailed,
)
from gateway.radio.port import Radio, RadioRejected, RadioUnavailable
from gateway.radio.simulated.frames import Channel, ClientPacket, Data, Port, RadioSetup
from gateway.radio.simulated.handheld import Handheld
from gateway.radio.simulated.in_process import SimulatedRadio
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node, introduce


class Desk:
    """A radio on the mesh, a handheld beside it, and everything the radio said."""

    def __init__(self, seed: int = 1, *, start: float = 1_800_000_000.0, setup: RadioSetup | None = None) -> None:
        self.mesh = Mesh(seed, start=start)
        self.node = Node(self.mesh, A, setup)
        self.handheld = Handheld(self.mesh, B, "T-Deck")
        introduce(self.node, self.handheld.node)
        self.events: list[RadioEvent] = []
        self.radio = SimulatedRadio(self.node)
        self.radio.start(self.events.append)

    def up(self) -> Desk:
        self.mesh.run_for(1)
        return self

    def of(self, kind: type[RadioEvent]) -> list[RadioEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    def send(self, text: str = "hello", packet_id: int = 500, **more: object) -> None:
        self.radio.send(OutgoingPacket(packet_id, B, text, key=self.handheld.key, **more))  # type: ignore[arg-type]


def test_the_package_example_is_true() -> None:
    result = doctest.testmod(package)
    assert (result.attempted > 0, result.failed) == (True, 0)


def test_it_is_a_radio() -> None:
    radio: Radio = Desk().radio
    assert radio is not None


def test_the_first_event_is_link_up_and_says_what_the_radio_is() -> None:
    channels = (Channel(), Channel("notes", b"\x05" * 32, uplink=True))
    desk = Desk(setup=RadioSetup(channels=channels)).up()
    first = desk.events[0]
    assert isinstance(first, LinkUp)
    assert (first.info.node, first.info.key, first.info.firmware) == (A, desk.node.key, "2.7.26")
    assert [(c.name, c.privacy, c.uplink) for c in first.info.channels[:3]] == [
        ("", ChannelPrivacy.PUBLIC, False),
        ("notes", ChannelPrivacy.PRIVATE, True),
        ("", ChannelPrivacy.DISABLED, False),
    ]
    assert first.info.nodes == (NodeSeen(B, "T-Deck", "bb02", desk.handheld.key),)
    assert first.info.lora == LoRaSettings(region="US")


def test_a_question_comes_in_and_its_answer_is_acknowledged() -> None:
    desk = Desk().up()
    asked = desk.handheld.say("tape backup", A)
    desk.mesh.run_for(5)
    [text] = desk.of(IncomingText)
    assert isinstance(text, IncomingText)
    assert (text.sender, text.destination, text.text, text.key) == (B, A, "tape backup", desk.handheld.key)
    assert (text.hops, text.transport, text.packet_id) == (0, "TRANSPORT_LORA", asked.packet_id)
    assert text.rx_time == pytest.approx(desk.mesh.now, abs=6)
    assert desk.events.index(NodeHeard(B, 0)) == desk.events.index(text) - 1
    desk.send("the answer", 500, reply_id=asked.packet_id)
    desk.mesh.run_for(10)
    assert QueueStatus(500, 0, 15, 16) in desk.events
    assert DeliveryReport(500, B, "NONE") in desk.events
    [seen] = desk.handheld.seen
    assert (seen.text, seen.reply_id, seen.direct) == ("the answer", asked.packet_id, True)
    assert asked.tick == "delivered"


def test_the_handhelds_owner_can_retry_react_and_use_the_channel() -> None:
    desk = Desk().up()
    desk.send("an answer", 500)
    desk.mesh.run_for(10)
    desk.handheld.react(desk.handheld.seen[0])
    desk.mesh.run_for(5)
    first = desk.handheld.say_on_channel("?tape")
    desk.mesh.run_for(5)
    second = desk.handheld.retry(first)
    desk.mesh.run_for(5)
    texts = [event for event in desk.events if isinstance(event, IncomingText)]
    assert [(t.text, t.is_reaction, t.destination, t.reply_id) for t in texts] == [
        ("👍", True, A, 500),
        ("?tape", False, BROADCAST, 0),
        ("?tape", False, BROADCAST, 0),
    ]
    assert texts[1].key is None
    assert first.packet_id != second.packet_id
    assert {first.tick, second.tick} == {"relayed"}


def test_an_unreachable_radio_is_a_failed_tick() -> None:
    desk = Desk().up()
    desk.mesh.isolate(B)
    message = desk.handheld.say("anybody?", A)
    desk.mesh.run_for(60)
    assert (message.tick, message.reason) == ("failed", "MAX_RETRANSMIT")


def test_send_refuses_what_the_port_says_it_refuses() -> None:
    desk = Desk()
    with pytest.raises(RadioUnavailable):
        desk.send()
    desk.up()
    with pytest.raises(RadioRejected):
        desk.send("x" * 234)
    desk.send("one", 1)
    with pytest.raises(RadioUnavailable):
        desk.send("two", 2)
    desk.mesh.run_for(0.2)
    desk.send("three", 3)


def test_odd_packets_are_told_by_kind() -> None:
    desk = Desk().up()
    for port, payload in ((Port.TEXT, b"\xff\xfe"), (300, b"x"), (Port.POSITION, b"x")):
        packet = ClientPacket(desk.node.router.new_id(), A, Data(port, payload), want_ack=False)
        desk.handheld.node.send(packet)
        desk.mesh.run_for(3)
    assert desk.of(OddPacket) == [OddPacket("bad-utf8"), OddPacket("port-300"), OddPacket("port-POSITION_APP")]


def test_telemetry_each_minute_and_node_info_are_told() -> None:
    desk = Desk().up()
    desk.handheld.node.announce()
    desk.mesh.run_for(121)
    uptimes = [event.uptime for event in desk.events if isinstance(event, RadioTelemetry)]
    assert uptimes == [60, 120]
    seen = [event for event in desk.events if isinstance(event, NodeSeen)]
    assert [(node.node, node.key) for node in seen] == [(B, desk.handheld.key)]


def test_announce_puts_our_key_on_the_air_and_protect_keeps_theirs() -> None:
    desk = Desk().up()
    desk.handheld.node.db.forget(A)
    desk.radio.announce()
    desk.radio.protect((B,))
    desk.mesh.run_for(5)
    assert desk.handheld.node.db.key_of(A) == desk.node.key
    assert desk.node.db.known[B].favorite


def test_an_announced_reboot_is_a_short_outage() -> None:
    desk = Desk().up()
    desk.node.reboot(announce=True)
    desk.mesh.run_for(10)
    kinds = [type(event) for event in desk.events if isinstance(event, LinkUp | LinkDown)]
    assert kinds == [LinkUp, LinkDown, LinkUp]
    desk.send("still there", 700)
    desk.mesh.run_for(10)
    assert DeliveryReport(700, B, "NONE") in desk.events


def test_an_unannounced_reboot_is_noticed_by_a_send_that_has_no_answer() -> None:
    desk = Desk().up()
    desk.node.reboot(announce=False)
    desk.mesh.run_for(5)
    desk.send("into the void", 700)
    desk.mesh.run_for(29)
    assert desk.radio.outages == 0
    desk.mesh.run_for(15)
    assert [(e.packet_id, e.retry) for e in desk.events if isinstance(e, SendFailed)] == [(700, True)]
    assert isinstance(desk.of(LinkUp)[-1], LinkUp)
    assert (desk.radio.outages, desk.radio.up) == (1, True)


def test_an_unannounced_reboot_is_noticed_by_silence() -> None:
    desk = Desk().up()
    desk.node.reboot(announce=False)
    desk.mesh.run_for(400)
    assert (desk.radio.outages, desk.radio.up) == (1, True)


def test_a_frozen_port_is_noticed_and_comes_back() -> None:
    desk = Desk().up()
    desk.radio.freeze()
    desk.send("stuck", 700)
    desk.mesh.run_for(60)
    assert [type(event) for event in desk.events if isinstance(event, LinkUp | LinkDown)] == [LinkUp, LinkDown]
    with pytest.raises(RadioUnavailable):
        desk.send("more", 701)
    desk.radio.thaw()
    desk.mesh.run_for(10)
    assert desk.radio.up
    assert desk.handheld.seen == []


def test_an_unplugged_radio_is_down_until_it_is_back() -> None:
    desk = Desk().up()
    desk.radio.unplug()
    desk.mesh.run_for(100)
    assert [type(event) for event in desk.events] == [LinkUp, LinkDown]
    desk.radio.replug()
    desk.mesh.run_for(1)
    assert [type(event) for event in desk.events] == [LinkUp, LinkDown, LinkUp]


@pytest.mark.parametrize(("clean", "expected"), [(True, ["while away"]), (False, [])])
def test_texts_that_come_between_two_runs_are_kept_only_after_a_goodbye(clean: bool, expected: list[str]) -> None:
    desk = Desk().up()
    if clean:
        desk.radio.close()
    else:
        desk.radio.kill()
    before = len(desk.events)
    desk.handheld.say("while away", A)
    desk.mesh.run_for(30)
    assert len(desk.events) == before
    again: list[RadioEvent] = []
    SimulatedRadio(desk.node).start(again.append)
    desk.mesh.run_for(2)
    assert isinstance(again[0], LinkUp)
    assert [event.text for event in again if isinstance(event, IncomingText)] == expected


def test_the_duty_cycle_notice_is_told() -> None:
    mesh = Mesh(1, lora=LoRaSettings(region="EU_868"))
    node, handheld = Node(mesh, A, PROMPT), Handheld(mesh, B)
    introduce(node, handheld.node)
    events: list[RadioEvent] = []
    radio = SimulatedRadio(node)
    radio.start(events.append)
    mesh.run_for(1)
    node.tx.ledger.note(mesh.now, 400, sent=True)
    radio.send(OutgoingPacket(5, B, "hi"))
    mesh.run_for(1)
    assert [event.packet_id for event in events if isinstance(event, ClientNotice)] == [5]
    assert DeliveryReport(5, A, "DUTY_CYCLE_LIMIT") in events


def test_the_same_seed_gives_the_same_run() -> None:
    def run() -> list[RadioEvent]:
        desk = Desk(7).up()
        desk.handheld.say("hello", A)
        desk.mesh.run_for(20)
        return desk.events

    assert run() == run()


def test_an_hour_of_forty_handhelds_asking_takes_no_time() -> None:
    mesh = Mesh(1)
    node = Node(mesh, A)
    handhelds = [Handheld(mesh, B + number) for number in range(40)]
    introduce(node, *(handheld.node for handheld in handhelds))
    events: list[RadioEvent] = []
    SimulatedRadio(node).start(events.append)
    for number, handheld in enumerate(handhelds):
        mesh.at(60.0 + 80 * number, lambda handheld=handheld: handheld.say("tape backup?", A))  # type: ignore[misc]
    mesh.run_for(3600)
    assert sum(isinstance(event, IncomingText) for event in events) == 40
    assert {handheld.sent[0].tick for handheld in handhelds} == {"delivered"}
