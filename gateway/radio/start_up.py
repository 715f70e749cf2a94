"""Whether a radio gets on with its start-up conversation, has told all of it, and when to ask it again. Pure.

The answer to one request is some fifty frames without a checksum. One that is damaged on its way is simply missing: a
radio then seems to have no region, or not the channel on which it is asked, and meshseek would not run on it.

The protobuf messages are taken as they are (by attribute), so nothing here imports the library.
"""

from __future__ import annotations

from typing import Any

from gateway.radio.reconnect import LinkRules

ASIDE = frozenset({"packet", "queueStatus", "log_record"})
"""Kinds of ``FromRadio`` that come at any time, and are no part of the conversation."""
EXPECTED = frozenset({"my_info", "metadata", "channel 0", "config lora", "config security"})
"""What every firmware tells (PhoneAPI.cpp), and we go by."""
REPEATS = 3
"""More requests for an answer that has gaps; then it is taken as it is."""

MOST_PATIENCE = 4


class StartUp:
    """One start-up conversation after another, of one connection."""

    def __init__(self, rules: LinkRules, now: float) -> None:
        self._rules = rules
        self._has_spoken = False
        self._told: set[str] = set()
        self.begin(now)

    def begin(self, now: float) -> None:
        """The first request goes out."""
        self._began_at = now
        self._repeats = 0
        self._pauses = 0
        self._requested(now)

    def _requested(self, now: float) -> None:
        """What the library forgets when it asks is to be told again."""
        self._moved_at = now
        self._is_damaged = False
        self._told = {part for part in self._told if part.startswith(("config", "metadata"))}

    def hears(self, frame: Any, now: float) -> None:
        """A whole ``FromRadio`` came."""
        kind = frame.WhichOneof("payload_variant")
        self._has_spoken = True
        if kind == "rebooted":
            self.begin(now)
        if kind not in ASIDE:
            self._moved_at = now
            self._told.add(_part(frame, kind))

    def damaged(self) -> None:
        """Something came that is no frame."""
        self._is_damaged = True

    def ask_again(self, now: float) -> bool:
        """True once per pause. Some boards restart when their port is opened, and miss the first request; and the
        end of the answer may be damaged on its way. Once the radio speaks, each pause is twice as long as the one
        before, up to `MOST_PATIENCE` times the first: asked again, it begins anew, and it may pause by itself."""
        if now - self._moved_at < self._rules.ask_again_seconds * min(2**self._pauses, MOST_PATIENCE):
            return False
        self._pauses += self._has_spoken
        self._requested(now)
        return True

    def has_gaps(self, now: float) -> bool:
        """The radio says that this was all: whether to ask for it again."""
        if self._repeats >= REPEATS or not (self._is_damaged or self._lacks()):
            return False
        self._repeats += 1
        self._requested(now)
        return True

    def _lacks(self) -> bool:
        channels = {int(part.partition(" ")[2]) for part in self._told if part.startswith("channel")}
        return not self._told >= EXPECTED or channels != set(range(len(channels)))

    def is_silent(self, now: float) -> bool:
        return not self._has_spoken and now - self._began_at >= self._rules.quiet_start_seconds


def _part(frame: Any, kind: str | None) -> str:
    if kind == "config":
        return f"config {frame.config.WhichOneof('payload_variant')}"
    return f"channel {frame.channel.index}" if kind == "channel" else str(kind)
