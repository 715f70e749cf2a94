"""The composition root: builds every object, starts them in order, stops them in reverse."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from gateway.clock import SteadyClock
from gateway.config import Config, load_config
from gateway.desk import VaultDesk
from gateway.errors import GatewayError, UsageError
from gateway.field_notes import FieldNotes
from gateway.health import Watchdog
from gateway.logs import logging_to_stderr
from gateway.places import state_directory
from gateway.prometheus import PrometheusFile
from gateway.protocol.redaction import Redactor
from gateway.protocol.requests import DeskOutcome, Saved
from gateway.radio.meshtastic_radio import MeshtasticRadio
from gateway.radio.port import Radio
from gateway.service import Service, ServiceRules
from gateway.store import Store, StoreTrouble, open_store
from gateway.store_files import LOCK_NAME
from search_core import SearchCore

log = logging.getLogger("meshseek.app")


def serve(config_path: str) -> int:
    """`meshseek serve`: answer handhelds until SIGTERM or SIGINT. Returns the exit code."""
    config = load_config(config_path)
    stop = threading.Event()
    with ExitStack() as stack:
        stack.enter_context(stopped_by_signals(stop))
        stack.enter_context(logging_to_stderr(config.log_level))
        log.info("event=start config=%s vault=%s", config.file, config.vault.path)
        if config.access.open:
            log.warning("event=open_access effect=%r", "anybody in radio range may ask ([access] open = true)")
        if not config.access.handhelds and not config.access.open:
            log.warning("event=nobody_may_ask remedy=%r", "allow a handheld with `meshseek pair`")
        radio = MeshtasticRadio(config.radio.target)
        watchdog = Watchdog(radio.is_healthy)
        service = stack.enter_context(running_gateway(config, radio, watchdog.feed))
        watchdog.ready()
        service.run(stop)
        watchdog.stopping()
        log.info("event=stop")
        if service.refusals:
            raise UsageError("\n".join(f"{config.file}: {sentence}" for sentence in service.refusals))
    return 0


@contextlib.contextmanager
def running_gateway(config: Config, radio: Radio, heartbeat: Callable[[], None]) -> Iterator[Service]:
    """The gateway over `radio`, started; its `run` or `step` is the caller's to call.

    Raises GatewayError when the state directory cannot be used.
    """
    with ExitStack() as stack:
        directory = config.state_directory or state_directory()
        stack.enter_context(alone_in(directory))
        store = _store(directory)
        stack.callback(store.close)
        clock = SteadyClock(not_before=_last_now(store))

        def deliver(outcome: DeskOutcome) -> None:
            service.deliver(outcome)

        desk = VaultDesk(lambda: open_core(config), field_notes_or_none(config), deliver, config.vault.source)
        redact = Redactor(config.privacy.patterns).redact if config.privacy.redact else str
        publish = PrometheusFile(config.prometheus_file).write
        service = Service(
            radio, desk, store, clock, rules_of(config), redact=redact, heartbeat=heartbeat, publish=publish
        )
        desk.start()
        stack.callback(desk.close)
        # The radio closes first: no more questions are taken, and it is told to keep what comes for the next start.
        stack.callback(radio.close)
        service.start()
        yield service


def rules_of(config: Config) -> ServiceRules:
    return ServiceRules(
        access=config.access,
        privacy=config.privacy,
        airtime=config.airtime,
        delivery=config.delivery,
        questions=config.limits,
        protect=config.radio.remember_handhelds,
    )


def open_core(config: Config) -> SearchCore:
    vault = config.vault
    cache = config.cache_directory
    return SearchCore(
        str(vault.path),
        exclude=vault.exclude,
        omnisearch=vault.omnisearch,
        cache_dir=str(cache) if cache else None,
        blank=redact_of(config),
    )


def redact_of(config: Config) -> Callable[[str], str]:
    """What blanks secrets in anything that is about to be sent."""
    return Redactor(config.privacy.patterns).redact if config.privacy.redact else str


def field_notes_or_none(config: Config) -> FieldNotes | None:
    return FieldNotes(str(config.vault.path), config.notes_inbox) if config.notes_inbox else None


@contextlib.contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """One gateway per state directory: two would each answer what the other owes. Raises GatewayError.

    The system lifts the lock of a process that dies.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:  # What that means is the store's to say: it goes on in memory, or gives up.
        yield
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise GatewayError(
                f"{directory}: another meshseek is running with this state directory; stop it, or give this one "
                "its own with [state] directory"
            ) from error
        except OSError:  # A file system without locks.
            log.warning("event=no_lock directory=%s effect=%r", directory, "a second meshseek here is not noticed")
        yield
    finally:
        os.close(lock)


def _store(directory: Path) -> Store:
    try:
        return open_store(directory, time.time())
    except StoreTrouble as trouble:
        raise GatewayError(f"{directory}: {trouble}; set [state] directory to one that can be written") from trouble


def _last_now(store: Store) -> float:
    """Until when the last run's clock went; 0 when that is not known or makes no sense."""
    try:
        last = float(store.fact("last_now") or 0)
    except (StoreTrouble, ValueError):
        return 0.0
    return last if math.isfinite(last) else 0.0


@contextlib.contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """SIGTERM and SIGINT set `stop`; once everything is closed they do nothing more."""

    def ask_to_stop(_number: int, _frame: object) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask_to_stop)
    yield
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def note(config_path: str, text: str) -> int:
    """`meshseek note`: append one line to the inbox note, as a handheld's `note` would."""
    config = load_config(config_path)
    field_notes = field_notes_or_none(config)
    if field_notes is None:
        raise UsageError(f"{config.file}: notes.inbox is not set; name the note to append to")
    if not text.strip():
        raise UsageError("there is nothing to write down")
    sender = os.environ.get("USER", "") or "home"
    outcome = field_notes.append(text, sender, time.time(), 0)
    if not isinstance(outcome, Saved):
        why = (outcome.detail or outcome.kind).removeprefix(f"{config.notes_inbox}: ")
        raise GatewayError(f"{config.vault.path}/{config.notes_inbox}: {why}")
    print(f"{outcome.path}: {outcome.line}")  # noqa: T201 - the command's answer
    return 0
