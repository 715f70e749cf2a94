"""How long a packet occupies the air, and how long to wait for its acknowledgement. Pure arithmetic.

Sources: the LoRa modem formula of the SX126x/SX127x data sheets, and of the firmware MeshRadio.h (presets),
RadioInterface.cpp (slot time, retransmission wait, regions) and NextHopRouter.h (number of transmissions).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from gateway.protocol.messages import LoRaSettings

HEADER_BYTES = 16  # in clear in front of every frame (firmware RadioInterface.h, PacketHeader)
PKC_BYTES = 12  # nonce and authentication tag of a public-key encrypted packet
REPLY_ID_BYTES = 5  # protobuf tag and fixed32
DATA_BYTES = 6  # tag and value of the port number and of the bit field, tag and one-byte length of the payload
ACK_FRAME_BYTES = 29  # measured: an acknowledgement on the air

TRANSMISSIONS = 3  # of one want-ack packet before MAX_RETRANSMIT (firmware NUM_RELIABLE_RETX)
PREAMBLE_SYMBOLS = 16  # firmware RadioInterface.h
PATIENCE = 2.0  # times the firmware's own time to give up, which grows with everything else on the air
BUSY_SLOTS = 2**8  # largest contention window (firmware CWmax = 8)
IDLE_SLOTS = 2**3 + 2 * 8 + 32  # contention window of an idle channel, as the firmware adds it up


class Modem(NamedTuple):
    """One way to modulate."""

    spreading_factor: int
    bandwidth_khz: float
    coding_rate: int
    """Denominator: 5 means 4/5."""


PRESETS = {
    "SHORT_TURBO": Modem(7, 500, 5),
    "SHORT_FAST": Modem(7, 250, 5),
    "SHORT_SLOW": Modem(8, 250, 5),
    "MEDIUM_TURBO": Modem(9, 500, 5),
    "MEDIUM_FAST": Modem(9, 250, 5),
    "MEDIUM_SLOW": Modem(10, 250, 5),
    "LONG_TURBO": Modem(11, 500, 8),
    "LONG_FAST": Modem(11, 250, 5),
    "LONG_MODERATE": Modem(11, 125, 8),
    "LONG_SLOW": Modem(12, 125, 8),
    "LITE_FAST": Modem(9, 125, 5),
    "LITE_SLOW": Modem(10, 125, 5),
    "NARROW_FAST": Modem(7, 62.5, 6),
    "NARROW_SLOW": Modem(8, 62.5, 6),
    "TINY_FAST": Modem(7, 15.6, 5),
    "TINY_SLOW": Modem(8, 15.6, 6),
}
"""Firmware MeshRadio.h. Any other name is modulated as LONG_FAST, as the firmware's default branch does."""

WIDE_FACTOR = 3.25  # 2.4 GHz: 812.5 kHz in place of 250, and so on

DUTY_CYCLE_PERCENT = {
    "EU_868": 10.0,
    "EU_433": 10.0,
    "UA_433": 10.0,
    "UA_868": 1.0,
    "TH": 10.0,
    "EU_866": 2.5,
    "EU_N_868": 10.0,
}
"""Share of an hour a radio may transmit, by region (firmware RadioInterface.cpp); 100 for all others."""

_CUSTOM_BANDWIDTHS = {31: 31.25, 62: 62.5, 200: 203.125, 400: 406.25, 800: 812.5, 1600: 1625.0}


def bandwidth_khz(code: int) -> float:
    """The bandwidth that the `bandwidth` field of the radio's LoRa settings stands for (config.proto LoRaConfig)."""
    return _CUSTOM_BANDWIDTHS.get(code, float(code))


def modem(lora: LoRaSettings) -> Modem:
    """The modulation in use: the preset's, or the custom one when there is no preset."""
    if not lora.preset:
        sf = min(max(lora.spreading_factor, 5), 12)
        return Modem(sf, max(lora.bandwidth_khz, 7.8), min(max(lora.coding_rate, 5), 8))
    found = PRESETS.get(lora.preset, PRESETS["LONG_FAST"])
    if lora.region == "LORA_24":
        return found._replace(bandwidth_khz=found.bandwidth_khz * WIDE_FACTOR)
    return found


def duty_cycle_percent(lora: LoRaSettings) -> float:
    """Share of the hour that the radio itself enforces; 100 means none."""
    return 100.0 if lora.override_duty_cycle else DUTY_CYCLE_PERCENT.get(lora.region, 100.0)


def symbol_seconds(lora: LoRaSettings) -> float:
    used = modem(lora)
    return float(2**used.spreading_factor) / (used.bandwidth_khz * 1000)


def airtime_seconds(bytes_on_air: int, lora: LoRaSettings) -> float:
    """Duration of one transmission of `bytes_on_air` bytes, the 16-byte header included."""
    sf, _, coding_rate = modem(lora)
    symbol = symbol_seconds(lora)
    low_rate = 1 if symbol >= 0.016 else 0
    bits = 8 * bytes_on_air - 4 * sf + 28 + 16
    payload = 8 + max(math.ceil(bits / (4 * (sf - 2 * low_rate))) * coding_rate, 0)
    return (PREAMBLE_SYMBOLS + 4.25 + payload) * symbol


def frame_bytes(text_bytes: int, *, direct: bool, reply_id: bool) -> int:
    """Bytes on the air of a text of `text_bytes` bytes of UTF-8."""
    length = text_bytes + HEADER_BYTES + DATA_BYTES + (1 if text_bytes > 127 else 0)
    return length + (PKC_BYTES if direct else 0) + (REPLY_ID_BYTES if reply_id else 0)


def text_seconds(text: str, lora: LoRaSettings, *, direct: bool = True, reply_id: bool = False) -> float:
    """Airtime of one transmission of `text`."""
    return airtime_seconds(frame_bytes(len(text.encode()), direct=direct, reply_id=reply_id), lora)


def slot_seconds(lora: LoRaSettings) -> float:
    """One slot of the contention window: 2.5 symbols of listening, 7.6 ms of turnaround."""
    return 2.5 * symbol_seconds(lora) + 0.0076


def retransmission_wait(bytes_on_air: int, lora: LoRaSettings) -> float:
    """Seconds between two transmissions of one want-ack packet on an idle channel."""
    return 2 * airtime_seconds(bytes_on_air, lora) + IDLE_SLOTS * slot_seconds(lora) + 4.5


def transmissions_within(seconds: float, bytes_on_air: int, lora: LoRaSettings) -> int:
    """How often the radio has sent a want-ack packet when its result came `seconds` after the hand-over."""
    return min(TRANSMISSIONS, 1 + int(max(seconds, 0.0) / retransmission_wait(bytes_on_air, lora)))


def _relays(hops: int | None, lora: LoRaSettings) -> int:
    return min(max(lora.hop_limit if hops is None else hops, 0), 7)


def usual_ack_seconds(bytes_on_air: int, lora: LoRaSettings, hops: int | None) -> float:
    """By when the acknowledgement has come if the first transmission went through: packet and ACK over each hop."""
    once = airtime_seconds(bytes_on_air, lora) + airtime_seconds(ACK_FRAME_BYTES, lora)
    return (_relays(hops, lora) + 1) * (once + IDLE_SLOTS * slot_seconds(lora)) + 1.0


def relayed_deadline(bytes_on_air: int, lora: LoRaSettings, hops: int | None) -> float:
    """Seconds to wait for the destination's ACK once a relay was overheard: our radio does not repeat any more."""
    return PATIENCE * usual_ack_seconds(bytes_on_air, lora, hops) + 2 * BUSY_SLOTS * slot_seconds(lora)


def ack_deadline(bytes_on_air: int, lora: LoRaSettings, hops: int | None) -> float:
    """Seconds after the hand-over at which we give up by ourselves, no result having come.

    Twice the time the firmware takes to its own MAX_RETRANSMIT, and the way of packet and ACK over the
    relays; `hops` None means unknown and counts as the hop limit.
    """
    giving_up = TRANSMISSIONS * retransmission_wait(bytes_on_air, lora)
    relays = _relays(hops, lora) * (usual_ack_seconds(bytes_on_air, lora, 0) + 2 * slot_seconds(lora) * 32)
    return PATIENCE * giving_up + relays
