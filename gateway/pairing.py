"""Letting a handheld in: who could be chosen, what to compare, and the dialogue of ``meshseek pair``.

A number that is already configured with another key is an alarm. It gets the new key only from an owner who says so,
never by ``--yes`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gateway.config_edit import is_key, key_text, read_handhelds, short_name, write_handheld
from gateway.errors import UsageError
from gateway.protocol.admission import Handheld, RefusalReason, Refused, explain, fingerprint
from gateway.protocol.inert import for_terminal
from gateway.protocol.messages import NodeSeen, node_id, node_number

DONE, NOTHING, WRONG_USE = 0, 1, 2
MOST_TRIES = 3
Ask = Callable[[str], str]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A node whose question was refused, as the gateway counted it."""

    node: int
    key: bytes | None
    """The key that it proved to hold (`Refused.key`); None when it proved none."""
    last: float = 0.0
    """Unix seconds; 0 unknown."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that could be let in, or is already."""

    node: int
    key: bytes | None
    """None: the radio does not know it yet, so it cannot be chosen."""
    name: str = ""
    """Its own words, made inert: to recognise it by, not to trust."""
    has_asked: bool = False
    last_heard: float = 0.0
    pinned: bytes | None = None
    """The key configured for this number."""

    @property
    def is_configured(self) -> bool:
        return self.pinned is not None and self.pinned == self.key

    @property
    def has_changed(self) -> bool:
        """The alarm: a known number with another key."""
        return self.pinned is not None and self.key is not None and self.pinned != self.key


def candidates(
    seen: Iterable[NodeSeen], asked: Iterable[Asked], configured: Sequence[Handheld]
) -> tuple[Candidate, ...]:
    """Who could be chosen, those configured already left out: first those who asked, then by when they were heard.

    A key that was proved by asking counts before the one in the radio's list, which any node's broadcast may change.
    """
    known = {node.node: node for node in seen}
    askers = {a.node: a for a in sorted(asked, key=lambda a: (a.key is not None, a.last))}
    found = [_candidate(number, known.get(number), askers.get(number), configured) for number in known | askers]
    found = [candidate for candidate in found if not candidate.is_configured]
    return tuple(sorted(found, key=lambda c: (not c.has_asked, c.key is None, -c.last_heard, c.node)))


def _candidate(number: int, seen: NodeSeen | None, asked: Asked | None, configured: Sequence[Handheld]) -> Candidate:
    seen = seen or NodeSeen(number)
    key = (asked.key if asked is not None else None) or seen.key
    return Candidate(
        node=number,
        key=key if key is not None and is_key(key) else None,
        name=short_name(seen.long_name or seen.short_name),
        has_asked=asked is not None,
        last_heard=max(seen.last_heard, asked.last if asked is not None else 0),
        pinned=_pin(number, key, configured),
    )


def _pin(number: int, key: bytes | None, configured: Sequence[Handheld]) -> bytes | None:
    """The key configured for this number; `key` itself when it is among several."""
    pins = [handheld.key for handheld in configured if handheld.node == number]
    return key if key in pins else next(iter(pins), None)


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line says already."""

    node: str | None = None
    """As ``!a1b2c3d4``; None: to be chosen from a list."""
    key: bytes | None = None
    """For a node whose key the radio does not know, or to accept a changed key without questions."""
    name: str | None = None
    yes: bool = False


def run_pair(
    config_path: Path,
    nodes: Sequence[NodeSeen],
    refused: Sequence[Asked],
    wish: Wish = Wish(),
    *,
    now: float,
    ask: Ask,
    say: Say,
) -> int:
    """`meshseek pair`: show, choose, compare, confirm, write. Returns the exit code.

    `nodes` are the others that the radio knows; `now` is in Unix seconds, for "how long ago"; `ask` may raise
    EOFError, which means no. Raises UsageError and GatewayError as the functions above do.
    """
    configured = read_handhelds(config_path)
    found = candidates(nodes, refused, configured)
    if wish.node is not None:
        chosen: Candidate | None = _named(wish.node, wish.key, found, configured)
    elif found:
        chosen = _choose(found, now, ask, say)
    else:
        say(_nobody_to_choose(nodes, configured))
        return NOTHING
    if chosen is None:
        return NOTHING
    if chosen.is_configured:
        say(f"{node_id(chosen.node)} is already configured with this key; nothing to do")
        return DONE
    if not _is_confirmed(chosen, wish, ask, say):
        say("nothing was changed")
        return WRONG_USE if wish.yes else NOTHING
    name = chosen.name if wish.name is None else wish.name
    backup = write_handheld(config_path, chosen.node, _key_of(chosen), name, change_key=chosen.has_changed)
    say(f"{node_id(chosen.node)} may ask now; written to {config_path} (the old file is {backup.name})")
    say("a running gateway takes it in when it is restarted")
    return DONE


def _key_of(chosen: Candidate) -> bytes:
    if chosen.key is None:
        raise UsageError(
            f"the radio does not know the key of {node_id(chosen.node)} yet: send any text from it, wait a minute and "
            "try again, or give the key with --key"
        )
    return chosen.key


def _named(node: str, key: bytes | None, found: Sequence[Candidate], configured: Sequence[Handheld]) -> Candidate:
    """The node of the command line. A key given there must not contradict one that the radio knows."""
    try:
        number = node_number(node.lower())
    except ValueError:
        raise UsageError(f"{for_terminal(node[:40])!r} is not a node: write ! and eight hexadecimal digits") from None
    known = next((c for c in found if c.node == number), Candidate(number, None))
    if key is not None and known.key not in (None, key):
        raise UsageError(
            f"the key given for {node_id(number)} is {fingerprint(key)}, but the radio knows "
            f"{fingerprint(_key_of(known))}; one of them is not your handheld's"
        )
    pin = _pin(number, key or known.key, configured)
    chosen = replace(known, key=key or known.key or pin, pinned=pin)
    _key_of(chosen)
    return chosen


def _choose(found: Sequence[Candidate], now: float, ask: Ask, say: Say) -> Candidate | None:
    for number, candidate in enumerate(found, 1):
        say(f"{number:3}  {_line(candidate, now)}")
    wrong = ""
    for _ in range(MOST_TRIES):
        answer = _answer(ask, "Which one may ask? (its number, or nothing to stop) ")
        if not answer:
            return None
        if answer.isascii() and answer.isdigit() and 1 <= int(answer[:6]) <= len(found):
            chosen = found[int(answer) - 1]
            _key_of(chosen)
            return chosen
        wrong = f"{for_terminal(answer[:20])!r} is none of the numbers 1 to {len(found)}"
        say(wrong)
    raise UsageError(wrong)


def _nobody_to_choose(nodes: Sequence[NodeSeen], configured: Sequence[Handheld]) -> str:
    met = {node.node for node in nodes}
    known = ", ".join(f"{node_id(h.node)} {h.name}".strip() for h in configured if h.node in met)
    again = "send any text from the handheld to this radio, wait a minute and try again"
    if known:
        return f"every node that the radio knows is let in already: {for_terminal(known)}. For another one, {again}"
    return f"no node to pair: {again}"


def _line(candidate: Candidate, now: float) -> str:
    parts = [node_id(candidate.node), fingerprint(candidate.key) if candidate.key else "no key yet".ljust(19)]
    parts.append(candidate.name or "(no name)")
    parts.append(_ago(now - candidate.last_heard) if now and candidate.last_heard else "")
    parts.append("asked" if candidate.has_asked else "")
    parts.append("KEY CHANGED" if candidate.has_changed else "")
    return "  ".join(part for part in parts if part)


def _ago(seconds: float) -> str:
    if seconds < 60:
        return "just now"
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit} ago"
    return ""


def _is_confirmed(chosen: Candidate, wish: Wish, ask: Ask, say: Say) -> bool:
    public = _key_of(chosen)
    if chosen.pinned is not None:
        say(explain(Refused(RefusalReason.KEY_MISMATCH, chosen.node, public, chosen.pinned)))
    say(f"{node_id(chosen.node)}  {chosen.name}")
    say(f"  fingerprint  {fingerprint(public)}")
    say(f"  public key   {key_text(public)}  (compare with the handheld's app, under Security)")
    if chosen.pinned is not None:
        return _is_change_confirmed(wish, ask, say)
    return wish.yes or _answer(ask, "May it ask everything that is not private? [y/N] ").lower() in {"y", "yes"}


def _is_change_confirmed(wish: Wish, ask: Ask, say: Say) -> bool:
    """For a changed key ``--yes`` is not enough: the key itself must be given, or a word be typed."""
    if not wish.yes:
        return _answer(ask, "Type `replace` to trust the new key instead of the old: ").lower() == "replace"
    if wish.key is None:
        say("--yes does not replace a key; compare it, then give it with --key")
    return wish.key is not None


def _answer(ask: Ask, question: str) -> str:
    try:
        return ask(question).strip()
    except EOFError:
        return ""
