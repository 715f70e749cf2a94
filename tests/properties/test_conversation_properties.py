"""Whatever is sent in whatever order, and whatever the notes hold: parts that fit, are harmless, and tell no secret."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.protocol.commands import Ignore, parse
from gateway.protocol.conversation import Session, compose, plan
from gateway.protocol.inert import for_air
from gateway.protocol.replies import Asker, Reply
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

WORDS = [
    "m",
    "m 3",
    "1",
    "2",
    "9",
    "r",
    "r 2",
    "r 40",
    "h",
    "i",
    "ping",
    "stop",
    "n keep SECRET",
    "f x",
    "tent",
    "",
    "👍",
]
TEXTS = st.one_of(st.sampled_from(WORDS), st.text(max_size=60))
NOTES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=700),
    st.lists(
        st.sampled_from(["word ", "SECRET", "\n\n", "👩‍👩‍👧‍👦", "急", "क्षि", "\u202e", "e\u0301", ". "]), max_size=300
    ).map("".join),
)
PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=120)


def blank(text: str) -> str:
    return text.replace("SECRET", "[…]")


def _hit(path: str, text: str, score: float) -> Hit:
    plain = blank(text)
    return Hit(
        path=path,
        basename=path,
        score=score,
        excerpt="",
        engine="local",
        cut=lambda room: clip(plain, room),
        windows=lambda room, count: [clip(plain, room), clip(plain[::-1], room)][:count],
    )


@st.composite
def outcomes(draw: st.DrawFn, request: Request) -> Outcome:
    if draw(st.integers(0, 9)) == 0:
        return Trouble(draw(st.sampled_from(["gone", "vault", "refused", "failed", ""])), "SECRET")
    match request:
        case SearchRequest(query):
            found = [_hit(draw(PATHS), draw(NOTES), draw(st.floats(0, 50))) for _ in range(draw(st.integers(0, 4)))]
            near = tuple(NearWord(draw(PATHS), draw(PATHS), 3) for _ in range(draw(st.integers(0, 2))))
            return Answer(query, tuple(found), "local", 0.0, len(found) + draw(st.integers(0, 9)), near)
        case ReadRequest(path):
            text = draw(NOTES)
            return Reading(path, text, draw(st.integers(0, len(text))), draw(st.sampled_from("ab")), 0.0)
        case InfoRequest():
            return VaultInfo(draw(st.integers(0, 10**6)), draw(st.floats(0, 1e9)), 0, "memory", "local")
        case NoteRequest(text):
            return Saved(text, "Inbox.md")


@settings(max_examples=120, deadline=None)
@given(st.data(), st.lists(TEXTS, max_size=12), st.integers(80, 232))
def test_any_conversation(data: st.DataObject, texts: list[str], budget: int) -> None:
    session, now = Session(), 1_000.0
    asker = Asker(node=1, scope=Scope(), budget=budget)
    for text in texts:
        now += data.draw(st.sampled_from([1.0, 3_600.0, 90_000.0]))
        command = parse(text)
        planned = plan(command, session, asker, now)
        assert (planned is None) == isinstance(command, Ignore)
        if planned is None:
            continue
        reply = planned
        if not isinstance(reply, Reply):
            outcome = data.draw(outcomes(reply))
            reply, session = compose(command, session, outcome, budget, now, redact=blank)
        _check(reply, budget)
        stored = session.to_json()
        assert len(stored.encode()) < 16_000
        session = Session.from_json(stored)


def _check(reply: Reply, budget: int) -> None:
    assert 1 <= len(reply.parts) <= 5
    for part in reply.parts:
        assert part.strip()
        assert byte_length(part) <= budget + (reply.kind == "repeat")
        assert part == for_air(part)
        assert "SECRET" not in part


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_any_stored_text_is_a_session(text: str) -> None:
    Session.from_json(Session.from_json(text).to_json())
