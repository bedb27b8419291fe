"""Joins of new members."""

from typing import Any

import pytest

from dray.groups.classic import Phase, new_group
from dray.groups.results import JoinResult, PendingReply
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError
from tests.groups.classic.builders import BOTH, LIMITS, GroupHarness, completing, preparing, stable, sync_all


def test_new_member_has_to_join_again_with_its_assigned_id() -> None:
    harness = GroupHarness()
    assert harness.join(new_member_id="a") == JoinResult(GroupError.MEMBER_ID_REQUIRED, "a")
    assert harness.phase() is Phase.EMPTY
    assert harness.known.members == {}
    assert harness.timer(TimerKind.PENDING_MEMBER, "a").delay_ms == 10_000
    assert harness.join("a") == PendingReply("a", None)
    assert harness.phase() is Phase.PREPARING
    assert harness.known.pending_members == {}
    assert harness.member("a").joining


def test_members_of_old_versions_are_admitted_at_once() -> None:
    harness = GroupHarness()
    assert harness.join(new_member_id="a", require_known_member_id=False) == PendingReply("a", None)
    assert list(harness.known.members) == ["a"]


def test_static_members_are_admitted_at_once() -> None:
    harness = GroupHarness()
    assert harness.join(new_member_id="a", instance_id="i") == PendingReply("a", "i")
    assert harness.member("a").instance_id == "i"


def test_new_member_is_stored_with_the_fields_of_its_join() -> None:
    harness = GroupHarness()
    harness.enter("a", client_id="c", client_host="/h", protocols=BOTH, broker=7, rebalance_timeout_ms=5)
    member = harness.member("a")
    assert (member.client_id, member.client_host, member.protocols) == ("c", "/h", BOTH)
    assert (member.rebalance_timeout_ms, member.session_timeout_ms, member.broker) == (5, 10_000, 7)
    assert (harness.known.protocol_type, harness.known.leader) == ("consumer", "a")


@pytest.mark.parametrize(
    "session_timeout_ms", [LIMITS.min_session_timeout_ms - 1, LIMITS.max_session_timeout_ms + 1]
)
def test_session_timeout_out_of_bounds_returns_invalid_session_timeout(session_timeout_ms: int) -> None:
    harness = GroupHarness()
    reply = harness.join("a", session_timeout_ms=session_timeout_ms)
    assert reply == JoinResult(GroupError.INVALID_SESSION_TIMEOUT, "a")
    assert harness.group is None


@pytest.mark.parametrize("session_timeout_ms", [LIMITS.min_session_timeout_ms, LIMITS.max_session_timeout_ms])
def test_session_timeouts_at_the_bounds_are_accepted(session_timeout_ms: int) -> None:
    assert isinstance(
        GroupHarness().join(
            new_member_id="a", require_known_member_id=False, session_timeout_ms=session_timeout_ms
        ),
        PendingReply,
    )


def test_join_with_an_id_does_not_create_a_group() -> None:
    harness = GroupHarness()
    assert harness.join("a") == JoinResult(GroupError.UNKNOWN_MEMBER_ID, "a")
    assert harness.group is None


def test_join_with_unknown_id_returns_unknown_member_id() -> None:
    harness = stable("a")
    before = harness.group
    assert harness.join("x") == JoinResult(GroupError.UNKNOWN_MEMBER_ID, "x")
    assert harness.group is before
    empty = GroupHarness(group=new_group(0))
    assert empty.join("x") == JoinResult(GroupError.UNKNOWN_MEMBER_ID, "x")


@pytest.mark.parametrize("fields", [{"protocol_type": ""}, {"protocols": ()}])
def test_first_member_must_have_a_protocol_type_and_a_protocol(fields: dict[str, Any]) -> None:
    harness = GroupHarness()
    assert harness.join(new_member_id="a", **fields) == JoinResult(GroupError.INCONSISTENT_GROUP_PROTOCOL, "")
    assert harness.group == new_group(harness.now_ms)


@pytest.mark.parametrize(
    "fields", [{"protocol_type": "connect"}, {"protocols": (("other", b""),)}, {"protocols": ()}]
)
def test_incompatible_protocols_return_inconsistent_group_protocol(fields: dict[str, Any]) -> None:
    harness = stable("a", protocols=BOTH)
    before = harness.group
    assert harness.join(new_member_id="b", **fields) == JoinResult(GroupError.INCONSISTENT_GROUP_PROTOCOL, "")
    assert harness.join("a", **fields) == JoinResult(GroupError.INCONSISTENT_GROUP_PROTOCOL, "a")
    assert harness.group is before


def test_new_member_must_share_a_protocol_with_all_members() -> None:
    harness = stable("a", protocols=BOTH)
    harness.enter("b", protocols=(("range", b""),))
    assert harness.join(new_member_id="c", protocols=(("sticky", b""),)) == JoinResult(
        GroupError.INCONSISTENT_GROUP_PROTOCOL, ""
    )


def test_empty_group_accepts_another_protocol_type() -> None:
    harness = stable("a")
    harness.leave("a")
    assert (harness.phase(), harness.known.protocol_type) == (Phase.EMPTY, "consumer")
    harness.enter("b", protocol_type="connect")
    assert harness.known.protocol_type == "connect"


def test_new_member_triggers_a_rebalance_of_a_stable_group() -> None:
    harness = stable("a")
    harness.now_ms = 5_000
    harness.enter("b")
    assert (harness.phase(), harness.known.changed_at_ms) == (Phase.PREPARING, 5_000)
    assert not harness.member("a").joining
    assert "b" not in harness.replies
    harness.rejoin("a")
    assert harness.known.generation == 2
    assert harness.last_joined("b").generation == 2


def test_new_member_interrupts_the_sync_phase() -> None:
    harness = stable("a")
    harness.enter("b")
    harness.rejoin("a")
    assert harness.phase() is Phase.COMPLETING
    assert isinstance(harness.sync("b"), PendingReply)
    harness.enter("c")
    assert harness.phase() is Phase.PREPARING
    assert harness.last_synced("b").error is GroupError.REBALANCE_IN_PROGRESS
    assert harness.member("a").assignment == b""


def test_rebalance_waits_for_assigned_ids() -> None:
    harness = stable("a")
    harness.join(new_member_id="b")
    assert harness.phase() is Phase.STABLE
    harness.rejoin("a")
    assert harness.phase() is Phase.PREPARING
    harness.rejoin("b")
    assert harness.phase() is Phase.COMPLETING
    assert list(harness.known.members) == ["a", "b"]


def test_assigned_id_cannot_be_used_by_a_static_member() -> None:
    harness = stable("a")
    harness.join(new_member_id="b")
    assert harness.join("b", instance_id="i") == JoinResult(GroupError.UNKNOWN_MEMBER_ID, "b")


def test_all_members_get_the_generation_and_only_the_leader_the_members() -> None:
    harness = preparing("a", instance_id="i", protocols=(("range", b"1"),))
    harness.enter("b", protocols=(("sticky", b"3"), ("range", b"2")))
    harness.fire(TimerKind.INITIAL_DELAY)
    harness.fire(TimerKind.INITIAL_DELAY)
    leader = harness.last_joined("a")
    assert (leader.error, leader.generation, leader.leader) == (GroupError.NONE, 1, "a")
    assert (leader.protocol_type, leader.protocol, leader.skip_assignment) == ("consumer", "range", False)
    members = [(member.member_id, member.instance_id, member.metadata) for member in leader.members]
    assert members == [("a", "i", b"1"), ("b", None, b"2")]
    assert harness.last_joined("b") == JoinResult(GroupError.NONE, "b", 1, "consumer", "range", "a")


def test_join_applied_twice_assigns_one_id() -> None:
    harness = GroupHarness()
    harness.join(new_member_id="a")
    before = harness.group
    assert harness.join(new_member_id="a") == JoinResult(GroupError.MEMBER_ID_REQUIRED, "a")
    assert harness.group is before


def test_join_applied_twice_adds_one_member() -> None:
    harness = completing("b")
    sync_all(harness)
    harness.enter("a")
    before = harness.group
    harness.enter("a")
    assert harness.group is before
    harness.rejoin("b")
    assert isinstance(harness.join(new_member_id="a", require_known_member_id=False), JoinResult)
    assert list(harness.known.members) == ["b", "a"]
    assert harness.known.generation == 2
