"""A node's queue in front of the air: priorities, contention, and the ledger of air time used."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from gateway.protocol.airtime import duty_cycle_percent
from gateway.protocol.messages import LoRaSettings
from gateway.radio.simulated.frames import Frame
from gateway.radio.simulated.mesh import Mesh

QUEUE_SLOTS = 16
"""Packets waiting for the air (RadioInterface.h, MAX_TX_QUEUE)."""
PRIORITY_DEFAULT, PRIORITY_RELIABLE, PRIORITY_HIGH, PRIORITY_ACK = 64, 70, 100, 120
"""mesh.proto, MeshPacket.Priority."""
CW_MIN, CW_MAX = 3, 8
"""Exponents of the contention window (RadioInterface.h)."""
HOUR, MINUTE = 3600.0, 60.0


@dataclass(slots=True)
class Waiting:
    frame: Frame
    priority: int
    order: int
    ready_at: float
    snr: float | None
    """Of a packet passed on for another: how well it was heard."""


class Window:
    """A sum over the last so many seconds."""

    def __init__(self, length: float) -> None:
        self.entries: deque[tuple[float, float]] = deque()
        self._length = length
        self._sum = 0.0

    def add(self, now: float, amount: float) -> None:
        self.total(now)  # Nobody may ask for hours: what is too old goes when something comes.
        self.entries.append((now, amount))
        self._sum += amount

    def total(self, now: float) -> float:
        while self.entries and self.entries[0][0] <= now - self._length:
            self._sum -= self.entries.popleft()[1]
        if not self.entries:
            self._sum = 0.0  # what rounding has left over
        return self._sum


class Ledger:
    """Air time of the last hour (sent) and of the last minute (sent and heard). Seconds."""

    def __init__(self) -> None:
        self._sent = Window(HOUR)
        self._busy = Window(MINUTE)

    def note(self, now: float, seconds: float, *, sent: bool) -> None:
        self._busy.add(now, seconds)
        if sent:
            self._sent.add(now, seconds)

    def sent_in_hour(self, now: float) -> float:
        return self._sent.total(now)

    def busy_in_minute(self, now: float) -> float:
        return min(self._busy.total(now), MINUTE)

    def seconds_until_below(self, limit: float, now: float) -> float:
        """How long until the last hour holds less than `limit` seconds if nothing more is sent."""
        left = self.sent_in_hour(now)
        if left < limit:
            return 0.0
        for when, seconds in self._sent.entries:
            left -= seconds
            if left < limit:
                return max(when + HOUR - now, 0.0)
        return HOUR


class Transmitter:
    """Sends one frame at a time, the most urgent first, after listening and a random delay."""

    def __init__(self, mesh: Mesh, number: int, lora: LoRaSettings) -> None:
        self.mesh = mesh
        self.number = number
        self.lora = lora
        self.ledger = Ledger()
        self.waiting: list[Waiting] = []
        self._sending_until = -1.0
        self._timer: float | None = None
        self._order = 0

    @property
    def free(self) -> int:
        return QUEUE_SLOTS - len(self.waiting)

    @property
    def enabled(self) -> bool:
        return self.lora.tx_enabled and self.lora.region != "UNSET"

    def channel_utilization(self) -> float:
        """Percent of the last minute."""
        return 100 * self.ledger.busy_in_minute(self.mesh.now) / MINUTE

    def air_util_tx(self) -> float:
        """Percent of the last hour."""
        return 100 * self.ledger.sent_in_hour(self.mesh.now) / HOUR

    def silent_minutes(self) -> int:
        """Minutes that the duty cycle forbids to send; 0 when it does not."""
        percent = duty_cycle_percent(self.lora)
        if percent >= 100 or self.air_util_tx() <= percent:
            return 0
        wait = self.ledger.seconds_until_below(percent / 100 * HOUR, self.mesh.now)
        return max(math.ceil(wait / 60), 1)

    def clear(self) -> None:
        """Forget what waits (a reboot); what is on the air ends by itself."""
        self.waiting.clear()
        self._timer = None

    def has(self, key: tuple[int, int]) -> bool:
        return any(item.frame.key == key for item in self.waiting)

    def drop(self, key: tuple[int, int]) -> None:
        """Take a packet out again, e.g. a relay that somebody else has done."""
        self.waiting = [item for item in self.waiting if item.frame.key != key]

    def enqueue(self, frame: Frame, priority: int, *, snr: float | None = None) -> bool:
        """False when the queue is full of packets at least as urgent. `snr` is given for a packet passed on."""
        if not self.free and not self._evict_below(priority):
            return False
        self._order += 1
        self.waiting.append(Waiting(frame, priority, self._order, self.mesh.now + self._delay(snr), snr))
        self._schedule()
        return True

    def _evict_below(self, priority: int) -> bool:
        last = min(self.waiting, key=lambda item: (item.priority, -item.order))
        if last.priority >= priority:
            return False
        self.waiting.remove(last)
        return True

    def heard(self, seconds: float) -> None:
        """A frame has just ended here."""
        self.ledger.note(self.mesh.now, seconds, sent=False)

    def sent(self, seconds: float) -> None:
        """Our own frame has just ended."""
        self.ledger.note(self.mesh.now, seconds, sent=True)
        for item in self.waiting:
            item.ready_at = max(item.ready_at, self.mesh.now + self._delay(item.snr))
        self._schedule()

    def _delay(self, snr: float | None) -> float:
        """Seconds of contention: more on a busy channel; of those who pass a packet on, who heard it worst goes first.

        Drawn anew each time that the channel is found busy (RadioInterface.cpp, getTxDelayMsecWeighted).
        """
        if snr is None:
            window = CW_MIN + round(self.channel_utilization() / 100 * (CW_MAX - CW_MIN))
            return self.mesh.rng.randrange(2**window) * self.mesh.slot
        window = round(CW_MIN + (min(max(snr, -20.0), 10.0) + 20) / 30 * (CW_MAX - CW_MIN))
        return (2 * CW_MAX + self.mesh.rng.randrange(2**window)) * self.mesh.slot

    def _schedule(self) -> None:
        if self.waiting:
            self._wake_at(max(min(item.ready_at for item in self.waiting), self._sending_until))

    def _wake_at(self, when: float) -> None:
        if self._timer is not None and self._timer <= when:
            return
        self._timer = when
        self.mesh.at(when, lambda: self._fire(when))

    def _fire(self, when: float) -> None:
        if self._timer != when:
            return
        self._timer = None
        now = self.mesh.now
        ready = [item for item in self.waiting if item.ready_at <= now]
        if now < self._sending_until or not ready:
            self._schedule()
            return
        busy = self.mesh.busy_until(self.number)
        if busy > now:
            for item in ready:
                item.ready_at = busy + self._delay(item.snr)
            self._schedule()
            return
        self._transmit(max(ready, key=lambda item: (item.priority, -item.order)))

    def _transmit(self, item: Waiting) -> None:
        self.waiting.remove(item)
        self._sending_until = self.mesh.transmit(self.number, item.frame)
        self._schedule()
