"""Packets in the radio whose result is awaited, and those before them that may still be acknowledged. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from gateway.protocol import airtime
from gateway.protocol.answers import Answer, Attempt, Ended
from gateway.protocol.budget import AirtimeBudget
from gateway.protocol.routing_errors import SILENCE, Action, Row

MAX_FLYING = 3  # packets in the radio at once; its queue holds 16 (firmware MAX_TX_QUEUE)
AFTER_LINK_LOSS = 15.0  # seconds; a result older than the new link is not likely to come any more
REMEMBERED_ATTEMPTS = 500

_ALL_SENT = ("MAX_RETRANSMIT", SILENCE, "SUPERSEDED")
_NONE_SENT = ("TOO_LARGE", "PKI_SEND_FAIL_PUBLIC_KEY", "PKI_FAILED", "NO_INTERFACE", "RADIO_OFF", "REJECTED")


@dataclass(slots=True)
class Flight:
    attempt: Attempt
    frame: int
    """Bytes on the air."""
    overdue: float
    """When the radio has surely stopped repeating it, so that others may be sent something again."""
    deadline: float
    """When silence is taken for a result."""
    quiet_since: float | None = None
    """When a relay was overheard: our radio repeats it no more after that (firmware ReliableRouter.cpp)."""
    reason: str = SILENCE
    """What silence until the deadline means."""


class Flights:
    """One packet, and a few more whose own time is over without a result; one per node."""

    def __init__(self, budget: AirtimeBudget) -> None:
        self._budget = budget
        self._flights: dict[int, Flight] = {}
        self._attempts: OrderedDict[int, Attempt] = OrderedDict()

    def __len__(self) -> int:
        return len(self._flights)

    def get(self, packet_id: int) -> Flight | None:
        return self._flights.get(packet_id)

    def attempt_or_none(self, packet_id: int) -> Attempt | None:
        """The attempt under this id, in flight or not any more."""
        return self._attempts.get(packet_id)

    def of_question(self, question: int) -> list[Flight]:
        return [flight for flight in self._flights.values() if flight.attempt.question == question]

    def nodes(self) -> set[int]:
        return {flight.attempt.node for flight in self._flights.values()}

    def late(self, now: float) -> list[Flight]:
        return [flight for flight in self._flights.values() if now >= flight.deadline]

    def may_send(self, now: float) -> bool:
        """Whether another packet may go: it would collide with repetitions and acknowledgements of the last."""
        return len(self) < MAX_FLYING and all(now >= flight.overdue for flight in self._flights.values())

    def times(self, now: float) -> Iterable[float]:
        """When something changes by itself."""
        for flight in self._flights.values():
            yield flight.deadline
            if flight.overdue > now:
                yield flight.overdue

    def remember(self, attempt: Attempt) -> None:
        self._attempts[attempt.packet_id] = attempt
        while len(self._attempts) > REMEMBERED_ATTEMPTS:
            self._attempts.popitem(last=False)

    def start(self, attempt: Attempt, answer: Answer, now: float) -> None:
        """The attempt is in the air from now on, or since before a restart."""
        lora = self._budget.lora
        length = len(answer.parts[attempt.part].encode()) + 1
        frame = airtime.frame_bytes(length, direct=answer.direct, reply_id=attempt.part == 0)
        began = min(attempt.sent_at, now)
        overdue = began + airtime.TRANSMISSIONS * airtime.retransmission_wait(frame, lora)
        deadline = began + airtime.ack_deadline(frame, lora, answer.hops)
        self._flights[attempt.packet_id] = Flight(attempt, frame, overdue, deadline)

    def relayed(self, packet_id: int, hops: int | None, now: float) -> None:
        """A relay was overheard: our radio repeats no more, but the destination's own ACK may still come."""
        flight = self._flights.get(packet_id)
        if flight is not None:
            flight.quiet_since = flight.quiet_since or now
            wait = airtime.relayed_deadline(flight.frame, self._budget.lora, hops)
            flight.deadline = min(flight.deadline, now + wait)
            flight.overdue = min(flight.deadline, now + wait / 2)

    def expect_soon(self, now: float) -> None:
        """The link was lost and is back: results of what was in flight may never come."""
        for flight in self._flights.values():
            flight.deadline = min(flight.deadline, now + AFTER_LINK_LOSS)

    def land(self, attempt: Attempt, result: str, now: float, *, sent: bool = True) -> list[Ended]:
        """The result of an attempt is known; `sent` False: our radio did not transmit it."""
        flight = self._flights.pop(attempt.packet_id, None)
        after = max(now - attempt.sent_at, 0.0)
        if flight is None:
            return [Ended(attempt, result, after, 0)] if result == "ACK" else []
        count = self._transmissions(flight, result, now) if sent else 0
        self._budget.settle(attempt.packet_id, count)
        return [Ended(attempt, result, after, count)]

    def _transmissions(self, flight: Flight, result: str, now: float) -> int:
        """How often our radio has sent it; when in doubt, as often as it may."""
        if flight.quiet_since is None and result in _ALL_SENT:
            return airtime.TRANSMISSIONS
        end = now if flight.quiet_since is None else flight.quiet_since
        return airtime.transmissions_within(end - flight.attempt.sent_at, flight.frame, self._budget.lora)


def was_sent(reason: str, row: Row) -> bool:
    """Whether our radio put the packet on the air before it gave this reason."""
    return reason not in _NONE_SENT and row.action not in (Action.LATER, Action.PAUSE)
