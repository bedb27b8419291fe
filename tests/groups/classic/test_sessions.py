"""Heartbeats, sessions, and the brokers that keep them."""

import pytest
from msgspec.structs import replace

from dray.groups.classic import NEW_MEMBER_JOIN_TIMEOUT_MS, Member, Phase, fire, heartbeat, take_over_members
from dray.groups.commands import Heartbeat
from dray.groups.results import JoinResult, Outcome
from dray.groups.timers import Timer, TimerKind
from dray.groups.types import GroupError
from tests.groups.classic.builders import LIMITS, completing, preparing, stable


def test_heartbeat_of_an_attached_member_does_not_change_the_group() -> None:
    harness = stable("a", "b")
    before = harness.group
    assert harness.heartbeat("b") is GroupError.NONE
    assert harness.group is before


class NotIterableMembers(dict[str, Member]):
    """Members that can be looked up by id, but not iterated over."""

    def reject(self, *_: object) -> None:
        raise AssertionError("a heartbeat iterated over all members")

    __iter__ = items = keys = values = copy = reject  # type: ignore[assignment]


def test_heartbeat_looks_up_one_member_only() -> None:
    group = stable("a", "b").known
    guarded = replace(group, members=NotIterableMembers(group.members))
    with pytest.raises(AssertionError):
        take_over_members(guarded, {1}, 1)
    assert heartbeat(guarded, Heartbeat("b", None, 1, 1)) == Outcome(guarded, GroupError.NONE)


def test_heartbeat_during_a_rebalance_returns_rebalance_in_progress() -> None:
    harness = stable("a")
    harness.enter("b")
    before = harness.group
    assert harness.heartbeat("a") is GroupError.REBALANCE_IN_PROGRESS
    assert harness.group is before


def test_heartbeat_in_the_sync_phase_returns_no_error() -> None:
    assert completing("a").heartbeat("a") is GroupError.NONE


@pytest.mark.parametrize(
    ("member_id", "generation", "error"),
    [
        ("a", 0, GroupError.ILLEGAL_GENERATION),
        ("a", 2, GroupError.ILLEGAL_GENERATION),
        ("x", 1, GroupError.UNKNOWN_MEMBER_ID),
    ],
)
def test_heartbeat_with_wrong_member_or_generation_is_rejected(
    member_id: str, generation: int, error: GroupError
) -> None:
    harness = stable("a")
    before = harness.group
    assert harness.heartbeat(member_id, generation=generation, broker=2) is error
    assert harness.group is before
    assert heartbeat(None, Heartbeat("a", None, 1, 1)) == Outcome(None, GroupError.UNKNOWN_MEMBER_ID)


def test_heartbeat_to_another_broker_moves_the_session_there() -> None:
    harness = stable("a", "b")
    before = harness.timer(TimerKind.SESSION, "a")
    harness.heartbeat("a", broker=2)
    assert harness.member("a").broker == 2
    spec = harness.timer(TimerKind.SESSION, "a")
    assert (spec.broker, spec.delay_ms) == (2, 10_000)
    assert spec.timer != before.timer


def test_session_timer_of_the_old_broker_is_stale() -> None:
    harness = stable("a")
    stale = harness.timer(TimerKind.SESSION, "a").timer
    harness.heartbeat("a", broker=2)
    assert fire(harness.known, stale, LIMITS, 0) is harness.group
    harness.heartbeat("a", broker=1)
    assert fire(harness.known, stale, LIMITS, 0) is harness.group


def test_expired_session_triggers_a_rebalance() -> None:
    for harness in (stable("a", "b"), completing("a", "b")):
        harness.fire(TimerKind.SESSION, "a")
        assert harness.phase() is Phase.PREPARING
        assert (list(harness.known.members), harness.known.leader) == (["b"], "b")


def test_rebalance_does_not_wait_for_an_expired_member() -> None:
    harness = stable("a", "b")
    harness.rejoin("a")
    harness.fire(TimerKind.SESSION, "b")
    assert harness.last_joined("a").generation == 2
    assert list(harness.known.members) == ["a"]


def test_group_becomes_empty_when_the_last_session_expires() -> None:
    harness = stable("a")
    harness.fire(TimerKind.SESSION, "a")
    assert (harness.phase(), harness.known.generation) == (Phase.EMPTY, 2)


def test_member_with_a_pending_join_has_no_session_timer() -> None:
    harness = stable("a", "b")
    stale = harness.timer(TimerKind.SESSION, "a").timer
    harness.rejoin("a")
    assert harness.kinds("a") == set()
    assert harness.kinds("b") == {TimerKind.SESSION}
    assert fire(harness.known, stale, LIMITS, 0) is harness.group


def test_member_with_a_pending_sync_has_no_session_timer() -> None:
    harness = completing("a", "b")
    harness.sync("b")
    assert harness.kinds("b") == set()
    assert harness.kinds("a") == {TimerKind.SESSION}
    harness.sync("a")
    assert harness.kinds("b") == {TimerKind.SESSION}


def test_sessions_restart_with_each_generation() -> None:
    harness = preparing("a", instance_id="i")
    harness.fire(TimerKind.INITIAL_DELAY)
    harness.enter("b")
    before = harness.timer(TimerKind.SESSION, "a").timer
    harness.fire(TimerKind.JOIN_PHASE)
    assert harness.timer(TimerKind.SESSION, "a").timer != before


def test_new_member_with_a_pending_join_is_removed_after_five_minutes() -> None:
    harness = stable("a")
    harness.enter("b", broker=2)
    assert harness.kinds("b") == {TimerKind.NEW_MEMBER}
    spec = harness.timer(TimerKind.NEW_MEMBER, "b")
    assert (spec.delay_ms, spec.broker) == (NEW_MEMBER_JOIN_TIMEOUT_MS, 2)
    harness.fire(TimerKind.NEW_MEMBER, "b")
    assert harness.last_joined("b") == JoinResult(GroupError.UNKNOWN_MEMBER_ID, "")
    assert list(harness.known.members) == ["a"]


def test_member_of_a_generation_is_not_new() -> None:
    harness = completing("a")
    assert harness.kinds("a") == {TimerKind.SESSION}
    harness.rejoin("a", protocols=(("range", b"2"),))
    assert not harness.member("a").is_new


def test_assigned_id_expires_after_its_session_timeout() -> None:
    harness = stable("a")
    harness.join(new_member_id="b", session_timeout_ms=6_000)
    harness.rejoin("a")
    spec = harness.timer(TimerKind.PENDING_MEMBER, "b")
    assert (spec.delay_ms, spec.broker) == (6_000, None)
    harness.fire(TimerKind.PENDING_MEMBER, "b")
    assert harness.last_joined("a").generation == 2
    assert harness.join("b") == JoinResult(GroupError.UNKNOWN_MEMBER_ID, "b")


def test_expired_id_does_not_disturb_a_stable_group() -> None:
    harness = stable("a")
    harness.join(new_member_id="b")
    harness.fire(TimerKind.PENDING_MEMBER, "b")
    assert (harness.phase(), harness.known.pending_members) == (Phase.STABLE, {})


def test_expired_id_ends_the_initial_delay_if_all_members_joined() -> None:
    harness = preparing("a")
    harness.join(new_member_id="b")
    harness.fire(TimerKind.PENDING_MEMBER, "b")
    assert harness.last_joined("a").generation == 1


@pytest.mark.parametrize("kind", list(TimerKind))
def test_unknown_timers_change_nothing(kind: TimerKind) -> None:
    harness = stable("a")
    harness.enter("b")
    for member_id in ("x", "", "a", "b"):
        assert fire(harness.known, Timer(kind, member_id, 99), LIMITS, 0) is harness.group


def test_members_of_a_dead_broker_are_taken_over() -> None:
    harness = preparing("a", broker=1)
    harness.enter("b", broker=2)
    harness.enter("c", broker=3)
    harness.pass_initial_delay()
    before = harness.known
    taken_over = take_over_members(before, {1, 3}, 3)
    assert {key: member.broker for key, member in taken_over.members.items()} == {"a": 1, "b": 3, "c": 3}
    assert taken_over.members["a"] is before.members["a"]
    assert taken_over.members["b"].session_epoch != before.members["b"].session_epoch


def test_take_over_changes_nothing_while_all_brokers_are_alive() -> None:
    group = stable("a", "b").known
    assert take_over_members(group, {1, 2}, 2) is group


def test_pending_join_at_a_dead_broker_still_counts() -> None:
    harness = stable("a", "b")
    harness.rejoin("a", broker=2)
    harness.group = take_over_members(harness.known, {1}, 1)
    harness.rejoin("b")
    assert harness.phase() is Phase.COMPLETING
    assert harness.kinds("a") == {TimerKind.SESSION}
