"""The daemon on a clean mesh: a question, its answer, reading on."""

from __future__ import annotations

from pathlib import Path

from scenarios.world import GATEWAY, World, answers_to


def test_a_question_is_answered_and_acknowledged(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run(2)
    asker = world.handhelds[0]
    asked = asker.say("pressure canning", GATEWAY)
    assert world.run_until(lambda: world.fates() == {1: "delivered"}, 60)
    assert asked.tick == "delivered"
    assert len(answers_to(asker)) == 1
    assert asker.seen[0].reply_id == asked.packet_id
    assert asker.seen[0].direct
    world.stop()


def test_reading_on_sends_each_part_once_and_in_order(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run(2)
    asker = world.handhelds[0]
    for text in ("pressure canning", "1", "m 3"):
        asker.say(text, GATEWAY)
        assert world.run_until(lambda: world.mesh.now > asker.sent[-1].at + 5 and world.all_settled(), 120)
    assert [text.split()[0] for text in answers_to(asker)[1:]] == ["1/20", "2/20", "3/20", "4/20"]
    world.stop()
