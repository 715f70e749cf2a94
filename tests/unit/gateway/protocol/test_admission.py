"""Every combination of the facts about a text, and the one row of the table that lets a direct question in."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from gateway.protocol.admission import (
    AccessRules,
    Admitted,
    Handheld,
    PrivacyRules,
    RefusalReason,
    Refused,
    check_channels,
    explain,
    fingerprint,
    judge,
    scope_for,
)
from gateway.protocol.messages import BROADCAST, ChannelInfo, ChannelPrivacy, IncomingText, RadioInfo
from search_core.notes import Scope

US, ANNA, BEN, STRANGER = 0xAA01, 0xBB02, 0xBB03, 0xCC04
ANNAS_KEY, BENS_KEY, OTHER_KEY = b"a" * 32, b"b" * 32, b"o" * 32

RULES = AccessRules(handhelds=(Handheld(ANNA, ANNAS_KEY, "Anna", ("Trips",)), Handheld(BEN, BENS_KEY)))
RADIO = RadioInfo(
    node=US,
    firmware="2.7.26.54e0d8d",
    channels=(
        ChannelInfo(0, "", ChannelPrivacy.PUBLIC),
        ChannelInfo(1, "Family", ChannelPrivacy.PRIVATE),
        ChannelInfo(2, "Bridge", ChannelPrivacy.PRIVATE, uplink=True),
        ChannelInfo(3, "Open", ChannelPrivacy.PUBLIC),
    ),
)
QUESTION = IncomingText(
    packet_id=7,
    sender=ANNA,
    destination=US,
    channel=0,
    payload=b"well pump",
    text="well pump",
    key=ANNAS_KEY,
    transport="TRANSPORT_LORA",
)
ON_FAMILY = replace(QUESTION, destination=BROADCAST, channel=1, key=None, payload=b"? well pump", text="? well pump")


def refusal(text: IncomingText, rules: AccessRules = RULES, radio: RadioInfo = RADIO) -> str:
    verdict = judge(text, rules, radio)
    assert isinstance(verdict, Refused), verdict
    assert explain(verdict)
    return verdict.reason.value


def admitted(text: IncomingText, rules: AccessRules = RULES, radio: RadioInfo = RADIO) -> Admitted:
    verdict = judge(text, rules, radio)
    assert isinstance(verdict, Admitted), verdict
    return verdict


SENDERS = (ANNA, BEN, STRANGER, US, 0, BROADCAST)
DESTINATIONS = (US, BROADCAST, STRANGER, 0)
KEYS = (ANNAS_KEY, BENS_KEY, OTHER_KEY, None, b"", b"a" * 31, b"a" * 33, bytes(32))
TRANSPORTS = ("TRANSPORT_LORA", "TRANSPORT_MULTICAST_UDP", "TRANSPORT_MQTT", "TRANSPORT_API", "")
WORDS = ("well pump", None, "", "   ", "x" * 234)


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("destination", DESTINATIONS)
def test_of_all_combinations_only_the_right_number_with_its_own_key_by_lora_is_let_in(
    sender: int, destination: int
) -> None:
    rest = itertools.product(KEYS, TRANSPORTS, (False, True), (False, True), (0, 1, 3), WORDS)
    for key, transport, via_mqtt, is_reaction, channel, words in rest:
        text = IncomingText(
            packet_id=7,
            sender=sender,
            destination=destination,
            channel=channel,
            payload=words.encode() if words is not None else b"\xff",
            text=words,
            key=key,
            via_mqtt=via_mqtt,
            transport=transport,
            is_reaction=is_reaction,
        )
        is_the_allowed_row = (
            (sender, key) in {(ANNA, ANNAS_KEY), (BEN, BENS_KEY)}
            and destination == US
            and transport == "TRANSPORT_LORA"
            and not via_mqtt
            and not is_reaction
            and words == "well pump"
        )
        assert isinstance(judge(text, RULES, RADIO), Admitted) == is_the_allowed_row, text


def test_the_answer_is_bound_to_the_configured_key_and_folders() -> None:
    assert admitted(QUESTION) == Admitted(ANNA, "Anna", ANNAS_KEY, ("Trips",), None, "well pump", True)


def test_only_a_handheld_that_proved_its_key_may_write() -> None:
    stranger = replace(QUESTION, sender=STRANGER, key=OTHER_KEY)
    assert admitted(QUESTION).may_write
    assert not admitted(stranger, replace(RULES, open=True)).may_write
    for reply in ("direct", "channel"):
        assert not admitted(ON_FAMILY, replace(FAMILY, channel_reply=reply)).may_write


def test_a_handheld_without_a_name_is_called_by_its_number() -> None:
    assert admitted(replace(QUESTION, sender=BEN, key=BENS_KEY)).name == "!0000bb03"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sender": US}, "own-echo"),
        ({"sender": 0}, "bad-sender"),
        ({"sender": BROADCAST}, "bad-sender"),
        ({"destination": STRANGER}, "not-for-us"),
        ({"destination": 0}, "not-for-us"),
        ({"via_mqtt": True}, "via-mqtt"),
        ({"transport": "TRANSPORT_MULTICAST_UDP"}, "not-lora"),
        ({"transport": ""}, "not-lora"),
        ({"key": None}, "not-encrypted"),
        ({"key": b"short"}, "bad-key"),
        ({"key": bytes(32)}, "bad-key"),
        ({"sender": STRANGER, "key": OTHER_KEY}, "unknown-node"),
        ({"key": OTHER_KEY}, "key-mismatch"),
        ({"key": BENS_KEY}, "key-mismatch"),
        ({"sender": STRANGER}, "number-mismatch"),
        ({"destination": BROADCAST}, "channel-off"),
        ({"is_reaction": True}, "reaction"),
        ({"text": None, "payload": b"\xff\xfe"}, "not-text"),
        ({"text": "", "payload": b""}, "empty"),
        ({"text": "\u200b\x1b \u202e"}, "empty"),
        ({"text": "ä" * 117}, "too-long"),
        ({"payload": b"x" * 234}, "too-long"),
    ],
)
def test_one_wrong_thing_is_refused_with_its_own_reason(change: dict[str, object], reason: str) -> None:
    assert refusal(replace(QUESTION, **change)) == reason  # type: ignore[arg-type]


def test_a_stranger_learns_nothing_of_the_form_of_his_text() -> None:
    """Who is unknown is refused as unknown, whatever he wrote: content is looked at last."""
    assert refusal(replace(QUESTION, sender=STRANGER, key=OTHER_KEY, text=None)) == "unknown-node"


def test_a_changed_key_names_both_keys_and_the_harmless_cause() -> None:
    verdict = judge(replace(QUESTION, key=OTHER_KEY), RULES, RADIO)
    assert isinstance(verdict, Refused)
    assert (verdict.key, verdict.pinned) == (OTHER_KEY, ANNAS_KEY)
    sentence = explain(verdict)
    assert fingerprint(OTHER_KEY) in sentence
    assert fingerprint(ANNAS_KEY) in sentence
    assert "reset" in sentence


def test_a_key_claimed_by_mqtt_or_lan_is_not_kept_for_pairing() -> None:
    for change in ({"via_mqtt": True}, {"transport": "TRANSPORT_MULTICAST_UDP"}):
        verdict = judge(replace(QUESTION, key=OTHER_KEY, **change), RULES, RADIO)
        assert isinstance(verdict, Refused)
        assert verdict.key is None


@pytest.mark.parametrize(
    ("firmware", "lan", "lets_in"),
    [
        ("2.5.20.4c97351", 0, True),
        ("2.7.4", 0, True),
        ("2.7.4", 1, False),
        ("2.7.5.1a2b3c4", 0, False),
        ("2.10.0", 0, False),
        ("", 0, False),
        ("2.7", 0, False),
        ("two.seven.4", 0, False),
        ("²" + ".7.4", 0, False),
    ],
)
def test_a_silent_transport_is_believed_only_of_old_firmware_without_lan(
    firmware: str, lan: int, lets_in: bool
) -> None:
    radio = replace(RADIO, firmware=firmware, network_protocols=lan)
    assert isinstance(judge(replace(QUESTION, transport=""), RULES, radio), Admitted) == lets_in


def test_a_text_is_inert_before_anybody_sees_it() -> None:
    assert admitted(replace(QUESTION, text=" \x1b[31mwell\u202e\r\npump\x00 ")).text == "[31mwell\npump"


def test_a_replay_is_judged_alike_so_that_the_limits_decide_on_it() -> None:
    assert judge(QUESTION, RULES, RADIO) == judge(QUESTION, RULES, RADIO)


def test_two_keys_for_one_number_are_both_good_while_a_handheld_is_replaced() -> None:
    rules = AccessRules(handhelds=(Handheld(ANNA, OTHER_KEY), Handheld(ANNA, ANNAS_KEY, "Anna")))
    assert admitted(QUESTION, rules).key == ANNAS_KEY


def test_nobody_is_let_in_by_default() -> None:
    assert refusal(QUESTION, AccessRules()) == "unknown-node"
    assert refusal(ON_FAMILY, AccessRules()) == "channel-off"


def test_an_open_gateway_takes_any_key_but_keeps_strangers_in_the_shared_folders() -> None:
    rules = replace(RULES, open=True, shared_folders=("Public",))
    stranger = admitted(replace(QUESTION, sender=STRANGER, key=OTHER_KEY), rules)
    assert stranger == Admitted(STRANGER, "!0000cc04", OTHER_KEY, ("Public",), None, "well pump")
    assert admitted(QUESTION, rules).folders == ("Trips",)


def test_an_open_gateway_still_wants_the_right_key_of_a_known_number() -> None:
    rules = replace(RULES, open=True)
    assert refusal(replace(QUESTION, key=OTHER_KEY), rules) == "key-mismatch"
    assert refusal(replace(QUESTION, key=None), rules) == "not-encrypted"
    assert refusal(replace(QUESTION, via_mqtt=True), rules) == "via-mqtt"


FAMILY = replace(RULES, channels=("Family",))


def test_a_question_on_a_private_channel_is_answered_directly_with_the_handhelds_own_key() -> None:
    assert admitted(ON_FAMILY, FAMILY) == Admitted(ANNA, "Anna", ANNAS_KEY, ("Trips",), None, "well pump")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sender": STRANGER}, "channel-sender"),
        ({"channel": 0}, "channel-off"),
        ({"channel": 3}, "channel-off"),
        ({"channel": 9}, "channel-off"),
        ({"text": "well pump"}, "no-prefix"),
        ({"text": "?"}, "empty"),
        ({"key": ANNAS_KEY}, "bad-key"),
        ({"via_mqtt": True}, "via-mqtt"),
        ({"transport": "TRANSPORT_MULTICAST_UDP"}, "not-lora"),
        ({"is_reaction": True}, "reaction"),
        ({"sender": US}, "own-echo"),
    ],
)
def test_a_channel_message_is_refused_with_its_reason(change: dict[str, object], reason: str) -> None:
    assert refusal(replace(ON_FAMILY, **change), FAMILY) == reason  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "index"), [("Open", 3), ("Bridge", 2), ("", 0)])
def test_a_channel_that_others_can_read_is_refused_even_when_configured(name: str, index: int) -> None:
    rules = replace(RULES, channels=(name,))
    assert refusal(replace(ON_FAMILY, channel=index), rules) in {"channel-not-private", "channel-off"}
    assert len(check_channels(rules, RADIO)) == 1


def test_an_answer_on_the_channel_shows_the_shared_folders_whoever_claims_to_ask() -> None:
    rules = replace(FAMILY, channel_reply="channel", shared_folders=("Public",))
    for sender in (ANNA, STRANGER):
        verdict = admitted(replace(ON_FAMILY, sender=sender), rules)
        assert (verdict.channel, verdict.key, verdict.folders) == (1, None, ("Public",))


def test_a_radio_in_ham_mode_has_no_private_channel() -> None:
    radio = replace(RADIO, is_licensed=True)
    assert refusal(ON_FAMILY, FAMILY, radio) == "channel-not-private"
    assert "licensed" in check_channels(FAMILY, radio)[0]


def test_channel_troubles_name_the_channel_and_the_remedy() -> None:
    rules = replace(RULES, channels=("Family", "Open", "Bridge", "Nope\x1b[2J", ""), channel_prefix=" ")
    blank_prefix, public, uplink, absent, nameless = check_channels(rules, RADIO)
    assert "channel_prefix" in blank_prefix
    assert '"Open" is not private' in public
    assert '"Bridge" is sent on to MQTT' in uplink
    assert "no channel" in absent
    assert "Family" in absent
    assert "\x1b" not in absent
    assert "without a name" in nameless


def test_a_private_channel_gives_no_trouble() -> None:
    assert check_channels(FAMILY, RADIO) == ()


def test_every_reason_has_an_explanation_that_names_the_sender() -> None:
    for reason in RefusalReason:
        assert "!0000cc04" in explain(Refused(reason, STRANGER, OTHER_KEY))


def test_a_fingerprint_is_four_groups_that_differ_between_keys() -> None:
    assert fingerprint(bytes(32)) == "6668 7aad f862 bd77"  # sha256 of 32 zero bytes
    assert fingerprint(ANNAS_KEY) != fingerprint(BENS_KEY)


def test_the_scope_joins_the_askers_folders_with_what_is_private_for_all() -> None:
    privacy = PrivacyRules(private_key="geheim", private_tags=("diary",))
    assert scope_for(("Trips",), privacy) == Scope(("Trips",), "geheim", ("diary",))
    assert scope_for((), PrivacyRules()).private_key == "private"
