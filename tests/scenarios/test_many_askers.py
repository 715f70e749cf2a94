"""Fairness, budgets and limits: many nodes, chatty ones, impatient ones, and a desk that does not answer."""

from __future__ import annotations

from pathlib import Path

from scenarios.world import GATEWAY, World, answers_to, assert_sound, worst_hour

from gateway.protocol.budget import AirtimeRules
from gateway.protocol.limits import QuestionLimits
from gateway.protocol.messages import LoRaSettings

HOUR = 3600.0


def test_forty_nodes_ask_at_once(tmp_path: Path) -> None:
    """Their questions collide on the air; each that was heard is answered, within the budget."""
    world = World(tmp_path, handhelds=40)
    world.run(2)
    for n, handheld in enumerate(world.handhelds):
        world.mesh.after(n * 0.05, lambda h=handheld: h.say(f"all of us {h.number:x}", GATEWAY))  # type: ignore[misc]
    world.run(900)
    heard = len(world.fates())
    assert heard >= 20
    delivered = sum(stage == "delivered" for stage in world.fates().values())
    assert delivered >= 0.9 * heard
    assert_sound(world, parked=True)


def test_a_chatty_node_does_not_starve_the_others(tmp_path: Path) -> None:
    world = World(tmp_path, handhelds=3, airtime=AirtimeRules(hour_percent=2.0))
    chatty, *others = world.handhelds
    world.run(2)
    for n in range(60):
        chatty.say(f"and another thing {n}", GATEWAY)
        world.run(9)
    for handheld in others:
        handheld.say("my turn", GATEWAY)
        assert world.run_until(lambda h=handheld: len(answers_to(h)) == 1, 60)  # type: ignore[misc]
        assert "my turn" in answers_to(handheld)[0]
    world.run(60)
    assert_sound(world)


def test_when_the_budget_runs_short_answers_get_shorter_and_then_one_line_says_when(tmp_path: Path) -> None:
    world = World(tmp_path, airtime=AirtimeRules(hour_percent=2.0, node_percent=100.0))
    asker = world.handhelds[0]
    world.run(2)
    for n in range(40):
        asker.say(f"question number {n}", GATEWAY)
        world.run(30)
    sizes = [len(text.encode()) for text in answers_to(asker) if "question number" in text]
    assert sizes[0] > 180
    assert min(sizes) < 120
    told = [text for text in answers_to(asker) if "Ask again in" in text]
    assert len(told) == 1, told
    assert worst_hour(world) <= 0.02 * HOUR
    assert "no-airtime" in world.reasons().values()
    world.run(1.1 * HOUR)
    asker.say("an hour later", GATEWAY)
    world.run(60)
    assert "an hour later" in answers_to(asker)[-1]
    assert_sound(world)


def test_questions_are_limited_and_that_is_told_once(tmp_path: Path) -> None:
    world = World(tmp_path, questions=QuestionLimits(per_hour=3))
    asker = world.handhelds[0]
    world.run(2)
    for n in range(6):
        asker.say(f"question {n}", GATEWAY)
        world.run(20)
    assert len(answers_to(asker)) == 4
    assert "3 questions an hour" in answers_to(asker)[3]
    world.kill()
    world.boot()
    world.run(20)
    asker.say("after a restart", GATEWAY)
    world.run(20)
    assert len(answers_to(asker)) == 4
    world.run(HOUR)
    asker.say("an hour later", GATEWAY)
    world.run(20)
    assert "an hour later" in answers_to(asker)[-1]


def test_the_same_words_again_are_one_question(tmp_path: Path) -> None:
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.run(2)
    first = asker.say("impatient", GATEWAY)
    world.run(2.5)
    asker.retry(first)
    world.run(30)
    assert len(answers_to(asker)) == 1
    world.run(60)
    asker.retry(first)
    world.run(30)
    assert len(answers_to(asker)) == 2


def test_stepping_on_twice_is_two_questions(tmp_path: Path) -> None:
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.run(2)
    for text in ("long", "1", "m", "m"):
        asker.say(text, GATEWAY)
        world.run(12)
    assert [text.split()[0] for text in answers_to(asker)[1:]] == ["1/20", "2/20", "3/20"]


def test_a_newer_question_replaces_what_was_still_to_be_sent(tmp_path: Path) -> None:
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.run(2)
    for text in ("long", "1"):
        asker.say(text, GATEWAY)
        world.run(12)
    asker.say("m 5", GATEWAY)
    assert world.run_until(lambda: len(answers_to(asker)) == 3, 60)
    asker.say("something else", GATEWAY)
    world.run(60)
    assert world.fates() == {1: "delivered", 2: "delivered", 3: "replaced", 4: "delivered"}
    assert "something else" in answers_to(asker)[-1]
    assert_sound(world)


def test_stop_ends_what_is_under_way(tmp_path: Path) -> None:
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.run(2)
    for text in ("long", "1"):
        asker.say(text, GATEWAY)
        world.run(12)
    asker.say("m 5", GATEWAY)
    assert world.run_until(lambda: len(answers_to(asker)) == 3, 60)
    asker.say("Stop!", GATEWAY)
    world.run(60)
    parts = [text for text in answers_to(asker) if text[:4] in ("4/20", "5/20", "6/20")]
    assert len(parts) <= 1  # one may have been in the air already
    assert world.fates()[3] == "replaced"
    assert "topped" in answers_to(asker)[-1]


def test_a_desk_that_never_answers_gets_an_honest_line(tmp_path: Path) -> None:
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.desk.seconds = None
    world.run(2)
    asker.say("sleeping disk", GATEWAY)
    world.run(200)
    assert len(answers_to(asker)) == 1
    assert "later" in answers_to(asker)[0]
    assert world.fates() == {1: "delivered"}


def test_strangers_are_counted_and_cost_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, handhelds=2)
    stranger, asker = world.handhelds
    world.kill()
    rules = world.rules.access.handhelds
    world.allow(handhelds=[h for h in rules if h.node != stranger.number])
    world.boot()
    world.run(2)
    for n in range(5):
        stranger.say(f"let me in {n}", GATEWAY)
        world.run(5)
    asker.say("mine", GATEWAY)
    world.run(20)
    assert answers_to(stranger) == []
    assert len(answers_to(asker)) == 1
    refusal = world.store.refusals()[0]
    assert (refusal["node"], refusal["reason"], refusal["count"]) == (stranger.number, "unknown-node", 5)


def test_a_slow_preset_and_a_strict_region(tmp_path: Path) -> None:
    world = World(tmp_path, lora=LoRaSettings(region="EU_868", preset="LONG_SLOW"))
    asker = world.handhelds[0]
    world.run(2)
    asker.say("slow", GATEWAY)
    assert world.run_until(lambda: world.fates() == {1: "delivered"}, 600)
    assert len(answers_to(asker)) == 1
    assert_sound(world)
