"""Static members, which return under another member id, usually without a rebalance."""

import pytest

from dray.groups.classic import Phase
from dray.groups.commands import LeavingMember
from dray.groups.results import JoinResult, PendingReply, SyncResult
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError
from tests.groups.classic.builders import BOTH, GroupHarness, preparing, sync_all


def static_stable() -> GroupHarness:
    """A stable group of a leader `a` with instance `ia` and a follower `b` with instance `ib`."""
    harness = preparing("a", instance_id="ia")
    harness.enter("b", instance_id="ib")
    harness.pass_initial_delay()
    sync_all(harness)
    return harness


def test_returning_static_follower_keeps_its_assignment() -> None:
    harness = static_stable()
    reply = harness.join(new_member_id="b2", instance_id="ib", broker=2)
    assert reply == JoinResult(GroupError.NONE, "b2", 1, "consumer", "range", "a")
    assert harness.phase() is Phase.STABLE
    assert list(harness.known.members) == ["a", "b2"]
    member = harness.member("b2")
    assert (member.assignment, member.broker, member.joining, member.is_new) == (b"b", 2, False, False)
    assert harness.sync("b2", broker=2) == SyncResult(GroupError.NONE, "consumer", "range", b"b")
    assert harness.heartbeat("b", instance_id="ib") is GroupError.FENCED_INSTANCE_ID


def test_returning_static_leader_is_asked_to_skip_the_assignment() -> None:
    harness = static_stable()
    reply = harness.join(new_member_id="a2", instance_id="ia")
    assert isinstance(reply, JoinResult)
    assert (reply.leader, reply.skip_assignment) == ("a2", True)
    assert [member.member_id for member in reply.members] == ["a2", "b"]
    assert harness.known.leader == "a2"
    assert harness.phase() is Phase.STABLE


def test_returning_leader_of_an_old_version_is_returned_the_old_leader() -> None:
    harness = static_stable()
    reply = harness.join(new_member_id="a2", instance_id="ia", supports_skipping_assignment=False)
    assert reply == JoinResult(GroupError.NONE, "a2", 1, "consumer", "range", "a")
    assert harness.known.leader == "a2"


@pytest.mark.parametrize(("can_skip", "leader", "members"), [(True, "a2", 2), (False, "", 0)])
def test_replacement_applied_twice_changes_nothing(can_skip: bool, leader: str, members: int) -> None:
    harness = static_stable()
    harness.join(new_member_id="a2", instance_id="ia", supports_skipping_assignment=can_skip)
    before = harness.group
    reply = harness.join(new_member_id="a2", instance_id="ia", supports_skipping_assignment=can_skip)
    assert isinstance(reply, JoinResult)
    assert (reply.error, reply.member_id, reply.generation) == (GroupError.NONE, "a2", 1)
    assert (reply.leader, reply.skip_assignment, len(reply.members)) == (leader, can_skip, members)
    assert harness.group is before


def test_replacement_that_changes_the_selected_protocol_triggers_a_rebalance() -> None:
    harness = preparing("a", instance_id="ia", protocols=BOTH)
    harness.enter("b", protocols=BOTH)
    harness.enter("c", protocols=(("sticky", b"s"), ("range", b"r")))
    harness.pass_initial_delay()
    sync_all(harness)
    assert harness.known.protocol == "range"
    reply = harness.join(new_member_id="a2", instance_id="ia", protocols=(("sticky", b"s"), ("range", b"r")))
    assert reply == PendingReply("a2", "ia")
    assert harness.phase() is Phase.PREPARING
    harness.rejoin("b", protocols=BOTH)
    harness.rejoin("c", protocols=(("sticky", b"s"), ("range", b"r")))
    assert harness.last_joined("a2").protocol == "sticky"


def test_replacement_during_a_rebalance_fences_the_pending_join() -> None:
    harness = preparing("a", instance_id="ia")
    assert harness.join(new_member_id="a2", instance_id="ia") == PendingReply("a2", "ia")
    assert harness.last_joined("a") == JoinResult(GroupError.FENCED_INSTANCE_ID, "a")
    assert list(harness.known.members) == ["a2"]
    harness.fire(TimerKind.INITIAL_DELAY)
    assert harness.last_joined("a2").leader == "a2"


def test_replacement_can_complete_a_rebalance() -> None:
    harness = static_stable()
    harness.rejoin("a", instance_id="ia")
    reply = harness.join(new_member_id="b2", instance_id="ib")
    assert isinstance(reply, JoinResult)
    assert reply.generation == 2


def test_replacement_in_the_sync_phase_fences_the_pending_sync() -> None:
    harness = preparing("a", instance_id="ia")
    harness.enter("b", instance_id="ib")
    harness.pass_initial_delay()
    assert isinstance(harness.sync("b", instance_id="ib"), PendingReply)
    assert harness.join(new_member_id="b2", instance_id="ib") == PendingReply("b2", "ib")
    assert harness.phase() is Phase.PREPARING
    assert harness.last_synced("b").error is GroupError.FENCED_INSTANCE_ID


def test_pending_sync_without_instance_id_is_fenced_too() -> None:
    harness = preparing("a")
    harness.enter("b", instance_id="ib")
    harness.pass_initial_delay()
    assert isinstance(harness.sync("b"), PendingReply)
    harness.join(new_member_id="b2", instance_id="ib")
    assert harness.last_synced("b").error is GroupError.FENCED_INSTANCE_ID


@pytest.mark.parametrize(
    ("member_id", "instance_id", "error"),
    [
        ("a", "other", GroupError.UNKNOWN_MEMBER_ID),
        ("a", "ib", GroupError.FENCED_INSTANCE_ID),
        ("x", "ib", GroupError.FENCED_INSTANCE_ID),
        ("x", None, GroupError.UNKNOWN_MEMBER_ID),
        ("a", None, GroupError.NONE),
        ("a", "ia", GroupError.NONE),
    ],
)
def test_member_and_instance_ids_must_match(
    member_id: str, instance_id: str | None, error: GroupError
) -> None:
    harness = static_stable()
    assert harness.heartbeat(member_id, instance_id=instance_id) is error
    reply = harness.sync(member_id, instance_id=instance_id)
    assert not isinstance(reply, PendingReply)
    assert reply.error is error
    joined = harness.join(member_id, instance_id=instance_id)
    assert (
        joined == JoinResult(error, member_id)
        if error is not GroupError.NONE
        else isinstance(joined, PendingReply)
    )


def test_static_member_that_misses_a_rebalance_stays_until_its_session_expires() -> None:
    harness = static_stable()
    harness.enter("c")
    harness.fire(TimerKind.JOIN_PHASE)
    assert list(harness.known.members) == ["a", "b", "c"]
    assert harness.known.leader == "c"
    assert harness.known.generation == 2
    harness.fire(TimerKind.SESSION, "a")
    assert list(harness.known.members) == ["b", "c"]
    assert harness.phase() is Phase.PREPARING


def test_join_phase_restarts_if_only_absent_static_members_are_left() -> None:
    harness = static_stable()
    harness.enter("c")
    harness.leave("c")
    assert harness.phase() is Phase.PREPARING
    first = harness.timer(TimerKind.JOIN_PHASE)
    harness.fire(TimerKind.JOIN_PHASE)
    assert (harness.phase(), harness.known.generation) == (Phase.PREPARING, 1)
    assert harness.timer(TimerKind.JOIN_PHASE).timer != first.timer
    harness.fire(TimerKind.SESSION, "a")
    harness.fire(TimerKind.SESSION, "b")
    assert (harness.phase(), harness.known.generation) == (Phase.EMPTY, 2)


def test_static_member_that_left_joins_as_new() -> None:
    harness = static_stable()
    assert harness.leave(LeavingMember("", "ib")) == (GroupError.NONE,)
    harness.join(new_member_id="b2", instance_id="ib")
    assert harness.member("b2").is_new
