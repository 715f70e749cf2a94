"""What is due on the air: one part at a time per node, in turn, at a pace, each until its real acknowledgement. Pure.

The strategy. An answer's parts go one after another, the next only when the destination itself acknowledged the last.
Between any two texts lie `TEXT_GAP_SECONDS`, since the radio silently drops faster ones. One packet is in flight at a
time, so that our own do not collide; only when the radio has surely stopped repeating it and still nothing is known
do others go on, up to `MAX_FLYING` packets together. A result is matched by packet id, whenever and however often it
comes; an acknowledgement of any earlier attempt at the same part counts. What an error means stands in
`routing_errors`. A node out of reach costs two tries, then its answers are parked until it is heard.

Every method returns what to store and then do (`answers.Change`); `poll` also says when to look again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from gateway.protocol import airtime
from gateway.protocol.answers import NOT_TAKEN, AnnounceKeys, Answer, Attempt, Change, Moved, Send, Stage, Tell
from gateway.protocol.budget import AirtimeBudget
from gateway.protocol.flights import Flight, Flights, was_sent
from gateway.protocol.messages import BROADCAST, DeliveryReport, QueueStatus, SendFailed
from gateway.protocol.packets import mark_again
from gateway.protocol.routing_errors import SILENCE, Action, Row, reason_of_res, row_for, stumble_wait

TEXT_GAP_SECONDS = 2.5  # firmware drops a text < 2 s after the last, and reads ours up to 0.25 s late (measured)
TRIES = 2  # hand-overs of one part before its answer is parked; each is up to 3 transmissions
RESULT_GRACE = 5.0  # a refused hand-over is also told by a routing packet, which says more exactly why (measured 6 ms)
RESUME_RESTS = (0.0, 600.0, 3600.0, 3 * 3600.0, 6 * 3600.0)
"""Seconds that an answer stays parked at least, the first time, the second, and so on; after the last it has failed. A
node that is heard but never acknowledges must not be sent the same part each time it says anything."""
LOOK_AGAIN = 30.0  # at least so often, for budgets that grow as time passes


@dataclass(frozen=True, slots=True)
class DeliveryRules:
    """How long and how much is kept for nodes out of reach."""

    keep_parked_seconds: float = 24 * 3600.0
    """Age of a question at which its answer is given up."""
    parked_per_node: int = 5
    answers_limit: int = 500
    """Answers under way to all nodes; beyond it the oldest parked one is given up."""


class Outbox:
    """All answers under way."""

    def __init__(self, rules: DeliveryRules, budget: AirtimeBudget, new_packet_id: Callable[[], int]) -> None:
        self._rules = rules
        self._budget = budget
        self._new_packet_id = new_packet_id
        self._answers: dict[int, Answer] = {}
        self._flights = Flights(budget)
        self._served: dict[int, float] = {}
        self._last_text = float("-inf")
        self._link = False
        self.paused_until = float("-inf")
        """Nothing is sent before."""
        self.own_node = 0
        self.channels: frozenset[int] | None = None
        """Where answers for all to read may be sent, by what the radio said last; None: it has said nothing."""
        self.strangers = 0
        """Results for packets we never sent."""

    # Looking in

    def answers(self) -> Iterable[Answer]:
        return self._answers.values()

    def answer_or_none(self, question: int) -> Answer | None:
        return self._answers.get(question)

    @property
    def flying(self) -> int:
        return len(self._flights)

    def parts_waiting(self) -> int:
        """Parts still to be sent, parked ones left out."""
        return sum(len(a.parts) - a.part for a in self._answers.values() if a.stage is Stage.WAITING)

    # What comes in

    def add(self, answer: Answer, now: float) -> list[Change]:
        """Take an answer for delivery. What was still to be sent of this node's older ones is dropped."""
        changes = self.drop_older(answer.node, answer.question)
        self._answers[answer.question] = answer
        return [*changes, Moved(answer), *self._make_room(now)]

    def drop_all(self, node: int, reason: str) -> list[Change]:
        """``stop``: nothing more of what is under way to this node is to be sent."""
        return [change for answer in self._of_node(node) for change in self._drop(answer, reason)]

    def drop_older(self, node: int, question: int) -> list[Change]:
        """A newer question was asked: what is still to be sent of older answers is not wanted any more."""
        older = [a for a in self._of_node(node) if a.question < question and a.replaceable]
        unparked = [a for a in older if a.stage is not Stage.PARKED]
        return [change for answer in unparked for change in self._drop(answer, "newer-question")]

    def on_report(self, report: DeliveryReport, now: float) -> list[Change]:
        """A result from the routing topic; ids that are not ours, and reporters that cannot know, are ignored."""
        attempt = self._flights.attempt_or_none(report.packet_id)
        if attempt is None:
            self.strangers += 1
            return []
        answer = self._answers.get(attempt.question)
        if report.reporter not in (self.own_node, attempt.node) or answer is None:
            return []
        if report.reason != "NONE":
            return self._refused(attempt, report.reason, now)
        if report.reporter == attempt.node and answer.direct:
            return self._acknowledged(answer, attempt, "ACK", now)
        if not answer.direct:
            return self._acknowledged(answer, attempt, "SENT", now)
        self._flights.relayed(attempt.packet_id, answer.hops, now)
        return []

    def on_queue_status(self, status: QueueStatus, now: float) -> list[Change]:
        """Success says nothing (a text that came too fast looks the same); a refusal shortens the wait."""
        flight = self._flights.get(status.packet_id)
        if flight is not None and status.res != 0:
            flight.reason = reason_of_res(status.res)
            flight.deadline = min(flight.deadline, now + RESULT_GRACE)
        return []

    def on_send_failed(self, failed: SendFailed, now: float) -> list[Change]:
        """The hand-over failed, or may have: the same part is due again under a new id."""
        flight = self._flights.get(failed.packet_id)
        if flight is None:
            return []
        if failed.retry:
            return self._stumble(flight, failed.reason, now)
        row = Row(Action.STOP, tell="the radio's library refused the packet; this is a fault of meshseek")
        return self._act(flight, "REJECTED", row, now)

    def on_not_taken(self, packet_id: int, now: float) -> list[Change]:
        """`Radio.send` raised: nothing was handed over."""
        return self.on_send_failed(SendFailed(packet_id, NOT_TAKEN, retry=True), now)

    def on_heard(self, node: int, now: float) -> list[Change]:
        """Something came from this node: its parked answers are due, the newest first."""
        changes: list[Change] = []
        for answer in self._of_node(node):
            if (
                answer.stage is Stage.PARKED
                and now >= answer.parked_at + RESUME_RESTS[min(answer.resumed, len(RESUME_RESTS) - 1)]
            ):
                changes.append(
                    self._move(
                        answer,
                        stage=Stage.WAITING,
                        tries=TRIES - 1,
                        stumbles=0,
                        not_before=now,
                        resumed=answer.resumed + 1,
                        replaceable=False,
                    )
                )
        return changes

    def on_link(self, up: bool, now: float) -> list[Change]:
        """Results of what was in flight may be lost with the link; they are not waited for long."""
        self._link = up
        if up:
            self._flights.expect_soon(now)
        return []

    def pause(self, seconds: float, now: float) -> None:
        """The radio said how long it may not transmit; it knows better than our table."""
        self.paused_until = now + seconds

    def restore(self, answers: Iterable[Answer], attempts: Iterable[Attempt], now: float) -> None:
        """Go on after a restart. `attempts` in order of time; the last of a flying answer may still be answered."""
        self._answers = {answer.question: answer for answer in answers}
        newest: dict[int, Attempt] = {}
        for attempt in attempts:
            self._flights.remember(attempt)
            self._last_text = max(self._last_text, min(attempt.sent_at, now))
            newest[attempt.question] = attempt
        for answer in [a for a in self._answers.values() if a.stage is Stage.FLYING]:
            last = newest.get(answer.question)
            if last is not None and last.part == answer.part:
                self._flights.start(last, answer, now)
            else:
                self._move(answer, stage=Stage.WAITING, sent_before=True)

    # What is due

    def poll(self, now: float) -> tuple[list[Change], float]:
        """What to do now, and when to look again if nothing happens before."""
        changes = [*self._overdue(now), *self._give_up_old(now), *self._leave_channels()]
        send = self._next(now)
        if send is not None:
            changes.append(send)
        return changes, self._wake(now)

    def _overdue(self, now: float) -> list[Change]:
        return [change for flight in self._flights.late(now) for change in self._silence(flight, now)]

    def _silence(self, flight: Flight, now: float) -> list[Change]:
        answer = self._answers[flight.attempt.question]
        if not answer.direct and flight.reason == SILENCE:
            return self._acknowledged(answer, flight.attempt, "SENT", now)
        return self._act(flight, flight.reason, row_for(flight.reason), now)

    def _give_up_old(self, now: float) -> list[Change]:
        old = [
            answer
            for answer in self._answers.values()
            if answer.stage is not Stage.FLYING and now - answer.asked_at > self._rules.keep_parked_seconds
        ]
        return [self._finish(answer, Stage.FAILED, f"too-old:{answer.reason or 'not-sent'}") for answer in old]

    def _leave_channels(self) -> list[Change]:
        """A channel may have lost its secret key, or its place in the radio, since it was asked on."""
        if self.channels is None:
            return []
        on_others = [a for a in self._answers.values() if not a.direct and a.channel not in self.channels]
        idle = [answer for answer in on_others if answer.stage is not Stage.FLYING]
        return [self._finish(answer, Stage.FAILED, "channel-not-private") for answer in idle]

    def _make_room(self, now: float) -> list[Change]:
        changes: list[Change] = []
        for node in {answer.node for answer in self._answers.values()}:
            parked = [a for a in self._of_node(node) if a.stage is Stage.PARKED]
            changes += [self._finish(a, Stage.FAILED, "too-many-parked") for a in parked[self._rules.parked_per_node :]]
        while len(self._answers) > self._rules.answers_limit:
            idle = [a for a in self._answers.values() if a.stage is not Stage.FLYING]
            first = min(idle, key=lambda a: (a.stage is not Stage.PARKED, a.question))
            changes.append(self._finish(first, Stage.FAILED, "too-many-answers"))
        return changes

    def _next(self, now: float) -> Send | None:
        if not self._link or now < max(self._last_text + TEXT_GAP_SECONDS, self.paused_until):
            return None
        if not self._flights.may_send(now):
            return None
        busy = self._flights.nodes()
        newest: dict[int, Answer] = {}
        for answer in self._answers.values():
            if answer.stage is Stage.WAITING and now >= answer.not_before and answer.node not in busy:
                newest[answer.node] = max(answer, newest.get(answer.node, answer), key=lambda a: a.question)
        for answer in sorted(newest.values(), key=lambda a: (self._served.get(a.node, float("-inf")), a.question)):
            send = self._hand_over_or_none(answer, now)
            if send is not None:
                return send
        return None

    def _hand_over_or_none(self, answer: Answer, now: float) -> Send | None:
        """The next part as a packet, unless the budget has no room for it."""
        text = answer.parts[answer.part]
        if answer.sent_before:
            text = mark_again(text, answer.budget())
        packet_id = self._fresh_id()
        packet = answer.packet(packet_id, text, BROADCAST)
        lora = self._budget.lora
        seconds = airtime.text_seconds(text, lora, direct=answer.direct, reply_id=packet.reply_id != 0)
        if self._budget.wait_seconds(answer.node, seconds, now, notice=answer.notice) > 0:
            return None
        attempt = Attempt(packet_id, answer.question, answer.part, answer.node, now, seconds)
        self._budget.reserve(packet_id, answer.node, seconds, now)
        moved = self._move(answer, stage=Stage.FLYING, tries=answer.tries + 1, sent_before=True).answer
        self._flights.remember(attempt)
        self._flights.start(attempt, moved, now)
        self._last_text = now
        self._note_served(answer.node, now)
        return Send(packet, attempt, moved)

    def _wake(self, now: float) -> float:
        times = [now + LOOK_AGAIN, *self._flights.times(now)]
        if self._link:
            ready = max(self._last_text + TEXT_GAP_SECONDS, self.paused_until)
            waiting = [max(ready, a.not_before) for a in self._answers.values() if a.stage is Stage.WAITING]
            times += [t for t in waiting if t > now]
        return max(min(times), now)

    # What becomes of an answer

    def _acknowledged(self, answer: Answer, attempt: Attempt, result: str, now: float) -> list[Change]:
        ended: list[Change] = [*self._flights.land(attempt, result, now)]
        if attempt.part != answer.part:
            return ended
        for flight in self._flights.of_question(answer.question):
            # A second try of the same part is still in the air; its own result says nothing new.
            ended += self._flights.land(flight.attempt, "SUPERSEDED", now)
        if answer.part + 1 == len(answer.parts):
            return [*ended, self._finish(answer, Stage.DELIVERED, "")]
        if answer.dropped:
            return [*ended, self._finish(answer, Stage.REPLACED, answer.reason)]
        moved = self._move(
            answer,
            stage=Stage.WAITING,
            part=answer.part + 1,
            tries=0,
            stumbles=0,
            sent_before=False,
            not_before=now,
            keys_asked=False,
            resumed=0,
        )
        return [*ended, moved]

    def _refused(self, attempt: Attempt, reason: str, now: float) -> list[Change]:
        """An error for the attempt in flight; for an earlier one it says nothing that we do not know."""
        flight = self._flights.get(attempt.packet_id)
        if flight is None:
            return []
        answer = self._answers[attempt.question]
        row = row_for(reason)
        if not answer.direct and row.action is Action.ONCE_MORE:
            # On a channel this only means that nobody was heard repeating it.
            return self._acknowledged(answer, attempt, "SENT", now)
        return self._act(flight, reason, row, now)

    def _act(self, flight: Flight, reason: str, row: Row, now: float) -> list[Change]:
        changes: list[Change] = [*self._flights.land(flight.attempt, reason, now, sent=was_sent(reason, row))]
        answer = self._answers[flight.attempt.question]
        if row.tell:
            changes.append(Tell(answer.node, reason, row.tell))
        if row.action is Action.PAUSE and now >= self.paused_until:
            self.pause(row.wait, now)
        if answer.dropped:
            return [*changes, self._finish(answer, Stage.REPLACED, answer.reason)]
        if row.action is Action.KEYS and not answer.keys_asked:
            again = self._wait(answer, reason, now + row.wait, keys_asked=True, tries=TRIES - 1)
            return [*changes, AnnounceKeys(), again]
        return [*changes, self._after_error(answer, reason, row, now)]

    def _after_error(self, answer: Answer, reason: str, row: Row, now: float) -> Moved:
        if row.action is Action.STOP:
            return self._finish(answer, Stage.FAILED, reason)
        if row.action in (Action.LATER, Action.PAUSE):
            # Not transmitted: it does not count, and is not marked as sent before.
            first_time = answer.tries <= 1
            wait = 0.0 if row.action is Action.PAUSE else max(row.wait, stumble_wait(answer.stumbles))
            return self._wait(
                answer,
                reason,
                now + wait,
                tries=answer.tries - 1,
                stumbles=answer.stumbles + 1,
                sent_before=answer.sent_before and not first_time,
            )
        if row.action is Action.ONCE_MORE and answer.tries < TRIES:
            return self._wait(answer, reason, now + row.wait)
        if answer.resumed >= len(RESUME_RESTS):
            return self._finish(answer, Stage.FAILED, f"unreachable:{reason}")
        return self._move(answer, stage=Stage.PARKED, parked_at=now, reason=reason)

    def _stumble(self, flight: Flight, reason: str, now: float) -> list[Change]:
        """Nobody knows whether it was handed over: it stays marked as sent before, and does not count as a try."""
        changes: list[Change] = [*self._flights.land(flight.attempt, reason, now, sent=reason != NOT_TAKEN)]
        answer = self._answers[flight.attempt.question]
        if answer.dropped:
            return [*changes, self._finish(answer, Stage.REPLACED, answer.reason)]
        surely_not = reason == NOT_TAKEN and answer.tries <= 1 and answer.stumbles == 0
        again = self._wait(
            answer,
            reason,
            now + stumble_wait(answer.stumbles),
            tries=answer.tries - 1,
            stumbles=answer.stumbles + 1,
            sent_before=not surely_not,
        )
        return [*changes, again]

    def _drop(self, answer: Answer, reason: str) -> list[Change]:
        if answer.stage is Stage.FLYING:
            return [self._move(answer, dropped=True, reason=reason)]
        return [self._finish(answer, Stage.REPLACED, reason)]

    # Bookkeeping

    def _wait(self, answer: Answer, reason: str, until: float, **state: object) -> Moved:
        return self._move(answer, stage=Stage.WAITING, not_before=until, reason=reason, **state)

    def _finish(self, answer: Answer, stage: Stage, reason: str) -> Moved:
        moved = Moved(replace(answer, stage=stage, reason=reason))
        self._answers.pop(answer.question, None)
        return moved

    def _move(self, answer: Answer, **state: object) -> Moved:
        moved = replace(answer, **state)  # type: ignore[arg-type]
        self._answers[answer.question] = moved
        return Moved(moved)

    def _of_node(self, node: int) -> list[Answer]:
        """Newest question first."""
        return sorted((a for a in self._answers.values() if a.node == node), key=lambda a: -a.question)

    def _note_served(self, node: int, now: float) -> None:
        self._served[node] = now
        if len(self._served) > self._rules.answers_limit:
            waiting = {answer.node for answer in self._answers.values()}
            self._served = {n: t for n, t in self._served.items() if n in waiting}

    def _fresh_id(self) -> int:
        while (packet_id := self._new_packet_id()) == 0 or self._flights.attempt_or_none(packet_id):
            pass
        return packet_id
