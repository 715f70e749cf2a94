"""How much the gateway may still transmit: an hourly budget, a share of it per node, and the radio's own word. Pure.

Every hand-over reserves the airtime of all transmissions that the radio may make of it, and what was not used is
given back with the result: the budget cannot be passed, not even by a bad link.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from gateway.protocol import airtime
from gateway.protocol.messages import LoRaSettings, RadioTelemetry

HOUR = 3600.0
TELEMETRY_FRESH = 300.0  # seconds; the radio reports about each minute (firmware DeviceTelemetry.h)
KNOWN_NODES_LIMIT = 10_000  # hand-overs in one hour are far fewer: 2.5 s apart at least


@dataclass(frozen=True, slots=True)
class AirtimeRules:
    """How much of the shared channel the gateway takes."""

    hour_percent: float = 5.0
    """Of each hour, at most; half of what the region allows if that is less."""
    node_percent: float = 50.0
    """Of that budget, at most for one node."""
    target_bytes: int = 200
    """A part while there is plenty; what travels well."""
    min_reply_bytes: int = 60
    """A part shorter than this is of no use: say when to ask again instead."""
    busy_percent: float = 25.0
    """Channel utilisation above which we take half (the firmware's own politeness limit, airtime.h)."""
    crowded_percent: float = 40.0
    """Channel utilisation above which we take a quarter."""


@dataclass(frozen=True, slots=True)
class NotNow:
    """The budget is spent."""

    seconds: float
    """Until a short reply is possible again."""


@dataclass(slots=True)
class _Entry:
    when: float
    node: int
    seconds: float


_SHORTEN_BELOW = 0.2  # of the budget left: from here on replies get shorter
_NOTICE_SHARE = 0.1  # of the budget kept back for the line that says when to ask again
_DUTY_MARGIN = 0.9  # of the region's duty cycle; the rest is for relaying, which our radio owes others
_DUTY_WAIT = 600.0  # seconds; the radio's own figure covers the last hour, so it falls slowly
_MINUTES = re.compile(r"(\d{1,3}) ?min")


class AirtimeBudget:
    """What was transmitted in the last hour, and what may still be."""

    def __init__(self, rules: AirtimeRules, lora: LoRaSettings | None = None) -> None:
        self.rules = rules
        self.lora = lora or LoRaSettings()
        self._entries: deque[_Entry] = deque(maxlen=KNOWN_NODES_LIMIT)
        self._open: dict[int, tuple[_Entry, float, float]] = {}
        self._telemetry: tuple[float, RadioTelemetry] | None = None

    # What is allowed

    def hour_seconds(self) -> float:
        """The whole budget of an hour."""
        return HOUR * min(self.rules.hour_percent, airtime.duty_cycle_percent(self.lora) / 2) / 100

    def spent_seconds(self, now: float, node: int | None = None) -> float:
        """Of the last hour, to one node or to all; what is in flight counts with all its transmissions."""
        self._forget(now)
        return sum(entry.seconds for entry in self._entries if node is None or entry.node == node)

    def left_seconds(self, now: float) -> float:
        return max(self.hour_seconds() - self.spent_seconds(now), 0.0)

    def care(self, now: float) -> float:
        """The part of the budget that live telemetry lets us use; half of it when there is none."""
        used = self._channel_utilization(now)
        if used is None or self.rules.busy_percent <= used < self.rules.crowded_percent:
            return 0.5
        return 0.25 if used >= self.rules.crowded_percent else 1.0

    def reply_budget(self, node: int, now: float) -> int | NotNow:
        """Bytes of text that a reply part to this node may have, or how long it must wait."""
        room = self._room(node, now, notice=False)
        least = self._reserve(self.rules.min_reply_bytes)
        if room < least:
            return NotNow(self._wait(node, least, now))
        plenty = self.hour_seconds() * self.care(now) * self.rules.node_percent / 100 * _SHORTEN_BELOW
        share = min(1.0, room / plenty) if plenty else 0.0
        size = max(int(self.rules.target_bytes * share), self.rules.min_reply_bytes)
        while size > self.rules.min_reply_bytes and self._reserve(size) > room:
            size -= 10
        return max(size, self.rules.min_reply_bytes)

    def wait_seconds(self, node: int, seconds: float, now: float, *, notice: bool = False) -> float:
        """How long a packet of so many seconds (one transmission) must wait for room; 0 for now."""
        need = seconds * airtime.TRANSMISSIONS
        return 0.0 if self._room(node, now, notice=notice) >= need else self._wait(node, need, now)

    # What happened

    def reserve(self, packet_id: int, node: int, seconds: float, now: float) -> None:
        """A packet of so many seconds is handed over."""
        entry = _Entry(now, node, seconds * airtime.TRANSMISSIONS)
        self._entries.append(entry)
        self._open[packet_id] = (entry, seconds, now)

    def settle(self, packet_id: int, transmissions: int) -> None:
        """Its result is known: so many transmissions were made (0: none). Unknown ids are ignored."""
        found = self._open.pop(packet_id, None)
        if found is not None:
            found[0].seconds = found[1] * min(max(transmissions, 0), airtime.TRANSMISSIONS)

    def restore(self, node: int, seconds: float, when: float) -> None:
        """Airtime spent before a restart; to be called in order of time."""
        self._entries.append(_Entry(when, node, seconds))

    def observe(self, telemetry: RadioTelemetry, now: float) -> None:
        self._telemetry = (now, telemetry)

    # How it is worked out

    def _room(self, node: int, now: float, *, notice: bool) -> float:
        allowed = self.hour_seconds() * self.care(now)
        share = allowed * self.rules.node_percent / 100
        kept = 0.0 if notice else _NOTICE_SHARE
        ours = allowed * (1 - kept) - self.spent_seconds(now)
        theirs = share * (1 - kept) - self.spent_seconds(now, node)
        return min(ours, theirs, self._duty_room(now))

    def _duty_room(self, now: float) -> float:
        """Seconds that the radio itself would still transmit before its duty cycle stops it."""
        limit = airtime.duty_cycle_percent(self.lora)
        fresh = self._fresh(now)
        if limit >= 100 or fresh is None or fresh.air_util_tx is None:
            return HOUR
        return (limit * _DUTY_MARGIN - fresh.air_util_tx) / 100 * HOUR

    def _wait(self, node: int, need: float, now: float) -> float:
        """Until enough of the last hour has passed out of sight; an hour when that cannot be."""
        if self._duty_room(now) < need:
            return _DUTY_WAIT
        short = need - self._room(node, now, notice=False)
        for entry in sorted(self._entries, key=lambda entry: entry.when):
            short -= entry.seconds
            if short <= 0:
                return max(entry.when + HOUR - now, 1.0)
        return HOUR

    def _reserve(self, text_bytes: int) -> float:
        frame = airtime.frame_bytes(text_bytes, direct=True, reply_id=True)
        return airtime.airtime_seconds(frame, self.lora) * airtime.TRANSMISSIONS

    def _fresh(self, now: float) -> RadioTelemetry | None:
        if self._telemetry is None or now - self._telemetry[0] > TELEMETRY_FRESH:
            return None
        return self._telemetry[1]

    def _channel_utilization(self, now: float) -> float | None:
        fresh = self._fresh(now)
        return fresh.channel_utilization if fresh is not None else None

    def _forget(self, now: float) -> None:
        while self._entries and self._entries[0].when <= now - HOUR:
            self._entries.popleft()


def minutes_to_wait(notice: str) -> float | None:
    """Seconds to wait by a notice of the radio (``You can send again in 12 mins``: firmware Router.cpp), else None."""
    found = _MINUTES.search(notice) if "uty cycle" in notice else None
    return (int(found[1]) + 1) * 60.0 if found else None
