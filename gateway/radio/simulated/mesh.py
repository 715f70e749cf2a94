"""The air and the time: a heap of events, and who hears whom. No thread, no clock."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from gateway.protocol.airtime import airtime_seconds, symbol_seconds
from gateway.protocol.messages import LoRaSettings
from gateway.radio.simulated.frames import MAX_FRAME, Frame

SLOT_SYMBOLS = 2.25
"""A slot is this and 7.6 ms of turnaround: the value at which the measured retransmission times come out."""
LOG_LENGTH = 5_000
"""Frames remembered in `Mesh.log`; the totals go on counting."""


@dataclass(frozen=True, slots=True)
class Link:
    """How one node hears another."""

    up: bool = True
    loss: float = 0.0
    """Share of frames lost, 0 to 1."""
    delay: float = 0.0
    """Seconds between the end of a frame and its arrival."""
    duplicates: float = 0.0
    """Share of frames that arrive twice."""
    snr: float = 6.25
    """dB."""
    rssi: int = -60
    """dBm."""


@dataclass(frozen=True, slots=True)
class OnAir:
    """One transmission."""

    transmitter: int
    frame: Frame
    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start


class Station(Protocol):
    """What the air needs of a node."""

    number: int

    def hear(self, frame: Frame, link: Link, seconds: float) -> None: ...

    def sent(self, seconds: float) -> None: ...

    def noise(self, seconds: float) -> None: ...


class Mesh:
    """Nodes within reach of each other, on one preset, with time that moves only when told.

    All nodes hear all others over `link` unless `connect` or `cut` says otherwise. Everything random comes from
    `seed`, so that a run can be repeated. `collisions` lets frames that overlap at a receiver destroy each other,
    and nodes that choose the same slot overlap.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        lora: LoRaSettings | None = None,
        link: Link | None = None,
        start: float = 0.0,
        collisions: bool = True,
    ) -> None:
        self.lora = lora or LoRaSettings(region="US")
        self.rng = random.Random(seed)
        self.now = start
        self.link = link or Link()
        self.collisions = collisions
        self.nodes: dict[int, Station] = {}
        self.log: deque[OnAir] = deque(maxlen=LOG_LENGTH)
        self.frames = 0
        self.bytes_sent = 0
        self.airtime = 0.0
        self.slot = SLOT_SYMBOLS * symbol_seconds(self.lora) + 0.0076
        """Seconds of one contention slot."""
        self.filter: Callable[[OnAir, int], bool] | None = None
        """For tests: called with a transmission and a receiver; False loses it there."""
        self._links: dict[tuple[int, int], Link] = {}
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._order = 0
        self._longest = airtime_seconds(MAX_FRAME, self.lora)
        self._recent: list[OnAir] = []

    # --- time -------------------------------------------------------------------------------------------------

    def at(self, when: float, action: Callable[[], object]) -> None:
        """Have `action` called when the mesh's time reaches `when`; equal times keep the order of the calls."""
        self._order += 1
        heapq.heappush(self._events, (max(when, self.now), self._order, action))

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        self.at(self.now + seconds, action)

    def next_event_time(self) -> float | None:
        return self._events[0][0] if self._events else None

    def run_until(self, when: float) -> None:
        """Let everything happen that is due up to `when`, and leave the time there."""
        while self._events and self._events[0][0] <= when:
            due, _, action = heapq.heappop(self._events)
            self.now = max(self.now, due)
            action()
        self.now = max(self.now, when)

    def run_for(self, seconds: float) -> None:
        self.run_until(self.now + seconds)

    def run_until_true(self, condition: Callable[[], bool], limit: float) -> bool:
        """Go from event to event until `condition` holds; False when `limit` seconds were not enough."""
        end = self.now + limit
        while not condition():
            due = self.next_event_time()
            if due is None or due > end:
                self.now = end
                return condition()
            self.run_until(due)
        return True

    # --- who hears whom ---------------------------------------------------------------------------------------

    def add(self, node: Station) -> None:
        if node.number in self.nodes:
            raise ValueError(f"node number {node.number:#x} is taken")
        self.nodes[node.number] = node

    def heard_over(self, transmitter: int, receiver: int) -> Link:
        return self._links.get((transmitter, receiver), self.link)

    def connect(self, one: int, other: int, link: Link | None = None, *, both: bool = True) -> None:
        """Let `other` hear `one` over `link`, and the other way round when `both`."""
        self._links[one, other] = link or self.link
        if both:
            self._links[other, one] = link or self.link

    def cut(self, one: int, other: int, *, both: bool = True) -> None:
        """Neither hears the other; with both=False, only `other` no longer hears `one`."""
        self.connect(one, other, replace(self.heard_over(one, other), up=False), both=False)
        if both:
            self.connect(other, one, replace(self.heard_over(other, one), up=False), both=False)

    def isolate(self, number: int) -> None:
        """Cut a node off from all others; `rejoin` undoes it."""
        for other in self.nodes:
            if other != number:
                self.cut(number, other)

    def rejoin(self, number: int, link: Link | None = None) -> None:
        for other in self.nodes:
            if other != number:
                self.connect(number, other, link)

    # --- the air ----------------------------------------------------------------------------------------------

    def seconds(self, frame: Frame) -> float:
        return airtime_seconds(frame.size(), self.lora)

    def busy_until(self, number: int) -> float:
        """When the transmissions that this node can sense now will be over; a past time when there are none."""
        sensed = self.now - (self.slot / 2 if self.collisions else 0.0)
        ends = (t.end for t in self._recent if t.end > self.now and t.start <= sensed and self._audible(t, number))
        return max(ends, default=-1.0)

    def transmit(self, number: int, frame: Frame) -> float:
        """Put a frame on the air now; returns when it ends."""
        sent = OnAir(number, frame, self.now, self.now + self.seconds(frame))
        self._recent = [t for t in self._recent if t.end > self.now - self._longest]
        self._recent.append(sent)
        self.log.append(sent)
        self.frames += 1
        self.bytes_sent += frame.size()
        self.airtime += sent.seconds
        self.at(sent.end, lambda: self._finish(sent))
        return sent.end

    def _finish(self, sent: OnAir) -> None:
        for number in list(self.nodes):
            if number != sent.transmitter:
                self._carry(sent, number)
        self.nodes[sent.transmitter].sent(sent.seconds)

    def _carry(self, sent: OnAir, receiver: int) -> None:
        link = self.heard_over(sent.transmitter, receiver)
        if not link.up:
            return
        if self.rng.random() < link.loss or self._drowned(sent, receiver):
            self.nodes[receiver].noise(sent.seconds)
            return
        if self.filter is not None and not self.filter(sent, receiver):
            return
        copies = 2 if self.rng.random() < link.duplicates else 1
        for copy in range(copies):
            self.after(link.delay + copy * 0.01, lambda: self.nodes[receiver].hear(sent.frame, link, sent.seconds))

    def _drowned(self, sent: OnAir, receiver: int) -> bool:
        """A node cannot hear while it speaks, nor (with collisions) two frames at once."""
        others = (t for t in self._recent if t is not sent and t.start < sent.end and t.end > sent.start)
        return any(t.transmitter == receiver or (self.collisions and self._audible(t, receiver)) for t in others)

    def _audible(self, sent: OnAir, receiver: int) -> bool:
        return sent.transmitter == receiver or self.heard_over(sent.transmitter, receiver).up
