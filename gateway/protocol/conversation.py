"""One asker's conversation: what a command asks of the vault, and what is said of the outcome. Pure.

`plan` turns a command into a request for the vault, or into a reply when none is needed; `compose` turns the outcome
into a reply and the session as it is afterwards. Nothing of the notes is kept but the last parts sent: ``more`` and
``r`` ask the vault again, so what is read is the text of that moment, and what became private is not shown.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gateway.protocol import sentences
from gateway.protocol.commands import END, Command, Help, Info, More, Note, Open, Ping, Repeat, Search, Stop
from gateway.protocol.inert import for_air
from gateway.protocol.packets import mark_again, split
from gateway.protocol.replies import Asker, Redact, Reply, ReplyKind, Status
from gateway.protocol.reply_text import (
    MOST_LISTED,
    MOST_NUMBERED,
    Frame,
    Page,
    aside,
    first_page,
    list_page,
    passage_page,
    short_rules,
)
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
from gateway.protocol.session import Place, Session, expired
from search_core.graphemes import clip
from search_core.notes import Answer, Hit, Reading, VaultInfo

__all__ = ["Place", "Session", "compose", "expired", "plan"]

CHANGED = "(changed) "
"""Before the words of each part once the note is not what it was when its reading began."""

_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)*\n")
_WIDE_GAPS = re.compile(r"(?<=\S) {3,}")
_KNOWN_STATUS = Status()


def plan(command: Command, session: Session, asker: Asker, now: float) -> Request | Reply | None:
    """What is needed of the vault to answer, or the reply at once; None when nothing is to be said."""
    session = Session() if expired(session, now) else session
    match command:
        case Search(query):
            return SearchRequest(query, asker.scope)
        case More():
            return _plan_more(session, asker)
        case Open(number):
            return _plan_open(number, session, asker)
        case Repeat(part):
            return _plan_repeat(part, session, asker)
        case Stop():
            return _said(sentences.stopped(_goes_on(session)), "stop", asker.budget)
    return _plan_alone(command, asker)


def _plan_alone(command: Command, asker: Asker) -> Request | Reply | None:
    """What does not depend on anything before it."""
    match command:
        case Info():
            return InfoRequest(asker.scope)
        case Note(text):
            return NoteRequest(text, asker.name, asker.wall_time, asker.packet_id)
        case Help():
            return _said(sentences.HELP, "help", asker.budget)
        case Ping():
            return _said(sentences.pong(asker), "ping", asker.budget)
    return None


def _goes_on(session: Session) -> bool:
    """Whether ``more`` has something to send."""
    return _is_reading(session) or session.shown < len(session.hits) or session.passage_follows


def _is_reading(session: Session) -> bool:
    return session.place is not None and session.place.next_part < session.place.parts


def _plan_more(session: Session, asker: Asker) -> Request | Reply:
    """What is being read goes on first; after its end, the hits do."""
    place = session.place
    if place is not None and _is_reading(session):
        return ReadRequest(place.path, session.query, asker.scope)
    if _goes_on(session):
        return SearchRequest(session.query, asker.scope)
    if place is not None:
        return _said(sentences.end_of_note(place.parts, len(session.hits)), "hint", asker.budget)
    return _said(sentences.no_hits_left(len(session.hits)), "hint", asker.budget)


def _plan_open(number: int, session: Session, asker: Asker) -> Request | Reply:
    if not session.hits:
        return _said(sentences.NO_SEARCH, "hint", asker.budget)
    if number > len(session.hits):
        return _said(sentences.no_such_hit(number, len(session.hits)), "hint", asker.budget)
    return ReadRequest(session.hits[number - 1], session.query, asker.scope)


def _plan_repeat(part: int | None, session: Session, asker: Asker) -> Request | Reply:
    """Asked of the vault again: what was sent may have become private, or be no longer for this asker's eyes."""
    if not session.sent:
        return _said(sentences.NOTHING_SENT, "hint", asker.budget)
    wanted = _wanted(part, session)
    place = session.place
    count = place.parts if place is not None else len(session.sent)
    if place is not None and wanted <= count:
        return ReadRequest(place.path, session.query, asker.scope)
    if place is None and any(number == wanted for number, _ in session.sent):
        return SearchRequest(session.query, asker.scope)
    return _said(sentences.no_such_part(wanted, count), "hint", asker.budget)


def _wanted(part: int | None, session: Session) -> int:
    """The part that ``r`` means: without a number the last one sent."""
    return session.sent[-1][0] if part is None else part


def compose(
    command: Command,
    session: Session,
    outcome: Outcome,
    budget: int,
    now: float,
    *,
    redact: Redact = str,
    status: Status = _KNOWN_STATUS,
) -> tuple[Reply, Session]:
    """What is said of `outcome`, which came of the request that `plan` made of `command`, and the session after it.

    `budget` is in bytes per part, at least 60. `redact` is applied to everything that comes from notes.
    """
    session = Session() if expired(session, now) else replace(session, at=now)
    match outcome:
        case Answer():
            return _found(command, session, outcome, budget, redact)
        case Reading():
            return _read(command, session, outcome, budget, redact)
        case VaultInfo():
            return _said(sentences.info(outcome, status, now), "info", budget), session
        case Saved():
            return _said(sentences.saved(outcome, budget, redact), "note", budget), session
        case Trouble():
            return _said(sentences.trouble(command, outcome), "trouble", budget), session


def _said(text: str, kind: ReplyKind, budget: int) -> Reply:
    return Reply((clip(text, budget),), kind)


def _found(command: Command, session: Session, answer: Answer, budget: int, redact: Redact) -> tuple[Reply, Session]:
    if isinstance(command, Repeat):
        if (again := _sent_again_or_none(command, session, answer, budget)) is not None:
            return again, session
        command = Search(session.query)
    if isinstance(command, Search):
        session = Session(at=session.at, query=command.query)
    seen = session.hits[: session.shown]
    fresh = [hit for hit in answer.hits if hit.path not in seen][: MOST_NUMBERED - len(seen)]
    if not fresh and not seen:
        return _said(sentences.nothing(session.query, answer, budget, redact), "none", budget), session
    frame = Frame(budget, len(seen) + len(fresh), answer.total, redact, aside(answer.near))
    pages = _pages(command, session, answer, fresh, frame)
    session = replace(session, hits=seen + tuple(hit.path for hit in fresh), passage_follows=False, place=None)
    if not pages:
        return _said(sentences.no_hits_left(len(session.hits)), "hint", budget), session
    parts = tuple(page.text for page in pages)
    return Reply(parts, "hits"), replace(
        session,
        shown=pages[-1].last,
        passage_follows=pages[-1].passage_follows,
        sent=tuple(enumerate(parts, 1)),
    )


def _sent_again_or_none(command: Repeat, session: Session, answer: Answer, budget: int) -> Reply | None:
    """The page as it was sent, if all the notes on it may still be seen."""
    text = dict(session.sent).get(_wanted(command.part, session)) if session.sent else None
    if text is None or not {hit.path for hit in answer.hits}.issuperset(session.hits[: session.shown]):
        return None
    return Reply((mark_again(text, budget + 1),), "repeat")


def _pages(command: Command, session: Session, answer: Answer, fresh: list[Hit], frame: Frame) -> list[Page]:
    """The packets asked for, as far as there are hits."""
    if not isinstance(command, More):
        return [first_page(fresh, frame)]
    pages: list[Page] = []
    best = next((hit for hit in answer.hits if hit.path == session.hits[0]), None) if session.hits else None
    passage = passage_page(best, frame) if best is not None and session.passage_follows else None
    if passage is not None:
        pages.append(passage)
    while len(pages) < command.count and fresh:
        shown = frame.numbered - len(fresh)
        pages.append(list_page(fresh[:MOST_LISTED], shown, frame))
        fresh = fresh[MOST_LISTED:]
    return pages


def _read(command: Command, session: Session, reading: Reading, budget: int, redact: Redact) -> tuple[Reply, Session]:
    place = None if isinstance(command, Open) else session.place
    changed = place is not None and (place.changed or place.digest != reading.digest)
    budget = place.budget if place is not None else budget
    text, at = _as_sent(reading, redact)
    parts, first = split(text, budget, at=at, end=" " + END, label=CHANGED if changed else "")
    if not parts:
        return _said(sentences.EMPTY_NOTE, "hint", budget), session
    chosen = _chosen(command, session, first, len(parts))
    if not chosen:
        return _said(_beyond(command, len(parts), len(session.hits)), "hint", budget), session
    follows = max(chosen[-1] + 1, place.next_part if place and isinstance(command, Repeat) else 0)
    after = Place(reading.path, reading.digest, min(follows, len(parts)), len(parts), budget, changed)
    sent = tuple((number + 1, parts[number]) for number in chosen)
    if isinstance(command, Repeat):
        again = mark_again(parts[chosen[0]], budget + 1)
        return Reply((again,), "repeat"), replace(session, place=after)
    session = replace(session, place=after, sent=sent, passage_follows=False)
    return Reply(tuple(part for _, part in sent), "reading"), session


def _as_sent(reading: Reading, redact: Redact) -> tuple[str, int]:
    """The text without secrets, tricks, blank lines and wide gaps, and where its passage begins."""
    text = _compact(redact(reading.text))
    before = _compact(redact(reading.text[: reading.start]))
    return text, len(before) if text.startswith(before) else min(reading.start, len(text))


def _compact(text: str) -> str:
    return _WIDE_GAPS.sub("  ", _BLANK_LINES.sub("\n", short_rules(for_air(text))))


def _chosen(command: Command, session: Session, first: int, count: int) -> range:
    """Indices of the parts to send; empty when there is none such."""
    place = session.place
    if isinstance(command, Repeat):
        number = _wanted(command.part, session) if session.sent else count
        return range(number - 1, number) if number <= count else range(0)
    if isinstance(command, More) and place is not None:
        return range(place.next_part, min(place.next_part + command.count, count))
    return range(first, first + 1)


def _beyond(command: Command, count: int, hits: int) -> str:
    if isinstance(command, Repeat) and command.part:
        return sentences.no_such_part(command.part, count)
    return sentences.end_of_note(count, hits)
