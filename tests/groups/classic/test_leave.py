"""LeaveGroup: members that leave, and static members that an admin removes."""

from dray.groups.classic import Phase, leave
from dray.groups.commands import Leave, LeavingMember
from dray.groups.results import JoinResult, Outcome
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError
from tests.groups.classic.builders import LIMITS, completing, preparing, stable


def test_leaving_member_triggers_a_rebalance() -> None:
    for harness in (stable("a", "b"), completing("a", "b")):
        assert harness.leave("a") == (GroupError.NONE,)
        assert (harness.phase(), harness.known.leader) == (Phase.PREPARING, "b")
        assert list(harness.known.members) == ["b"]


def test_rebalance_does_not_wait_for_a_member_that_left() -> None:
    harness = stable("a", "b")
    harness.rejoin("a")
    harness.leave("b")
    assert harness.last_joined("a").generation == 2


def test_several_leaving_members_cause_one_rebalance() -> None:
    harness = stable("a", "b", "c")
    phase_epoch = harness.known.phase_epoch
    assert harness.leave("a", "x", "b", "a") == (
        GroupError.NONE,
        GroupError.UNKNOWN_MEMBER_ID,
        GroupError.NONE,
        GroupError.UNKNOWN_MEMBER_ID,
    )
    assert list(harness.known.members) == ["c"]
    assert harness.known.phase_epoch == phase_epoch + 1


def test_admin_removes_static_members_by_instance_id() -> None:
    harness = preparing("a")
    harness.enter("b", instance_id="ib")
    assert harness.leave(LeavingMember("", "ib"), LeavingMember("", "other"), LeavingMember("")) == (
        GroupError.NONE,
        GroupError.UNKNOWN_MEMBER_ID,
        GroupError.UNKNOWN_MEMBER_ID,
    )
    assert harness.last_joined("b") == JoinResult(GroupError.UNKNOWN_MEMBER_ID, "")


def test_leave_checks_the_instance_id() -> None:
    harness = stable("a", instance_id="ia")
    before = harness.group
    assert harness.leave(LeavingMember("x", "ia"), LeavingMember("a", "other")) == (
        GroupError.FENCED_INSTANCE_ID,
        GroupError.UNKNOWN_MEMBER_ID,
    )
    assert harness.group is before
    assert harness.leave(LeavingMember("a", "ia")) == (GroupError.NONE,)


def test_pending_join_of_a_removed_member_returns_unknown_member_id() -> None:
    harness = preparing("a", "b")
    harness.leave("a")
    assert harness.last_joined("a") == JoinResult(GroupError.UNKNOWN_MEMBER_ID, "")
    assert harness.known.leader == "b"


def test_pending_sync_of_a_removed_member_returns_unknown_member_id() -> None:
    harness = completing("a", "b")
    harness.sync("b")
    harness.leave("b")
    assert harness.last_synced("b").error is GroupError.UNKNOWN_MEMBER_ID


def test_leave_does_not_end_the_initial_delay() -> None:
    harness = preparing("a", "b")
    harness.leave("b")
    assert harness.kinds() == {TimerKind.INITIAL_DELAY}
    harness.leave("a")
    assert harness.phase() is Phase.PREPARING
    harness.pass_initial_delay()
    assert (harness.phase(), harness.known.generation) == (Phase.EMPTY, 1)


def test_member_can_join_during_the_initial_delay_of_members_that_left() -> None:
    harness = preparing("a")
    harness.leave("a")
    assert harness.join(
        new_member_id="b", protocol_type="connect", require_known_member_id=False
    ) == JoinResult(GroupError.INCONSISTENT_GROUP_PROTOCOL, "")
    harness.enter("b", protocols=(("other", b""),))
    assert harness.known.leader == "b"


def test_assigned_id_may_leave_before_it_joined() -> None:
    harness = stable("a")
    harness.join(new_member_id="b")
    harness.rejoin("a")
    assert harness.leave("b") == (GroupError.NONE,)
    assert harness.known.pending_members == {}
    assert harness.last_joined("a").generation == 2


def test_leave_of_an_assigned_id_triggers_a_rebalance_as_in_kafka() -> None:
    harness = stable("a")
    harness.join(new_member_id="b")
    harness.leave("b")
    assert harness.phase() is Phase.PREPARING


def test_leave_of_an_assigned_id_does_not_rebalance_an_empty_group() -> None:
    harness = stable("a")
    harness.leave("a")
    harness.join(new_member_id="b")
    generation = harness.known.generation
    assert harness.leave("b") == (GroupError.NONE,)
    assert (harness.phase(), harness.known.generation) == (Phase.EMPTY, generation)


def test_leave_of_an_unknown_group_returns_unknown_member_id() -> None:
    command = Leave((LeavingMember("a"), LeavingMember("", "i")))
    errors = (GroupError.UNKNOWN_MEMBER_ID, GroupError.UNKNOWN_MEMBER_ID)
    assert leave(None, command, LIMITS, 0) == Outcome(None, errors)


def test_group_with_an_assigned_id_does_not_become_empty() -> None:
    harness = stable("a")
    harness.join(new_member_id="b")
    harness.leave("a")
    assert harness.timer(TimerKind.JOIN_PHASE).delay_ms == 0
    reply = harness.join("b")
    assert isinstance(reply, JoinResult)
    assert (reply.generation, reply.leader, len(reply.members)) == (2, "b", 1)
