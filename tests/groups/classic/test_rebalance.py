"""Rebalances: initial delay, members that stay, leader, selected protocol."""

import pytest

from dray.groups.classic import Phase, fire
from dray.groups.limits import GroupLimits
from dray.groups.results import JoinResult, PendingReply
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError
from tests.groups.classic.builders import BOTH, GroupHarness, completing, preparing, stable, sync_all

STICKY_FIRST = (("sticky", b"s"), ("range", b"r"))


def test_new_group_waits_for_the_initial_delay() -> None:
    harness = preparing("a")
    spec = harness.timer(TimerKind.INITIAL_DELAY)
    assert (spec.delay_ms, spec.broker) == (3_000, None)
    assert harness.kinds() == {TimerKind.INITIAL_DELAY}
    harness.fire(TimerKind.INITIAL_DELAY)
    assert (harness.phase(), harness.known.generation) == (Phase.COMPLETING, 1)


def test_new_members_extend_the_initial_delay_up_to_the_rebalance_timeout() -> None:
    harness = preparing("a", rebalance_timeout_ms=10_000)
    delays = [harness.timer(TimerKind.INITIAL_DELAY)]
    for name in ("b", "c", "d"):
        harness.enter(name)
        harness.fire(TimerKind.INITIAL_DELAY)
        delays.append(harness.timer(TimerKind.INITIAL_DELAY))
    assert [spec.delay_ms for spec in delays] == [3_000, 3_000, 3_000, 1_000]
    assert len({spec.timer for spec in delays}) == 4
    harness.enter("e")
    harness.fire(TimerKind.INITIAL_DELAY)
    assert harness.phase() is Phase.COMPLETING


def test_initial_delay_is_not_extended_without_new_members() -> None:
    harness = preparing("a", "b")
    harness.fire(TimerKind.INITIAL_DELAY)
    assert harness.phase() is Phase.PREPARING
    harness.fire(TimerKind.INITIAL_DELAY)
    assert harness.phase() is Phase.COMPLETING


def test_rejoin_does_not_extend_the_initial_delay() -> None:
    harness = preparing("a")
    harness.rejoin("a")
    harness.fire(TimerKind.INITIAL_DELAY)
    assert harness.phase() is Phase.COMPLETING


def test_initial_delay_is_not_extended_beyond_the_rebalance_timeout() -> None:
    harness = preparing("a", "b", rebalance_timeout_ms=1_000)
    harness.fire(TimerKind.INITIAL_DELAY)
    assert harness.phase() is Phase.COMPLETING


def test_initial_delay_of_zero_fires_at_once() -> None:
    harness = GroupHarness(limits=GroupLimits(initial_rebalance_delay_ms=0))
    harness.enter("a")
    assert harness.timer(TimerKind.INITIAL_DELAY).delay_ms == 0


def test_group_that_became_empty_waits_for_the_initial_delay_again() -> None:
    harness = stable("a")
    harness.leave("a")
    harness.enter("b")
    assert harness.kinds() == {TimerKind.INITIAL_DELAY}


def test_only_an_empty_group_has_an_initial_delay() -> None:
    harness = stable("a")
    harness.enter("b")
    assert harness.kinds() == {TimerKind.JOIN_PHASE}


def test_join_phase_lasts_the_longest_rebalance_timeout() -> None:
    harness = preparing("a", rebalance_timeout_ms=5_000)
    harness.enter("b", rebalance_timeout_ms=90_000)
    harness.pass_initial_delay()
    sync_all(harness)
    harness.rejoin("a", rebalance_timeout_ms=5_000)
    spec = harness.timer(TimerKind.JOIN_PHASE)
    assert (spec.delay_ms, spec.broker) == (90_000, None)


def test_member_that_does_not_join_in_time_is_removed() -> None:
    harness = stable("a", "b", "c")
    harness.rejoin("a", "b")
    harness.fire(TimerKind.JOIN_PHASE)
    assert list(harness.known.members) == ["a", "b"]
    assert harness.last_joined("a").generation == 2
    assert harness.heartbeat("c") is GroupError.UNKNOWN_MEMBER_ID


def test_another_member_leads_if_the_leader_does_not_join_in_time() -> None:
    harness = stable("a", "b", "c")
    harness.rejoin("c", protocols=BOTH)
    harness.fire(TimerKind.JOIN_PHASE)
    assert harness.last_joined("c").leader == "c"
    assert len(harness.last_joined("c").members) == 1


def test_leader_stays_leader_if_it_joins() -> None:
    harness = stable("a", "b")
    harness.enter("c")
    harness.rejoin("b", "a")
    assert [harness.last_joined(name).leader for name in "abc"] == ["a", "a", "a"]


def test_join_phase_does_not_wait_for_assigned_ids_beyond_its_timeout() -> None:
    harness = stable("a")
    harness.join(new_member_id="b")
    harness.rejoin("a")
    harness.fire(TimerKind.JOIN_PHASE)
    assert harness.phase() is Phase.COMPLETING
    assert harness.known.pending_members == {"b": 10_000}
    harness.rejoin("b")
    assert harness.phase() is Phase.PREPARING


def test_group_becomes_empty_when_the_last_member_leaves() -> None:
    harness = stable("a")
    harness.now_ms = 9_000
    harness.leave("a")
    group = harness.known
    assert (group.phase, group.generation, group.changed_at_ms) == (Phase.EMPTY, 2, 9_000)
    assert (group.protocol_type, group.protocol, group.leader) == ("consumer", None, None)
    assert harness.timer_specs() == []


def test_generation_continues_after_an_empty_phase() -> None:
    harness = stable("a")
    harness.leave("a")
    harness.enter("b")
    harness.fire(TimerKind.INITIAL_DELAY)
    assert harness.last_joined("b").generation == 3


@pytest.mark.parametrize(
    ("lists", "chosen"),
    [
        ([BOTH, BOTH], "range"),
        ([BOTH, STICKY_FIRST, STICKY_FIRST], "sticky"),
        ([STICKY_FIRST, BOTH, BOTH], "range"),
        ([STICKY_FIRST, (("range", b""),)], "range"),
        ([(("x", b""), *STICKY_FIRST), (("y", b""), *BOTH), BOTH], "range"),
        ([STICKY_FIRST, BOTH], "sticky"),
    ],
    ids=[
        "unanimous",
        "most votes",
        "not the first member's preference",
        "supported by all",
        "votes for common protocols only",
        "first on a tie",
    ],
)
def test_protocol_is_selected_by_vote(lists: list[tuple[tuple[str, bytes], ...]], chosen: str) -> None:
    harness = GroupHarness()
    for name, protocols in zip("abc", lists, strict=False):
        harness.enter(name, protocols=protocols)
    harness.pass_initial_delay()
    assert harness.last_joined("a").protocol == chosen


def test_old_assignments_are_kept_until_the_sync_phase_is_interrupted() -> None:
    harness = stable("a", "b")
    harness.enter("c")
    harness.rejoin("a", "b")
    assert (harness.phase(), harness.member("b").assignment) == (Phase.COMPLETING, b"b")
    harness.rejoin("b", protocols=BOTH)
    assert harness.member("b").assignment == b""


class TestMaximumSize:
    """As in Kafka, members that have not rejoined yet may lose their place to others that join first."""

    def full(self) -> GroupHarness:
        harness = stable("a", "b")
        harness.limits = GroupLimits(group_max_size=2)
        return harness

    def test_full_stable_group_rejects_new_members(self) -> None:
        harness = self.full()
        before = harness.group
        assert harness.join(new_member_id="c") == JoinResult(GroupError.GROUP_MAX_SIZE_REACHED, "")
        assert harness.group is before

    def test_members_of_a_full_group_may_rejoin(self) -> None:
        harness = self.full()
        harness.rejoin("a", "b")
        assert harness.last_joined("a").error is GroupError.NONE
        assert harness.phase() is Phase.COMPLETING

    def test_during_a_rebalance_only_joined_members_count(self) -> None:
        harness = self.full()
        harness.rejoin("a")
        harness.enter("c")
        assert harness.join("b") == JoinResult(GroupError.GROUP_MAX_SIZE_REACHED, "")
        assert list(harness.known.members) == ["a", "c"]

    def test_rebalance_that_waited_only_for_the_rejected_member_keeps_waiting(self) -> None:
        harness = self.full()
        harness.rejoin("a")
        harness.enter("c")
        harness.join("b")
        assert harness.phase() is Phase.PREPARING
        harness.fire(TimerKind.JOIN_PHASE)
        assert harness.last_joined("c").generation == 2

    def test_assigned_id_that_exceeds_the_limit_is_forgotten(self) -> None:
        harness = stable("a")
        harness.limits = GroupLimits(group_max_size=2)
        harness.join(new_member_id="b")
        harness.join(new_member_id="c")
        harness.rejoin("b", "a")
        assert harness.phase() is Phase.PREPARING
        assert harness.join("c") == JoinResult(GroupError.GROUP_MAX_SIZE_REACHED, "")
        assert harness.known.pending_members == {}

    def test_pending_member_may_join_again(self) -> None:
        harness = self.full()
        harness.rejoin("a")
        harness.limits = GroupLimits(group_max_size=1)
        before = harness.group
        assert harness.join("a") == PendingReply("a", None)
        assert harness.group is before

    def test_join_applied_twice_does_not_exceed_the_limit(self) -> None:
        harness = stable("a")
        harness.limits = GroupLimits(group_max_size=2)
        harness.enter("b")
        harness.rejoin("a")
        reply = harness.join(new_member_id="b", require_known_member_id=False)
        assert isinstance(reply, JoinResult)
        assert reply.error is GroupError.NONE

    def test_empty_group_always_assigns_ids(self) -> None:
        harness = GroupHarness(limits=GroupLimits(group_max_size=1))
        for name in ("a", "b"):
            reply = harness.join(new_member_id=name)
            assert isinstance(reply, JoinResult)
            assert reply.error is GroupError.MEMBER_ID_REQUIRED
        harness.rejoin("a")
        assert harness.join("b") == JoinResult(GroupError.GROUP_MAX_SIZE_REACHED, "")


def test_stale_phase_timer_changes_nothing() -> None:
    harness = completing("a", "b")
    stale = [harness.timer(TimerKind.SYNC_PHASE).timer]
    harness.rejoin("a", protocols=BOTH)
    stale.append(harness.timer(TimerKind.JOIN_PHASE).timer)
    harness.rejoin("b")
    assert harness.phase() is Phase.COMPLETING
    for timer in stale:
        assert fire(harness.known, timer, harness.limits, 0) is harness.group
    harness.rejoin("a")
    harness.rejoin("b", protocols=BOTH)
    for timer in stale:
        assert fire(harness.known, timer, harness.limits, 0) is harness.group
