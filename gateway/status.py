"""What ``meshseek status`` shows of a running gateway: a board in memory, written to the store every few seconds."""

from __future__ import annotations

import json
import os
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from gateway.protocol.admission import Refused, explain
from gateway.protocol.answers import Answer, Stage
from gateway.protocol.budget import AirtimeBudget
from gateway.protocol.messages import (
    ChannelInfo,
    ChannelPrivacy,
    LoRaSettings,
    NodeSeen,
    RadioInfo,
    RadioTelemetry,
    node_id,
)
from gateway.protocol.outbox import Outbox
from gateway.store import Store

FACT = "status"
RADIO_FACT = "radio"
"""What the radio said of itself and of other nodes, kept after the link is lost."""
NODES_LIMIT = 100
"""Other nodes remembered, those heard last; they are there to be chosen by `meshseek pair`."""
WRITE_SECONDS = 5.0
"""Least time between two writes; the state file may lie on a memory card that wears out."""
QUIET_SECONDS = 60.0
"""Between two writes while nothing happens."""
REFUSALS_LIMIT = 200
COUNTERS_LIMIT = 100
"""Kinds of counters; the rest counts as ``other``."""


class Board:
    """Counts and times; nothing here decides anything."""

    def __init__(self, now: float, keep: frozenset[int] = frozenset()) -> None:
        """`keep` are nodes that are remembered however many others there are."""
        self._keep = keep
        self._started = now
        self._link_up = False
        self._link_since = now
        self._link_reason = "not yet connected"
        self._heard: float | None = None
        self._telemetry: tuple[float, RadioTelemetry] | None = None
        self._counts: Counter[str] = Counter()
        self._kinds: set[str] = set()
        self._refused: OrderedDict[tuple[int, str], tuple[int, float, Refused]] = OrderedDict()
        self._written_at = float("-inf")
        self._news = True
        self._stopped = False
        self._engine = ""
        self._info: RadioInfo | None = None
        self._nodes: dict[int, NodeSeen] = {}
        self._radio_news = False

    # Notes taken

    def note_radio(self, info: RadioInfo) -> None:
        """What the radio said when the link came up."""
        self._info = info
        for seen in info.nodes:
            self.note_node(seen)
        self._radio_news = True

    def note_node(self, seen: NodeSeen) -> None:
        """Another node said who it is. Only a new name or key is worth a write of its own."""
        before = self._nodes.get(seen.node)
        if before is not None and seen.key is None:
            seen = replace(seen, key=before.key)
        self._nodes[seen.node] = seen
        if before is None or (before.key, before.long_name) != (seen.key, seen.long_name):
            self._radio_news = True
        if len(self._nodes) > NODES_LIMIT + len(self._keep):
            others = self._nodes.keys() - self._keep
            del self._nodes[min(others, key=lambda node: self._nodes[node].last_heard)]

    def note_engine(self, engine: str) -> None:
        """Who answered the last search."""
        self._engine = engine

    def note_link(self, up: bool, now: float, reason: str) -> None:
        self._link_up, self._link_since, self._link_reason = up, now, reason
        self._written_at = float("-inf")  # Rare, and the first thing to look for: written at once.

    def note_heard(self, now: float) -> None:
        self._heard = now

    def note_stopped(self) -> None:
        self._stopped = True

    def note_telemetry(self, telemetry: RadioTelemetry, now: float) -> bool:
        """Take the radio's pulse; True when its uptime fell: it restarted."""
        before = self._telemetry
        self._telemetry = (now, telemetry)
        if before is None or before[1].uptime is None or telemetry.uptime is None:
            return False
        return telemetry.uptime < before[1].uptime

    def count(self, kind: str, by: int = 1) -> None:
        if kind not in self._kinds and len(self._kinds) >= COUNTERS_LIMIT:
            kind = "other"
        self._kinds.add(kind)
        self._counts[kind] += by
        self._news = True

    def refuse(self, refused: Refused, now: float) -> None:
        key = (refused.sender, str(refused.reason))
        count = self._refused.pop(key, (0, 0.0, refused))[0]
        self._refused[key] = (count + 1, now, refused)
        while len(self._refused) > REFUSALS_LIMIT:
            self._refused.popitem(last=False)
        self.count(f"refused-{refused.reason}")

    # Written out

    def note_news(self) -> None:
        """Something happened that the report shows."""
        self._news = True

    def due_at(self) -> float:
        """When the report is to be written next."""
        return self._written_at + (WRITE_SECONDS if self._news else QUIET_SECONDS)

    def write(self, store: Store, report: dict[str, object], now: float) -> None:
        """Put the report and what was counted since into the store; to be called inside a transaction."""
        store.put_fact(FACT, json.dumps(report))
        store.put_fact("last_now", repr(now))
        if self._radio_news and self._info is not None:
            store.put_fact(RADIO_FACT, radio_as_json(self._info, self._nodes.values()))
            self._radio_news = False
        for kind, count in self._counts.items():
            store.count(kind, count)
        for (node, reason), (count, when, refused) in self._refused.items():
            store.refuse(node, reason, when, explain(refused), refused.key, count)
        self._counts.clear()
        self._refused.clear()

    def report(self, outbox: Outbox, budget: AirtimeBudget, info: RadioInfo | None, now: float) -> dict[str, object]:
        """The live part of the status, as it is written to the store; times in seconds of the steady clock."""
        self._written_at, self._news = now, False
        telemetry = self._telemetry[1] if self._telemetry else None
        return {
            "at": now,
            "running": not self._stopped,
            "process": this_process(),
            "engine": self._engine,
            "started": self._started,
            "link": {"up": self._link_up, "since": self._link_since, "reason": self._link_reason},
            "radio": _radio(info),
            "last_heard": self._heard,
            "queue": _queue(outbox, now),
            "airtime": {
                "budget_seconds": round(budget.hour_seconds(), 1),
                "spent_seconds": round(budget.spent_seconds(now), 1),
                "usable_share": budget.care(now),
                "channel_utilization": telemetry.channel_utilization if telemetry else None,
                "air_util_tx": telemetry.air_util_tx if telemetry else None,
            },
            "answers": [_answer(answer) for answer in list(outbox.answers())[:50]],
        }


def _radio(info: RadioInfo | None) -> dict[str, object] | None:
    if info is None:
        return None
    return {
        "node": node_id(info.node),
        "firmware": info.firmware,
        "region": info.lora.region,
        "preset": info.lora.preset,
        "role": info.role,
    }


def _queue(outbox: Outbox, now: float) -> dict[str, object]:
    stages = Counter(answer.stage for answer in outbox.answers())
    return {
        "waiting": stages[Stage.WAITING],
        "flying": stages[Stage.FLYING],
        "parked": stages[Stage.PARKED],
        "parts_waiting": outbox.parts_waiting(),
        "paused_seconds": round(max(outbox.paused_until - now, 0.0)),
    }


def _answer(answer: Answer) -> dict[str, object]:
    return {
        "question": answer.question,
        "node": node_id(answer.node),
        "stage": str(answer.stage),
        "part": answer.part + 1,
        "parts": len(answer.parts),
        "asked_at": answer.asked_at,
        "reason": answer.reason,
    }


def this_process() -> dict[str, object]:
    """By which another process can tell whether this one still lives: within the same name space only."""
    return {"pid": os.getpid(), "space": process_space(), "born": process_birth(os.getpid())}


def process_birth(pid: int) -> str:
    """When the process started, in clock ticks since boot (proc(5), field 22 of stat); empty when it does not live."""
    try:
        with Path(f"/proc/{pid}/stat").open(encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def process_space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


# The radio's settings and the nodes it knows, for the commands that must not take the port from the gateway


def radio_as_json(info: RadioInfo, nodes: Iterable[NodeSeen]) -> str:
    """Public keys only; there is nothing secret in it."""
    fact = {name: getattr(info, name) for name in _PLAIN} | {
        "key": _hex(info.key),
        "lora": {name: getattr(info.lora, name) for name in LoRaSettings.__slots__},
        "channels": [[c.index, c.name, c.privacy.value, c.uplink] for c in info.channels],
        "nodes": [[n.node, n.long_name, n.short_name, _hex(n.key), n.last_heard] for n in nodes],
    }
    return json.dumps(fact)


def radio_from_json(text: str) -> RadioInfo | None:
    """What `radio_as_json` wrote; None for anything else."""
    try:
        fact = json.loads(text)
        return RadioInfo(
            **{name: fact[name] for name in _PLAIN},
            key=_bytes(fact["key"]),
            lora=LoRaSettings(**fact["lora"]),
            channels=tuple(ChannelInfo(i, name, ChannelPrivacy(p), up) for i, name, p, up in fact["channels"]),
            nodes=tuple(NodeSeen(n, long, short, _bytes(key), at) for n, long, short, key, at in fact["nodes"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


_PLAIN = (
    *("node", "firmware", "role", "has_pkc", "is_licensed", "is_unmessagable", "mqtt_enabled"),
    *("store_forward_enabled", "network_protocols", "serial_enabled", "debug_log_enabled"),
)
"""The fields of a `RadioInfo` that are numbers, texts and flags."""


def _hex(key: bytes | None) -> str | None:
    return key.hex() if key is not None else None


def _bytes(text: str | None) -> bytes | None:
    return bytes.fromhex(text) if text is not None else None


def read(store: Store) -> dict[str, object]:
    """Everything that ``meshseek status`` shows, from a store that a gateway is or was writing. Raises StoreTrouble."""
    return {
        "status": json.loads(store.fact(FACT) or "{}"),
        "radio": store.fact(RADIO_FACT),
        "questions": store.latest(),
        "refusals": store.refusals(),
        "counters": store.counters(),
    }
