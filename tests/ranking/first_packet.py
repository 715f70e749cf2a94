"""How often one 200-byte packet answers the question, and how often two do: ``python tests/ranking/first_packet.py``.

Asks each question of ``answers.jsonl`` as a handheld would, with ``m`` as the second text, and looks for the right
string in what comes back. The plain way beside it: the three best paths, each with 60 bytes around the first match of
any word, and on ``m`` the next three. The difference between the two ways on the same hits is what the division of
bytes and the choice of passages are worth.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from gateway.protocol.commands import parse
from gateway.protocol.conversation import Session, compose, plan
from gateway.protocol.packets import DEFAULT_TARGET
from gateway.protocol.replies import Asker, Reply
from gateway.protocol.requests import SearchRequest
from search_core import SearchCore
from search_core.graphemes import byte_length, clip
from search_core.notes import EVERYTHING, Answer, Hit

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
PLAIN_EXCERPT = 60  # bytes
PLAIN_HITS = 3


class Question(NamedTuple):
    query: str
    answers: tuple[str, ...]
    """Any one of these strings is right."""


class Figures(NamedTuple):
    """Shares of the questions."""

    first: float
    """Answered by the first packet alone."""
    second: float
    """Answered by the first packet or by that which ``m`` brings."""


def questions(files: Iterable[Path]) -> list[Question]:
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines() if line.strip()]
    return [Question(row["query"], tuple(row["answer"].split("|"))) for row in rows]


def measure(asked: list[Question], talk: Callable[[str], tuple[str, str]]) -> Figures:
    """`talk` gives the packets that come back for a question and for ``m`` after it."""
    first = second = 0
    for question in asked:
        packet, more = talk(question.query)
        assert byte_length(packet) <= DEFAULT_TARGET
        assert byte_length(more) <= DEFAULT_TARGET
        first += answers(question, packet)
        second += answers(question, packet) or answers(question, more)
    return Figures(first / len(asked), second / len(asked))


def answers(question: Question, packet: str) -> bool:
    """White space and capitals do not matter, nor the marks that Markdown has around code."""
    said = " ".join(packet.casefold().split())
    return any(" ".join(right.casefold().split()).strip("`") in said for right in question.answers)


def ours(core: SearchCore) -> Callable[[str], tuple[str, str]]:
    def talk(query: str) -> tuple[str, str]:
        session = Session()
        packets = []
        for text in (f"f {query}", "m"):
            packet, session = _say(core, text, session)
            packets.append(packet)
        return packets[0], packets[1]

    return talk


def _say(core: SearchCore, text: str, session: Session) -> tuple[str, Session]:
    command = parse(text)
    planned = plan(command, session, Asker(node=1, scope=EVERYTHING), 0.0)
    if isinstance(planned, SearchRequest):
        reply, session = compose(command, session, _search(core, planned.query), DEFAULT_TARGET, 0.0)
        return reply.parts[0], session
    assert isinstance(planned, Reply)
    return planned.parts[0], session


def plain(core: SearchCore, notes: Path) -> Callable[[str], tuple[str, str]]:
    def talk(query: str) -> tuple[str, str]:
        hits = _search(core, query).hits
        return _plain_packet(hits[:PLAIN_HITS], query, notes), _plain_packet(
            hits[PLAIN_HITS:][:PLAIN_HITS], query, notes
        )

    return talk


def _plain_packet(hits: tuple[Hit, ...], query: str, notes: Path) -> str:
    lines = []
    for hit in hits:
        text = " ".join((notes / hit.path).read_text("utf-8", "replace").split())
        found = [place for word in query.casefold().split() if (place := text.casefold().find(word)) >= 0]
        start = max(0, min(found, default=0) - 20)
        lines.append(f"{hit.path}: {clip(text[start:], PLAIN_EXCERPT)}")
    return clip("\n".join(lines), DEFAULT_TARGET)


_searched: dict[str, Answer] = {}


def _search(core: SearchCore, query: str) -> Answer:
    if query not in _searched:
        _searched[query] = core.search(query, limit=9, source="local")
    return _searched[query]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, default=SHARED / "vaults" / "notes")
    parser.add_argument("files", nargs="*", type=Path, default=[SHARED / "questions" / "answers.jsonl"])
    args = parser.parse_args()
    asked = questions(args.files)
    core = SearchCore(str(args.notes))
    print(f"{len(asked)} questions, {DEFAULT_TARGET} bytes a packet\n")
    print("| | first packet | with one m |\n|---|---|---|")
    for name, talk in (("ours", ours(core)), ("plain way", plain(core, args.notes))):
        figures = measure(asked, talk)
        print(f"| {name} | {figures.first:.2f} | {figures.second:.2f} |")
    core.close()


if __name__ == "__main__":
    main()
