"""One connection's side of the supervisor: keeps the events in order, and hands packets over one at a time.

Events that come before `LinkUp` wait for it, those of a dead connection are dropped; but a text that waits when its
connection dies waits for the next one, since the radio gives it only once. Packets go out by one
thread per connection, so that a hand-over which never returns can be left behind with its connection.
"""

from __future__ import annotations

import enum
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gateway.protocol.messages import (
    DeliveryReport,
    IncomingText,
    LinkDown,
    LinkUp,
    OutgoingPacket,
    QueueStatus,
    RadioEvent,
    SendFailed,
)
from gateway.radio.link import Link, LinkProblem
from gateway.radio.port import Deliver, RadioUnavailable
from gateway.radio.reconnect import LinkRules, Pulse

log = logging.getLogger("meshseek.radio")

MAX_HELD = 512
"""Events kept until the link is up; a radio replays at most 100 packets."""
MAX_JOBS = 64
"""Chores waiting for the sender; more are dropped, they are best effort."""
MIN_FREE = 3
"""Places the radio's transmit queue (16) must have before a packet is handed over."""
ASK_AGAIN_SECONDS = 2.0
"""How often a full radio is asked for its queue."""


class Gate(enum.Enum):
    HOLDING = "holding"
    OPEN = "open"
    SHUT = "shut"


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    run: Callable[[], None]
    packet_id: int = 0
    """Not 0 for a text, whose fate is told by events."""


class Session:
    """The `Sink` of one connection. Thread-safe."""

    def __init__(
        self, rules: LinkRules, deliver: Deliver, wake: Callable[[], None], texts: Iterable[IncomingText] = ()
    ) -> None:
        """`texts` were left by the connection before."""
        self._rules = rules
        self._deliver = deliver
        self._wake = wake
        self._lock = threading.Condition()
        self._gate = Gate.HOLDING
        self._held: deque[RadioEvent] = deque(texts, MAX_HELD)
        self._jobs: deque[Job] = deque()
        self._job: Job | None = None
        self._job_since = 0.0
        self._handing = 0
        self._text_due = 0.0
        self._free: int | None = None
        self._asked_at = 0.0
        self._pulse = Pulse(rules, time.monotonic())
        self._link: Link | None = None
        self._favored: set[int] = set()
        self.lost_reason: str | None = None
        self.is_configured = False

    # What the connection tells (`Sink`).

    def event(self, event: RadioEvent) -> None:
        with self._lock:
            if isinstance(event, DeliveryReport):
                self._taken(event.packet_id)  # its QueueStatus was lost on the cable; the link is none the worse
            self._offer(event)

    def pulse(self) -> None:
        with self._lock:
            self._pulse.heard(time.monotonic())

    def queue_status(self, status: QueueStatus) -> None:
        with self._lock:
            self._free = status.free
            if status.packet_id == 0 or self._taken(status.packet_id):
                self._offer(status)
            else:
                self._pulse.replied()

    def rebooted(self) -> None:
        with self._lock:
            self.is_configured = False
            self._free = None
            if self._gate is Gate.OPEN:
                self._tell_down("the radio rebooted")
                self._gate = Gate.HOLDING
        self._wake()

    def configured(self) -> None:
        with self._lock:
            self.is_configured = True
        self._wake()

    def lost(self, reason: str) -> None:
        with self._lock:
            self.lost_reason = self.lost_reason or reason
        self._wake()

    # What the supervisor does.

    @property
    def is_open(self) -> bool:
        return self._gate is Gate.OPEN

    def go_up(self, link: Link, up: LinkUp) -> bool:
        """Deliver `up` and what was held; False when the radio rebooted meanwhile."""
        with self._lock:
            if not self.is_configured or self._gate is not Gate.HOLDING:
                return False
            self._gate = Gate.OPEN
            now = time.monotonic()
            self._pulse = Pulse(self._rules, now)
            # The radio may have read a text of the last connection, or of the last process, only just now.
            self._text_due = now + self._rules.text_gap_seconds
            self._safely(up)
            while self._held:
                self._safely(self._held.popleft())
            if self._link is None:
                self._link = link
                threading.Thread(target=self._send_jobs, name="meshseek radio sender", daemon=True).start()
        return True

    def shut(self, reason: str, tell: bool = True) -> tuple[IncomingText, ...]:
        """Nothing of this connection is delivered any more; unconfirmed packets are told as failed first.

        Returns the texts that still wait for `LinkUp`.
        """
        with self._lock:
            if self._gate is Gate.OPEN:
                self._tell_down(reason, tell)
            self._gate = Gate.SHUT
            texts = tuple(event for event in self._held if isinstance(event, IncomingText))
            self._held.clear()
            self._lock.notify_all()
        return texts

    def fault(self, now: float) -> str | None:
        """Why this connection must be given up, or None."""
        with self._lock:
            if self.lost_reason is not None:
                return self.lost_reason
            if self._job is not None and now - self._job_since >= self._rules.handover_seconds:
                return f"the radio took nothing for {self._rules.handover_seconds:g} s ({self._job.name})"
            return self._pulse.stopped(now) if self._gate is Gate.OPEN else None

    def chores(self, now: float) -> tuple[bool, bool]:
        """Whether a heartbeat and a probe are due; each is said once."""
        with self._lock:
            return self._pulse.heartbeat_due(now), self._pulse.probe_due(now)

    def chore(self, name: str, run: Callable[[], None]) -> None:
        """Do this after what is already waiting; dropped when the link is not up."""
        with self._lock:
            if self._gate is Gate.OPEN and len(self._jobs) < MAX_JOBS:
                self._jobs.append(Job(name, run))
                self._lock.notify_all()

    def is_first_favor(self, node: int) -> bool:
        """True the first time that this node is named."""
        with self._lock:
            is_first = node not in self._favored
            self._favored.add(node)
            return is_first

    def send(self, packet: OutgoingPacket) -> None:
        """Take the packet for hand-over. Raises RadioUnavailable."""
        now = time.monotonic()
        with self._lock:
            if self._gate is not Gate.OPEN or self._link is None or self.lost_reason is not None:
                raise RadioUnavailable("the link is not up")
            if self._handing:
                raise RadioUnavailable("a hand-over is under way")
            if self._free is not None and self._free < MIN_FREE:
                self._ask_for_queue(now)
                raise RadioUnavailable(f"the radio's queue is full ({self._free} free)")
            link = self._link
            self._handing = packet.packet_id
            self._pulse.handed_over(packet.packet_id, now)
            self._jobs.append(Job("text", lambda: link.send(packet), packet.packet_id))
            self._lock.notify_all()

    def _ask_for_queue(self, now: float) -> None:
        link = self._link
        if link is not None and now - self._asked_at >= ASK_AGAIN_SECONDS and len(self._jobs) < MAX_JOBS:
            self._asked_at = now
            self._jobs.append(Job("heartbeat", link.heartbeat))
            self._lock.notify_all()

    # Below, the lock is held.

    def _taken(self, packet_id: int) -> bool:
        """The radio has read this packet of ours; False when that was known, or it is none of ours."""
        now = time.monotonic()
        if not self._pulse.confirmed(packet_id, now):
            return False
        self._text_due = now + self._rules.text_gap_seconds
        self._lock.notify_all()
        return True

    def _offer(self, event: RadioEvent) -> None:
        if self._gate is Gate.OPEN:
            self._safely(event)
        elif self._gate is Gate.HOLDING:
            self._held.append(event)

    def _tell_down(self, reason: str, tell: bool = True) -> None:
        for packet_id in self._pulse.unconfirmed():
            self._pulse.forget(packet_id)
            self._safely(SendFailed(packet_id, reason, retry=True))
        self._handing = 0
        self._jobs.clear()
        if tell:
            self._safely(LinkDown(reason))

    def _safely(self, event: RadioEvent) -> None:
        try:
            self._deliver(event)
        except Exception:  # noqa: BLE001  a listener's fault must not cost the connection
            log.error("event=deliver_failed kind=%s", type(event).__name__)

    # The sender thread.

    def _send_jobs(self) -> None:
        while (job := self._next_job()) is not None:
            try:
                job.run()
            except BaseException as error:  # noqa: BLE001  the library raises SystemExit too
                self._job_failed(job, error)
            with self._lock:
                self._job = None
                if job.packet_id:
                    self._text_due = time.monotonic() + self._rules.text_gap_seconds
                if job.packet_id == self._handing:
                    self._handing = 0

    def _next_job(self) -> Job | None:
        """A text goes before the chores, but not sooner than the radio takes it. None when it is over."""
        with self._lock:
            while self._gate is not Gate.SHUT:
                now = time.monotonic()
                ready = [job for job in self._jobs if not job.packet_id or self._may_write(job.packet_id, now)]
                if ready:
                    self._job = max(ready, key=lambda job: job.packet_id != 0)
                    self._jobs.remove(self._job)
                    self._job_since = now
                    return self._job
                self._lock.wait(self._text_due - now if self._jobs and self._text_due > now else None)
            return None

    def _may_write(self, packet_id: int, now: float) -> bool:
        """Whether the radio has had the last text for long enough; its QueueStatus says when it read it."""
        return now >= self._text_due and not any(other != packet_id for other in self._pulse.unconfirmed())

    def _job_failed(self, job: Job, error: BaseException) -> None:
        reason = str(error) if isinstance(error, LinkProblem) else f"writing to the radio failed ({error!r})"
        with self._lock:
            if job.packet_id and self._pulse.forget(job.packet_id):
                self._offer(SendFailed(job.packet_id, reason, retry=True))
        self.lost(reason)
