"""Killed at any instruction, and clocks that jump: what is owed is finished, what was acknowledged is not repeated."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from scenarios.world import GATEWAY, START, World, answers_to, assert_sound

from gateway.protocol.requests import SearchRequest
from gateway.store import Store
from gateway.store_files import FILE_NAME

HOUR = 3600.0


class Killed(BaseException):
    """The process dies here."""


class MortalStore(Store):
    """Dies at the n-th statement or commit of all runs together: before it, or just after a commit."""

    countdown = 0
    after_commit = False

    def _execute(self, sql: str, values: tuple[object, ...] = ()) -> None:
        if not type(self).after_commit:
            _tick(type(self))
        super()._execute(sql, values)

    def _commit(self) -> None:
        if not type(self).after_commit:
            _tick(type(self))
        super()._commit()
        if type(self).after_commit:
            _tick(type(self))


def _tick(store: type[MortalStore]) -> None:
    store.countdown -= 1
    if store.countdown == 0:
        raise Killed


def _mortal(directory: Path | None) -> Store:
    return MortalStore(directory, START, flush=False)


def _live_on(world: World, seconds: float) -> int:
    """Let time pass; whenever the process dies it is started again 3 s later. Returns the deaths."""
    deaths = 0
    end = world.mesh.now + seconds
    while world.mesh.now < end:
        try:
            world.run(end - world.mesh.now)
        except Killed:
            deaths += 1
            world.kill()
            world.mesh.run_for(3.0)
            world.boot()
    return deaths


def _conversation(directory: Path) -> tuple[World, int]:
    world = World(directory, store=_mortal)
    asker = world.handhelds[0]
    for when, text in ((2.0, "mortal"), (80.0, "1"), (160.0, "m 2")):
        world.mesh.at(START + when, lambda text=text: asker.say(text, GATEWAY))  # type: ignore[misc]
    return world, _live_on(world, 260.0)


def _writes(directory: Path, *, after_commit: bool) -> int:
    """How many places to die there are in an undisturbed run."""
    MortalStore.countdown, MortalStore.after_commit = 10**9, after_commit
    world, deaths = _conversation(directory)
    assert deaths == 0
    assert set(world.fates().values()) == {"delivered"}
    places = 10**9 - MortalStore.countdown
    world.stop()
    return places


@pytest.mark.parametrize("after_commit", [False, True])
def test_killed_at_each_store_write(tmp_path: Path, after_commit: bool) -> None:
    """After each commit; before it, at every third statement (those of one transaction are lost together)."""
    places = _writes(tmp_path / "undisturbed", after_commit=after_commit)
    assert places > 20
    for place in range(1, places + 1, 1 if after_commit else 3):
        MortalStore.countdown, MortalStore.after_commit = place, after_commit
        world, deaths = _conversation(tmp_path / f"killed-{place}")
        assert deaths == 1, place
        _assert_owed_was_done(world, place)
        world.stop()


def _assert_owed_was_done(world: World, place: int) -> None:
    fates = world.fates()
    assert set(fates.values()) <= {"delivered"}, (place, fates, world.reasons())
    # A question that died with the process before its first write was never accepted; all others are answered.
    assert len(fates) >= 2, (place, fates)
    said = answers_to(world.handhelds[0])
    assert len(said) >= 2, place
    acknowledged = {row[0] for row in _rows(world, "SELECT question || '/' || part FROM attempts WHERE result = 'ACK'")}
    again = _rows(
        world,
        "SELECT b.packet_id FROM attempts a JOIN attempts b ON a.question = b.question AND a.part = b.part"
        " WHERE a.result = 'ACK' AND b.sent_at > a.sent_at + a.after",
    )
    assert acknowledged, place
    assert again == [], f"place {place}: sent after its acknowledgement"
    assert_sound(world)


def _rows(world: World, sql: str) -> list[tuple[object, ...]]:
    assert world.directory is not None
    connection = sqlite3.connect(world.directory / FILE_NAME)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("folders", [None, ("Public",)])
@pytest.mark.parametrize("answered", [False, True])
def test_a_restart_with_stricter_access_says_nothing_more(
    tmp_path: Path, folders: tuple[str, ...] | None, answered: bool
) -> None:
    """The handheld was removed, or may see less: what it asked before is answered by the rules of today."""
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.desk.seconds = 2.0 if answered else None
    world.run(2)
    asker.say("diary", GATEWAY)
    assert world.run_until(lambda: world.fates().get(1) == "asked", 30)
    world.mesh.isolate(asker.number)
    world.run(85)
    assert world.fates() == {1: "parked" if answered else "asked"}
    world.kill()
    rules = world.rules.access.handhelds
    world.allow([replace(handheld, folders=folders) for handheld in rules if folders])
    world.desk.seconds = 0.05
    world.boot()
    world.mesh.rejoin(asker.number)
    asker.node.announce()
    world.run(300)
    if folders and not answered:
        assert [request.scope.folders for request in world.desk.requests if isinstance(request, SearchRequest)] == [
            folders
        ]
        assert world.fates() == {1: "delivered"}
    else:
        assert answers_to(asker) == []
        assert world.reasons() == {1: "access-changed"}


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_the_wall_clock_jumps_by_an_hour(tmp_path: Path, jump: float) -> None:
    """Between question and answer, and before the next question: nothing is late, early or lost."""
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.run(2)
    asker.say("before the jump", GATEWAY)
    world.run(1)
    world.clock.wall_offset = jump
    assert world.run_until(lambda: world.fates() == {1: "delivered"}, 60)
    asker.say("after the jump", GATEWAY)
    assert world.run_until(lambda: world.fates().get(2) == "delivered", 60)
    world.kill()
    world.boot()
    world.run(12)  # The radio keeps its own time here; what it replays in the first 10 s would look an hour old.
    asker.say("after the restart", GATEWAY)
    assert world.run_until(lambda: world.fates().get(3) == "delivered", 60)
    assert len(answers_to(asker)) == 3
    assert_sound(world)


def test_a_machine_that_starts_in_the_past_answers(tmp_path: Path) -> None:
    """No battery behind the clock: the radio's time is years ahead of ours."""
    world = World(tmp_path)
    world.stop()
    world.clock.wall_offset = -START
    world.handhelds[0].say("asked while nobody listened", GATEWAY)
    world.mesh.run_for(30)
    world.boot()
    assert world.run_until(lambda: world.fates() == {1: "delivered"}, 60)


@pytest.mark.parametrize(("minutes", "answered"), [(5, True), (30, False)])
def test_old_messages_are_answered_while_they_are_young(tmp_path: Path, minutes: int, answered: bool) -> None:
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.run(2)
    world.stop()
    asker.say("asked while nobody listened", GATEWAY)
    world.mesh.run_for(minutes * 60)
    world.boot()
    world.run(60)
    assert len(answers_to(asker)) == (1 if answered else 0)
    assert world.store.counters().get("too-old", 0) == (0 if answered else 1)
    asker.say("now", GATEWAY)
    world.run(60)
    assert "now" in answers_to(asker)[-1]
    assert_sound(world)


def test_a_message_without_a_time_is_taken_for_new(tmp_path: Path) -> None:
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.stop()
    world.node.reboot(announce=False, seconds=1)
    world.mesh.run_for(5)
    asker.say("asked of a radio without a clock", GATEWAY)
    world.mesh.run_for(40 * 60)
    world.boot()
    assert world.run_until(lambda: world.fates() == {1: "delivered"}, 60)


def test_a_damaged_state_file_is_set_aside_and_the_gateway_serves(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run(2)
    world.stop()
    (tmp_path / FILE_NAME).write_bytes(b"this is no database" * 500)
    world.boot()
    world.run(2)
    world.handhelds[0].say("still there", GATEWAY)
    assert world.run_until(lambda: world.fates() == {1: "delivered"}, 60)
    assert [p.name.startswith(f"{FILE_NAME}.damaged-2025") for p in tmp_path.glob("*damaged*")] == [True]
    assert_sound(world)


def test_a_full_disk_in_mid_answer_does_not_stop_the_answer(tmp_path: Path) -> None:
    """Everything that was owed is written once there is room again."""
    world = World(tmp_path)
    asker = world.handhelds[0]
    world.run(2)
    world.store._connection.execute("PRAGMA max_page_count = 1")
    world.store._connection.execute("PRAGMA query_only = 1")
    asker.say("full disk", GATEWAY)
    assert world.run_until(lambda: len(answers_to(asker)) == 1, 60)
    asker.say("1", GATEWAY)
    world.run(1.5)
    world.store._connection.execute("PRAGMA query_only = 0")
    world.store._connection.execute("PRAGMA max_page_count = 100000")
    world.run(60)
    assert len(answers_to(asker)) == 2
    asker.say("m", GATEWAY)
    world.run(60)
    assert answers_to(asker)[-1].startswith("2/20")
    assert world.fates()[max(world.fates())] == "delivered"
    assert_sound(world)
