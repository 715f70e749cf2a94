"""Who may ask. Pure and stateless: one text, the rules, and what the radio says of itself decide.

A direct question is accepted in one case only: it is addressed to us, came by LoRa, our radio decrypted it with the
sender's own key, and node number *and* key are those of a configured handheld. Numbers can be chosen freely and names
prove nothing; only the key does, since the radio's success in decrypting shows that the sender holds the
private half (firmware Router.cpp, perhapsDecode).

On a channel nobody can be told apart: whoever has the channel's key can send under any number (AES-CTR without
authentication). The authority is that key alone, so

- a channel must be named in the configuration, and its key must really be secret;
- by default the answer goes as a direct message to the configured handheld of that number, encrypted with *its* key: a
  forger can make us answer, but reads nothing. A number that is no configured handheld gets no answer;
- with ``channel_reply = "channel"`` every holder of the key reads the answers. Then the sender's number opens nothing:
  all askers see the same `AccessRules.shared_folders`.

With `AccessRules.open` anybody may ask by encrypted direct message, and sees the same `shared_folders`.
"""

from __future__ import annotations

import enum
import hashlib
from dataclasses import dataclass
from typing import Literal

from gateway.protocol.inert import for_air, for_log
from gateway.protocol.messages import (
    BROADCAST,
    ChannelInfo,
    ChannelPrivacy,
    IncomingText,
    RadioInfo,
    node_id,
)
from search_core.notes import Scope

KEY_BYTES = 32
"""An x25519 public key (mesh.proto, User.public_key)."""

MAX_TEXT_BYTES = 233
"""mesh.proto, Constants.DATA_PAYLOAD_LEN: no packet carries more."""

FIRMWARE_THAT_NAMES_TRANSPORT = (2, 7, 5)
"""mesh.proto of this version introduced MeshPacket.transport_mechanism."""


@dataclass(frozen=True, slots=True)
class Handheld:
    """One device that may ask, known by number and key together."""

    node: int
    key: bytes
    """32 bytes."""
    name: str = ""
    """The owner's name for it, never the one it gives itself."""
    folders: tuple[str, ...] = ()
    """Only notes in these vault folders; empty means all."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The default lets nobody in."""

    handhelds: tuple[Handheld, ...] = ()
    channels: tuple[str, ...] = ()
    """Names of private channels on which questions are heard."""
    channel_prefix: str = "?"
    """How a question on a channel begins, so that ordinary talk is not answered."""
    channel_reply: Literal["direct", "channel"] = "direct"
    open: bool = False
    """Anybody may ask by encrypted direct message: for a shared wiki, not for private notes."""
    shared_folders: tuple[str, ...] = ()
    """What strangers (`open`) and channel readers may see; empty means all folders."""


@dataclass(frozen=True, slots=True)
class PrivacyRules:
    """Which notes nobody sees over the air, and what is blanked in the rest."""

    private_key: str = "private"
    """Notes whose front matter sets this to true are hidden; empty hides none."""
    private_tags: tuple[str, ...] = ()
    redact: bool = True
    patterns: tuple[str, ...] = ()
    """More to blank, in the restricted syntax of ``gateway.protocol.redaction``."""


class RefusalReason(enum.StrEnum):
    """Why a text is ignored. The values are stable: they name counters in the status file."""

    OWN_ECHO = "own-echo"
    BAD_SENDER = "bad-sender"
    NOT_FOR_US = "not-for-us"
    VIA_MQTT = "via-mqtt"
    NOT_LORA = "not-lora"
    NOT_ENCRYPTED = "not-encrypted"
    BAD_KEY = "bad-key"
    UNKNOWN_NODE = "unknown-node"
    KEY_MISMATCH = "key-mismatch"
    NUMBER_MISMATCH = "number-mismatch"
    CHANNEL_OFF = "channel-off"
    CHANNEL_NOT_PRIVATE = "channel-not-private"
    CHANNEL_SENDER = "channel-sender"
    NO_PREFIX = "no-prefix"
    REACTION = "reaction"
    NOT_TEXT = "not-text"
    TOO_LONG = "too-long"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Admitted:
    """A question to be answered, and how."""

    sender: int
    name: str
    """The configured name, or the node's number: never the sender's own words."""
    key: bytes | None
    """Demand this key for the direct answer; None only for an answer on the channel."""
    folders: tuple[str, ...]
    channel: int | None
    """None for a direct answer, else the index of the channel to answer on."""
    text: str
    """Inert, without the prefix, not blank, at most `MAX_TEXT_BYTES` of UTF-8."""
    may_write: bool = False
    """Only a configured handheld that proved its key may add to the vault: channel senders can be forged, and an open
    gateway is open for reading."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A text to be ignored without a word: no oracle for strangers, no airtime for them."""

    reason: RefusalReason
    sender: int = 0
    key: bytes | None = None
    """The key that the sender proved to hold, if any."""
    pinned: bytes | None = None
    """For KEY_MISMATCH: the key configured for this number."""


def judge(text: IncomingText, rules: AccessRules, radio: RadioInfo) -> Admitted | Refused:
    """Whether to answer this text. Never raises, whatever the text holds."""
    reason = _unfit_for_all(text, radio)
    if reason is not None:
        return Refused(reason, text.sender)
    if text.destination == radio.node:
        return _judge_direct(text, rules)
    return _judge_channel(text, rules, radio)


def _refused(reason: RefusalReason, text: IncomingText, pinned: bytes | None = None) -> Refused:
    return Refused(reason, text.sender, text.key, pinned)


def _unfit_for_all(text: IncomingText, radio: RadioInfo) -> RefusalReason | None:
    if text.sender == radio.node:
        return RefusalReason.OWN_ECHO
    if not 0 < text.sender < BROADCAST:
        return RefusalReason.BAD_SENDER
    if text.destination not in (radio.node, BROADCAST) or not 0 < radio.node < BROADCAST:
        return RefusalReason.NOT_FOR_US
    if text.via_mqtt:
        return RefusalReason.VIA_MQTT
    if not _came_by_lora(text.transport, radio):
        return RefusalReason.NOT_LORA
    return None


def _came_by_lora(transport: str, radio: RadioInfo) -> bool:
    """Packets from the LAN carry whatever claims of encryption their sender wrote (firmware before 2.8).

    Firmware that does not name the transport yet is believed only while its LAN protocols are off; firmware of an
    unknown version is not.
    """
    if transport:
        return transport == "TRANSPORT_LORA"
    version = _version(radio.firmware)
    return version is not None and version < FIRMWARE_THAT_NAMES_TRANSPORT and radio.network_protocols == 0


def _version(firmware: str) -> tuple[int, ...] | None:
    numbers = firmware.split(".")[:3]
    if len(numbers) < 3 or not all(n.isascii() and n.isdigit() and len(n) < 6 for n in numbers):
        return None
    return tuple(int(n) for n in numbers)


def _judge_direct(text: IncomingText, rules: AccessRules) -> Admitted | Refused:
    if text.key is None:
        return _refused(RefusalReason.NOT_ENCRYPTED, text)
    if len(text.key) != KEY_BYTES or not any(text.key):
        return Refused(RefusalReason.BAD_KEY, text.sender)
    handheld = _handheld_or_none(text.sender, text.key, rules)
    if handheld is not None:
        return _with_text(text, name=handheld.name, key=handheld.key, folders=handheld.folders, may_write=True)
    reason, pinned = _why_not_known(text, rules)
    if rules.open and reason is RefusalReason.UNKNOWN_NODE:
        return _with_text(text, key=text.key, folders=rules.shared_folders)
    return _refused(reason, text, pinned)


def _handheld_or_none(node: int, key: bytes, rules: AccessRules) -> Handheld | None:
    return next((h for h in rules.handhelds if h.node == node and h.key == key), None)


def _why_not_known(text: IncomingText, rules: AccessRules) -> tuple[RefusalReason, bytes | None]:
    for handheld in rules.handhelds:
        if handheld.node == text.sender:
            return RefusalReason.KEY_MISMATCH, handheld.key
    if any(handheld.key == text.key for handheld in rules.handhelds):
        return RefusalReason.NUMBER_MISMATCH, None
    return RefusalReason.UNKNOWN_NODE, None


def _judge_channel(text: IncomingText, rules: AccessRules, radio: RadioInfo) -> Admitted | Refused:
    channel = next((c for c in radio.channels if c.index == text.channel), None)
    if channel is None or not channel.name or channel.name not in rules.channels:
        return _refused(RefusalReason.CHANNEL_OFF, text)
    if _why_not_private(channel, radio):
        return _refused(RefusalReason.CHANNEL_NOT_PRIVATE, text)
    if text.key is not None:  # No radio encrypts a broadcast with a node's key.
        return Refused(RefusalReason.BAD_KEY, text.sender)
    if rules.channel_reply == "channel":
        return _with_text(text, prefix=rules.channel_prefix, channel=channel.index, folders=rules.shared_folders)
    return _judge_channel_for_direct(text, rules)


def _judge_channel_for_direct(text: IncomingText, rules: AccessRules) -> Admitted | Refused:
    handheld = next((h for h in rules.handhelds if h.node == text.sender), None)
    if handheld is None:
        return _refused(RefusalReason.CHANNEL_SENDER, text)
    prefix = rules.channel_prefix
    return _with_text(text, prefix=prefix, name=handheld.name, key=handheld.key, folders=handheld.folders)


def _with_text(
    text: IncomingText,
    *,
    folders: tuple[str, ...],
    name: str = "",
    key: bytes | None = None,
    channel: int | None = None,
    prefix: str | None = None,
    may_write: bool = False,
) -> Admitted | Refused:
    """The last step, when the sender is known: is there a question in it?"""
    words = _words_or_reason(text, prefix)
    if isinstance(words, RefusalReason):
        return _refused(words, text)
    return Admitted(text.sender, name or node_id(text.sender), key, folders, channel, words, may_write)


def _words_or_reason(text: IncomingText, prefix: str | None) -> str | RefusalReason:
    if text.is_reaction:
        return RefusalReason.REACTION
    if text.text is None:
        return RefusalReason.NOT_TEXT
    if len(text.payload) > MAX_TEXT_BYTES or len(text.text) > MAX_TEXT_BYTES:
        return RefusalReason.TOO_LONG
    words = for_air(text.text).strip()
    if len(words.encode()) > MAX_TEXT_BYTES:
        return RefusalReason.TOO_LONG
    if prefix is not None:
        if not prefix or not words.startswith(prefix):
            return RefusalReason.NO_PREFIX
        words = words[len(prefix) :].strip()
    return words or RefusalReason.EMPTY


def folders_today(node: int, key: bytes | None, channel: int | None, rules: AccessRules) -> tuple[str, ...] | None:
    """What an asker who was admitted under earlier rules may see under these; None: nothing, not even an answer."""
    if channel is not None:
        return rules.shared_folders if rules.channels and rules.channel_reply == "channel" else None
    if key is None:
        return None
    handheld = _handheld_or_none(node, key, rules)
    if handheld is not None:
        return handheld.folders
    is_known = any(h.node == node or h.key == key for h in rules.handhelds)
    return rules.shared_folders if rules.open and not is_known else None


def open_channels(rules: AccessRules, radio: RadioInfo) -> frozenset[int]:
    """Indices of the channels on which answers may be given to all their members."""
    if rules.channel_reply != "channel":
        return frozenset()
    named = (channel for channel in radio.channels if channel.name and channel.name in rules.channels)
    return frozenset(channel.index for channel in named if not _why_not_private(channel, radio))


def check_channels(rules: AccessRules, radio: RadioInfo) -> tuple[str, ...]:
    """Why the gateway must not start with these channels on this radio; empty when all is well."""
    troubles: list[str] = []
    if rules.channels and not rules.channel_prefix.strip():
        troubles.append("[access] channel_prefix is blank: every message on the channel would be taken for a question")
    for name in rules.channels:
        troubles.extend(_channel_troubles(name, radio))
    return tuple(troubles)


def _channel_troubles(name: str, radio: RadioInfo) -> list[str]:
    shown = for_log(name, 40)
    found = [c for c in radio.channels if c.name == name and c.privacy is not ChannelPrivacy.DISABLED]
    if not name:
        return ["[access] channels: a channel without a name has a public key by default; name the private one"]
    if not found:
        there = ", ".join(for_log(c.name, 40) for c in radio.channels if c.name) or "none with a name"
        return [f'[access] channels: the radio has no channel "{shown}" (it has: {there})']
    return [f'[access] channels: "{shown}" {why}' for c in found if (why := _why_not_private(c, radio))]


def _why_not_private(channel: ChannelInfo, radio: RadioInfo) -> str:
    """The reason in words, or nothing for a channel whose key keeps others out."""
    if radio.is_licensed:
        return "is not encrypted: the radio is in licensed (ham) mode"
    if channel.privacy is not ChannelPrivacy.PRIVATE:
        return "is not private: its key is missing or known to everybody; give it a random key of 16 or 32 bytes"
    if channel.uplink:
        return "is sent on to MQTT; switch its uplink off"
    return ""


def fingerprint(key: bytes) -> str:
    """The first 8 bytes of the key's SHA-256, in four groups, to be compared by eye: ``9f86 d081 884c 7d65``."""
    digest = hashlib.sha256(key).hexdigest()[:16]
    return " ".join(digest[i : i + 4] for i in range(0, 16, 4))


def scope_for(folders: tuple[str, ...], privacy: PrivacyRules) -> Scope:
    """What an asker with these folders may see."""
    return Scope(folders=folders, private_key=privacy.private_key, private_tags=privacy.private_tags)


def explain(refused: Refused) -> str:
    """A sentence for the owner (log, status): what happened and, where it makes sense, how to allow it."""
    who = node_id(refused.sender)
    print_of = fingerprint(refused.key) if refused.key else "none"
    if refused.reason is RefusalReason.KEY_MISMATCH and refused.pinned is not None:
        return (
            f"ALARM: {who} asked with key {print_of}, but {fingerprint(refused.pinned)} is configured. If you reset "
            "or reflashed this handheld, compare the new key with the one in its app, then run "
            f"meshseek pair --node '{who}'; if not, somebody uses its number"
        )
    return _EXPLANATIONS[refused.reason].format(who=who, key=print_of)


_EXPLANATIONS = {
    RefusalReason.OWN_ECHO: "a text under our own number {who} was ignored",
    RefusalReason.BAD_SENDER: "a text without a possible sender ({who}) was ignored",
    RefusalReason.NOT_FOR_US: "a text from {who} to another node was ignored",
    RefusalReason.VIA_MQTT: "a text from {who} came by MQTT, which proves nothing; only LoRa is accepted",
    RefusalReason.NOT_LORA: "a text from {who} did not come by LoRa, or the radio does not say; "
    "only LoRa is accepted (firmware before 2.7.5: switch the radio's LAN protocols off, or update it)",
    RefusalReason.NOT_ENCRYPTED: "a direct message from {who} was not encrypted with the sender's own key; "
    "both radios need firmware 2.5 or newer and each other's node info",
    RefusalReason.BAD_KEY: "a text from {who} came with an impossible key",
    RefusalReason.UNKNOWN_NODE: "{who} (key {key}) is not a configured handheld; to allow it: "
    "meshseek pair --node '{who}'",
    RefusalReason.KEY_MISMATCH: "{who} asked with another key ({key}) than the configured one",
    RefusalReason.NUMBER_MISMATCH: "a configured key ({key}) was used under another number, {who}; if your handheld's "
    "number has changed, remove its entry and run meshseek pair --node '{who}'",
    RefusalReason.CHANNEL_OFF: "a channel message from {who} was ignored: its channel is not in [access] channels",
    RefusalReason.CHANNEL_NOT_PRIVATE: "a channel message from {who} was ignored: the channel is not private",
    RefusalReason.CHANNEL_SENDER: "{who} asked on a channel but is not a configured handheld, so there is no key to "
    "answer it with; to allow it: meshseek pair --node '{who}'",
    RefusalReason.NO_PREFIX: "a channel message from {who} does not begin with the prefix",
    RefusalReason.REACTION: "a reaction from {who} needs no answer",
    RefusalReason.NOT_TEXT: "a text from {who} is not valid UTF-8",
    RefusalReason.TOO_LONG: "a text from {who} is longer than a packet can be",
    RefusalReason.EMPTY: "a text from {who} is blank",
}
