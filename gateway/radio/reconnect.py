"""When to open, when to give up, when to try again: the link's state machine. Pure: time is an argument.

Every state has a deadline. A link that is up has two pulses: the radio's own packets (its telemetry comes
about once a minute) and its QueueStatus after each hand-over. A radio that rebooted without notice keeps
answering heartbeats but sends neither, so only these two count.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gateway.protocol.outbox import TEXT_GAP_SECONDS

MAX_UNCONFIRMED = 64
"""Hand-overs whose QueueStatus is awaited; the firmware's queue holds 16."""

STABLE_SECONDS = 30.0
"""A link lost sooner counts as one more failure in a row: two clients that throw each other out must slow down."""


@dataclass(frozen=True, slots=True)
class LinkRules:
    """Deadlines of the link, in seconds. The defaults are for real radios; tests shorten them."""

    open_seconds: float = 20.0
    configure_seconds: float = 120.0
    """The whole start-up conversation; a full node list on a slow port takes tens of seconds."""
    quiet_start_seconds: float = 30.0
    """Not one frame in this time after the first request: it is no Meshtastic radio, or its serial API is off."""
    ask_again_seconds: float = 5.0
    """The request is repeated when nothing of the answer came for this long: a board that restarts when it is opened
    misses the first, and what ends the answer may be damaged on its way."""
    close_seconds: float = 6.0
    silence_seconds: float = 300.0
    """No packet in this time: the radio is deaf or gone. Its own telemetry comes about every 60 s."""
    probe_seconds: float = 120.0
    """After this much silence the radio is asked something that it answers with a packet; one that takes no notice
    of it (see `queue_status_seconds`) has restarted and forgotten us."""
    queue_status_seconds: float = 30.0
    """The radio answers a hand-over at once; ESP32-S3 native USB may hold bytes back for 20 s."""
    handover_seconds: float = 12.0
    """Longest time that writing one packet may take."""
    write_seconds: float = 5.0
    """Longest time that the port may take no byte."""
    write_pause_seconds: float = 0.1
    """The library's own pause after a write, for boards with a slow serial bridge."""
    text_gap_seconds: float = TEXT_GAP_SECONDS
    """Between two texts, from when the radio has the first: a slow port may hold it back after its hand-over."""
    heartbeat_seconds: float = 300.0
    """The firmware forgets a serial client that is silent for 15 minutes."""
    backoff_first_seconds: float = 1.0
    backoff_most_seconds: float = 60.0
    poll_seconds: float = 0.5
    """How often an absent device is looked for and deadlines are checked."""


class LinkState(enum.Enum):
    WAITING_FOR_DEVICE = "waiting-for-device"
    OPENING = "opening"
    CONFIGURING = "configuring"
    UP = "up"
    CLOSING = "closing"


OVERDUE_REASONS = {
    LinkState.OPENING: "the port did not open in time",
    LinkState.CONFIGURING: "the radio did not finish its start-up conversation in time",
    LinkState.CLOSING: "the port did not close in time",
}


class LinkMachine:
    """Where the link stands, since when, and how long that may last."""

    def __init__(self, rules: LinkRules, now: float) -> None:
        self._rules = rules
        self.state = LinkState.WAITING_FOR_DEVICE
        self.since = now
        self.down_since = now
        self.failures = 0
        self._retry_at = now

    def _enter(self, state: LinkState, now: float) -> None:
        self.state = state
        self.since = now

    def may_open(self, now: float) -> bool:
        """Whether an attempt is due: the device may be looked for and opened."""
        return self.state is LinkState.WAITING_FOR_DEVICE and now >= self._retry_at

    def device_absent(self, now: float) -> None:
        """Nothing to open yet; looked for again soon, without growing pauses: looking costs nothing."""
        self.failures = 0
        self._retry_at = now + self._rules.poll_seconds

    def opening(self, now: float) -> None:
        self._enter(LinkState.OPENING, now)

    def configuring(self, now: float) -> None:
        if self.state is LinkState.UP:
            self.down_since = now
        self._enter(LinkState.CONFIGURING, now)

    def up(self, now: float) -> float:
        """The link is up; returns how long it was down, in seconds."""
        self._enter(LinkState.UP, now)
        return now - self.down_since

    def closing(self, now: float) -> None:
        """The attempt failed or the link was lost; the port is to be let go."""
        if self.state is LinkState.UP:
            self.down_since = now
            if now - self.since >= STABLE_SECONDS:
                self.failures = 0
        self.failures += 1
        self._enter(LinkState.CLOSING, now)

    def closed(self, now: float) -> None:
        self._retry_at = now + self.pause()
        self._enter(LinkState.WAITING_FOR_DEVICE, now)

    def pause(self) -> float:
        """Seconds until the next attempt: doubled by every failure in a row, within the rules' limits."""
        doublings = min(max(self.failures - 1, 0), 16)
        return min(self._rules.backoff_first_seconds * 2.0**doublings, self._rules.backoff_most_seconds)

    def deadline(self) -> float | None:
        """When the present state becomes a fault; None for waiting (as long as it takes) and for up (`Pulse`)."""
        lasting = {
            LinkState.OPENING: self._rules.open_seconds,
            LinkState.CONFIGURING: self._rules.configure_seconds,
            LinkState.CLOSING: self._rules.close_seconds,
        }.get(self.state)
        return None if lasting is None else self.since + lasting

    def overdue(self, now: float) -> str | None:
        """Why the present state has lasted too long, or None."""
        deadline = self.deadline()
        return OVERDUE_REASONS[self.state] if deadline is not None and now >= deadline else None


class Pulse:
    """Signs of life of one connection."""

    def __init__(self, rules: LinkRules, now: float) -> None:
        self._rules = rules
        self._heard_at = now
        self._probed_at = now
        self._asked_at: float | None = None
        self._beat_at = now
        self._unconfirmed: dict[int, float] = {}

    def heard(self, now: float) -> None:
        """A packet came from the radio (not merely the answer to a heartbeat)."""
        self._heard_at = now
        self._asked_at = None

    def handed_over(self, packet_id: int, now: float) -> None:
        """A packet is on its way to the radio. Forgets the oldest when too many are unconfirmed."""
        self._unconfirmed[packet_id] = now
        while len(self._unconfirmed) > MAX_UNCONFIRMED:
            del self._unconfirmed[next(iter(self._unconfirmed))]

    def confirmed(self, packet_id: int, now: float) -> bool:
        """The radio answered a hand-over; False when it names none of ours."""
        if self._unconfirmed.pop(packet_id, None) is None:
            return False
        self.heard(now)
        return True

    def forget(self, packet_id: int) -> bool:
        """The hand-over failed; False when it was not awaited any more."""
        return self._unconfirmed.pop(packet_id, None) is not None

    def unconfirmed(self) -> tuple[int, ...]:
        return tuple(self._unconfirmed)

    def probe_due(self, now: float) -> bool:
        """True once per probe interval of silence."""
        if now - max(self._heard_at, self._probed_at) < self._rules.probe_seconds:
            return False
        self._probed_at = now
        if self._asked_at is None:
            self._asked_at = now
        return True

    def replied(self) -> None:
        """The radio took a packet that is no text of ours: it is not deaf, though it may have nothing to tell."""
        self._asked_at = None

    def heartbeat_due(self, now: float) -> bool:
        if now - self._beat_at < self._rules.heartbeat_seconds:
            return False
        self._beat_at = now
        return True

    def stopped(self, now: float) -> str | None:
        """Why the link must be taken for dead, or None."""
        oldest = min(self._unconfirmed.values(), default=now)
        if now - oldest >= self._rules.queue_status_seconds:
            return f"the radio did not confirm a packet within {self._rules.queue_status_seconds:g} s"
        if self._asked_at is not None and now - self._asked_at >= self._rules.queue_status_seconds:
            return f"the radio did not answer within {self._rules.queue_status_seconds:g} s: it may have restarted"
        if now - self._heard_at >= self._rules.silence_seconds:
            return f"nothing came from the radio for {self._rules.silence_seconds:g} s"
        return None
