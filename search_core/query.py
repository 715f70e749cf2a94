"""What the asker typed, taken apart. Pure; never an error, whatever the text.

The language, the same on every engine:

* words: notes with all of them come first, notes with some follow;
* ``"exact phrase"``: only notes with these words side by side. A quote that is never closed is nothing;
* ``-word`` or ``-"two words"``: no notes with it. Only where a single dash follows white space and is followed by a
  letter and at least two more letters or digits, and where another word is left to look for: so ``docker run -d``,
  ``ls -la``, ``--all-namespaces``, ``LTO-4`` and ``-5`` are looked for as they stand;
* ``in:Folder``, ``path:Folder/Sub``, ``in:"My Folder"``: only notes in or below it, whatever its case.

All else is literal. User text reaches the database's query language only through `quoted`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from search_core.terms import fold, words

MAX_CHARACTERS = 1_000
"""More is not read; a text message holds at most 232 bytes."""
MAX_PIECES = 32
_QUOTES = str.maketrans("“”„‟«»＂", '"' * 7)
_TOKEN = re.compile(
    r"""
    (?P<filter>in|path):(?:"(?P<quoted_folder>[^"]*)"|(?P<folder>[^\s"]+))
  | -"(?P<excluded_phrase>[^"]+)"
  | (?<!\S)"(?P<phrase>[^"]*)"(?!\w)
  | -(?P<excluded>[^\W\d_][^\W_]{2,}|[^\x00-\x7f]\w*)(?!\S)
  | (?P<word>\S+)
""",
    re.X | re.I,
)


class ParsedQuery(NamedTuple):
    """One question, taken apart. All texts as typed unless said otherwise."""

    raw: str
    pieces: tuple[str, ...]
    """The words to look for, in order, those of phrases included."""
    phrases: tuple[str, ...] = ()
    """Each must stand in the note."""
    excluded: tuple[str, ...] = ()
    """None may stand in the note: words and phrases."""
    folders: tuple[str, ...] = ()
    """Only notes in or below one of these."""

    @property
    def text(self) -> str:
        """The words to look for, without operators."""
        return " ".join(self.pieces)

    @property
    def folded_words(self) -> tuple[str, ...]:
        """`text` as the index spells it."""
        return tuple(words(fold(self.text)))


def parse(raw: str) -> ParsedQuery:
    """Take a question apart."""
    text = raw[:MAX_CHARACTERS].replace("\0", " ").translate(_QUOTES)
    pieces: list[str] = []
    phrases: list[str] = []
    excluded: list[str] = []
    folders: list[str] = []
    for start, match in _tokens(text):
        folder = (match["quoted_folder"] or match["folder"] or "").strip("/ ")
        out = match["excluded"] or match["excluded_phrase"]
        if folder:
            folders.append(folder)
        elif out and words(fold(out)):
            excluded.append(out)
        elif match["phrase"] is not None:
            if words(fold(match["phrase"])):
                phrases.append(match["phrase"])
                pieces += match["phrase"].split()
        else:
            pieces.append(text[start : match.end()].replace('"', " ").strip())
    pieces = [piece for piece in pieces if words(fold(piece)) or piece.strip("\"'")][:MAX_PIECES]
    if not any(words(fold(piece)) for piece in pieces):
        literal = (piece for piece in text.replace('"', " ").split() if words(fold(piece)))
        return ParsedQuery(raw, () if folders else tuple(literal)[:MAX_PIECES], folders=tuple(folders))
    return ParsedQuery(raw, tuple(pieces), tuple(phrases), tuple(excluded), tuple(folders))


def _tokens(text: str) -> list[tuple[int, re.Match[str]]]:
    found: list[tuple[int, re.Match[str]]] = []
    place = 0
    while True:
        while place < len(text) and text[place].isspace():
            place += 1
        match = _TOKEN.match(text, place)
        if match is None:
            return found
        found.append((place, match))
        place = match.end()


def literally(query: ParsedQuery) -> ParsedQuery:
    """The same question with its exclusions looked for instead: for when they left nothing."""
    return query._replace(pieces=query.pieces + query.excluded, excluded=())


def quoted(text: str) -> str:
    """Folded words as a phrase of the database's query language; the only way in."""
    return '"' + text.replace('"', '""') + '"'


def any_of(texts: list[str]) -> str:
    """An expression that matches any of the phrases."""
    return "(" + " OR ".join(map(quoted, texts)) + ")"
