"""The one way to a radio. Real, simulated and fake radios keep the same promises (``tests/contract``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gateway.protocol.messages import OutgoingPacket, RadioEvent

Deliver = Callable[[RadioEvent], None]
"""Takes an event and returns at once; may be called from any thread."""


class RadioUnavailable(Exception):
    """The link is down or busy; the same packet may be tried later."""


class RadioRejected(Exception):
    """This packet can never be sent as it is; trying again is of no use."""


class Radio(Protocol):
    """A Meshtastic radio, kept connected by itself.

    Events arrive through the `deliver` given to `start`, in the order in which they happened: first `LinkUp`, then
    whatever is heard. A lost link gives `LinkDown`, its return another `LinkUp`; never two of a kind in a row.
    """

    def start(self, deliver: Deliver) -> None:
        """Begin to connect, and return at once. To be called once."""

    def send(self, packet: OutgoingPacket) -> None:
        """Take one packet for hand-over, and return at once (never blocks on the device).

        What came of it is told by events: `QueueStatus` with its id after the hand-over, `SendFailed`
        when it was not handed over, later `DeliveryReport`.

        Raises RadioUnavailable when the link is not up or a hand-over is still under way, RadioRejected when the
        packet cannot be sent at all (over 233 bytes of UTF-8: mesh.proto DATA_PAYLOAD_LEN).
        """

    def protect(self, nodes: tuple[int, ...]) -> None:
        """Ask the radio not to forget the keys of these nodes (favourites). Returns at once; best effort."""

    def announce(self) -> None:
        """Ask the radio to broadcast its own node info, so that others learn our key. Returns at once; best effort."""

    def close(self) -> None:
        """Say goodbye to the radio and stop. Returns within 10 seconds; idempotent."""
