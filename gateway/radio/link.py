"""What the supervisor asks of one connection, and what the connection tells it. No library, no thread."""

from __future__ import annotations

from typing import Protocol

from gateway.protocol.messages import OutgoingPacket, QueueStatus, RadioEvent, RadioInfo


class LinkProblem(Exception):
    """This connection cannot go on; the text is a sentence for the owner."""


class Sink(Protocol):
    """Told by one connection, from any thread; everything returns at once."""

    def event(self, event: RadioEvent) -> None:
        """Something was heard."""

    def pulse(self) -> None:
        """A packet came, whatever it was."""

    def queue_status(self, status: QueueStatus) -> None:
        """The radio answered a hand-over or a heartbeat."""

    def rebooted(self) -> None:
        """The radio says that it has just started; its start-up conversation begins anew by itself."""

    def configured(self) -> None:
        """The start-up conversation is complete."""

    def lost(self, reason: str) -> None:
        """The connection is dead for good."""


class Link(Protocol):
    """One connection, used once. Every call may hang: the supervisor gives each a deadline and leaves it behind.

    Everything raises LinkProblem for what a user can understand, and may raise anything else.
    """

    def open(self) -> None:
        """Open the port."""

    def configure(self) -> None:
        """Hold the start-up conversation; returns when it is complete."""

    def info(self) -> RadioInfo:
        """What the radio said of itself. Returns at once."""

    def favorites(self) -> frozenset[int]:
        """The nodes that the radio already keeps for good. Returns at once."""

    def send(self, packet: OutgoingPacket) -> None:
        """Write one text packet to the port."""

    def set_clock(self, unix: int) -> None:
        """Set the radio's clock, Unix seconds."""

    def set_favorite(self, node: int) -> None:
        """Ask the radio to keep this node."""

    def announce(self) -> None:
        """Ask the radio to broadcast its node info."""

    def heartbeat(self) -> None:
        """Say that we are here; answered by a QueueStatus with id 0."""

    def probe(self) -> None:
        """Ask something that a radio which is not deaf answers with a packet."""

    def close(self) -> None:
        """Say goodbye and close the port; also stops `open` and `configure` in another thread. Idempotent."""
