"""Completion of pending joins and syncs, also when several changes are seen as one."""

import pytest

from dray.groups.classic import new_group, try_complete
from dray.groups.results import JoinResult, PendingReply, SyncResult
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError
from tests.groups.classic.builders import BOTH, completing, preparing, stable


def test_join_is_pending_during_a_rebalance() -> None:
    group = preparing("a").known
    assert try_complete(group, PendingReply("a", None)) is None


def test_pending_join_completes_in_a_stable_group() -> None:
    group = stable("a", "b").known
    assert try_complete(group, PendingReply("b", None)) == JoinResult(
        GroupError.NONE, "b", 1, "consumer", "range", "a"
    )


def test_join_completes_with_the_last_generation_when_the_next_rebalance_has_begun() -> None:
    harness = completing("a", "b")
    harness.enter("c")
    reply = try_complete(harness.known, PendingReply("b", None))
    assert isinstance(reply, JoinResult)
    assert (reply.error, reply.generation) == (GroupError.NONE, 1)
    assert harness.sync("b") == SyncResult(GroupError.REBALANCE_IN_PROGRESS)


def test_late_join_result_cannot_be_used_to_sync() -> None:
    harness = completing("a", "b")
    harness.rejoin("b", protocols=BOTH)
    reply = try_complete(harness.known, PendingReply("a", None))
    assert isinstance(reply, JoinResult)
    assert len(reply.members) == 2
    assert harness.sync("a", generation=reply.generation) == SyncResult(GroupError.REBALANCE_IN_PROGRESS)


def test_member_that_missed_a_generation_gets_unknown_member_id() -> None:
    harness = completing("a", "b")
    harness.enter("c")
    harness.rejoin("a")
    harness.fire(TimerKind.JOIN_PHASE)
    assert try_complete(harness.known, PendingReply("b", None)) == JoinResult(
        GroupError.UNKNOWN_MEMBER_ID, ""
    )
    assert try_complete(harness.known, PendingReply("b", None, 1)) == SyncResult(GroupError.UNKNOWN_MEMBER_ID)


def test_sync_is_pending_until_the_leader_syncs() -> None:
    group = completing("a", "b").known
    assert try_complete(group, PendingReply("b", None, 1)) is None


def test_pending_sync_of_an_older_generation_returns_rebalance_in_progress() -> None:
    harness = stable("a", "b")
    harness.enter("c")
    assert try_complete(harness.known, PendingReply("b", None, 1)) == SyncResult(
        GroupError.REBALANCE_IN_PROGRESS
    )
    harness.rejoin("a", "b")
    assert harness.known.generation == 2
    assert try_complete(harness.known, PendingReply("b", None, 1)) == SyncResult(
        GroupError.REBALANCE_IN_PROGRESS
    )


@pytest.mark.parametrize("group", [None, new_group(0)])
def test_pending_replies_of_a_deleted_group_return_unknown_member_id(group: None) -> None:
    assert try_complete(group, PendingReply("a", "i")) == JoinResult(GroupError.UNKNOWN_MEMBER_ID, "")
    assert try_complete(group, PendingReply("a", "i", 1)) == SyncResult(GroupError.UNKNOWN_MEMBER_ID)


def test_pending_replies_of_a_replaced_static_member_are_fenced() -> None:
    harness = preparing("a", instance_id="i")
    harness.join(new_member_id="b", instance_id="i")
    assert try_complete(harness.known, PendingReply("a", "i")) == JoinResult(
        GroupError.FENCED_INSTANCE_ID, "a"
    )
    assert try_complete(harness.known, PendingReply("a", "i", 1)) == SyncResult(GroupError.FENCED_INSTANCE_ID)
