"""Blanks secrets in anything that is about to be sent: keys, tokens, card numbers, passwords. Pure, linear in the text.

This is a net below the real protection (notes that are private or excluded), and it has holes: a password in
the middle of a sentence looks like any word. Blank a note's whole text before an excerpt is cut from it; a secret
cut in half is not recognised any more.

The owner's own patterns are a small part of regular expressions: characters, ``\\d \\w \\s`` (and ``\\D \\W \\S``),
``.``, classes in brackets, each with ``?``, ``{n}``, ``{n,m}``; ``\\b`` at either end; ``+``, ``*`` or ``{n,}`` on the
last item only. What follows a repetition must not be something that the repetition could take itself. There are no
groups and no ``|``: give several patterns instead. So every pattern runs in linear time, on any text.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from typing import NamedTuple

BLANK = "[hidden]"
_BLANK = re.compile(re.escape(BLANK))

MAX_PATTERNS = 50
MAX_PATTERN_CHARS = 200
MAX_REPEAT = 64
"""Largest count of a repetition that something follows."""

MAX_LENGTH = 512
"""Longest text that a pattern looks at, a last repetition aside."""

_SIGN = r"[*_`\"' \t]{0,4}[:=|][*_`\"'| \t]{0,6}"
_VALUE = _SIGN + r"(?:\n[ \t]{0,8})?(?P<value>(?!```)(?=\S{3})[^\s|][^\n|]*)"
"""The rest of the line after a label; or the next line, when the label stands alone."""

_PASSWORD_WORDS = (
    r"passwords?|passwd|passphrase|passcode|pwd|passwort|kennwort|mot de passe|mdp|contrase(?:ñ|n)a|wachtwoord|"
    r"senha|has[lł]o|heslo|lösenord|salasana|parola|пароль|密码|密碼|パスワード|비밀번호|"
    r"seed phrase|recovery (?:phrase|key|code|seed)|wpa2? key|wi-?fi key|wlan-?(?:key|schlüssel)|psk|"
    r"(?:door|alarm|safe|lock|gate|zugangs|tür) ?code"
)
_PASSWORD_HINTS = (
    "pass kennwort pwd mdp contrase wachtwoord senha haslo hasło heslo lösenord parola пароль 密码 密碼 パスワード "
    "비밀번호 phrase recovery wpa wifi wi-fi wlan psk code salasana"
)
_KEY_WORDS = r"secrets?|tokens?|(?:api|access|private|secret|auth|encryption|license)[ _-]?keys?|client[ _-]secret"
_TOKEN_STARTS = (
    r"gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|[sr]k_(?:live|test)_|npm_|pypi-Ag|hf_|dop_v1_|ya29\.|SG\.|shpat_|"
    r"AGE-SECRET-KEY-1|nsec1|[xyz]prv"
)
_TOKEN_HINTS = "gho_ ghp_ ghs_ ghu_ ghr_ _pat_ glpat- xox k_ npm_ pypi-ag hf_ dop_v1_ ya29. sg. shpat_ age- nsec1 prv"


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    """Its group `value`, if it has one, is what is blanked; else the whole match."""
    hints: tuple[str, ...] = ()
    """Every match contains one of these in lower case: a quick look saves the slow one. Empty: always look."""


def _rule(pattern: str, hints: str = "") -> _Rule:
    return _Rule(re.compile(pattern), tuple(hints.split()))


_DEFAULTS = (
    _rule(
        r"BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-{0,10}(?P<value>(?s:.)*?)(?:END [A-Z0-9 ]{0,30}PRIVATE KEY|\Z)",
        "private",
    ),
    _rule(rf"(?<![A-Za-z0-9])(?:{_TOKEN_STARTS})[A-Za-z0-9_.=-]{{16,}}", _TOKEN_HINTS),
    _rule(
        r"(?<![A-Za-z0-9])(?:(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{16,}|sk-[A-Za-z0-9_-]{16,})",
        "akia asia aiza sk-",
    ),
    _rule(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}", "eyj"),  # JSON web token
    _rule(r"[0-9](?<![0-9][0-9])[0-9]{7,9}:[A-Za-z0-9_-]{30,}", ":"),  # chat bot token
    _rule(r"otpauth://[^\s]+"),
    _rule(r"(?<=://)[^\s/:@]{1,100}:[^\s/@]{1,100}(?=@)", "://"),  # name and password in an address
    _rule(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{43}=(?![A-Za-z0-9+/=])", "="),  # 32 bytes in base64
    _rule(r"(?<![A-Za-z0-9])(?:0x)?[0-9A-Fa-f]{64}(?![A-Za-z0-9])"),  # 32 bytes in hexadecimal
    _rule(rf"(?i)(?<!\w)(?:{_PASSWORD_WORDS}){_VALUE}", _PASSWORD_HINTS),
    _rule(rf"(?i)(?<!\w)(?:{_KEY_WORDS}){_SIGN}(?P<value>(?=\S{{0,60}}\d)\S{{8,}})", "secret token key"),
    _rule(
        r"(?i)(?<!\w)(?:pin|puk|cvv|cvc|tan)(?:[ -]?(?:code|nr\.?|no\.?))?[*_`\"' \t]{0,4}[:=| ][*_`\"'| \t]{0,6}"
        r"(?P<value>[0-9]{3,12})(?![0-9])",
        "pin puk cvv cvc tan",
    ),
)

_DIGIT_RUN = re.compile(r"[0-9](?:[ \xa0-]?[0-9]){13,}")
_CARD_LENGTHS = (14, 15, 16, 19)
"""Digits on payment cards in use (ISO/IEC 7812 allows 8 to 19)."""
_PART_OF_MORE_BEFORE = re.compile(r"[\w.,/%=]")
_PART_OF_MORE_AFTER = re.compile(r"[\w%]|[.,][0-9]")
"""Digits beside these belong to a decimal number, an address or a name."""


class BadPattern(ValueError):
    """A pattern of the owner's outside the restricted syntax; the message says what and where."""


class Redactor:
    """The patterns, compiled once. Raises BadPattern."""

    def __init__(self, patterns: Iterable[str] = (), *, defaults: bool = True) -> None:
        own = tuple(patterns)
        if len(own) > MAX_PATTERNS:
            raise BadPattern(f"{len(own)} patterns; at most {MAX_PATTERNS} are allowed")
        self._rules = (_DEFAULTS if defaults else ()) + tuple(_Rule(compile_pattern(p)) for p in own)
        self._finds_cards = defaults

    def redact(self, text: str) -> str:
        """`text` with each secret replaced by `BLANK`."""
        return self.redact_at(text, 0)[0]

    def redact_at(self, text: str, index: int) -> tuple[str, int]:
        """The same, and where the character at `index` has gone; inside a secret, where its blank begins."""
        pieces: list[str] = []
        done = moved = 0
        for start, end in self._secrets(text):
            pieces += [text[done:start], BLANK]
            if start < index:
                moved += start - index if index < end else len(BLANK) - (end - start)
            done = end
        return "".join((*pieces, text[done:])), index + moved

    def _secrets(self, text: str) -> list[tuple[int, int]]:
        """Spans to blank, in order and apart from one another."""
        lower = text.lower()
        spans = [
            match.span("value" if "value" in rule.pattern.groupindex else 0)
            for rule in self._rules
            if not rule.hints or any(hint in lower for hint in rule.hints)
            for match in rule.pattern.finditer(text)
        ]
        if self._finds_cards:
            spans.extend(_cards(text))
        if spans:  # Else a pattern that fits letters of the blank itself would tear it up the second time.
            spans.extend(blank.span() for blank in _BLANK.finditer(text))
        apart: list[tuple[int, int]] = []
        for start, end in sorted(span for span in spans if span[0] < span[1]):
            if apart and start <= apart[-1][1]:
                apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
            else:
                apart.append((start, end))
        return apart


def _cards(text: str) -> Iterator[tuple[int, int]]:
    """Each row of whole groups of digits that is a card number, wherever in a longer row it stands."""
    for run in _DIGIT_RUN.finditer(text):
        groups = [(run.start() + g.start(), run.start() + g.end()) for g in re.finditer("[0-9]+", run[0])]
        for first, (start, _) in enumerate(groups):
            if start and _PART_OF_MORE_BEFORE.match(text, start - 1):
                continue
            for end in _card_ends(text, groups[first : first + max(_CARD_LENGTHS)]):
                yield start, end


def _card_ends(text: str, groups: list[tuple[int, int]]) -> Iterator[int]:
    digits = ""
    for start, end in groups:
        if len(digits) + end - start > max(_CARD_LENGTHS):
            return
        digits += text[start:end]
        if _is_card(digits) and not _PART_OF_MORE_AFTER.match(text, end):
            yield end


def _is_card(digits: str) -> bool:
    return len(digits) in _CARD_LENGTHS and digits[0] in "23456" and _passes_luhn(digits)


def _passes_luhn(digits: str) -> bool:
    """The check digit of ISO/IEC 7812-1, annex B."""
    doubled = (sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return (sum(doubled) + sum(int(d) for d in digits[::-2])) % 10 == 0


class _Item(NamedTuple):
    """One character of a pattern, or what may stand for it, and how often."""

    source: str
    least: int
    most: int
    """-1 for without limit."""

    @property
    def varies(self) -> bool:
        return self.least != self.most


_TOKEN = re.compile(
    r"(?P<item>\\[dwsDWS]|\\[^A-Za-z0-9]|\[\^?(?:\\[dwsDWS]|\\[^A-Za-z0-9]|[^\\\[\]])+\]|[^\\\[\](){}|?*+^$])"
    r"(?P<times>\?|\*|\+|\{[0-9]{1,4}(?:,[0-9]{0,4})?\})?"
)
_PROBES = string.printable + "éÉßäñłčøαωДжאش٣०中あ가\u00a0\u2003—…“€😀"


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The owner's pattern, ready to run in linear time.

    Raises BadPattern when it is outside the syntax in the module's first lines, could match nothing at all, or
    repeats something that could also be what follows.
    """
    if not 0 < len(pattern) <= MAX_PATTERN_CHARS:
        raise BadPattern(f"a pattern has 1 to {MAX_PATTERN_CHARS} characters, not {len(pattern)}")
    body = pattern.removeprefix(r"\b")
    ends_at_border = body.endswith(r"\b") and not body.endswith(r"\\b")
    items = list(_items(body.removesuffix(r"\b") if ends_at_border else body, pattern))
    if not any(item.least for item in items):
        raise BadPattern(f"{pattern!r} would match an empty text")
    _expect_bounded(items, ends_at_border, pattern)
    _expect_apart(items, pattern)
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BadPattern(f"{pattern!r}: {error}") from error


def _items(body: str, pattern: str) -> Iterator[_Item]:
    at = 0
    while at < len(body):
        token = _TOKEN.match(body, at)
        if token is None or any(twice in token["item"] for twice in ("--", "&&", "~~", "||")):
            raise BadPattern(f"{pattern!r}: {body[at : at + 10]!r} is not allowed here (no groups, no |)")
        at = token.end()
        yield _Item(token["item"], *_times(token["times"] or "{1}"))


def _times(times: str) -> tuple[int, int]:
    named = {"?": (0, 1), "*": (0, -1), "+": (1, -1)}
    if times in named:
        return named[times]
    least, comma, most = times.strip("{}").partition(",")
    return int(least), (int(most) if most else -1) if comma else int(least)


def _expect_bounded(items: list[_Item], ends_at_border: bool, pattern: str) -> None:
    last = len(items) if ends_at_border else len(items) - 1
    for i, item in enumerate(items):
        if item.least > MAX_REPEAT or (i < last and not 0 <= item.most <= MAX_REPEAT):
            raise BadPattern(
                f"{pattern!r}: {item.source!r} repeats too often; only the last item may repeat without limit, "
                f"others at most {MAX_REPEAT} times: {item.source}{{{min(item.least, MAX_REPEAT)},{MAX_REPEAT}}}"
            )
    if sum(item.most for item in items[:last]) > MAX_LENGTH:
        raise BadPattern(f"{pattern!r} is longer than {MAX_LENGTH} characters of text")


def _expect_apart(items: list[_Item], pattern: str) -> None:
    """Nothing to go back for: so the time is at most the pattern's own length at each place in the text."""
    alphabet = "".join(dict.fromkeys(_PROBES + pattern + pattern.swapcase()))
    sets = [_taken_by(item, alphabet, pattern) for item in items]
    for i, item in enumerate(items):
        for j in range(i + 1, len(items) if item.varies else 0):
            if sets[i] & sets[j]:
                raise BadPattern(f"{pattern!r}: {items[j].source!r} follows a repetition that could take it too")
            if items[j].least:
                break


def _taken_by(item: _Item, alphabet: str, pattern: str) -> set[str]:
    try:
        return set(re.findall(item.source, alphabet, re.DOTALL))
    except re.error as error:
        raise BadPattern(f"{pattern!r}: {error}") from error
