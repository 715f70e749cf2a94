"""An answer on its way, and what can happen to it: the records that are stored before they are acted on. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gateway.protocol.messages import OutgoingPacket
from gateway.protocol.packets import text_budget


class Stage(enum.StrEnum):
    """Where an answer is. The values are stored: do not rename them."""

    WAITING = "waiting"
    """Its next part waits for its turn."""
    FLYING = "flying"
    """A part was handed to the radio, and its result is awaited."""
    PARKED = "parked"
    """Its node cannot be reached; it waits to be heard again."""
    DELIVERED = "delivered"
    """The destination's radio acknowledged every part; on a channel: all parts were sent."""
    FAILED = "failed"
    REPLACED = "replaced"
    """A newer question of the same node, or ``stop``, made the rest unwanted."""


OVER = frozenset((Stage.DELIVERED, Stage.FAILED, Stage.REPLACED))


def seat(node: int, channel: int | None) -> int:
    """Under which number a conversation is remembered.

    Whoever has a channel's key can use any node's number there: such an asker must not go on with, or have repeated for
    all to read, what was said to that node alone.
    """
    return node if channel is None else node + ((channel + 1) << 32)


@dataclass(frozen=True, slots=True)
class Question:
    """An admitted question, as it is stored until it is answered."""

    number: int
    """Ours; higher is newer."""
    node: int
    packet_id: int
    text: str
    asked_at: float
    wall_time: float = 0.0
    """Unix seconds by the machine's clock when it came."""
    name: str = ""
    key: bytes | None = None
    folders: tuple[str, ...] = ()
    channel: int | None = None
    hops: int | None = None
    snr: float | None = None
    rssi: int | None = None

    @property
    def seat(self) -> int:
        return seat(self.node, self.channel)


@dataclass(frozen=True, slots=True)
class Answer:
    """The parts for one question, and how far they got."""

    question: int
    """Number of the question in the store; higher is newer."""
    node: int
    parts: tuple[str, ...]
    asked_at: float
    key: bytes | None = None
    """For a direct answer: demand this key."""
    channel: int | None = None
    """None for a direct answer."""
    reply_id: int = 0
    """The packet that asked; named by the first part only."""
    hops: int | None = None
    """Relays to the node when it asked."""
    replaceable: bool = True
    """False for the confirmation of a saved note, and for a parked answer that was resumed."""
    notice: bool = False
    """One line about limits; may use the part of the budget kept back for that."""
    stage: Stage = Stage.WAITING
    part: int = 0
    """Index of the part that is next or in flight."""
    tries: int = 0
    """Hand-overs of this part that the radio took, since the answer was begun or resumed."""
    sent_before: bool = False
    """This part was handed over before, under another id: mark it."""
    stumbles: int = 0
    """Hand-overs in a row that the radio did not take."""
    not_before: float = 0.0
    parked_at: float = 0.0
    resumed: int = 0
    keys_asked: bool = False
    dropped: bool = False
    """What is in flight may still arrive; nothing more is to be sent."""
    reason: str = ""
    """Why it is parked, failed or replaced."""

    @property
    def direct(self) -> bool:
        return self.channel is None

    @property
    def seat(self) -> int:
        return seat(self.node, self.channel)

    @property
    def over(self) -> bool:
        return self.stage in OVER

    def budget(self) -> int:
        """Most bytes of the current part."""
        return text_budget(direct=self.direct, reply_id=self._reply_id() != 0)

    def packet(self, packet_id: int, text: str, broadcast: int) -> OutgoingPacket:
        return OutgoingPacket(
            packet_id=packet_id,
            destination=self.node if self.direct else broadcast,
            text=text,
            channel=self.channel or 0,
            key=self.key if self.direct else None,
            reply_id=self._reply_id(),
        )

    def _reply_id(self) -> int:
        return self.reply_id if self.part == 0 else 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One part handed over under one packet id."""

    packet_id: int
    question: int
    part: int
    node: int
    sent_at: float
    seconds: float
    """Airtime of one transmission."""


# What the outbox wants done, in this order: store it, then act on it.


@dataclass(frozen=True, slots=True)
class Moved:
    """The answer is now so."""

    answer: Answer


NOT_TAKEN = "UNAVAILABLE"
"""The result of an attempt that the radio did not take at all."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of an attempt."""

    attempt: Attempt
    result: str
    """``ACK``, ``SENT`` (on a channel), or the reason."""
    after: float
    """Seconds since the hand-over."""
    transmissions: int


@dataclass(frozen=True, slots=True)
class Send:
    """Hand this over now."""

    packet: OutgoingPacket
    attempt: Attempt
    answer: Answer


@dataclass(frozen=True, slots=True)
class AnnounceKeys:
    """Ask the radio to broadcast its node info."""


@dataclass(frozen=True, slots=True)
class Tell:
    """Something for the operator."""

    node: int
    reason: str
    text: str


Change = Moved | Ended | Send | AnnounceKeys | Tell
