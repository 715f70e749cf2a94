"""Turns literal words into a query that Omnisearch reads the same way. Pure.

Omnisearch reads a leading ``-`` as "not", a leading ``.`` or ``ext:`` as a file type, ``path:`` as a folder, both
kinds of quotes as phrases and ``\\`` as an escape. To us those are plain characters of the text that
was typed, so they never reach it. A word of one letter can make it hang for good (every word of the vault
that begins so becomes part of one regular expression), so those are left out as well.

What is left out makes the question wider; `unsent` and `in_parts` name it, so that the files found can be held
against what was typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, normalize

from search_core.lazy_pattern import LazyPattern
from search_core.terms import fold, symbol_names, words

if TYPE_CHECKING:
    from search_core.query import ParsedQuery

MAX_WORDS = 24
"""Every word must match there, so more than these only cost time."""
MAX_WORD_CHARS = 80
KEEPERS = "+-$~"
"""The ASCII signs that do not separate words in Omnisearch's index."""
FIRST_IDEOGRAPH = 0x2E80
"""From here on one character can be a whole word (Chinese, Japanese, Korean, emoji)."""
MAX_QUERY_CHARS = 600
"""Percent-encoded this stays well below the 16 kB at which Node refuses a request."""
FEWER_WORDS = 2
"""How many words a second, wider query keeps."""
SHORTEST_FOLDER = 2
"""Letters of a folder's name worth sending."""
FOLDER_SIGNS = " -_./&+()"
"""Besides letters and digits; all others are signs to Omnisearch's own reading, or may be accents."""

_ELISION = LazyPattern(r"(?<=\w)['’]\w\b|\b\w['’](?=\w)")


def words_of(text: str) -> tuple[str, ...]:
    """The words of literal `text` as Omnisearch's index has them: each once, in order, at most `MAX_WORDS`."""
    spaced = "".join(c if _is_part(c) else " " for c in normalize("NFC", text))
    trimmed = (word.lstrip("+-$~").rstrip("-$~")[:MAX_WORD_CHARS] for word in spaced.split())
    kept = dict.fromkeys(word for word in trimmed if _can_be_sent(word))
    return tuple(kept)[:MAX_WORDS]


class Sending(NamedTuple):
    """What is sent for one question; empty texts when there is nothing to send."""

    query: str
    wider: str = ""
    """For when the query finds nothing."""
    without: str = ""
    """Follows either: what must not be in a file. Omnisearch takes it for letters anywhere inside words."""

    @property
    def strict(self) -> Sending:
        """Both queries with what must not be in a file."""
        return Sending(_joined([self.query, self.without]), _joined([self.wider, self.without]) if self.wider else "")


def sending(query: ParsedQuery, folder: str | None = None) -> Sending:
    """What to send for `query`, of which only notes in or below `folder` are wanted, if given."""
    wanted = rewrite(query.pieces, query.phrases)
    if not wanted:
        return Sending("")
    where = _below([folder] if folder else query.folders)
    wider = "" if query.phrases else fewer(words_of(rewrite(query.pieces)))
    without = _joined([out for text in query.excluded if (out := _not(text))])
    return Sending(_joined([wanted, where]), _joined([wider, where]) if wider else "", without)


def rewrite(texts: Iterable[str], phrases: Iterable[str] = ()) -> str:
    """`texts` as words and `phrases` in quotes; empty when nothing is left."""
    quoted = [_phrase(text) for text in phrases]
    in_quotes = words_of(" ".join(quoted))
    others = words_of(" ".join(map(_without_scheme, texts)))
    return _joined([*quoted, *(word for word in others if word not in in_quotes)])


def unsent(query: ParsedQuery) -> tuple[str, ...]:
    """The pieces of the question of which a word or a sign that counts cannot be sent: ``-d``, ``R&D``, ``.NET``.

    A letter alone is none: to Omnisearch it is the beginning of nearly any word.
    """
    return tuple(piece for piece in map(_without_scheme, query.pieces) if len(piece) > 1 and _loses(piece))


def in_parts(query: ParsedQuery) -> tuple[str, ...]:
    """The pieces that cannot be sent as they stand, be it only that their parts go as words of their own."""
    pieces = map(_without_scheme, query.pieces)
    return tuple(piece for piece in pieces if len(words(fold(piece))) > 1 or _loses(piece))


def is_quoted(phrase: str) -> bool:
    """True when Omnisearch itself looks for this phrase as it stands."""
    return _phrase(phrase).startswith('"')


def fewer(words: Sequence[str]) -> str:
    """A wider query for when no note has all of `words`: the longest ones; empty when it would be the same."""
    if len(words) <= FEWER_WORDS:
        return ""
    longest = set(sorted(words, key=len, reverse=True)[:FEWER_WORDS])
    return " ".join(word for word in words if word in longest)


def request(host: str, query: str) -> bytes:
    """The HTTP request that asks the server at `host` (``address:port``) for `query`."""
    head = (
        f"GET /search?q={_percent(query)} HTTP/1.1",
        f"Host: {host}",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "Connection: close",
    )
    return ("\r\n".join(head) + "\r\n\r\n").encode("ascii")


def _percent(text: str) -> str:
    data = text.encode("utf-8", "replace")
    return "".join(chr(b) if chr(b).isalnum() and b < 128 else f"%{b:02X}" for b in data)


def _joined(parts: Iterable[str]) -> str:
    """Whole parts only: a query cut in the middle of quotes would mean something else."""
    query = ""
    for part in parts:
        if len(query) + len(part) < MAX_QUERY_CHARS:
            query = f"{query} {part}".strip()
    return query


def _is_part(char: str) -> bool:
    if char < "\x80":
        return char.isalnum() or char in KEEPERS
    return category(char)[0] not in "PZ" and category(char) not in {"Cc", "Cs"}


def _can_be_sent(word: str) -> bool:
    return len(word) > 1 or (word != "" and ord(word) >= FIRST_IDEOGRAPH)


def _phrase(text: str) -> str:
    """Quotes only around plain words: Omnisearch strips ``_`` and ``*`` from notes and would find nothing."""
    words = words_of(text)
    plain = " ".join(normalize("NFC", text).split())
    return f'"{plain}"' if len(words) > 1 and " ".join(words) == plain else " ".join(words)


def _not(text: str) -> str:
    """Only what arrives whole: half of it would keep out what nobody asked to.

    In single quotes, since Omnisearch takes what stands in double ones for a phrase to find as well.
    """
    plain = " ".join(words_of(text))
    if not plain or words(fold(plain)) != words(fold(text)):
        return ""
    return f"-'{plain}'" if " " in plain else f"-{plain}"


def _below(folders: Sequence[str]) -> str:
    """Where to look, so that its cut at fifty files does not fall on others; wider than asked, never narrower.

    Omnisearch compares with the letters of a path as they stand, but takes the accents off those that it is given:
    only letters without are sent.
    """
    parts = [_plainest(folder) for folder in folders]
    return " ".join(f"path:'{part}'" for part in parts) if all(parts) else ""


def _plainest(folder: str) -> str:
    """The longest part of a folder's path that Omnisearch would find in it; empty when there is none worth it."""
    path = normalize("NFC", folder.strip("/ ")).lower() + "/"
    runs = "".join(char if _stays(char) else "\n" for char in path).split("\n")
    longest = max((run.strip(" ") for run in runs), key=len)
    return longest if len(longest.strip("/ ")) >= SHORTEST_FOLDER else ""


def _stays(char: str) -> bool:
    return char in FOLDER_SIGNS or (category(char) in {"Ll", "Lo", "Nd"} and normalize("NFD", char) == char)


def _loses(piece: str) -> bool:
    """Whether a word or a sign stays behind; what an apostrophe cuts off (``what's``, ``d'eau``) does not count."""
    plain = _ELISION.now.sub(" ", piece)
    arriving = fold(" ".join(words_of(plain)))
    gone = set(words(fold(plain))) - set(words(arriving))
    return bool(gone) or not set(symbol_names(fold(plain))) <= set(symbol_names(arriving))


def _without_scheme(text: str) -> str:
    """``https://host/page`` as ``host/page``: the scheme is in every note with a link and makes the query very slow."""
    return " ".join(part.partition("://")[2] or part for part in text.split())
