"""One asker's conversation, told as texts sent and texts received, against a small vault that is a dictionary."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from gateway.protocol.commands import Ignore, parse
from gateway.protocol.conversation import CHANGED, Place, Session, compose, expired, plan
from gateway.protocol.packets import part_number, unnumbered
from gateway.protocol.replies import Asker, Reply, Status
from gateway.protocol.requests import (
    InfoRequest,
    NoteRequest,
    Outcome,
    ReadRequest,
    Request,
    Saved,
    SearchRequest,
    Trouble,
)
from search_core.graphemes import byte_length, clip
from search_core.notes import Answer, Hit, NearWord, Reading, Scope, VaultInfo

ASKER = Asker(node=7, scope=Scope(), name="Ann", packet_id=99, wall_time=1_000.0, snr=6.25, rssi=-60, hops=2)
LONG = " ".join(f"Sentence number {n} of this note is here." for n in range(60))


def hit(path: str, text: str, score: float = 1.0) -> Hit:
    name = path.rsplit("/", 1)[-1].removesuffix(".md")
    return Hit(
        path=path,
        basename=name,
        score=score,
        excerpt=text,
        engine="local",
        cut=lambda room: clip(text, room),
        windows=lambda room, count: [clip(text, room), clip("second passage", room)][:count],
    )


@dataclass
class World:
    """A vault of notes, and one asker before it."""

    notes: dict[str, str] = field(default_factory=dict)
    near: tuple[NearWord, ...] = ()
    session: Session = field(default_factory=Session)
    now: float = 1_000.0
    asked: list[Request] = field(default_factory=list)
    secret: str = "hunter2"
    trouble: Trouble | None = None
    scores: dict[str, float] = field(default_factory=dict)

    def say(self, text: str) -> Reply | None:
        command = parse(text)
        planned = plan(command, self.session, ASKER, self.now)
        if planned is None or isinstance(planned, Reply):
            return planned
        self.asked.append(planned)
        reply, self.session = compose(
            command,
            self.session,
            self.trouble or self._outcome(planned),
            200,
            self.now,
            redact=lambda said: said.replace(self.secret, "[…]"),
            status=Status(queued=3, airtime_left=34.4),
        )
        self.session = Session.from_json(self.session.to_json())
        return reply

    def text(self, text: str) -> str:
        reply = self.say(text)
        assert reply is not None
        assert all(byte_length(part) <= 201 for part in reply.parts)
        return "\n--\n".join(reply.parts)

    def _outcome(self, request: Request) -> Outcome:
        match request:
            case SearchRequest(query):
                words = query.casefold().split()
                found = [
                    hit(p, t, self.scores.get(p, 1.0))
                    for p, t in self.notes.items()
                    if any(w in (p + t).casefold() for w in words)
                ]
                return Answer(query, tuple(found[:9]), "local", 0.01, len(found), self.near)
            case ReadRequest(path, query):
                if path not in self.notes:
                    return Trouble("gone")
                text = self.notes[path]
                return Reading(path, text, max(0, text.find(query)), str(hash(text)), 0.0)
            case InfoRequest():
                return VaultInfo(len(self.notes), 400.0, 0, "memory", "local")
            case NoteRequest(text):
                return Saved(f"- 2026-08-23 14:05 Ann: {text}", "Inbox/From the field.md")


@pytest.fixture
def world() -> World:
    return World({f"Camp/Tent {n}.md": f"pitch the tent, way {n}" for n in range(1, 8)})


def test_a_search_gives_one_packet_of_numbered_hits(world: World) -> None:
    said = world.text("tent")
    assert said.splitlines()[0].startswith("1 Tent 1: pitch the tent, way 1")
    assert said.endswith("2/7 m")
    assert world.asked == [SearchRequest("tent", Scope())]


def test_more_gives_the_next_hits_until_there_are_none(world: World) -> None:
    world.say("tent")
    assert world.text("m").startswith("3 Tent 3")
    assert world.text("M.").endswith("6/7 m")
    assert world.text("more").endswith("7/7")
    assert world.text("next") == "» No more hits. 1-7 reads one; other words may find more."


def test_more_after_a_clear_winner_first_shows_another_passage_of_it(world: World) -> None:
    world.scores = {"Camp/Tent 1.md": 9.0}
    assert world.text("tent") == "1 Camp/Tent 1: pitch the tent, way 1\n1/7 m"
    assert world.text("m") == "1 Camp/Tent 1: second passage\n1/7 m"
    assert world.text("r") == "*1 Camp/Tent 1: second passage\n1/7 m"
    assert world.text("m").startswith("2 Tent 2")
    world.say("tent")
    assert [part[0] for part in world.text("m 3").split("\n--\n")] == ["1", "2", "4"]


def test_a_clear_winner_gone_meanwhile_gives_way_to_the_next_hits(world: World) -> None:
    world.scores = {"Camp/Tent 1.md": 9.0}
    world.say("tent")
    del world.notes["Camp/Tent 1.md"]
    assert world.text("m").startswith("2 Tent 2")


def test_several_packets_at_once(world: World) -> None:
    world.say("tent")
    said = world.text("m 5").split("\n--\n")
    assert [part[0] for part in said] == ["3", "5", "7"]


def test_hits_that_vanished_do_not_come_again_and_numbers_hold(world: World) -> None:
    world.say("tent")
    del world.notes["Camp/Tent 4.md"]
    assert world.text("m").startswith("3 Tent 3: pitch the tent, way 3\n4 Tent 5:")
    world.notes["Camp/Tent 5.md"] = "changed"
    assert world.text("4") == "changed [end]"


def test_a_hit_is_read_from_its_passage_to_the_end(world: World) -> None:
    world.notes = {"Long.md": LONG}
    world.say("number 30 of")
    world.session = Session(at=world.now, query="Sentence number 30", hits=("Long.md",), shown=1)
    first = world.text("1")
    place = part_number(first)
    assert place is not None
    assert unnumbered(first).startswith("Sentence number 30 of")
    assert part_number(world.text("m")) == (place[0] + 1, place[1])
    while "[end]" not in (last := world.text("m 5")):
        pass
    assert part_number(last.split("\n--\n")[-1]) == (place[1], place[1])
    assert world.text("m").startswith(f"» That was the end ({place[1]}/{place[1]})")


def test_a_lost_part_is_sent_again_and_marked(world: World) -> None:
    world.notes = {"Long.md": LONG}
    world.say("sentence")
    first = world.text("1")
    second, third, fourth = world.text("m 3").split("\n--\n")
    assert world.text("r 3") == "*" + third
    assert world.text("R1") == "*" + first
    assert world.text("again") == "*" + fourth
    assert world.text("m").startswith("5/")
    assert second.startswith("2/")


def test_a_part_not_sent_before_may_be_asked_for_and_reading_goes_on_from_it(world: World) -> None:
    world.notes = {"Long.md": LONG}
    world.say("sentence")
    world.say("1")
    assert world.text("r 7").startswith("*7/")
    assert world.text("m").startswith("8/")
    assert world.text("r 400").startswith("» There is no part 400, only 1-")


def test_the_list_of_hits_is_sent_again_too(world: World) -> None:
    said = world.text("tent")
    assert world.text("r") == "*" + said
    assert world.text("r 1") == "*" + said
    assert world.text("r 2") == "» There is no part 2, only 1."


def test_a_note_that_changes_while_it_is_read_says_so(world: World) -> None:
    world.notes = {"Long.md": LONG}
    world.say("sentence")
    world.say("1")
    world.notes["Long.md"] = LONG.replace("is here", "was there")
    said = world.text("m")
    assert said.startswith("2/")
    assert CHANGED + "" in said
    assert "was there" in said
    assert CHANGED in world.text("r 5")
    assert world.text("m").startswith("6/")


def test_a_note_that_shrinks_while_it_is_read_ends(world: World) -> None:
    world.notes = {"Long.md": LONG}
    world.say("sentence")
    world.say("1")
    world.say("m 5")
    world.notes["Long.md"] = "Only this is left of the sentence."
    assert world.text("m").startswith("» That was the end (1/1)")


def test_a_note_that_goes_while_it_is_read_says_so(world: World) -> None:
    world.notes = {"Long.md": LONG}
    world.say("sentence")
    world.say("1")
    world.notes.clear()
    assert world.text("m") == "» That note is not there any more."


def test_opening_another_hit_starts_afresh(world: World) -> None:
    world.say("tent")
    world.say("1")
    assert world.text("2") == "pitch the tent, way 2 [end]"
    assert world.text("9") == "» There is no hit 9, only 1-7."


def test_an_empty_note(world: World) -> None:
    world.notes = {"tent.md": " \n"}
    world.say("tent")
    assert world.text("1") == "» That note is empty."


@pytest.mark.parametrize("text", ["m", "1", "next", "3"])
def test_nothing_to_refer_to(text: str, world: World) -> None:
    assert world.text(text) == "» Nothing to go on with yet: send words to search."
    assert world.asked == []


def test_nothing_to_repeat(world: World) -> None:
    assert world.text("r 2") == "» Nothing was sent to you yet that could be sent again."


def test_what_became_private_is_not_sent_again(world: World) -> None:
    world.notes["Camp/Tent 1.md"] = "pitch the tent behind the oak " + LONG
    assert "oak" in world.text("tent")
    hidden = world.notes.pop("Camp/Tent 1.md")
    assert world.text("r").startswith("1 Tent 2: pitch the tent, way 2")
    world.notes = {"Camp/Tent 1.md": hidden} | world.notes
    world.say("tent")
    assert "oak" in world.text("1")
    del world.notes["Camp/Tent 1.md"]
    for again in ("r", "r 1"):
        assert "oak" not in world.text(again)


def test_the_last_part_is_repeated_though_the_note_goes_on(world: World) -> None:
    world.notes = {"long.md": LONG}
    world.say("sentence")
    world.say("1")
    last = world.text("m")
    assert world.text("r") == "*" + last


def test_a_day_later_numbers_stand_for_nothing(world: World) -> None:
    world.say("tent")
    assert not expired(world.session, world.now + 24 * 3600)
    world.now += 24 * 3600 + 1
    assert expired(world.session, world.now)
    assert world.text("1").startswith("» Nothing to go on with")
    assert world.text("m").startswith("» Nothing to go on with")


def test_nothing_found_says_what_was_understood(world: World) -> None:
    assert world.text("Zelt  \u202eheringe") == "» Nothing for: Zelt heringe"
    world.near = (NearWord("snorkle", "snorkel", 4), NearWord("xyzzy", "", 0), NearWord("maks", "mask", 1))
    assert world.text("snorkle xyzzy maks") == '» no "snorkle"; snorkel: 4 notes; no "xyzzy"; no "maks"; mask: 1 note'


def test_a_word_taken_for_another_is_named_beside_the_hits(world: World) -> None:
    world.near = (NearWord("pich", "pitch", 7),)
    assert world.text("pich tent").endswith("2/7 m ~pitch")


def test_secrets_are_blanked_wherever_notes_are_shown(world: World) -> None:
    world.notes = {"hunter2.md": "password hunter2 and more", "b.md": "no password"}
    assert "hunter2" not in world.text("password")
    assert world.text("1") == "password […] and more [end]"
    world.near = (NearWord("hunter", "hunter2", 1),)
    assert world.text("hunter3") == '» no "hunter"; […]: 1 note'
    assert "hunter2" not in world.text("n my password is hunter2")


def test_text_of_notes_is_harmless(world: World) -> None:
    world.notes = {"evil\x1b[2J\u202e.md": "tent \u202egnp.exe\u2066 \x07bell \u200bzero \u200d👩\u200d👧\r\nline"}
    shown = world.text("tent") + world.text("1")
    assert not set(shown) & set("\x1b\u202e\u2066\x07\u200b\r")
    assert "👩\u200d👧" in shown


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("tent", "vault", "» The notes cannot be read just now. Try again later."),
        ("tent", "failed", "» The search failed. Try again later."),
        ("tent", "no such kind", "» The search failed. Try again later."),
        ("n x", "failed", "» Not saved: the note file could not be written. Please send it again later."),
        ("n x", "vault", "» Not saved: the note file could not be written. Please send it again later."),
        ("n x", "refused", "» Field notes are off, nothing was saved. To search: f WORDS"),
    ],
)
def test_trouble_is_one_honest_line(text: str, kind: str, said: str, world: World) -> None:
    world.trouble = Trouble(kind, "never said: /home/ann/vault")
    assert world.text(text) == said


def test_trouble_forgets_nothing(world: World) -> None:
    world.say("tent")
    world.trouble = Trouble("vault")
    world.say("m")
    world.trouble = None
    assert world.text("m").startswith("3 Tent 3")


def test_a_field_note_confirms_what_was_saved(world: World) -> None:
    assert world.text("n water at km 4") == "» Saved: - 2026-08-23 14:05 Ann: water at km 4"
    assert world.asked == [NoteRequest("water at km 4", "Ann", 1_000.0, 99)]


def test_ping_and_info_and_help_and_stop(world: World) -> None:
    assert world.text("ping") == "» pong: SNR 6.25 dB, RSSI -60 dBm, 2 hops"
    assert world.text("i") == ("» 7 notes, newest 10 min old, engine local, 3 to send, airtime left 34 s this hour")
    assert world.text("h").startswith("» words: search")
    assert world.text("stop") == "» Stopped."
    bare = plan(parse("ping"), Session(), Asker(node=7, scope=Scope()), 0.0)
    assert bare == Reply(("» pong",), "ping")


def test_what_needs_no_answer_gets_none(world: World) -> None:
    assert world.say("👍") is None
    assert world.say("") is None


def test_whatever_we_say_would_not_be_answered_by_another_gateway(world: World) -> None:
    said = [
        world.text(text) for text in ("h", "i", "ping", "stop", "r", "m", "zzz", "n x", "tent", "m", "m", "m", "1", "9")
    ]
    world.notes = {"Long.md": LONG}
    said += [world.text("sentence"), world.text("1"), *world.text("m 5").split("\n--\n"), world.text("r 2")]
    assert [text for text in said if not isinstance(parse(text), Ignore)] == []


def test_a_session_survives_a_restart() -> None:
    session = Session(1.5, "q", ("a.md", "ö.md"), 1, Place("a.md", "d", 2, 5, 200, True), ((1, "1/5 x"), (2, "2/5 y")))
    assert Session.from_json(session.to_json()) == session


def test_a_session_is_bounded_however_large_the_paths() -> None:
    path = "\\" * 4_000
    session = Session(
        1.0, "\\" * 5_000, (path,) * 9, 9, Place(path, "d" * 999, 1, 2, 200), tuple((n, path) for n in range(99))
    )
    text = session.to_json()
    assert len(text.encode()) < 16_000
    assert Session.from_json(text).shown <= len(Session.from_json(text).hits)
    largest = Session(
        1.0, "\\" * 1_000, ("\\" * 440,) * 9, 9, Place("\\" * 990, "d" * 99, 1, 2, 200), ((1, "\\" * 232),) * 5
    )
    assert 12_000 < len(largest.to_json().encode()) < 16_000
    assert Session.from_json(largest.to_json()) == largest


def test_a_path_that_no_file_can_hold_is_left_out() -> None:
    text = Session(1.0, "q", ("a", "\udcff", "c"), 3).to_json()
    text.encode()
    assert Session.from_json(text).hits == ("a",)


@pytest.mark.parametrize(
    "junk",
    [
        "",
        "null",
        "[]",
        "{",
        "1e999",
        '"x"',
        "{}",
        "[" * 100_000,
        json.dumps({"at": "now"}),
        '{"at":NaN,"query":"","hits":[],"shown":0,"place":null,"sent":[]}',
    ],
)
def test_junk_is_an_empty_session(junk: str) -> None:
    assert Session.from_json(junk) == Session()
