"""One question end to end but for the air: what a handheld would get from this vault."""

from __future__ import annotations

import time

from gateway.config import Config
from gateway.protocol import commands, conversation
from gateway.protocol.inert import for_terminal
from gateway.protocol.packets import target_budget
from gateway.protocol.redaction import Redactor
from gateway.protocol.replies import Asker, Reply
from gateway.protocol.requests import SearchRequest
from gateway.protocol.session import Session
from gateway.setup.console import Console, Progress
from gateway.setup.init_finds import question_to_try
from gateway.setup.vault_look import open_core, owner_scope
from search_core import SearchCore
from search_core.errors import SearchError


def try_question(console: Console, config: Config) -> None:
    """Ask for a word of the newest note, and show the packet. Trouble is said, not raised."""
    progress = Progress()
    core = open_core(config, progress)
    try:
        found = question_to_try(config, core, owner_scope(config.privacy))
        if found is None:
            console.say("There is no note yet to try a question on.", "warning")
            return
        word, path = found
        console.say(f"A question to try, from the newest note ({path}):", "bold")
        engine, reply = _answer(config, core, word)
        _show(console, word, engine, reply)
    except SearchError as error:
        console.say(f"The question could not be tried: {error}", "warning")
    finally:
        progress.clear()
        core.close()


def _answer(config: Config, core: SearchCore, word: str) -> tuple[str, Reply]:
    """Who answered, and what the handheld would get. Raises SearchError."""
    now = time.time()
    budget = target_budget(direct=True, reply_id=True, wanted=config.airtime.target_bytes)
    asker = Asker(node=0, scope=owner_scope(config.privacy), budget=budget)
    command = commands.parse(word)
    planned = conversation.plan(command, Session(), asker, now)
    if not isinstance(planned, SearchRequest):
        return "", planned if isinstance(planned, Reply) else Reply((), "hint")
    answer = core.search(planned.query, limit=planned.limit, source=config.vault.source, scope=planned.scope)
    redact = Redactor(config.privacy.patterns).redact if config.privacy.redact else str
    reply, _ = conversation.compose(command, Session(), answer, budget, now, redact=redact)
    return answer.engine, reply


def _show(console: Console, word: str, engine: str, reply: Reply) -> None:
    console.say(f"  you    {word}")
    for part in reply.parts:
        for number, line in enumerate(part.split("\n")):
            console.raw("  reply  " if number == 0 else "         ")
            console.say_folded(for_terminal(line), begun=9, margin=9)
        console.say(f"         ({len(part.encode())} bytes, one packet; searched by {engine or 'nobody'})", "dim")
