"""Asks the radio itself, once and briefly, for the commands that run while no gateway holds the port."""

from __future__ import annotations

import contextlib
import logging
import queue
import signal
import threading
import time
from collections.abc import Iterator

from gateway.protocol.messages import LinkDown, LinkUp, RadioEvent, RadioInfo
from gateway.radio.devices import RadioTarget
from gateway.radio.reconnect import LinkRules

LOOK_SECONDS = 20.0
"""Boards that restart when the port is opened need some 8 s; a full node list takes about as long."""
GRACE_SECONDS = 1.0
"""For the link to say itself what was too slow."""
POLL_SECONDS = 0.1


def look(target: RadioTarget, seconds: float = LOOK_SECONDS) -> RadioInfo | str:
    """What the radio says of itself, or why it could not be asked: a sentence with the remedy."""
    from gateway.radio.meshtastic_radio import MeshtasticRadio

    # What the link has to say is returned, not logged.
    logging.getLogger("meshseek").addHandler(logging.NullHandler())
    rules = LinkRules(
        quiet_start_seconds=seconds * 0.8, open_seconds=seconds, configure_seconds=seconds + GRACE_SECONDS
    )
    events: queue.Queue[RadioEvent] = queue.Queue()
    radio = MeshtasticRadio(target, rules, fatal=lambda _reason: None)
    with _interrupts_raised():
        try:
            radio.start(events.put)
            return _first_word(events, time.monotonic() + seconds + GRACE_SECONDS, target)
        finally:
            radio.close()


@contextlib.contextmanager
def _interrupts_raised() -> Iterator[None]:
    """Ctrl-C must not end the process at once: a radio that is not told goodbye keeps messages from the next client."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _first_word(events: queue.Queue[RadioEvent], until: float, target: RadioTarget) -> RadioInfo | str:
    while (left := until - time.monotonic()) > 0:
        try:
            event = events.get(timeout=min(left, POLL_SECONDS))
        except queue.Empty:
            continue
        if isinstance(event, LinkUp):
            return event.info
        if isinstance(event, LinkDown):
            return event.reason
    return f"the radio at {target} did not finish its start-up conversation in time: unplug it, wait, and try again"
