"""When Omnisearch is asked again after what happened; no clock, the time is an argument."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_core import availability as av
from search_core.availability import Availability, from_line

KINDS = (av.OK, av.REFUSED, av.BROKE_OFF, av.LATE, av.HUNG, av.WRONG_VAULT, av.NOT_OMNISEARCH)


def rests(kind: str, times: int) -> list[float]:
    """How long it is left alone after each of `times` outcomes in a row."""
    state, now, found = Availability(), 1000.0, []
    for _ in range(times):
        state = state.after(kind, now)
        found.append(state.resume_at - now)
        now = state.resume_at
    return found


def test_unknown_and_answering_servers_are_asked() -> None:
    assert Availability().may_ask(0.0)
    assert Availability().after(av.OK, 5.0).may_ask(5.0)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != av.OK])
def test_rests_double_up_to_a_bound(kind: str) -> None:
    found = rests(kind, 30)
    assert found[0] == av.FIRST_REST[kind]
    assert all(later in (2 * sooner, av.LONGEST_REST[kind]) for sooner, later in pairwise(found))
    assert found[-1] == av.LONGEST_REST[kind]


def test_a_hung_server_is_left_alone_and_then_asked_once() -> None:
    state = Availability().after(av.HUNG, 100.0)
    assert not state.may_ask(129.9)
    assert state.may_ask(130.0)
    assert not state.after(av.HUNG, 130.0).may_ask(189.9)


@pytest.mark.parametrize("kind", [av.REFUSED, av.BROKE_OFF])
def test_obsidian_started_now_is_noticed_within_fifteen_seconds(kind: str) -> None:
    assert max(rests(kind, 50)) <= 15.0
    assert not Availability().after(kind, 0.0).worth_remembering


def test_one_good_answer_forgets_all() -> None:
    state = Availability()
    for now in (0.0, 50.0, 500.0):
        state = state.after(av.HUNG, now)
    state = state.after(av.OK, 600.0)
    assert state.may_ask(600.0)
    assert state.after(av.HUNG, 600.0).resume_at == 600.0 + av.FIRST_REST[av.HUNG]


def test_another_kind_of_failure_starts_its_own_count() -> None:
    state = Availability().after(av.HUNG, 0.0).after(av.HUNG, 30.0).after(av.REFUSED, 90.0)
    assert state == Availability(av.REFUSED, 1, 90.0 + av.FIRST_REST[av.REFUSED])


def test_a_clock_set_back_does_not_lock_it_out() -> None:
    assert Availability().after(av.HUNG, 1_000_000.0).may_ask(5.0)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.floats(0, 1e6)), max_size=12), st.floats(0, 2e6))
@settings(max_examples=50)
def test_never_left_alone_for_longer_than_the_longest_rest(events: list[tuple[str, float]], now: float) -> None:
    state = Availability()
    for kind, at in events:
        state = state.after(kind, at)
    assert state.may_ask(now) or state.resume_at - now <= av.LONGEST_REST[state.kind]


@given(
    st.sampled_from([k for k in KINDS if Availability(k).worth_remembering]), st.integers(1, 9), st.integers(0, 2**33)
)
def test_a_remembered_line_reads_back(kind: str, failures: int, resume_at: int) -> None:
    state = Availability(kind, failures, float(resume_at))
    assert from_line(state.to_line()) == state


@given(st.text(max_size=80))
def test_any_other_line_is_the_unknown_state(line: str) -> None:
    state = from_line(line)
    assert state == Availability() or state.worth_remembering


@pytest.mark.parametrize("line", ["", "hung", "hung x 1", "ok 1 1", "hung 1 nan", "hung 1 inf", "refused 1 9", "\0"])
def test_damaged_lines(line: str) -> None:
    assert from_line(line).may_ask(0.0)
