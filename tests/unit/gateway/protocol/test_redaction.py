"""What is blanked, what is left alone, and which patterns of the owner's are taken."""

from __future__ import annotations

import re
import time

import pytest

from gateway.protocol.redaction import BLANK, BadPattern, Redactor, compile_pattern

DEFAULT = Redactor()

A_32_BYTE_KEY = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Password: hunter2", "Password: [hidden]"),
        ("my PASSWORD = correct horse battery\nnext line", "my PASSWORD = [hidden]\nnext line"),
        ("**Passwort:** geheim1", "**Passwort:** [hidden]"),
        ("Password:\nhunter2\nrest", "Password:\n[hidden]\nrest"),
        ("пароль: тайна", "пароль: [hidden]"),
        ("密码:一二三", "密码:[hidden]"),
        ("| password | hunter2 | router |", "| password | [hidden]| router |"),
        ("WiFi key: blue-sky-17", "WiFi key: [hidden]"),
        ("door code: 4711", "door code: [hidden]"),
        ("PIN 4711, upstairs", "PIN [hidden], upstairs"),
        ("PUK: 12345678", "PUK: [hidden]"),
        ("api_key=abcd1234efgh", "api_key=[hidden]"),
        ("token: 9f8e7d6c5b", "token: [hidden]"),
        ("use ghp_abcdefghijklmnop0123 here", "use [hidden] here"),
        ("AKIAABCDEFGHIJKLMNOP", "[hidden]"),
        ("sk-proj-abcdefghijkl0123456789", "[hidden]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl end", "[hidden] end"),
        ("otpauth://totp/x?secret=ABC", "[hidden]"),
        ("https://me:pa55@example.org/x", "https://[hidden]@example.org/x"),
        (f"radio {A_32_BYTE_KEY} ok", "radio [hidden] ok"),
        ("key " + "0f" * 32, "key [hidden]"),
        ("card 4111 1111 1111 1111 exp", "card [hidden] exp"),
        ("card 4111-1111-1111-1111", "card [hidden]"),
        ("378282246310005", "[hidden]"),
        ("17 4111 1111 1111 1111 7", "17 [hidden] 7"),
    ],
)
def test_a_secret_is_blanked_and_its_label_stays(text: str, expected: str) -> None:
    assert DEFAULT.redact(text) == expected


def test_a_private_key_is_blanked_from_its_first_to_its_last_line() -> None:
    block = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\naC1rZXk=\n-----END OPENSSH PRIVATE KEY-----\nafter"
    blanked = DEFAULT.redact(block)
    assert "b3Blbn" not in blanked
    assert "aC1rZXk" not in blanked
    assert blanked.endswith("after")


def test_a_private_key_without_an_end_is_blanked_to_the_end_of_the_text() -> None:
    assert DEFAULT.redact("x -----BEGIN RSA PRIVATE KEY----- MIIE\nmore") == "x -----BEGIN RSA PRIVATE KEY-----[hidden]"


@pytest.mark.parametrize(
    "text",
    [
        "The password policy was changed in May.",
        "Ring +49 30 1234567 or +1 212 555 0123 on 2026-05-17 at 14:30.",
        "order 4111 1111 1111 1112",  # fails the check digit
        "secret ingredient: butter",
        "The token ring network",
        "pin the map at 52.5200, 13.4050",
        "git show 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
        "https://example.org/a:b/c@d",
        "1234567890123456789012345678901234567890",
        "keys: see the drawer",
        "longitude 3.4111111111111111",
        "photo%204111111111111111.png",
        "run it with no password:\n```\nmysql\n```",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert DEFAULT.redact(text) == text


def test_the_place_of_a_passage_moves_with_the_blanks() -> None:
    text = "password: hunter2hunter2\nthe pump is north"
    blanked, index = DEFAULT.redact_at(text, text.index("pump"))
    assert blanked[index:] == "pump is north"


def test_a_place_inside_a_secret_moves_to_its_blank() -> None:
    blanked, index = DEFAULT.redact_at("password: hunter2hunter2 x\ny", 15)
    assert blanked[index:] == f"{BLANK}\ny"


def test_without_the_defaults_only_the_own_patterns_blank() -> None:
    own = Redactor([r"\bINV-\d{4,8}\b"], defaults=False)
    assert own.redact("INV-12345 password: x 4111111111111111") == "[hidden] password: x 4111111111111111"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"\bSN:? ?[A-Z]{2}\d{6}\b", "SN: AB123456.", "[hidden]."),
        (r"tok-[a-z0-9]+", "a tok-abc99 b", "a [hidden] b"),
        (r"[Gg]randma's address", "grandma's address", "[hidden]"),
        (r"\d{3}-\d{2}-\d{4}", "123-45-6789", "[hidden]"),
        (r"Straße \d{1,4}", "Straße 17", "[hidden]"),
        (r"a\.b\(c\)", "a.b(c)", "[hidden]"),
    ],
)
def test_a_plain_pattern_of_the_owners_works(pattern: str, text: str, expected: str) -> None:
    assert Redactor([pattern], defaults=False).redact(text) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "(a+)+b",
        "a|b",
        "(?:x)",
        r"\w+x",
        r"a*",
        r"a?b?",
        r"\d{1,5}\d",
        r"\d{1,5}x?\d",
        r".{1,20}end",
        r"[a-f]{1,9}[c-z]",
        r"x{1,65}y",
        r"x{65}",
        r"x{2,1}",
        r"(?=x)",
        r"\1",
        r"^x",
        r"x$",
        "[a",
        "[z-a]",
        "[a--b]",
        "x" * 201,
        ("a{64}b{64}" * 5),
        r"x++",
        r"\d+\b",
        r"\x41",
    ],
)
def test_a_pattern_that_could_run_long_or_say_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern) as caught:
        compile_pattern(pattern)
    assert str(caught.value)


def test_a_pattern_that_fits_the_blank_itself_does_not_tear_it_up() -> None:
    assert Redactor(["[a-f]{3}"]).redact("[hidden] abc") == "[hidden] [hidden]"


def test_too_many_patterns_are_refused() -> None:
    with pytest.raises(BadPattern, match="51"):
        Redactor(["x"] * 51)


def test_a_taken_pattern_is_the_same_in_the_standard_syntax() -> None:
    assert compile_pattern(r"\bID-[0-9]{1,9}").pattern == re.compile(r"\bID-[0-9]{1,9}").pattern


HOSTILE = [
    "password" * 5000,
    "password:" * 5000,
    "1 " * 20000,
    "1" * 40000,
    "4111 " * 7500,
    "BEGIN PRIVATE KEY" * 2250,
    "BEGIN " + "A" * 40000,
    "://" * 12500,
    "://a:" * 7500,
    "eyJ" * 12500,
    "eyJaaaaaaaa." * 3250,
    "a" * 40000,
    "\n:|" * 12500,
    "12345678:" * 4250,
    "secret: " + "a" * 40000,
    "pin " * 10000,
    "sk-" * 12500,
]


@pytest.mark.parametrize("text", HOSTILE, ids=[t[:12] for t in HOSTILE])
def test_time_grows_with_the_text_and_no_faster(text: str) -> None:
    """Generous, for a busy machine: quadratic time would take much longer for these 40,000 characters."""
    patterns = [r"\ba{1,64}:", r"1{1,64}x", r":[a-z]*"]
    started = time.process_time()
    Redactor(patterns).redact(text)
    assert time.process_time() - started < 2.0
