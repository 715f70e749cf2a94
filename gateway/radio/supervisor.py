"""Keeps one link up for months: one thread, one connection at a time, a deadline for everything that may hang.

Whatever can hang (opening, the start-up conversation, closing) runs in a thread of its own that is left behind
when its time is over. A port that cannot be let go stays locked by this process, so then the process ends
itself and the service manager starts it again.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

from gateway.protocol.messages import IncomingText, LinkDown, LinkUp, NodeSeen, OutgoingPacket, RadioEvent
from gateway.radio.devices import DeviceProblem, printable
from gateway.radio.link import Link, LinkProblem, Sink
from gateway.radio.port import Deliver, RadioUnavailable
from gateway.radio.radio_info import advice
from gateway.radio.reconnect import LinkMachine, LinkRules, LinkState
from gateway.radio.session import Session

log = logging.getLogger("meshseek.radio")

CLOSE_LIMIT_SECONDS = 9.5
"""`close` returns within this, whatever hangs."""
STEP_POLL_SECONDS = 0.02
EXIT_STUCK = 70  # sysexits.h, EX_SOFTWARE: the port cannot be let go, the service manager is to start us again
MAX_LEFT_BEHIND = 3
"""Hanging threads that are borne before the process ends itself."""
TURN_LIMIT_SECONDS = 30.0
"""A supervisor that has not turned for this long is stuck."""
EARLIEST_CLOCK = 1_735_689_600
"""1 January 2025, Unix seconds: a machine whose clock is before this does not know the time."""
CLOCK_SECONDS = 86_400.0
"""The radio's clock is set once a day, and as soon as the machine knows the time."""

Connect = Callable[[str, Sink], Link]
"""Makes a connection to the path that was located; opens nothing yet."""


class Supervisor:
    """Opens, watches, lets go and opens again.

    `connect` and `locate` are the way to the device; `mark` tells whether it is still the one that was tried.
    """

    def __init__(
        self,
        connect: Connect,
        locate: Callable[[], str],
        rules: LinkRules,
        fatal: Callable[[str], None],
        mark: Callable[[], object] = lambda: None,
    ) -> None:
        self._connect = connect
        self._locate = locate
        self._rules = rules
        self._fatal = fatal
        self._mark = mark
        self._tried: object = None
        self._machine = LinkMachine(rules, time.monotonic())
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._deliver: Deliver | None = None
        self._session: Session | None = None
        self._link: Link | None = None
        self._texts: tuple[IncomingText, ...] = ()
        self._left_behind: list[threading.Thread] = []
        self._turned_at = time.monotonic()
        self._is_told_down = False
        self._reasons: set[str] = set()
        self._advised: set[str] = set()
        self._clock_set_at: float | None = None
        self._protected: tuple[int, ...] = ()

    def start(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._thread = threading.Thread(target=self._run, name="meshseek radio supervisor", daemon=True)
        self._thread.start()

    def send(self, packet: OutgoingPacket) -> None:
        session = self._session
        if session is None:
            raise RadioUnavailable("the link is not up")
        session.send(packet)

    def protect(self, nodes: tuple[int, ...]) -> None:
        self._protected = nodes
        self._protect_now()

    def announce(self) -> None:
        session, link = self._session, self._link
        if session is not None and link is not None:
            session.chore("announce", link.announce)

    def close(self) -> None:
        self._stop.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(CLOSE_LIMIT_SECONDS)

    @property
    def state(self) -> LinkState:
        return self._machine.state

    def is_healthy(self) -> bool:
        """Whether the supervisor turns, so that the link is up or properly on its way to be."""
        return time.monotonic() - self._turned_at < TURN_LIMIT_SECONDS

    # The supervisor's thread.

    def _run(self) -> None:
        while not self._stop.is_set():
            self._turned_at = time.monotonic()
            if self._machine.may_open(self._turned_at):
                self._attempt()
            elif self._machine.failures and self._mark() != self._tried:
                self._machine.device_absent(self._turned_at)  # plugged in anew: what failed before counts no more
            else:
                self._rest()

    def _rest(self) -> None:
        self._wake.wait(self._rules.poll_seconds)
        self._wake.clear()
        self._turned_at = time.monotonic()

    def _attempt(self) -> None:
        try:
            path = self._locate()
        except (DeviceProblem, OSError) as problem:
            self._machine.device_absent(time.monotonic())
            self._say_down(str(problem))
            return
        self._tried = self._mark()
        session = Session(self._rules, self._observe, self._wake.set, self._texts)
        self._session = session
        self._machine.opening(time.monotonic())
        try:
            link = self._link = self._connect(path, session)
            reason = self._bring_up(link, session) or self._watch(link, session)
        except BaseException as error:  # noqa: BLE001  the library raises SystemExit too; the thread must go on
            reason = _sentence(error)
        self._give_up(session, reason)

    def _bring_up(self, link: Link, session: Session) -> str | None:
        """Open and configure; returns why it failed, or None when the link is up."""
        reason = self._step("open", link.open, session)
        if reason is None:
            self._machine.configuring(time.monotonic())
            reason = self._step("configure", link.configure, session)
        return reason

    def _step(self, name: str, call: Callable[[], None], session: Session) -> str | None:
        """Run `call` in its own thread until done, overdue, lost or stopped; returns what went wrong, or None."""
        step = _Step(name, call)
        step.thread.start()
        while not step.done.wait(STEP_POLL_SECONDS):
            self._turned_at = time.monotonic()
            reason = self._machine.overdue(self._turned_at) or session.lost_reason
            if self._stop.is_set() or reason is not None:
                self._left_behind.append(step.thread)
                return reason or "stopped"
        return None if step.error is None else _sentence(step.error)

    def _watch(self, link: Link, session: Session) -> str:
        """Stay with the link until it must be given up; returns why."""
        while not self._stop.is_set():
            if not session.is_open:
                if session.is_configured:
                    self._go_up(link, session)
                elif self._machine.state is LinkState.UP:
                    self._say_down("the radio rebooted", told=True)
                    self._machine.configuring(time.monotonic())
            now = time.monotonic()
            reason = session.fault(now) or self._still_booting(now)
            if reason is not None:
                return reason
            self._do_chores(link, session, now)
            self._rest()
        return "stopped"

    def _still_booting(self, now: float) -> str | None:
        """A radio that said "rebooted" gets less time than at first: what it was asked may be lost in its boot."""
        if self._machine.state is LinkState.CONFIGURING and now - self._machine.since > self._rules.quiet_start_seconds:
            return "the radio rebooted and did not begin to talk again"
        return None

    def _go_up(self, link: Link, session: Session) -> None:
        info = link.info()
        if not session.go_up(link, LinkUp(info)):
            return
        outage = self._machine.up(time.monotonic())
        self._is_told_down = False
        self._reasons.clear()
        log.info(
            "event=link_up node=!%08x firmware=%s region=%s preset=%s outage_s=%.1f",
            info.node,
            printable(info.firmware, 40),
            info.lora.region,
            info.lora.preset or "custom",
            outage,
        )
        for one in advice(info):
            if one.kind not in self._advised:
                self._advised.add(one.kind)
                log.warning('event=radio_advice kind=%s text="%s"', one.kind, one.text)
        session.chore("heartbeat", link.heartbeat)
        self._clock_set_at = None
        self._protect_now()

    def _do_chores(self, link: Link, session: Session, now: float) -> None:
        heartbeat, probe = session.chores(now)
        if heartbeat:
            session.chore("heartbeat", link.heartbeat)
        if probe:
            session.chore("probe", link.probe)
        is_due = self._clock_set_at is None or now - self._clock_set_at >= CLOCK_SECONDS
        if is_due and session.is_open and time.time() >= EARLIEST_CLOCK:
            self._clock_set_at = now
            session.chore("clock", lambda: link.set_clock(int(time.time())))

    def _protect_now(self) -> None:
        link = self._link
        if link is not None:
            for node in frozenset(self._protected) - link.favorites():
                self._favor(node)

    def _favor(self, node: int) -> None:
        """Once per connection; the radio keeps it for good, so it costs its flash a write only when it is new."""
        session, link = self._session, self._link
        if session is not None and link is not None and session.is_open and session.is_first_favor(node):
            session.chore("favorite", lambda: link.set_favorite(node))

    def _observe(self, event: RadioEvent) -> None:
        """Every event on its way out: a protected node that the radio has only now met is made a favourite."""
        assert self._deliver is not None
        self._deliver(event)
        if isinstance(event, NodeSeen) and event.node in self._protected:
            self._favor(event.node)

    def _give_up(self, session: Session, reason: str) -> None:
        stopping = self._stop.is_set()
        was_open = session.is_open
        self._machine.closing(time.monotonic())
        self._texts = session.shut(reason, tell=not stopping)
        if not stopping:
            self._say_down(reason, told=was_open)
        link, self._link, self._session = self._link, None, None
        is_closed = link is None or self._let_go(link)
        self._machine.closed(time.monotonic())
        self._left_behind = [thread for thread in self._left_behind if thread.is_alive()]
        if not self._stop.is_set() and (not is_closed or len(self._left_behind) >= MAX_LEFT_BEHIND):
            log.critical('event=link_stuck reason="%s" action=end-process', printable(reason))
            self._fatal(f"the radio's port cannot be let go after: {reason}")

    def _let_go(self, link: Link) -> bool:
        """Close within the deadline; False when closing hangs. What else goes wrong in closing is of no use now."""
        step = _Step("close", link.close)
        step.thread.start()
        while not step.done.wait(STEP_POLL_SECONDS):
            self._turned_at = time.monotonic()
            if self._machine.overdue(self._turned_at) is not None:
                self._left_behind.append(step.thread)
                return False
        return True

    def _say_down(self, reason: str, told: bool = False) -> None:
        """One `LinkDown` per outage; a warning for each new reason in it, and no more."""
        if not (told or self._is_told_down):
            self._observe(LinkDown(reason))
        self._is_told_down = True
        level = logging.DEBUG if reason in self._reasons else logging.WARNING
        self._reasons.add(reason)
        log.log(level, 'event=link_down reason="%s" failures=%d', printable(reason, 600), self._machine.failures)


class _Step:
    """A call in a thread of its own; its exception is kept, whatever it is."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self.done = threading.Event()
        self.error: BaseException | None = None
        self._call = call
        self.thread = threading.Thread(target=self._run, name=f"meshseek radio {name}", daemon=True)

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001  the library raises SystemExit too
            self.error = error
        finally:
            self.done.set()


def end_process(_reason: str) -> None:
    os._exit(EXIT_STUCK)


def _sentence(error: BaseException) -> str:
    if isinstance(error, (LinkProblem, DeviceProblem)):
        return str(error)
    return f"the radio's library failed ({type(error).__name__}: {printable(str(error))})"
