"""Trust under attack: whatever is sent, only the allowed row gets in, and nothing that acts gets through."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.protocol.admission import (
    MAX_TEXT_BYTES,
    AccessRules,
    Admitted,
    Handheld,
    Refused,
    explain,
    fingerprint,
    judge,
)
from gateway.protocol.inert import for_air, for_log, for_terminal
from gateway.protocol.messages import BROADCAST, ChannelInfo, ChannelPrivacy, IncomingText, RadioInfo
from gateway.protocol.redaction import BLANK, BadPattern, Redactor, compile_pattern

US, ANNA, BEN = 0xAA01, 0xBB02, 0xBB03
ANNAS_KEY, BENS_KEY = b"a" * 32, b"b" * 32

nodes = st.one_of(st.sampled_from((US, ANNA, BEN, 0, BROADCAST, -1, 2**40)), st.integers(0, BROADCAST))
keys = st.one_of(st.none(), st.sampled_from((ANNAS_KEY, BENS_KEY, bytes(32))), st.binary(max_size=40))
transports = st.one_of(st.sampled_from(("TRANSPORT_LORA", "TRANSPORT_MQTT", "")), st.text(max_size=20))
hostile = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\x1b\x9b[\n\r\t\x00\x7f\u202e\u2066\u200b\u200c\u200d\ufe0f\u0301\u093f\u094dकم👩🏽❤?-=: 4|`*"
        ),
    ),
    max_size=60,
)
payloads = st.one_of(st.binary(max_size=260), hostile.map(lambda text: text.encode("utf-8", "replace")))
channels = st.builds(
    ChannelInfo,
    index=st.integers(-1, 8),
    name=st.sampled_from(("Family", "", "Open")),
    privacy=st.sampled_from(ChannelPrivacy),
    uplink=st.booleans(),
)
radios = st.builds(
    RadioInfo,
    node=st.sampled_from((US, US, US, 0, BROADCAST)),
    firmware=st.sampled_from(("2.7.26.54e0d8d", "2.6.11", "", "x.y.z", "2.7")),
    is_licensed=st.booleans(),
    network_protocols=st.integers(0, 1),
    channels=st.lists(channels, max_size=4).map(tuple),
)
rules_of_all_kinds = st.builds(
    AccessRules,
    handhelds=st.sampled_from(((), (Handheld(ANNA, ANNAS_KEY, "Anna"), Handheld(BEN, BENS_KEY)))),
    channels=st.sampled_from(((), ("Family",), ("Family", "", "Open"))),
    channel_prefix=st.sampled_from(("?", "", "ask ")),
    channel_reply=st.sampled_from(("direct", "channel")),
    open=st.booleans(),
    shared_folders=st.sampled_from(((), ("Public",))),
)


def _text_or_none(payload: bytes) -> str | None:
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError:
        return None


GOOD = IncomingText(7, ANNA, US, 0, b"pump", "pump", ANNAS_KEY, transport="TRANSPORT_LORA")
GOOD_ON_CHANNEL = replace(GOOD, destination=BROADCAST, channel=1, payload=b"? pump", text="? pump", key=None)
CHANGES: dict[str, st.SearchStrategy[object]] = {
    "sender": nodes,
    "destination": nodes,
    "channel": st.integers(-1, 8),
    "text": st.one_of(st.none(), hostile),
    "payload": payloads,
    "key": keys,
    "via_mqtt": st.booleans(),
    "transport": transports,
    "is_reaction": st.booleans(),
}


@st.composite
def incoming(draw: st.DrawFn) -> IncomingText:
    """Near misses: a good text with up to three of its facts changed; far ones are in the table of the unit tests."""
    names = draw(st.lists(st.sampled_from(sorted(CHANGES)), max_size=3, unique=True))
    changes = {name: draw(CHANGES[name]) for name in names}
    if "payload" in changes and "text" not in changes:
        changes["text"] = _text_or_none(draw(payloads))
    return replace(draw(st.sampled_from((GOOD, GOOD_ON_CHANNEL))), **changes)  # type: ignore[arg-type]


@given(incoming(), rules_of_all_kinds, radios)
@settings(max_examples=100, deadline=None)
def test_any_text_is_admitted_or_refused_and_the_refusal_can_be_told(
    text: IncomingText, rules: AccessRules, radio: RadioInfo
) -> None:
    verdict = judge(text, rules, radio)
    if isinstance(verdict, Refused):
        assert for_log(explain(verdict), 2_000) == explain(verdict)
        return
    assert verdict.text.strip() == verdict.text != ""
    assert for_air(verdict.text) == verdict.text
    assert len(verdict.text.encode()) <= MAX_TEXT_BYTES
    assert not text.via_mqtt
    assert text.sender not in (0, radio.node, BROADCAST)


@given(incoming(), radios)
@settings(max_examples=100, deadline=None)
def test_without_channels_and_open_only_a_handheld_with_its_own_key_is_admitted(
    text: IncomingText, radio: RadioInfo
) -> None:
    rules = AccessRules(handhelds=(Handheld(ANNA, ANNAS_KEY, "Anna"), Handheld(BEN, BENS_KEY)))
    verdict = judge(text, rules, radio)
    if isinstance(verdict, Admitted):
        assert (text.sender, text.key) in {(ANNA, ANNAS_KEY), (BEN, BENS_KEY)}
        assert text.destination == radio.node
        assert verdict.key == text.key
        assert verdict.channel is None


@given(incoming(), rules_of_all_kinds, radios)
@settings(max_examples=100, deadline=None)
def test_an_answer_without_a_key_goes_to_a_private_channel_of_the_config_only(
    text: IncomingText, rules: AccessRules, radio: RadioInfo
) -> None:
    verdict = judge(text, rules, radio)
    if isinstance(verdict, Admitted) and verdict.key is None:
        channel = next(c for c in radio.channels if c.index == verdict.channel)
        assert rules.channel_reply == "channel"
        assert channel.name in rules.channels
        assert channel.privacy is ChannelPrivacy.PRIVATE
        assert not channel.uplink
        assert verdict.folders == rules.shared_folders


FORBIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
DRAWN_FORMAT = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")


@pytest.mark.parametrize("make_inert", [for_air, for_log, for_terminal])
@given(hostile)
@settings(max_examples=100, deadline=None)
def test_inert_text_neither_acts_nor_hides(make_inert: Callable[[str], str], text: str) -> None:
    inert = make_inert(text)
    assert make_inert(inert) == inert
    for place, char in enumerate(inert):
        if char in "\u200c\u200d":
            before, after = inert[place - 1 : place], inert[place + 1 : place + 2]
            assert before
            assert after
            assert unicodedata.category(before)[0] not in "ZC"
            assert unicodedata.category(after)[0] in "LSMN"
        elif not (char == "\n" and make_inert is for_air):
            assert unicodedata.category(char) not in FORBIDDEN_CATEGORIES or char in DRAWN_FORMAT
    inert.encode("utf-8")


@given(hostile)
@settings(max_examples=200, deadline=None)
def test_text_for_the_air_never_grows(text: str) -> None:
    assert len(for_air(text).encode()) <= len(text.encode("utf-8", "surrogatepass"))


secrets = st.sampled_from(
    (
        "4111 1111 1111 1111",
        "ghp_abcdefghijklmnopqrst",
        "sk-abcdefghijklmnop0123",
        "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=",
        "0f" * 32,
        "otpauth://totp/abcdefgh",
        "password: correcthorse",
    )
)
ordinary = st.text(st.sampled_from("abc XYZ.,\n(äж水)"), max_size=30)


@given(ordinary, secrets, ordinary, st.integers(0, 90))
@settings(max_examples=100, deadline=None)
def test_a_secret_between_any_words_is_blanked_and_the_place_kept(
    before: str, secret: str, after: str, index: int
) -> None:
    text = f"{before} {secret}\n{after}"
    index = min(index, len(text))
    redactor = Redactor()
    blanked, moved = redactor.redact_at(text, index)
    assert blanked == redactor.redact(text) == redactor.redact(blanked)
    assert secret.removeprefix("password: ") not in blanked
    assert BLANK in blanked
    if index <= len(before):
        assert blanked[:moved] == before[:index]
    if index > len(text) - len(after):
        assert blanked[moved:] == text[index:]


@given(hostile, st.integers(0, 80))
@settings(max_examples=200, deadline=None)
def test_redacting_any_text_twice_is_redacting_it_once(text: str, index: int) -> None:
    redactor = Redactor()
    blanked, moved = redactor.redact_at(text, min(index, len(text)))
    assert redactor.redact(blanked) == blanked
    assert 0 <= moved <= len(blanked)


@given(st.text(st.sampled_from(r"ab\dws.[]^-{},019?*+()|$x") | st.characters(), max_size=25))
@settings(max_examples=200, deadline=None)
def test_any_pattern_is_refused_or_matches_something(pattern: str) -> None:
    try:
        compiled = compile_pattern(pattern)
    except BadPattern:
        return
    assert compiled.search("") is None


@given(st.binary(max_size=64))
@settings(max_examples=50, deadline=None)
def test_a_fingerprint_has_one_form(key: bytes) -> None:
    assert len(fingerprint(key)) == 19
    assert [len(group) for group in fingerprint(key).split(" ")] == [4, 4, 4, 4]
