"""The daemon on a mesh that loses, doubles, delays and cuts off."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from scenarios.world import GATEWAY, World, answers_to, assert_sound, texts_of_gateway

from gateway.protocol.messages import LoRaSettings
from gateway.radio.simulated.frames import Data, Port
from gateway.radio.simulated.handheld import Handheld
from gateway.radio.simulated.mesh import Link

HOUR = 3600.0


def settled(world: World, count: int) -> bool:
    return len(world.fates()) >= count and world.all_settled()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_third_of_all_frames_lost(tmp_path: Path, seed: int) -> None:
    """Whoever's question arrived is answered, or hears from us when heard from again."""
    world = World(tmp_path, handhelds=4, link=Link(loss=0.3), seed=seed)
    world.run(2)
    for turn in range(3):
        for handheld in world.handhelds:
            handheld.say(f"question {turn} of {handheld.number:x}", GATEWAY)
            world.run(10)
        world.run(150)
    for _ in range(4):
        for handheld in world.handhelds:
            handheld.say("ping", GATEWAY)
            world.run(130)
    assert_sound(world, parked=True)
    fates = world.fates().values()
    assert sum(stage == "delivered" for stage in fates) >= 0.9 * len(fates)


def test_every_frame_arrives_twice_and_late(tmp_path: Path) -> None:
    world = World(tmp_path, handhelds=3, link=Link(duplicates=1.0, delay=0.4))
    world.run(2)
    for handheld in world.handhelds:
        handheld.say("doubled", GATEWAY)
        world.run(6)
    assert world.run_until(lambda: settled(world, 3))
    assert [len(answers_to(handheld)) for handheld in world.handhelds] == [1, 1, 1]
    assert_sound(world)


def test_all_acknowledgements_lost_costs_two_tries_and_then_nothing(tmp_path: Path) -> None:
    """The handheld has the answer; we cannot know. The second try is marked, and then we wait to hear from it."""
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.mesh.filter = lambda air, receiver: not (receiver == GATEWAY and air.frame.data.reason is not None)
    world.run(2)
    asker.say("lost acks", GATEWAY)
    assert world.run_until(lambda: list(world.fates().values()) == ["parked"], 300)
    assert [text.startswith("*") for text in (seen.text for seen in asker.seen)] == [False, True]
    sent = len(list(texts_of_gateway(world)))
    assert sent == 6
    world.run(2 * HOUR)
    assert len(list(texts_of_gateway(world))) == sent
    assert_sound(world, parked=True)


def test_a_node_gone_for_three_hours_gets_its_answers_newest_first_and_once(tmp_path: Path) -> None:
    world = World(tmp_path, handhelds=2)
    asker, other = world.handhelds
    world.run(2)
    world.mesh.filter = lambda _air, receiver: receiver != asker.number
    for words in ("older question", "newer question"):
        asker.say(words, GATEWAY)
        world.run(5)
        assert world.run_until(lambda: all(stage == "parked" for stage in world.fates().values()), 300)
    world.mesh.isolate(asker.number)
    sent = len(list(texts_of_gateway(world)))
    other.say("served meanwhile", GATEWAY)
    world.run(3 * HOUR)
    assert len(answers_to(other)) == 1
    assert len(list(texts_of_gateway(world))) == sent + 1
    assert asker.seen == []
    world.mesh.rejoin(asker.number)
    world.mesh.filter = lambda _air, _receiver: True
    asker.node.announce()
    assert world.run_until(lambda: settled(world, 3), 300)
    first_lines = [text.split("\n")[0] for text in answers_to(asker)]
    assert ["newer" in line for line in first_lines] == [True, False], first_lines
    assert_sound(world)


def test_the_duty_cycle_stops_us_for_the_minutes_the_radio_says(tmp_path: Path) -> None:
    world = World(tmp_path, lora=LoRaSettings(region="EU_868"))
    asker = world.handhelds[0]
    world.run(2)
    world.node.tx.ledger.note(world.mesh.now - 3000, 355.0, sent=True)
    world.node.tx.ledger.note(world.mesh.now, 10.0, sent=True)
    asker.say("duty", GATEWAY)
    world.run(60)
    assert answers_to(asker) == []
    assert world.service.outbox.paused_until > world.mesh.now
    assert world.run_until(lambda: world.fates() == {1: "delivered"}, HOUR)
    assert len(answers_to(asker)) == 1
    assert_sound(world)


def test_a_text_that_the_radio_drops_in_silence_is_sent_again(tmp_path: Path) -> None:
    """Another client of the radio sent a text less than 2 s before: ours gets a status that looks like success."""
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.run(2)
    world.desk.seconds = 1.0
    asker.say("dropped", GATEWAY)
    assert world.run_until(lambda: world.desk.requests != [], 30)
    world.mesh.after(0.9, lambda: spoil(world, asker))
    assert world.run_until(lambda: settled(world, 1), 300)
    ours = [text for text in answers_to(asker) if "dropped" in text]
    assert len(ours) == 1
    assert len(world.hand_overs) == 2
    assert world.fates() == {1: "delivered"}
    assert world.mesh.now - asker.sent[0].at < 120


def spoil(world: World, asker: Handheld) -> None:
    from gateway.radio.simulated.frames import ClientPacket

    world.node.send(ClientPacket(77, asker.number, Data(Port.TEXT, b"from a phone"), 0, want_ack=False))


@pytest.mark.parametrize("announce", [True, False])
def test_the_radio_restarts_in_mid_answer(tmp_path: Path, announce: bool) -> None:
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.run(2)
    for text in ("long", "1"):
        asker.say(text, GATEWAY)
        world.run(15)
    asker.say("m 3", GATEWAY)
    assert world.run_until(lambda: len(answers_to(asker)) == 3, 60)
    world.node.reboot(announce=announce, seconds=3)
    assert world.run_until(lambda: world.fates().get(3) == "delivered", 900)
    numbers = [text.split()[0] for text in answers_to(asker) if text[1] == "/" and text[2:4] == "20"]
    assert list(dict.fromkeys(numbers)) == ["1/20", "2/20", "3/20", "4/20"]
    assert_sound(world)


def test_reordered_results_and_texts(tmp_path: Path) -> None:
    """Each frame takes its own time; nothing is sent twice for it."""
    world = World(tmp_path, handhelds=5, collisions=False)
    world.run(2)
    for n, handheld in enumerate(world.handhelds):
        world.mesh.connect(GATEWAY, handheld.number, Link(delay=3.0 - 0.7 * n), both=True)
    for handheld in world.handhelds:
        handheld.say("reordered", GATEWAY)
    assert world.run_until(lambda: settled(world, 5), 600)
    assert [len(answers_to(handheld)) for handheld in world.handhelds] == [1] * 5
    assert_sound(world)


@pytest.mark.parametrize("loss", [0.0, 0.15])
def test_over_two_relays_only_the_destinations_own_acknowledgement_counts(tmp_path: Path, loss: float) -> None:
    """Our radio hears the first relay pass each part on, and then repeats no more: the rest is our patience."""
    world = World(tmp_path, handhelds=3, seed=5)
    asker, near, far = world.handhelds
    chain = [GATEWAY, near.number, far.number, asker.number]
    for place, one in enumerate(chain):
        for other in chain[place + 1 :]:
            world.mesh.cut(one, other, both=True)
    for one, other in pairwise(chain):
        world.mesh.connect(one, other, Link(loss=loss), both=True)
    world.run(2)
    for text in ("relayed", "1", "m 3"):
        asker.say(text, GATEWAY)
        world.run(200)
    world.run(400)
    for _ in range(3):
        asker.node.announce()
        world.run(700)
    fates = world.fates()
    assert fates
    assert set(fates.values()) == {"delivered"}
    assert_sound(world)
    assert asker.seen[0].hops == 2
