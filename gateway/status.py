"""What ``meshseek status`` shows of a running gateway: a board in memory, written to the store every few seconds."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict

from gateway.protocol.admission import Refused, explain
from gateway.protocol.answers import Answer, Stage
from gateway.protocol.budget import AirtimeBudget
from gateway.protocol.messages import RadioInfo, RadioTelemetry, node_id
from gateway.protocol.outbox import Outbox
from gateway.store import Store

FACT = "status"
WRITE_SECONDS = 5.0
"""Least time between two writes; the state file may lie on a memory card that wears out."""
QUIET_SECONDS = 60.0
"""Between two writes while nothing happens."""
REFUSALS_LIMIT = 200
COUNTERS_LIMIT = 100
"""Kinds of counters; the rest counts as ``other``."""


class Board:
    """Counts and times; nothing here decides anything."""

    def __init__(self, now: float) -> None:
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

    # Notes taken

    def note_link(self, up: bool, now: float, reason: str) -> None:
        self._link_up, self._link_since, self._link_reason = up, now, reason
        self._news = True

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


def read(store: Store) -> dict[str, object]:
    """Everything that ``meshseek status`` shows, from a store that a gateway is or was writing. Raises StoreTrouble."""
    return {
        "status": json.loads(store.fact(FACT) or "{}"),
        "questions": store.latest(),
        "refusals": store.refusals(),
        "counters": store.counters(),
    }
