"""Heartbeats, sessions and the brokers that keep them."""

import pytest
from msgspec.structs import replace

from dray.groups.asks import Beat
from dray.groups.classic import NEW_MEMBER_JOIN_TIMEOUT_MS, Member, Phase, adopt, beat, fire
from dray.groups.faults import Fault
from dray.groups.outcome import Outcome, Timer, TimerKind
from dray.groups.replies import Joined
from tests.groups.classic.builders import LIMITS, completing, preparing, stable


def test_a_quiet_heartbeat_writes_nothing() -> None:
    desk = stable("a", "b")
    before = desk.group
    assert desk.beat("b") is Fault.NONE
    assert desk.group is before


class Unlistable(dict[str, Member]):
    """Members of which one may be looked up, but not all."""

    def refuse(self, *_: object) -> None:
        raise AssertionError("a heartbeat looked at everybody")

    __iter__ = items = keys = values = copy = refuse  # type: ignore[assignment]


def test_a_heartbeat_looks_at_one_member_only() -> None:
    group = stable("a", "b").known
    closed = replace(group, members=Unlistable(group.members))
    with pytest.raises(AssertionError):
        adopt(closed, {1}, 1)
    assert beat(closed, Beat("b", None, 1, 1)) == Outcome(closed, Fault.NONE)


def test_during_a_rebalance_members_are_told_so() -> None:
    desk = stable("a")
    desk.enter("b")
    before = desk.group
    assert desk.beat("a") is Fault.REBALANCE_IN_PROGRESS
    assert desk.group is before


def test_while_the_assignment_is_awaited_all_is_well() -> None:
    assert completing("a").beat("a") is Fault.NONE


@pytest.mark.parametrize(
    ("member_id", "generation", "fault"),
    [
        ("a", 0, Fault.ILLEGAL_GENERATION),
        ("a", 2, Fault.ILLEGAL_GENERATION),
        ("x", 1, Fault.UNKNOWN_MEMBER_ID),
    ],
)
def test_heartbeats_that_are_refused(member_id: str, generation: int, fault: Fault) -> None:
    desk = stable("a")
    before = desk.group
    assert desk.beat(member_id, generation=generation, broker=2) is fault
    assert desk.group is before
    assert beat(None, Beat("a", None, 1, 1)) == Outcome(None, Fault.UNKNOWN_MEMBER_ID)


def test_a_heartbeat_to_another_broker_takes_the_session_there() -> None:
    desk = stable("a", "b")
    there = desk.timer(TimerKind.SESSION, "a")
    desk.beat("a", broker=2)
    assert desk.member("a").broker == 2
    asked = desk.timer(TimerKind.SESSION, "a")
    assert (asked.broker, asked.after_ms) == (2, 10_000)
    assert asked.timer != there.timer


def test_the_old_brokers_timer_does_not_end_a_session_that_has_moved() -> None:
    desk = stable("a")
    stale = desk.timer(TimerKind.SESSION, "a").timer
    desk.beat("a", broker=2)
    assert fire(desk.known, stale, LIMITS, 0) is desk.group
    desk.beat("a", broker=1)
    assert fire(desk.known, stale, LIMITS, 0) is desk.group


def test_a_member_whose_session_ends_makes_the_group_rebalance() -> None:
    for desk in (stable("a", "b"), completing("a", "b")):
        desk.fire(TimerKind.SESSION, "a")
        assert desk.phase() is Phase.PREPARING
        assert (list(desk.known.members), desk.known.leader) == (["b"], "b")


def test_a_member_whose_session_ends_is_not_waited_for() -> None:
    desk = stable("a", "b")
    desk.rejoin("a")
    desk.fire(TimerKind.SESSION, "b")
    assert desk.last_joined("a").generation == 2
    assert list(desk.known.members) == ["a"]


def test_the_last_session_to_end_empties_the_group() -> None:
    desk = stable("a")
    desk.fire(TimerKind.SESSION, "a")
    assert (desk.phase(), desk.known.generation) == (Phase.EMPTY, 2)


def test_one_that_waits_in_a_join_has_no_session() -> None:
    desk = stable("a", "b")
    stale = desk.timer(TimerKind.SESSION, "a").timer
    desk.rejoin("a")
    assert desk.kinds("a") == set()
    assert desk.kinds("b") == {TimerKind.SESSION}
    assert fire(desk.known, stale, LIMITS, 0) is desk.group


def test_one_that_waits_in_a_sync_has_no_session() -> None:
    desk = completing("a", "b")
    desk.sync("b")
    assert desk.kinds("b") == set()
    assert desk.kinds("a") == {TimerKind.SESSION}
    desk.sync("a")
    assert desk.kinds("b") == {TimerKind.SESSION}


def test_sessions_start_anew_with_each_generation() -> None:
    desk = preparing("a", instance_id="i")
    desk.fire(TimerKind.INITIAL_DELAY)
    desk.enter("b")
    before = desk.timer(TimerKind.SESSION, "a").timer
    desk.fire(TimerKind.JOIN_PHASE)
    assert desk.timer(TimerKind.SESSION, "a").timer != before


def test_a_new_member_is_not_kept_waiting_for_ever() -> None:
    desk = stable("a")
    desk.enter("b", broker=2)
    assert desk.kinds("b") == {TimerKind.NEW_MEMBER}
    asked = desk.timer(TimerKind.NEW_MEMBER, "b")
    assert (asked.after_ms, asked.broker) == (NEW_MEMBER_JOIN_TIMEOUT_MS, 2)
    desk.fire(TimerKind.NEW_MEMBER, "b")
    assert desk.last_joined("b") == Joined(Fault.UNKNOWN_MEMBER_ID, "")
    assert list(desk.known.members) == ["a"]


def test_one_that_has_been_in_a_generation_is_not_new() -> None:
    desk = completing("a")
    assert desk.kinds("a") == {TimerKind.SESSION}
    desk.rejoin("a", protocols=(("range", b"2"),))
    assert not desk.member("a").is_new


def test_an_id_that_nobody_comes_back_with_is_forgotten() -> None:
    desk = stable("a")
    desk.ask(new_id="b", session_timeout_ms=6_000)
    desk.rejoin("a")
    asked = desk.timer(TimerKind.PENDING_MEMBER, "b")
    assert (asked.after_ms, asked.broker) == (6_000, None)
    desk.fire(TimerKind.PENDING_MEMBER, "b")
    assert desk.last_joined("a").generation == 2
    assert desk.ask("b") == Joined(Fault.UNKNOWN_MEMBER_ID, "b")


def test_an_id_that_is_forgotten_disturbs_nobody() -> None:
    desk = stable("a")
    desk.ask(new_id="b")
    desk.fire(TimerKind.PENDING_MEMBER, "b")
    assert (desk.phase(), desk.known.pending) == (Phase.STABLE, {})


def test_a_time_that_is_up_ends_the_initial_delay_if_nobody_is_missing() -> None:
    desk = preparing("a")
    desk.ask(new_id="b")
    desk.fire(TimerKind.PENDING_MEMBER, "b")
    assert desk.last_joined("a").generation == 1


@pytest.mark.parametrize("kind", list(TimerKind))
def test_timers_of_nobody_change_nothing(kind: TimerKind) -> None:
    desk = stable("a")
    desk.enter("b")
    for member_id in ("x", "", "a", "b"):
        assert fire(desk.known, Timer(kind, member_id, 99), LIMITS, 0) is desk.group


def test_members_of_a_broker_that_is_gone_are_adopted() -> None:
    desk = preparing("a", broker=1)
    desk.enter("b", broker=2)
    desk.enter("c", broker=3)
    desk.wait_out()
    before = desk.known
    adopted = adopt(before, {1, 3}, 3)
    assert {key: member.broker for key, member in adopted.members.items()} == {"a": 1, "b": 3, "c": 3}
    assert adopted.members["a"] is before.members["a"]
    assert adopted.members["b"].session != before.members["b"].session


def test_nobody_is_adopted_while_all_brokers_live() -> None:
    group = stable("a", "b").known
    assert adopt(group, {1, 2}, 2) is group


def test_a_join_that_waited_at_a_broker_that_is_gone_still_counts() -> None:
    desk = stable("a", "b")
    desk.rejoin("a", broker=2)
    desk.group = adopt(desk.known, {1}, 1)
    desk.rejoin("b")
    assert desk.phase() is Phase.COMPLETING
    assert desk.kinds("a") == {TimerKind.SESSION}
