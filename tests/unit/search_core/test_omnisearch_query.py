"""What is sent to Omnisearch for text that was typed: never its query language."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_core.omnisearch_query import MAX_QUERY_CHARS, fewer, in_parts, rewrite, sending, unsent, words_of
from search_core.query import parse

CASES = {
    "tape backup": "tape backup",
    "docker run -d": "docker run",
    "kubectl get pods --all-namespaces": "kubectl get pods all-namespaces",
    ".NET": "NET",
    ".gitignore": "gitignore",
    "config .obsidian folder": "config obsidian folder",
    "docker-compose": "docker-compose",
    "path:inbox tape": "path inbox tape",
    "ext:md": "ext md",
    '"sync': "sync",
    "it's R&D": "it",
    "d": "",
    "c d": "",
    '""': "",
    "\\": "",
    "": "",
    "C++ vector": "C++ vector",
    "MY_ENV_VAR": "MY ENV VAR",
    "192.168.0.1": "192 168",
    "aa:bb:cc": "aa bb cc",
    "https://example.org/tape": "example org tape",
    "same same": "same",
    "茶": "茶",
    "東京 会議": "東京 会議",
    "Ёлка йогурт": "Ёлка йогурт",
    "cre\u0300me": "crème",
    "«тёплая» погода…": "тёплая погода",
    "🚀 launch": "🚀 launch",
    "می\u200cخواهم": "می\u200cخواهم",
    "a\0b\ud800c tape": "tape",
}


@pytest.mark.parametrize(("typed", "sent"), CASES.items())
def test_literal_text(typed: str, sent: str) -> None:
    assert rewrite([typed]) == sent


def test_a_phrase_of_plain_words_is_quoted() -> None:
    assert rewrite(["backup"], ["crème brûlée"]) == '"crème brûlée" backup'


@pytest.mark.parametrize("phrase", ["ssh -T git", "snake_case name", "one", 'a "b" cc'])
def test_a_phrase_that_its_filter_would_lose_is_sent_as_words(phrase: str) -> None:
    assert '"' not in rewrite([], [phrase])


def test_a_wider_query_keeps_the_longest_words_in_order() -> None:
    assert fewer(("how", "to", "export", "my", "notes", "PDF")) == "export notes"
    assert fewer(("tape", "backup")) == ""


UNSENT = {
    "docker run -d": ("-d",),
    "R&D lab": ("R&D",),
    ".NET": (".NET",),
    "C# code": ("C#",),
    "C++ code": (),
    "1.2.3": ("1.2.3",),
    "belongs_to": (),
    "vitamin d": (),
    "what's the plan": (),
    "d'eau l’eau": (),
    "https://example.org/tape": (),
    "tape, (disk)!": (),
}


@pytest.mark.parametrize(("typed", "pieces"), UNSENT.items())
def test_what_stays_behind_is_known(typed: str, pieces: tuple[str, ...]) -> None:
    assert unsent(parse(typed)) == pieces
    assert set(pieces) <= set(in_parts(parse(typed)))


def test_what_goes_in_parts_is_known() -> None:
    assert in_parts(parse("belongs_to node.js tape, d")) == ("belongs_to", "node.js", "d")


@given(st.text(max_size=60))
def test_what_must_not_be_there_is_never_sent_alone_or_in_double_quotes(text: str) -> None:
    asked = sending(parse(f'{text} -word -"two words"'))
    assert '-"' not in asked.strict.query
    assert not asked.strict.query.startswith("-")


@given(st.text(max_size=300))
@settings(max_examples=80)
def test_nothing_typed_is_an_operator(text: str) -> None:
    sent = rewrite([text])
    assert len(sent) <= MAX_QUERY_CHARS
    for word in sent.split():
        assert re.match(r"[-.+~$\"'\\]", word) is None
        assert not set(word) & set("\"'\\:._\0")
        assert len(word) > 1 or ord(word) >= 0x2E80


@given(st.text(max_size=100))
def test_rewriting_twice_changes_nothing(text: str) -> None:
    assert words_of(" ".join(words_of(text))) == words_of(text)


def test_ten_thousand_characters_are_bounded() -> None:
    assert len(rewrite(["w" * 10_000])) <= 80
    assert len(rewrite([" ".join(f"word{n}" for n in range(5_000))])) <= MAX_QUERY_CHARS
