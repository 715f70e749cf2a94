"""Text from the air → what is meant. Pure; never raises, whatever the text.

Any text is a search, but for a few short forms that stand alone. Typed with cold fingers they come with capitals,
stray spaces, full stops and a phone's "smart" characters around them; those do not count. What is certainly no
question is set aside, so that two machines do not answer each other:

* nothing but punctuation, a reaction (only faces, hands, hearts and marks; or ``Liked “…”`` as phones spell it out);
* lines of our own shape: a numbered part (``2/5 `` and a part's worth of words), a list of hits with its footer,
  and our fixed sentences (`MARK`);
* other programs' status lines: those that begin with a robot or bell, with ``pong``, ``auto-reply`` or ``[bot]``, or
  that give both SNR and RSSI as figures.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from gateway.protocol.replies import one_line

MAX_QUESTION = 300
"""Code points of a text that are looked at; more than any packet holds (233 bytes)."""

MOST_PARTS = 5
"""The most that ``m 3`` and the like may ask for at once."""


@dataclass(frozen=True, slots=True)
class Search:
    query: str
    """In the query language of the core: words, ``"phrase"``, ``-word``, ``in:Folder``."""


@dataclass(frozen=True, slots=True)
class More:
    count: int = 1


@dataclass(frozen=True, slots=True)
class Open:
    number: int
    """1 to 9."""


@dataclass(frozen=True, slots=True)
class Repeat:
    part: int | None = None
    """None: the last one sent."""


@dataclass(frozen=True, slots=True)
class Help:
    pass


@dataclass(frozen=True, slots=True)
class Info:
    pass


@dataclass(frozen=True, slots=True)
class Ping:
    pass


@dataclass(frozen=True, slots=True)
class Stop:
    pass


@dataclass(frozen=True, slots=True)
class Note:
    text: str


@dataclass(frozen=True, slots=True)
class Ignore:
    """Nothing is to be answered; `reason` is for counting: ``empty``, ``reaction``, ``own`` or ``bot``."""

    reason: str


Command = Search | More | Open | Repeat | Help | Info | Ping | Stop | Note | Ignore

MARK = "» "
"""Begins each fixed sentence of ours; a word in French or German quotes never has a space there."""

_WORDS: dict[str, Command] = {
    **dict.fromkeys(("m", "more", "next"), More()),
    **dict.fromkeys(("r", "again"), Repeat()),
    **dict.fromkeys(("h", "help", "n", "note", "f", "find"), Help()),
    **dict.fromkeys(("i", "info"), Info()),
    "ping": Ping(),
    "stop": Stop(),
}
_NUMBERED = re.compile(r"(m|more|next|r|again) ?#? ?([1-9][0-9]{0,3})")
_WITH_WORDS = re.compile(r"(note|find|n|f)(?:\s*[:,]\s*|\s+)(.*)", re.IGNORECASE | re.DOTALL)
_FRAME = " \t\n.,;:!'\"`´()[]{}<>*_~#-…·。、！．，"
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"') | dict.fromkeys("‘’‚‛ʼ＇", "'"))
_DASH_WORD = re.compile(r"(?<!\S)[–—−](?=\w)")
_FOLDER_WORD = re.compile(r'(?<!\S)(-?)in:(?=[\w"])', re.IGNORECASE)

_PART = re.compile(r"\*?([1-9][0-9]{0,3})/([1-9][0-9]{0,3}) ")
_PART_BYTES = 60  # shorter than any part but the last, longer than a question that begins with a fraction
_HITS = re.compile(r"\*?[1-9] [^\n]+\n(?:[^\n]*\n)*[1-9]/[1-9]\+?(?: m)?(?: [~-][^\n]*)?\Z")
_TAPBACK = re.compile(r"(?:liked|loved|disliked|laughed at|emphasized|questioned) \"", re.IGNORECASE)
_REACTION = re.compile(
    "[\U0001f600-\U0001f64f\U0001f910-\U0001f92f\U0001f970-\U0001f97a"  # faces
    "\U0001f44a-\U0001f44f\U0001f4aa\u261d\u270a-\u270d"  # hands
    "\u2764\u2665\U0001f493-\U0001f49f\U0001f5a4\U0001f90d\U0001f90e\U0001f9e1"  # hearts
    "\u203c\u2049\u2705\u2714\u274c\u2753\u2757\U0001f44b\U0001f440\U0001f389\U0001f4a9\U0001f4af\U0001f525]"  # marks
)
_BOT = re.compile(r"[🤖🔔]|pong(?:\W*\Z|[^\n]*[0-9])|auto-?reply\b|\[bot\]", re.IGNORECASE)
_SIGNAL = re.compile(r"\b(snr|rssi) ?[:=] ?-?[0-9]", re.IGNORECASE)
END = "[end]"
"""Closes the last part of a note."""


def parse(text: str) -> Command:
    """What `text` asks for. Looks at the first `MAX_QUESTION` code points."""
    text = text[:MAX_QUESTION]
    reason = _set_aside(text)
    if reason:
        return Ignore(reason)
    line = one_line(text.translate(_QUOTES))
    short = _WORDS.get(_bare(line)) or _numbered(_bare(line))
    if short is not None:
        return short
    if not _bare(line):
        return Help() if "?" in unicodedata.normalize("NFKC", line) else Ignore("empty")
    return _with_words(line) or Search(_query(line))


def _bare(line: str) -> str:
    """The line as a short form: plain letters and digits in lower case, nothing around them."""
    plain = unicodedata.normalize("NFKC", line).casefold().replace("\ufe0f", "").replace("\u20e3", "")
    return " ".join(plain.strip(_FRAME + "?").split())


def _numbered(bare: str) -> Command | None:
    if len(bare) == 1 and bare in "123456789":
        return Open(int(bare))
    found = _NUMBERED.fullmatch(bare)
    if found is None:
        return None
    number = int(found[2])
    if found[1] in ("r", "again"):
        return Repeat(number)
    return More(min(number, MOST_PARTS))


def _with_words(line: str) -> Command | None:
    found = _WITH_WORDS.fullmatch(line)
    if found is None:
        return None
    words = found[2].strip()
    if not words:
        return Help()
    return Note(words) if found[1].lower() in ("n", "note") else Search(_query(words))


def _query(words: str) -> str:
    """What a phone's keyboard changed in the query language is changed back."""
    return _FOLDER_WORD.sub(r"\1in:", _DASH_WORD.sub("-", words))


def _set_aside(text: str) -> str:
    plain = text.strip()
    if is_ours(plain):
        return "own"
    line = one_line(plain.translate(_QUOTES))
    if _TAPBACK.match(line) or _only_reactions(line):
        return "reaction"
    signals = {found[1].lower() for found in _SIGNAL.finditer(line)}
    return "bot" if _BOT.match(line) or len(signals) == 2 else ""


def is_ours(text: str) -> bool:
    """True for a text that this gateway, or another of its kind, may have sent as an answer."""
    found = _PART.match(text)
    if found and int(found[1]) <= int(found[2]) and (len(text.encode("utf-8", "replace")) >= _PART_BYTES):
        return True
    return text.endswith(END) or text.startswith(MARK) or _HITS.match(text) is not None


def _only_reactions(line: str) -> bool:
    pictures = [char for char in line if _REACTION.match(char)]
    rest = [char for char in line if char not in pictures and not char.isspace() and not _decorates(char)]
    return bool(pictures) and not rest


def _decorates(char: str) -> bool:
    return char in "\u200d\ufe0e\ufe0f!" or "\U0001f3fb" <= char <= "\U0001f3ff"
