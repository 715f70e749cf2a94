"""What the radio's own records mean, and what is said about its settings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from meshtastic.protobuf import channel_pb2, config_pb2, localonly_pb2, mesh_pb2

from gateway.protocol.messages import ChannelInfo, ChannelPrivacy, LoRaSettings, RadioInfo
from gateway.radio.radio_info import (
    DEFAULT_CHANNEL_KEY,
    PRESETS,
    advice,
    channel_infos,
    firmware_version,
    lora_settings,
    radio_info,
)

KEY = bytes(range(32))
LoRa = config_pb2.Config.LoRaConfig
GOOD = RadioInfo(node=1, key=KEY, firmware="2.7.26.54e0d8d", lora=LoRaSettings(region="EU_868"))


def kinds(info: RadioInfo) -> list[str]:
    return [one.kind for one in advice(info)]


def test_a_preset_gives_its_modulation() -> None:
    settings = lora_settings(LoRa(use_preset=True, modem_preset="MEDIUM_SLOW", region="EU_868", tx_enabled=True))
    assert (settings.preset, settings.spreading_factor, settings.bandwidth_khz, settings.coding_rate) == (
        "MEDIUM_SLOW",
        10,
        250.0,
        5,
    )
    assert (settings.region, settings.hop_limit, settings.tx_enabled) == ("EU_868", 3, True)


def test_all_the_presets_that_the_library_names_are_known() -> None:
    assert set(LoRa.ModemPreset.keys()) - set(PRESETS) == {"VERY_LONG_SLOW"}


def test_an_unknown_preset_is_the_firmware_s_default_and_keeps_its_number() -> None:
    settings = lora_settings(LoRa(use_preset=True, modem_preset=99))
    assert (settings.preset, settings.spreading_factor, settings.bandwidth_khz) == ("99", 11, 250.0)


def test_custom_settings_have_no_preset() -> None:
    settings = lora_settings(LoRa(use_preset=False, spread_factor=9, bandwidth=62, coding_rate=7, hop_limit=5))
    assert settings == LoRaSettings("UNSET", "", 9, 62.5, 7, 5, tx_enabled=False)


def test_the_2_4_ghz_band_is_wider() -> None:
    assert lora_settings(LoRa(use_preset=True, region="LORA_24")).bandwidth_khz == 812.5


def channel(role: str, psk: bytes, index: int = 0, **fields: Any) -> channel_pb2.Channel:
    settings = channel_pb2.ChannelSettings(psk=psk, **fields)
    return channel_pb2.Channel(index=index, role=role, settings=settings)


@pytest.mark.parametrize(
    ("psk", "privacy"),
    [
        (b"", ChannelPrivacy.PUBLIC),
        (b"\x00", ChannelPrivacy.PUBLIC),
        (b"\x01", ChannelPrivacy.PUBLIC),
        (b"\x0a", ChannelPrivacy.PUBLIC),
        (DEFAULT_CHANNEL_KEY, ChannelPrivacy.PUBLIC),
        (DEFAULT_CHANNEL_KEY[:15] + b"\x07", ChannelPrivacy.PUBLIC),
        (KEY, ChannelPrivacy.PRIVATE),
        (KEY[:16], ChannelPrivacy.PRIVATE),
    ],
)
def test_well_known_keys_are_public(psk: bytes, privacy: ChannelPrivacy) -> None:
    assert channel_infos([channel("PRIMARY", psk)])[0].privacy is privacy


def test_a_secondary_channel_without_a_key_is_as_private_as_the_primary() -> None:
    secondary = channel("SECONDARY", b"", 1)
    assert channel_infos([channel("PRIMARY", KEY), secondary])[1].privacy is ChannelPrivacy.PRIVATE
    assert channel_infos([channel("PRIMARY", b"\x01"), secondary])[1].privacy is ChannelPrivacy.PUBLIC


def test_disabled_channels_are_neither() -> None:
    assert channel_infos([channel("DISABLED", b"", 2)]) == (ChannelInfo(2, "", ChannelPrivacy.DISABLED),)


def test_a_radio_that_said_little_is_read_all_the_same() -> None:
    node = SimpleNamespace(localConfig=localonly_pb2.LocalConfig(), moduleConfig=localonly_pb2.LocalModuleConfig())
    node.channels = None
    info = radio_info(7, None, node, {})
    assert (info.node, info.key, info.firmware, info.channels, info.nodes) == (7, None, "", (), ())


def test_the_whole_of_a_radio() -> None:
    node = SimpleNamespace(
        localConfig=localonly_pb2.LocalConfig(), moduleConfig=localonly_pb2.LocalModuleConfig(), channels=[]
    )
    node.localConfig.security.public_key = KEY
    node.localConfig.device.role = config_pb2.Config.DeviceConfig.Role.ROUTER
    node.moduleConfig.mqtt.enabled = True
    nodes = {7: {"num": 7, "user": {"isLicensed": True}}, 8: {"num": 8, "user": {"longName": "B"}}, 9: {"num": 9}}
    info = radio_info(7, mesh_pb2.DeviceMetadata(firmware_version="2.7.26.1", hasPKC=True), node, nodes)
    assert (info.key, info.role, info.is_licensed, info.mqtt_enabled) == (KEY, "ROUTER", True, True)
    assert [seen.long_name for seen in info.nodes] == ["B"]


def test_nothing_is_said_of_a_well_set_radio() -> None:
    assert advice(GOOD) == ()


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"lora": LoRaSettings(region="UNSET")}, "region-unset"),
        ({"lora": LoRaSettings(region="US", tx_enabled=False)}, "tx-off"),
        ({"firmware": "2.4.9.aaa"}, "old-firmware"),
        ({"has_pkc": False}, "no-pkc"),
        ({"key": None}, "no-pkc"),
        ({"is_licensed": True}, "licensed"),
        ({"role": "ROUTER"}, "hidden"),
        ({"is_unmessagable": True}, "hidden"),
        ({"mqtt_enabled": True}, "mqtt"),
        ({"store_forward_enabled": True}, "store-forward"),
        ({"network_protocols": 1}, "lan"),
        ({"debug_log_enabled": True}, "debug-log"),
        ({"channels": (ChannelInfo(0, "", ChannelPrivacy.PUBLIC),)}, "public-channel-0"),
        ({"channels": (ChannelInfo(1, "x", ChannelPrivacy.PRIVATE, uplink=True),)}, "uplink-1"),
    ],
)
def test_each_fault_is_said_with_its_remedy(changes: dict[str, Any], kind: str) -> None:
    fields = {name: getattr(GOOD, name) for name in ("node", "key", "firmware", "lora")}
    said = advice(RadioInfo(**{**fields, **changes}))
    assert [one.kind for one in said] == [kind]
    assert "`" in said[0].text or "http" in said[0].text
    assert "\n" not in said[0].text


def test_what_stops_the_work_is_said_first() -> None:
    worst = RadioInfo(node=1, key=KEY, firmware="2.3.1", mqtt_enabled=True, lora=LoRaSettings(region="UNSET"))
    assert kinds(worst) == ["region-unset", "old-firmware", "mqtt"]


def test_a_radio_without_region_has_no_key_yet_and_only_the_region_is_named() -> None:
    assert kinds(RadioInfo(node=1, key=None, firmware="2.7.1", lora=LoRaSettings(region="UNSET"))) == ["region-unset"]


@pytest.mark.parametrize(
    ("text", "version"),
    [("2.7.26.54e0d8d", (2, 7, 26)), ("2.5", (2, 5)), ("", None), ("x.y", None), ("2", None), ("2.²", None)],
)
def test_firmware_versions(text: str, version: tuple[int, ...] | None) -> None:
    assert firmware_version(text) == version
