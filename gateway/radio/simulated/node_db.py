"""What a node knows of the others, and what of it survives a reboot."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gateway.radio.simulated.frames import Channel, Data, Frame, PkcSeal, User


@dataclass(frozen=True, slots=True)
class Known:
    """Another node as this one remembers it."""

    user: User
    last_heard: int = 0
    snr: float = 0.0
    hops: int = 0
    favorite: bool = False


class NodeDb:
    """Keys are kept on first use: a different key for a known node is ignored (NodeDB.cpp)."""

    def __init__(self, user: User, channels: tuple[Channel, ...]) -> None:
        self.user = user
        self.channels = channels
        self.known: dict[int, Known] = {}
        self._saved: dict[int, Known] = {}

    def save(self) -> None:
        """Write to the node's own flash: at most once a minute by itself, at once for a favourite."""
        self._saved = dict(self.known)

    def reload(self) -> None:
        """Back to what was saved (a reboot)."""
        self.known = dict(self._saved)

    def key_of(self, number: int) -> bytes:
        """The stored key; empty when there is none."""
        known = self.known.get(number)
        return known.user.key if known else b""

    def learn(self, user: User, *, snr: float = 0.0, hops: int = 0, at: int = 0) -> bool:
        """Take a node's card; False when it is not believed, since we hold another key for this number."""
        old = self.known.get(user.number)
        if old is not None and old.user.key and user.key != old.user.key:
            return False
        favorite = old.favorite if old else False
        self.known[user.number] = Known(user, at, snr, hops, favorite)
        return True

    def touch(self, number: int, *, at: int, snr: float, hops: int) -> None:
        if number in self.known:
            self.known[number] = replace(self.known[number], last_heard=at, snr=snr, hops=hops)

    def set_favorite(self, number: int, favorite: bool) -> None:
        """Also forces the save. Unknown nodes are ignored."""
        if number in self.known:
            self.known[number] = replace(self.known[number], favorite=favorite)
            self.save()

    def forget(self, number: int) -> None:
        self.known.pop(number, None)
        self.save()

    def open(self, frame: Frame) -> tuple[Data | None, bytes, int]:
        """Decrypt: the content or None, the sender's key when it came under one, the index of the channel."""
        if isinstance(frame.seal, PkcSeal):
            ours = frame.to == self.user.number and frame.seal.receiver_key == self.user.key
            if ours and frame.seal.sender_key and self.key_of(frame.origin) == frame.seal.sender_key:
                return frame.data, frame.seal.sender_key, 0
            return None, b"", 0
        for index, channel in enumerate(self.channels):
            if (channel.name, channel.key) == (frame.seal.name, frame.seal.key):
                return frame.data, b"", index
        return None, b"", 0

    def why_closed(self, frame: Frame) -> str:
        """The reason of the NAK for a packet that we cannot open."""
        if isinstance(frame.seal, PkcSeal) and not self.key_of(frame.origin):
            return "PKI_UNKNOWN_PUBKEY"
        return "NO_CHANNEL"
