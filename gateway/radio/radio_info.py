"""What the radio said of itself → `RadioInfo`, and what of it is wrong → `advice`. Pure.

The protobuf messages are taken as they are (by attribute), so nothing here imports the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.protocol.messages import ChannelInfo, ChannelPrivacy, LoRaSettings, NodeSeen, RadioInfo
from gateway.radio.packets_in import KEY_BYTES, node_seen

DEFAULT_CHANNEL_KEY = bytes.fromhex("d4f1bb3a20290759f0bcffabcf4e6901")
"""Channels.cpp defaultpsk: the well-known key; its last byte is counted up for "simple" keys."""

# MeshRadio.h: preset → spreading factor, bandwidth in kHz, coding rate denominator.
PRESETS: dict[str, tuple[int, float, int]] = {
    "SHORT_TURBO": (7, 500.0, 5),
    "SHORT_FAST": (7, 250.0, 5),
    "SHORT_SLOW": (8, 250.0, 5),
    "MEDIUM_FAST": (9, 250.0, 5),
    "MEDIUM_SLOW": (10, 250.0, 5),
    "MEDIUM_TURBO": (9, 500.0, 5),
    "LONG_TURBO": (11, 500.0, 8),
    "LONG_FAST": (11, 250.0, 5),
    "LONG_MODERATE": (11, 125.0, 8),
    "LONG_SLOW": (12, 125.0, 8),
    "LITE_FAST": (9, 125.0, 5),
    "LITE_SLOW": (10, 125.0, 5),
    "NARROW_FAST": (7, 62.5, 6),
    "NARROW_SLOW": (8, 62.5, 6),
    "TINY_FAST": (7, 15.6, 5),
    "TINY_SLOW": (8, 15.6, 6),
}
FALLBACK_PRESET = "LONG_FAST"
"""The firmware's default branch for a preset that it does not know."""

WIDE_BANDWIDTHS = {500.0: 1625.0, 250.0: 812.5, 125.0: 406.25}
"""2.4 GHz (LORA_24) uses these in place of the narrow ones, kHz."""

ODD_BANDWIDTHS = {31: 31.25, 62: 62.5, 200: 203.125, 400: 406.25, 800: 812.5, 1600: 1625.0}
"""Config.LoRaConfig.bandwidth is a whole number; these stand for fractions (RadioInterface.cpp), kHz."""

UNMESSAGEABLE_ROLES = frozenset({"ROUTER", "ROUTER_LATE", "REPEATER", "SENSOR", "TRACKER", "TAK_TRACKER"})
"""NodeDB.cpp: apps hide the message button for these."""

OLDEST_FIRMWARE = (2, 5)
"""The first with encrypted direct messages that prove the sender."""


def _enum_name(message: Any, name: str) -> str:
    """The enum field's value by name, or its number as text where this library has no name for it."""
    number = getattr(message, name)
    known = message.DESCRIPTOR.fields_by_name[name].enum_type.values_by_number.get(number)
    return known.name if known is not None else str(number)


def lora_settings(lora: Any) -> LoRaSettings:
    """From ``Config.LoRaConfig``."""
    region = _enum_name(lora, "region")
    if lora.use_preset:
        preset = _enum_name(lora, "modem_preset")
        spreading, bandwidth, coding = PRESETS.get(preset, PRESETS[FALLBACK_PRESET])
        if region == "LORA_24":
            bandwidth = WIDE_BANDWIDTHS.get(bandwidth, bandwidth)
    else:
        preset = ""
        spreading = min(max(lora.spread_factor, 5), 12) if lora.spread_factor else 11
        bandwidth = ODD_BANDWIDTHS.get(lora.bandwidth, float(lora.bandwidth)) or 250.0
        coding = min(max(lora.coding_rate, 5), 8) if lora.coding_rate else 5
    return LoRaSettings(
        region=region,
        preset=preset,
        spreading_factor=spreading,
        bandwidth_khz=bandwidth,
        coding_rate=coding,
        hop_limit=lora.hop_limit or 3,
        tx_enabled=lora.tx_enabled,
        override_duty_cycle=lora.override_duty_cycle,
    )


def key_privacy(key: bytes, primary: ChannelPrivacy | None) -> ChannelPrivacy:
    """How private a channel with this key is; `primary` is that of the primary channel, None when this is it.

    No key on a secondary channel means the primary's key; one byte names a well-known key (Channels.cpp).
    """
    if not key:
        return ChannelPrivacy.PUBLIC if primary is None else primary
    if len(key) == 1 or (len(key) == 16 and key[:15] == DEFAULT_CHANNEL_KEY[:15]):
        return ChannelPrivacy.PUBLIC
    return ChannelPrivacy.PRIVATE


def channel_infos(channels: Iterable[Any]) -> tuple[ChannelInfo, ...]:
    """From the radio's ``Channel`` records, in their order."""
    records = list(channels)
    roles = [_enum_name(record, "role") for record in records]
    main = next((r for r, role in zip(records, roles, strict=True) if role == "PRIMARY"), None)
    primary = key_privacy(bytes(main.settings.psk), None) if main is not None else ChannelPrivacy.PUBLIC
    return tuple(_channel_info(record, role, primary) for record, role in zip(records, roles, strict=True))


def _channel_info(record: Any, role: str, primary: ChannelPrivacy) -> ChannelInfo:
    privacy = ChannelPrivacy.DISABLED
    if role != "DISABLED":
        privacy = key_privacy(bytes(record.settings.psk), None if role == "PRIMARY" else primary)
    return ChannelInfo(record.index, record.settings.name, privacy, record.settings.uplink_enabled)


def node_list(nodes: Mapping[int, Any], own_node: int) -> tuple[NodeSeen, ...]:
    """The other nodes of the library's ``nodesByNum`` that have said who they are."""
    found = []
    for number, node in list(nodes.items()):
        user = node.get("user") if isinstance(node, Mapping) else None
        if isinstance(user, Mapping) and number != own_node:
            found.append(node_seen(number, user, node.get("lastHeard")))
    return tuple(found)


def radio_info(my_node: int, metadata: Any | None, node: Any, nodes: Mapping[int, Any]) -> RadioInfo:
    """Everything at once; `node` is the library's local node (``localConfig``, ``moduleConfig``, ``channels``)."""
    config, modules = node.localConfig, node.moduleConfig
    entry = nodes.get(my_node)
    user = entry.get("user", {}) if isinstance(entry, Mapping) else {}
    key = bytes(config.security.public_key)
    return RadioInfo(
        node=my_node,
        key=key if len(key) == KEY_BYTES else None,
        firmware=metadata.firmware_version if metadata is not None else "",
        role=_enum_name(config.device, "role"),
        has_pkc=metadata is None or bool(metadata.hasPKC),
        is_licensed=bool(user.get("isLicensed")),
        is_unmessagable=bool(user.get("isUnmessagable")),
        lora=lora_settings(config.lora),
        channels=channel_infos(node.channels or ()),
        nodes=node_list(nodes, my_node),
        mqtt_enabled=modules.mqtt.enabled,
        store_forward_enabled=modules.store_forward.enabled,
        network_protocols=config.network.enabled_protocols,
        serial_enabled=config.security.serial_enabled,
        debug_log_enabled=config.security.debug_log_api_enabled,
    )


@dataclass(frozen=True, slots=True)
class Advice:
    """Something about the radio's settings that the owner should know."""

    kind: str
    """A stable word, e.g. ``region-unset``."""
    text: str
    """What is the matter and what to do, one line."""
    serious: bool = False
    """True when the gateway cannot do its work with it."""


def advice(info: RadioInfo) -> tuple[Advice, ...]:
    """What is wrong with the radio's settings, the serious ones first. Pure, so that log and doctor say the same."""
    found = [*_transmit_advice(info), *_trust_advice(info), *_module_advice(info), *_channel_advice(info)]
    return tuple(sorted(found, key=lambda one: not one.serious))


def _transmit_advice(info: RadioInfo) -> list[Advice]:
    found = []
    if info.lora.region == "UNSET":
        found.append(
            Advice(
                "region-unset",
                "the radio's region is not set, so it cannot send: `meshtastic --set lora.region EU_868` (or yours)",
                serious=True,
            )
        )
    if not info.lora.tx_enabled:
        found.append(
            Advice("tx-off", "transmitting is off: `meshtastic --set lora.tx_enabled true`", serious=True),
        )
    if info.role in UNMESSAGEABLE_ROLES or info.is_unmessagable:
        found.append(
            Advice(
                "hidden",
                f"phone apps hide the message button of this radio (role {info.role}): "
                '`meshtastic --set device.role CLIENT`, and turn off "unmessageable" in the app',
            )
        )
    return found


def _trust_advice(info: RadioInfo) -> list[Advice]:
    found = []
    version = firmware_version(info.firmware)
    if version is not None and version[:2] < OLDEST_FIRMWARE:
        found.append(
            Advice(
                "old-firmware",
                f"firmware {info.firmware} is too old to prove who sent a message: update it to 2.7 or newer "
                "(https://flasher.meshtastic.org)",
                serious=True,
            )
        )
    elif not info.has_pkc or (info.key is None and info.lora.region != "UNSET"):
        found.append(
            Advice(
                "no-pkc",
                "the radio has no key for encrypted direct messages: restart it (`meshtastic --reboot`); if that does "
                "not help, its firmware was built without them (https://flasher.meshtastic.org)",
                serious=True,
            )
        )
    if info.is_licensed:
        found.append(
            Advice(
                "licensed",
                "licensed (ham) mode forbids encryption, so no sender can be proven: "
                "turn it off with `meshtastic --set-owner NAME` without `--set-ham`",
                serious=True,
            )
        )
    return found


def firmware_version(text: str) -> tuple[int, ...] | None:
    """``2.7.26.54e0d8d`` → (2, 7, 26); None when it is no version."""
    parts = []
    for part in text.split(".")[:3]:
        if not (part.isascii() and part.isdigit()):
            break
        parts.append(int(part))
    return tuple(parts) if len(parts) >= 2 else None


def _module_advice(info: RadioInfo) -> list[Advice]:
    switches = (
        (info.mqtt_enabled, "mqtt", "MQTT is on, so packets may come and go by the internet", "mqtt.enabled false"),
        (
            info.store_forward_enabled,
            "store-forward",
            "store and forward is on: as its server the radio keeps texts from this program",
            "store_forward.enabled false",
        ),
        (
            info.network_protocols != 0,
            "lan",
            "LAN packets (UDP) are on: their marks of encryption are not checked by firmware before 2.8",
            "network.enabled_protocols 0",
        ),
        (
            info.debug_log_enabled,
            "debug-log",
            "the debug log over the API is on and crowds the serial line",
            "security.debug_log_api_enabled false",
        ),
    )
    return [Advice(kind, f"{text}: `meshtastic --set {setting}`") for on, kind, text, setting in switches if on]


def _channel_advice(info: RadioInfo) -> list[Advice]:
    found = []
    for channel in info.channels:
        if channel.privacy is ChannelPrivacy.PUBLIC:
            found.append(
                Advice(
                    f"public-channel-{channel.index}",
                    f"channel {channel.index} has a key that everybody knows: direct messages are safe, but what is "
                    f"answered on it is public; `meshtastic --ch-index {channel.index} --ch-set psk random` makes it "
                    "private",
                )
            )
        if channel.uplink and channel.privacy is not ChannelPrivacy.DISABLED:
            found.append(
                Advice(
                    f"uplink-{channel.index}",
                    f"channel {channel.index} is passed on to MQTT: "
                    f"`meshtastic --ch-index {channel.index} --ch-set uplink_enabled false`",
                )
            )
    return found
