"""The state file: private, bounded, whole after a failure, and free of words that are not needed any more."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.protocol.answers import Answer, Attempt, Ended, Moved, Question, Send, Stage
from gateway.store import QUESTIONS_LIMIT, REFUSALS_LIMIT, SESSIONS_LIMIT, Store, StoreTrouble, open_store
from gateway.store_files import FILE_NAME
from gateway.store_schema import MIGRATIONS, NOTHING_OWED, VERSION, migrate

NOW = 1_750_000_000.0
HOUR = 3600.0


def question(number: int = 1, text: str = "where is the spare key", at: float = NOW) -> Question:
    return Question(
        *(number, 0xBB01, 5000 + number, text, at, at + 5, "Ann", bytes(range(32)), ("Public", "Übung"), None, 2),
        snr=-3.5,
        rssi=-101,
    )


def answer(number: int = 1) -> Answer:
    return Answer(number, 0xBB01, ("under the", "third stone"), NOW, key=bytes(range(32)), hops=2, reply_id=5001)


def send_of(found: Answer, packet_id: int = 9001) -> Send:
    attempt = Attempt(packet_id, found.question, found.part, found.node, NOW + 1, 1.5)
    return Send(found.packet(packet_id, found.parts[found.part], 0xFFFFFFFF), attempt, found)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state", NOW, flush=False)


def put(store: Store, *changes: Moved | Send | Ended) -> None:
    with store.transaction():
        for change in changes:
            store.write(change, NOW)


def accept(store: Store, *questions: Question) -> None:
    with store.transaction():
        for found in questions:
            store.accept(found)


def test_only_the_owner_can_look_in(store: Store, tmp_path: Path) -> None:
    accept(store, question())
    directory = tmp_path / "state"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in directory.iterdir()} == {0o600}


def test_permissions_are_corrected_on_an_old_directory(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch(mode=0o644)
    tmp_path.chmod(0o755)
    Store(tmp_path, NOW).close()
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_question_comes_back_as_it_was(store: Store) -> None:
    accept(store, question())
    owed = store.owed(NOW)
    assert owed.questions == (question(),)
    assert owed.next_number == 2
    assert owed.seen == ((0xBB01, 5001),)


def test_an_answer_under_way_comes_back_as_it_was(store: Store) -> None:
    accept(store, question())
    found = replace(
        answer(), stage=Stage.FLYING, part=1, tries=2, sent_before=True, keys_asked=True, not_before=NOW + 3
    )
    with store.transaction():
        store.keep_parts(found)
        store.write(send_of(found), NOW)
    owed = store.owed(NOW)
    assert owed.answers == (found,)
    assert owed.questions == ()
    assert owed.in_flight() == [send_of(found).attempt]


def test_words_are_gone_when_the_answer_is_over(store: Store, tmp_path: Path) -> None:
    accept(store, question())
    with store.transaction():
        store.keep_parts(answer())
    put(store, Moved(replace(answer(), stage=Stage.DELIVERED, part=1)))
    with sqlite3.connect(tmp_path / "state" / FILE_NAME) as connection:
        assert connection.execute("SELECT text, stage FROM questions").fetchall() == [("", "delivered")]
        assert connection.execute("SELECT * FROM parts").fetchall() == []
    connection.close()
    store.close()
    raw = (tmp_path / "state" / FILE_NAME).read_bytes()
    assert b"spare key" not in raw
    assert b"third stone" not in raw


def test_a_transaction_that_fails_leaves_nothing_behind(store: Store) -> None:
    def fail() -> None:
        with store.transaction():
            store.accept(question())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert store.owed(NOW).questions == ()
    accept(store, question(2))
    assert len(store.owed(NOW).questions) == 1


def test_results_are_kept_with_the_airtime_they_cost(store: Store) -> None:
    accept(store, question())
    put(store, send_of(answer()), Ended(send_of(answer()).attempt, "MAX_RETRANSMIT", 30.0, 3))
    put(store, Ended(send_of(answer()).attempt, "ACK", 33.0, 0))
    attempts = store.owed(NOW).attempts
    assert [(attempt.packet_id, count) for attempt, count in attempts] == [(9001, 3)]
    assert store.latest()[0]["airtime"] == pytest.approx(4.5)


def test_every_table_is_bounded(store: Store, tmp_path: Path) -> None:
    accept(store, *(question(n, "x") for n in range(1, QUESTIONS_LIMIT + 300)))
    with store.transaction():
        for n in range(1, QUESTIONS_LIMIT + 300):
            store.end_question(n, "delivered", "", NOW)
        for n in range(6_000):
            store.remember_seen(1, n)
        for n in range(1, SESSIONS_LIMIT + 100):
            store.put_session(n, NOW + n, "{}")
        for n in range(1, REFUSALS_LIMIT + 100):
            store.refuse(n, "unknown-node", NOW + n, "why", None)
        store.prune(NOW + HOUR)
    with sqlite3.connect(tmp_path / "state" / FILE_NAME) as connection:
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("questions", "seen", "sessions", "refusals")
        }
    connection.close()
    assert counts == {
        "questions": QUESTIONS_LIMIT, "seen": 5_000, "sessions": SESSIONS_LIMIT, "refusals": REFUSALS_LIMIT,
    }  # fmt: skip


def test_pruning_keeps_what_is_owed_however_old(store: Store) -> None:
    accept(store, question())
    accept(store, question(2))
    with store.transaction():
        store.keep_parts(answer(2))
        store.write(send_of(answer(2)), NOW)
        store.prune(NOW + 23 * HOUR)
    owed = store.owed(NOW + 23 * HOUR)
    assert [q.number for q in owed.questions] == [1]
    assert [a.parts for a in owed.answers] == [answer(2).parts]
    assert len(owed.attempts) == 1


def test_sessions_go_after_a_day(store: Store) -> None:
    with store.transaction():
        store.put_session(1, NOW, "old")
        store.put_session(2, NOW + 20 * HOUR, "young")
        store.prune(NOW + 25 * HOUR)
    assert (store.session(1), store.session(2)) == ("", "young")


def test_counters_add_up(store: Store) -> None:
    with store.transaction():
        store.count("questions")
        store.count("questions", 4)
    assert store.counters() == {"questions": 5}


@pytest.mark.parametrize("junk", [b"no database at all " * 300, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_set_aside_under_a_dated_name(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(junk)
    store = Store(tmp_path, NOW)
    assert store.set_aside is not None
    assert store.set_aside.name == f"{FILE_NAME}.damaged-20250615-150640"
    assert store.set_aside.read_bytes() == junk
    accept(store, question())
    store.close()
    assert len(Store(tmp_path, NOW).owed(NOW).questions) == 1


def test_only_a_few_damaged_files_are_kept(tmp_path: Path) -> None:
    for n in range(6):
        (tmp_path / FILE_NAME).write_bytes(b"junk" * 1000)
        Store(tmp_path, NOW + n).close()
    assert len(list(tmp_path.glob("*.damaged-*"))) == 3


def test_a_file_of_a_newer_program_is_set_aside_too(tmp_path: Path) -> None:
    Store(tmp_path, NOW).close()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    store = Store(tmp_path, NOW)
    assert store.set_aside is not None
    assert store.owed(NOW).next_number == 1


def test_an_older_file_is_brought_up_to_date_step_by_step() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for version in range(len(MIGRATIONS) + 1):
        connection = sqlite3.connect(":memory:", isolation_level=None)
        for step in MIGRATIONS[:version]:
            connection.executescript(step)
        connection.execute(f"PRAGMA user_version = {version}")
        migrate(connection)
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        connection.execute("SELECT progress FROM questions")
        connection.close()


@pytest.mark.parametrize(
    ("column", "junk"),
    [
        ("questions.asked_at", "junk"),
        ("questions.node", 9e99),
        ("questions.text", b"\xff"),
        ("questions.progress", "[]"),
    ],
)
def test_a_value_that_makes_no_sense_is_damage(store: Store, tmp_path: Path, column: str, junk: object) -> None:
    """SQLite finds nothing wrong with it, but the gateway could not start with it, today or at the next try."""
    accept(store, question())
    store.close()
    connection = sqlite3.connect(tmp_path / "state" / FILE_NAME)
    table, name = column.split(".")
    connection.execute(f"UPDATE {table} SET {name} = ?, stage = 'parked'", (junk,))
    connection.commit()
    connection.close()
    with contextlib.closing(Store(tmp_path / "state", NOW)) as again:
        if again.set_aside is None:
            with pytest.raises(StoreTrouble) as caught:
                again.owed(NOW)
            assert caught.value.damaged
        else:
            assert again.owed(NOW) == NOTHING_OWED


def test_a_file_that_was_removed_while_it_was_in_use_is_made_anew(store: Store, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "state")
    with pytest.raises(StoreTrouble, match="removed") as caught:
        accept(store, question())
    store.start_afresh(NOW, str(caught.value))
    accept(store, question())
    assert [q.number for q in Store(tmp_path / "state", NOW).owed(NOW).questions] == [question().number]
    assert store.set_aside is None


def test_a_locked_file_is_our_own_trouble(store: Store, tmp_path: Path) -> None:
    store._connection.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(tmp_path / "state" / FILE_NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreTrouble, match="locked") as caught:
        accept(store, question())
    assert not caught.value.damaged
    other.execute("ROLLBACK")
    other.close()
    accept(store, question())


def test_a_directory_that_cannot_be_used_means_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreTrouble):
        Store(tmp_path / "file" / "state", NOW)
    store = open_store(tmp_path / "file" / "state", NOW)
    accept(store, question())
    assert "event=store_in_memory" in caplog.text


def test_a_directory_with_other_things_in_it_keeps_its_mode(tmp_path: Path) -> None:
    """`[state] directory = "/tmp"`, run by root, must not lock everybody out of /tmp."""
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    shared.chmod(0o755)
    (shared / "somebody elses").touch()
    Store(shared).close()
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    assert stat.S_IMODE((shared / "state.sqlite").stat().st_mode) == 0o600
