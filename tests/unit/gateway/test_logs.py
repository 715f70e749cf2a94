"""The log on standard error: one line an event, whoever speaks."""

from __future__ import annotations

import logging

import pytest

from gateway.logs import logging_to_stderr


def test_what_the_search_says_in_a_sentence_becomes_an_event(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr("info"):
        logging.getLogger("meshseek.search").warning("index kept in memory, %s is full\x1b[2J", "/var")
        logging.getLogger("meshseek.app").info("event=start config=%s", "x.toml")
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("WARNING event=search_trouble why='index kept in memory, /var is full\\\\x1b[2J'")
    assert second.endswith("INFO event=start config=x.toml")
