"""What each result of a packet means for us: one row per routing error, in one table. Pure.

Names from mesh.proto Routing.Error; what raises them from the firmware's sources (Router.cpp, NextHopRouter.cpp,
ReliableRouter.cpp, PhoneAPI.cpp) and from measurements on 2.7.26. Three names are our own, for what the radio
says only by `QueueStatus` or by silence.
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class Action(enum.Enum):
    LATER = "later"
    """Our radio did not take it: try again after a while; does not count as a try."""
    PAUSE = "pause"
    """Our radio may not transmit: nobody is sent anything for the minutes it says."""
    ONCE_MORE = "once-more"
    """Nobody acknowledged: one more try after a while, then park."""
    PARK = "park"
    """Wait until the node is heard."""
    KEYS = "keys"
    """Keys are not known on both sides: announce ours, one more try, then park until its node info comes."""
    STOP = "stop"
    """Trying again cannot help: the answer has failed, and the operator is told why."""


class Row(NamedTuple):
    action: Action
    wait: float = 0.0
    """Seconds before the next try."""
    tell: str = ""
    """A sentence for the operator, with the remedy."""


SILENCE = "NO_RESULT"
QUEUE_FULL = "QUEUE_FULL"
RADIO_OFF = "RADIO_OFF"

_REPEAT_AFTER = 20.0  # a real ACK was measured up to 0.3 s after MAX_RETRANSMIT; the rest lets a passing fade pass
_KEYS_AFTER = 45.0  # the node info exchange takes a few packets on a shared channel (30 to 60 s)
_DUTY_PAUSE = 600.0  # when the radio does not say how many minutes; it measures over the last hour

_STUMBLE_SECONDS = 2.0  # first wait after a hand-over that the radio did not take; doubles, up to:
_LONGEST_STUMBLE = 120.0

_OURS = "this is a fault of meshseek, please report it"

TABLE: dict[str, Row] = {
    "NO_ROUTE": Row(Action.ONCE_MORE, _REPEAT_AFTER),
    "GOT_NAK": Row(Action.ONCE_MORE, _REPEAT_AFTER),
    "TIMEOUT": Row(Action.ONCE_MORE, _REPEAT_AFTER),
    "NO_INTERFACE": Row(Action.STOP, tell="the radio has no working LoRa chip; check or replace it"),
    "MAX_RETRANSMIT": Row(Action.ONCE_MORE, _REPEAT_AFTER),
    "NO_CHANNEL": Row(
        Action.STOP,
        tell="the handheld could not decrypt the answer, or the channel is not there: compare channels and keys, "
        "then run meshseek pair again",
    ),
    "TOO_LARGE": Row(Action.STOP, tell=f"the radio found the packet too large; {_OURS}"),
    "NO_RESPONSE": Row(Action.PARK),
    "DUTY_CYCLE_LIMIT": Row(Action.PAUSE, _DUTY_PAUSE),
    "BAD_REQUEST": Row(Action.STOP, tell=f"the radio called the request malformed; {_OURS}"),
    "NOT_AUTHORIZED": Row(Action.STOP, tell="the node refused the packet as not authorized"),
    "PKI_FAILED": Row(
        Action.STOP,
        tell="the radio refused to encrypt with the configured key: it knows another key for this handheld. If the "
        "handheld was reset, compare fingerprints and run meshseek pair; if not, somebody uses its number",
    ),
    "PKI_UNKNOWN_PUBKEY": Row(Action.KEYS, _KEYS_AFTER),
    "ADMIN_BAD_SESSION_KEY": Row(Action.STOP, tell=f"unexpected for a text; {_OURS}"),
    "ADMIN_PUBLIC_KEY_UNAUTHORIZED": Row(Action.STOP, tell=f"unexpected for a text; {_OURS}"),
    "RATE_LIMIT_EXCEEDED": Row(Action.LATER, 5.0),
    "PKI_SEND_FAIL_PUBLIC_KEY": Row(Action.KEYS, _KEYS_AFTER),
    SILENCE: Row(Action.ONCE_MORE),
    QUEUE_FULL: Row(Action.LATER, 10.0),
    RADIO_OFF: Row(Action.PARK, tell="the radio may not transmit: set its LoRa region and switch transmit on"),
}

_UNKNOWN = Row(Action.ONCE_MORE, 60.0)
"""For errors newer than this table: care, since nothing is known."""

_BY_RES = {
    5: "MAX_RETRANSMIT",
    6: "NO_CHANNEL",
    7: "TOO_LARGE",
    9: "DUTY_CYCLE_LIMIT",
    32: QUEUE_FULL,
    33: "NO_INTERFACE",
    34: RADIO_OFF,
    38: "RATE_LIMIT_EXCEEDED",
    39: "PKI_SEND_FAIL_PUBLIC_KEY",
}


def row_for(reason: str) -> Row:
    """What to do about this result."""
    return TABLE.get(reason, _UNKNOWN)


def reason_of_res(res: int) -> str:
    """What a `QueueStatus` with this non-zero ``res`` says.

    32 to 34 are errno values of the firmware (MeshTypes.h), the others Routing.Error values. 34 also stands for
    PKI_FAILED; a routing packet tells that one apart at once, so it is waited for.
    """
    return _BY_RES.get(res, f"RES_{res}")


def stumble_wait(stumbles: int) -> float:
    """Seconds to wait before the next try, when so many hand-overs in a row were not taken before the last one."""
    return float(min(_STUMBLE_SECONDS * 2 ** min(stumbles, 8), _LONGEST_STUMBLE))
