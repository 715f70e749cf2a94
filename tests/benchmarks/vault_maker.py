"""Makes a vault to measure with: seeded, 1 kB notes, words as frequent as in a language, nested folders."""

from __future__ import annotations

import random
from bisect import bisect
from itertools import accumulate
from pathlib import Path

WORDS = 12_000
NEW_WORD_SHARE = 0.01
IDENTIFIER_SHARE = 0.004
NOTE_CHARACTERS = 1_000
NOTES_PER_FOLDER = 12
LONG_EVERY = 1_500
"""One note in so many has 100 kB."""
_SYLLABLES = [consonant + vowel for consonant in "bdfklmnrst" for vowel in "aeio"]


class VaultMaker:
    """One vault and the questions that its notes answer."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._words = list(dict.fromkeys(self._word() for _ in range(2 * WORDS)))[:WORDS]
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(len(self._words))))  # Zipf

    def make(self, root: Path, notes: int) -> list[str]:
        """Write the notes; returns mixed questions: title, body, identifier, typo, prefix, whole question."""
        questions: list[str] = []
        for number in range(notes):
            if number % NOTES_PER_FOLDER == 0:
                area, *parts = (self._words[self._random.randrange(5)] for _ in range(self._random.randint(1, 3)))
                folder = root.joinpath(area, *parts, f"f{number // NOTES_PER_FOLDER}")
                folder.mkdir(parents=True, exist_ok=True)
            title = " ".join(self._tokens(3))
            length = 100 * NOTE_CHARACTERS if number % LONG_EVERY == LONG_EVERY - 1 else NOTE_CHARACTERS
            text = self._text(title, length)
            (folder / f"{title} {number}.md").write_text(text)
            if number % max(1, notes // 60) == 0:
                questions += self._questions(title, text)
        self._random.shuffle(questions)
        return questions[:200]

    def _word(self) -> str:
        return "".join(self._random.choice(_SYLLABLES) for _ in range(self._random.randint(2, 5)))

    def _tokens(self, count: int) -> list[str]:
        found = []
        for _ in range(count):
            draw = self._random.random()
            if draw < IDENTIFIER_SHARE:
                found.append(f"{self._word()}_{self._word()}-{self._random.randint(1, 999)}.sh")
            elif draw < IDENTIFIER_SHARE + NEW_WORD_SHARE:
                found.append(self._word() + self._word())
            else:
                found.append(self._words[bisect(self._weights, self._random.random() * self._weights[-1])])
        return found

    def _text(self, title: str, length: int) -> str:
        parts = [f"---\ntags: [{self._words[self._random.randrange(99)]}]\n---\n# {title}\n"]
        size = len(parts[0])
        while size < length:
            kind = self._random.random()
            words = " ".join(self._tokens(self._random.randint(8, 16)))
            part = (
                f"\n## {words[:30]}\n" if kind < 0.1 else f"- {words}\n" if kind < 0.3 else f"{words.capitalize()}.\n"
            )
            if kind > 0.97:
                part = f"```sh\n{words}\n```\n"
            parts.append(part)
            size += len(part)
        return "".join(parts)

    def _questions(self, title: str, text: str) -> list[str]:
        body = [word for word in text.replace(".", " ").split() if word.isalpha() and len(word) > 5]
        one, two = self._random.sample(body, 2)
        place = self._random.randrange(1, len(one) - 1)
        identifiers = [word for word in text.split() if "_" in word]
        return [
            title,
            f"{one} {two}",
            identifiers[0] if identifiers else one,
            f"{one[:place]}{one[place + 1 :]} {two}",
            f"{one[:4]} {two}",
            f"how do i {title} with {one}",
        ]
