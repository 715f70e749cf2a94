"""Turns literal words into a query that Omnisearch reads the same way. Pure.

Omnisearch reads a leading ``-`` as "not", a leading ``.`` or ``ext:`` as a file type, ``path:`` as a folder, both
kinds of quotes as phrases and ``\\`` as an escape. To us those are plain characters of the text that
was typed, so they never reach it. A word of one letter can make it hang for good (every word of the vault
that begins so becomes part of one regular expression), so those are left out as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from unicodedata import category, normalize

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


def words_of(text: str) -> tuple[str, ...]:
    """The words of literal `text` as Omnisearch's index has them: each once, in order, at most `MAX_WORDS`."""
    spaced = "".join(c if _is_part(c) else " " for c in normalize("NFC", text))
    trimmed = (word.lstrip("+-$~").rstrip("-$~")[:MAX_WORD_CHARS] for word in spaced.split())
    kept = dict.fromkeys(word for word in trimmed if _can_be_sent(word))
    return tuple(kept)[:MAX_WORDS]


def sent(query: ParsedQuery) -> tuple[str, str]:
    """The query for Omnisearch, and a wider one for when that finds nothing; empty when there is nothing to send."""
    fewer_words = "" if query.phrases else fewer(words_of(rewrite(query.pieces)))
    wider = rewrite([fewer_words], (), query.excluded)
    return rewrite(query.pieces, query.phrases, query.excluded), wider


def rewrite(texts: Iterable[str], phrases: Iterable[str] = (), excluded: Iterable[str] = ()) -> str:
    """The query to send: `texts` as words, `phrases` in quotes, `excluded` as "not"; empty when nothing is left."""
    quoted = [_phrase(text) for text in phrases]
    in_quotes = words_of(" ".join(quoted))
    words = words_of(" ".join(_without_scheme(text) for text in texts))
    wanted = [part for part in quoted if part] + [word for word in words if word not in in_quotes]
    if not wanted:
        return ""
    return _joined([*wanted, *(_not(text) for text in excluded if words_of(text))])


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


def _joined(parts: list[str]) -> str:
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
    words = words_of(text)
    return f"-{words[0]}" if len(words) == 1 else '-"' + " ".join(words) + '"'


def _without_scheme(text: str) -> str:
    """``https://host/page`` as ``host/page``: the scheme is in every note with a link and makes the query very slow."""
    return " ".join(part.partition("://")[2] or part for part in text.split())
