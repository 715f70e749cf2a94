"""Questions on a channel: only a private one that the owner named, and the answer goes to the asking handheld alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from scenarios.world import World

from gateway.radio.simulated.frames import Channel

FAMILY = Channel("Family", bytes(range(32)))
PUBLIC = Channel("LongFast")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, handhelds=2)
    world.run(5)
    yield world
    world.stop()


def set_channels(world: World, channels: tuple[Channel, ...]) -> None:
    for node in (world.node, *(handheld.node for handheld in world.handhelds)):
        node.setup = replace(node.setup, channels=channels)
        node.db.channels = channels


def restart_with(world: World, channels: tuple[Channel, ...], heard: tuple[str, ...]) -> None:
    set_channels(world, channels)
    world.stop()
    world.rules = replace(world.rules, access=replace(world.rules.access, channels=heard))
    world.boot()
    world.run(5)


def test_a_question_on_a_private_channel_is_answered_to_its_asker_alone(world: World) -> None:
    restart_with(world, (PUBLIC, FAMILY), ("Family",))
    asking, other = world.handhelds
    asking.say_on_channel("no question, just talk", 1)
    world.run(60)
    asking.say_on_channel("?lamp", 1)
    assert world.run_until(lambda: bool(asking.seen), 120)
    world.run(60)
    assert [seen.direct for seen in asking.seen] == [True]
    assert [seen.text for seen in other.seen if seen.sender == world.node.number] == []
    assert world.service.refusals == ()


@pytest.mark.parametrize(
    ("channel", "words"),
    [(PUBLIC, "not private"), (replace(FAMILY, uplink=True), "MQTT"), (Channel("Other", bytes(32)), "no channel")],
)
def test_a_channel_that_others_read_ends_the_gateway_at_its_start(world: World, channel: Channel, words: str) -> None:
    named = "Family" if channel.name == "Other" else channel.name
    restart_with(world, (channel,), (named,))
    assert world.service.refusals
    assert words in world.service.refusals[0]


def test_on_a_channel_that_turned_public_later_nothing_is_answered(world: World) -> None:
    restart_with(world, (PUBLIC, FAMILY), ("Family",))
    set_channels(world, (PUBLIC, Channel("Family")))
    world.node.reboot(announce=True)
    world.run(60)
    world.handhelds[0].say_on_channel("?lamp", 1)
    world.run(120)
    assert world.handhelds[0].seen == []
    assert world.service.refusals == ()


def test_a_note_on_a_channel_is_not_written(world: World) -> None:
    """Whoever has the channel's key can send under any number."""
    restart_with(world, (PUBLIC, FAMILY), ("Family",))
    world.handhelds[0].say_on_channel("?note the shed is open", 1)
    world.run(60)
    assert world.handhelds[0].seen == []
    assert world.fates() == {}


@pytest.mark.parametrize("words", ["?r", "?m", "?1"])
def test_on_a_channel_nobody_goes_on_with_what_was_said_to_a_handheld(world: World, words: str) -> None:
    """Whoever has the channel's key can send under that handheld's number, and all its members read the answer."""
    world.rules = replace(world.rules, access=replace(world.rules.access, channel_reply="channel"))
    restart_with(world, (PUBLIC, FAMILY), ("Family",))
    asking, other = world.handhelds
    asking.say("diary", world.node.number)
    assert world.run_until(lambda: world.fates() == {1: "delivered"}, 120)
    asking.say_on_channel(words, 1)
    assert world.run_until(lambda: world.fates().get(2) == "delivered", 120)
    world.run(60)
    heard = [seen.text for seen in other.seen if seen.sender == world.node.number]
    assert len(heard) == 1
    assert "diary" not in heard[0]
    asking.say("m", world.node.number)
    assert world.run_until(lambda: world.fates().get(3) == "delivered", 120)
    assert "diary" in [seen.text for seen in asking.seen if seen.direct][-1]


def test_an_answer_for_a_channel_that_turned_public_meanwhile_is_not_sent(world: World) -> None:
    world.rules = replace(world.rules, access=replace(world.rules.access, channel_reply="channel"))
    restart_with(world, (PUBLIC, FAMILY), ("Family",))
    asking, other = world.handhelds
    world.desk.seconds = 30.0
    asking.say_on_channel("?diary", 1)
    assert world.run_until(lambda: world.desk.requests != [], 60)
    set_channels(world, (PUBLIC, Channel("Family")))
    world.node.reboot(announce=True)
    world.run(120)
    assert [seen.text for seen in other.seen if seen.sender == world.node.number] == []
    assert world.reasons() == {1: "channel-not-private"}
