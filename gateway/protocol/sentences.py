"""The fixed sentences. Each is one packet and begins with `MARK`, so it is never taken for words of a note. Pure."""

from __future__ import annotations

from gateway.protocol.commands import MARK, Command, Note
from gateway.protocol.replies import Asker, Redact, Status, one_line
from gateway.protocol.requests import Saved, Trouble
from search_core.graphemes import byte_length, clip
from search_core.notes import Answer, NearWord, VaultInfo

HELP = (
    MARK + "words: search. 1-9: read that hit. m: more, m 3: three parts. r 2: part 2 again. f WORDS: search as is. "
    'n TEXT: save a note. i: info. ping. stop. Also "a phrase" -without in:Folder'
)
NO_SEARCH = MARK + "Nothing to go on with yet: send words to search."
NOTHING_SENT = MARK + "Nothing was sent to you yet that could be sent again."
EMPTY_NOTE = MARK + "That note is empty."
_TROUBLE = {
    "gone": "That note is not there any more.",
    "vault": "The notes cannot be read just now. Try again later.",
    "busy": "Too many questions at once. Ask again in a minute.",
    "refused": "Field notes are off, nothing was saved. To search: f WORDS",
}
_FAILED_SAVE = "Not saved: the note file could not be written. Please send it again later."
_FAILED = "The search failed. Try again later."


def stopped(goes_on: bool) -> str:
    return MARK + "Stopped." + " m goes on." * goes_on


def no_hits_left(hits: int) -> str:
    if not hits:
        return NO_SEARCH
    return f"{MARK}No more hits. {_range(hits)} reads {'it' if hits == 1 else 'one'}; other words may find more."


def end_of_note(parts: int, hits: int) -> str:
    """`hits` that can be read by number."""
    again = "" if parts == 1 else " r 1 is its beginning."
    others = "" if hits <= 1 else f" {_range(hits)} reads another hit."
    return f"{MARK}That was the end ({parts}/{parts}).{again}{others}"


def no_such_hit(number: int, hits: int) -> str:
    return f"{MARK}There is no hit {number}, only {_range(hits)}."


def no_such_part(number: int, parts: int) -> str:
    return f"{MARK}There is no part {number}, only {_range(parts)}."


def _range(count: int) -> str:
    return "1" if count == 1 else f"1-{count}"


def pong(asker: Asker) -> str:
    told = []
    if asker.snr is not None:
        told.append(f"SNR {asker.snr:g} dB")
    if asker.rssi is not None:
        told.append(f"RSSI {asker.rssi} dBm")
    if asker.hops is not None:
        told.append("direct" if asker.hops == 0 else f"{asker.hops} hop" + "s" * (asker.hops > 1))
    return MARK + "pong" + (": " if told else "") + ", ".join(told)


def info(vault: VaultInfo, status: Status, now: float) -> str:
    told = [_counted(vault.notes, "note")]
    if vault.notes and vault.newest:
        told.append(f"newest {age(now - vault.newest)} old")
    told.append(f"engine {vault.engine}")
    told.append(f"{status.queued} to send")
    if status.airtime_left is not None:
        told.append(f"airtime left {max(0, round(status.airtime_left))} s this hour")
    return MARK + ", ".join(told)


def age(seconds: float) -> str:
    """``40 s``, ``5 min``, ``3 h``, ``12 days``; a time in the future is ``0 s``."""
    seconds = max(0.0, seconds)
    for unit, size, below in (("s", 1, 120), ("min", 60, 7_200), ("h", 3_600, 172_800)):
        if seconds < below:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds // 86_400)} days"


def nothing(query: str, answer: Answer, budget: int, redact: Redact) -> str:
    """That nothing was found, what was understood, and the nearest words there are, as far as they fit."""
    query = clip(one_line(query), 60)
    if all(word.lstrip("-").startswith("in:") for word in query.split()):
        return clip(f"{MARK}Words to search are needed beside {query}", budget)
    told = [near for near in answer.near if is_told(near)]
    if not told:
        return clip(f"{MARK}Nothing for: {query}", budget)
    said = MARK
    for place, near in enumerate(told):
        piece = ("; " if place else "") + _near(near, redact)
        if byte_length(said + piece) > budget:
            break
        said += piece
    return said if said != MARK else clip(f"{MARK}Nothing for: {query}", budget)


def is_told(near: NearWord) -> bool:
    """Not one character of Chinese or the like, which is a piece of what was typed."""
    return bool(near.notes) or len(near.word) > 1 or near.word.isascii()


def _near(near: NearWord, redact: Redact) -> str:
    word = clip(one_line(near.word), 40)
    suggestion = clip(one_line(redact(near.suggestion)), 40) if near.notes else ""
    return f'no "{word}"' + (f"; {suggestion}: {_counted(near.notes, 'note')}" if suggestion else "")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + "s" * (count != 1)


def saved(outcome: Saved, budget: int, redact: Redact) -> str:
    line = f"{MARK}Saved: {one_line(redact(outcome.line))}"
    return line if byte_length(line) <= budget else clip(line, budget - 3) + "…"


def trouble(command: Command, outcome: Trouble) -> str:
    if isinstance(command, Note) and outcome.kind != "refused":
        return MARK + _FAILED_SAVE
    known = _TROUBLE.get(outcome.kind, _FAILED)
    return MARK + (known if outcome.kind != "refused" or isinstance(command, Note) else _FAILED)
