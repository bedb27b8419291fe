"""Several changes may be seen as one: what those are told who waited."""

import pytest

from dray.groups.classic import settle, simple
from dray.groups.faults import Fault
from dray.groups.outcome import Parked, TimerKind
from dray.groups.replies import Joined, Synced
from tests.groups.classic.builders import BOTH, completing, preparing, stable


def test_a_join_waits_while_joins_are_collected() -> None:
    group = preparing("a").known
    assert settle(group, Parked("a", None)) is None


def test_a_join_is_answered_once_there_is_an_assignment_already() -> None:
    group = stable("a", "b").known
    assert settle(group, Parked("b", None)) == Joined(Fault.NONE, "b", 1, "consumer", "range", "a")


def test_a_join_that_was_over_before_the_next_rebalance_is_told_the_generation_before() -> None:
    desk = completing("a", "b")
    desk.enter("c")
    answer = settle(desk.known, Parked("b", None))
    assert isinstance(answer, Joined)
    assert (answer.fault, answer.generation) == (Fault.NONE, 1)
    assert desk.sync("b") == Synced(Fault.REBALANCE_IN_PROGRESS)


def test_what_a_leader_learns_too_late_it_cannot_use() -> None:
    desk = completing("a", "b")
    desk.rejoin("b", protocols=BOTH)
    answer = settle(desk.known, Parked("a", None))
    assert isinstance(answer, Joined)
    assert len(answer.members) == 2
    assert desk.sync("a", generation=answer.generation) == Synced(Fault.REBALANCE_IN_PROGRESS)


def test_one_that_missed_a_whole_generation_is_gone() -> None:
    desk = completing("a", "b")
    desk.enter("c")
    desk.rejoin("a")
    desk.fire(TimerKind.JOIN_PHASE)
    assert settle(desk.known, Parked("b", None)) == Joined(Fault.UNKNOWN_MEMBER_ID, "")
    assert settle(desk.known, Parked("b", None, 1)) == Synced(Fault.UNKNOWN_MEMBER_ID)


def test_a_sync_waits_for_the_leader() -> None:
    group = completing("a", "b").known
    assert settle(group, Parked("b", None, 1)) is None


def test_a_sync_of_an_older_generation_has_to_join_again() -> None:
    desk = stable("a", "b")
    desk.enter("c")
    assert settle(desk.known, Parked("b", None, 1)) == Synced(Fault.REBALANCE_IN_PROGRESS)
    desk.rejoin("a", "b")
    assert desk.known.generation == 2
    assert settle(desk.known, Parked("b", None, 1)) == Synced(Fault.REBALANCE_IN_PROGRESS)


@pytest.mark.parametrize("group", [None, simple(0)])
def test_nobody_waits_for_a_group_that_is_gone(group: None) -> None:
    assert settle(group, Parked("a", "i")) == Joined(Fault.UNKNOWN_MEMBER_ID, "")
    assert settle(group, Parked("a", "i", 1)) == Synced(Fault.UNKNOWN_MEMBER_ID)


def test_one_whose_place_was_taken_is_fenced() -> None:
    desk = preparing("a", instance_id="i")
    desk.ask(new_id="b", instance_id="i")
    assert settle(desk.known, Parked("a", "i")) == Joined(Fault.FENCED_INSTANCE_ID, "a")
    assert settle(desk.known, Parked("a", "i", 1)) == Synced(Fault.FENCED_INSTANCE_ID)
