"""Upgrades: classic groups that a client of the consumer protocol joins."""

from typing import Any

import pytest

from dray.groups.classic import Phase
from dray.groups.commands import LeavingMember
from dray.groups.consumer import ConsumerGroup, MemberState, TopicMetadata, state_name
from dray.groups.limits import GroupLimits
from dray.groups.results import JoinResult, PendingReply, SyncResult
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError
from tests.groups.builders import a_sync
from tests.groups.consumer import builders as consumer
from tests.groups.consumer.builders import image, parts, topic_id
from tests.groups.migration.builders import (
    GroupHarness,
    a_heartbeat,
    a_join,
    assignment_bytes,
    pass_initial_delay,
    stable_classic,
    subscription_bytes,
)

T = topic_id("t")
JOIN = consumer.a_join("new", "t")
CUSTOM = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
    "assignor before re-attempting the upgrade"
)


def test_upgrade_keeps_members_and_their_partitions() -> None:
    harness = GroupHarness(image(t=4))
    generation = stable_classic(harness, {"a": assignment_bytes(t=[0, 1]), "b": assignment_bytes(t=[2, 3])})
    reply = harness.consumer_heartbeat(JOIN)
    assert (reply.error, reply.epoch, reply.assignment) == (GroupError.NONE, generation + 1, {})
    group = harness.consumers
    assert (group.epoch, group.target_epoch, group.topics) == (2, 2, {"t": TopicMetadata(T, 4)})
    member = group.members["a"]
    assert (member.epoch, member.previous_epoch, member.state) == (1, 1, MemberState.STABLE)
    assert (member.assigned, member.names) == ({T: {0: 1, 1: 1}}, ("t",))
    assert member.classic is not None
    assert (member.classic.session_timeout_ms, member.classic.protocols) == (
        10_000,
        (("range", subscription_bytes("t")),),
    )
    assert (member.rebalance_timeout_ms, member.client_host, member.broker) == (60_000, "/10.0.0.1", 1)
    assert state_name(group) == "Reconciling"


def test_members_are_asked_to_rejoin_after_an_upgrade() -> None:
    harness = GroupHarness(image(t=4))
    stable_classic(harness, {"a": assignment_bytes(t=[0, 1]), "b": assignment_bytes(t=[2, 3])})
    harness.consumer_heartbeat(JOIN)
    assert harness.heartbeat(a_heartbeat("a", 1)) is GroupError.REBALANCE_IN_PROGRESS
    assert harness.timer(TimerKind.SESSION, "a") is not None


def test_pending_join_is_completed_by_an_upgrade() -> None:
    harness = GroupHarness(image(t=4))
    stable_classic(harness, {"a": assignment_bytes(t=[0, 1]), "b": assignment_bytes(t=[2, 3])})
    waiting = harness.join(a_join("b", metadata=subscription_bytes("t", "u")))
    assert isinstance(waiting, PendingReply)
    harness.consumer_heartbeat(JOIN)
    assert harness.try_complete(waiting) == JoinResult(GroupError.REBALANCE_IN_PROGRESS, "b")
    assert harness.try_complete(PendingReply("x", None)) == JoinResult(GroupError.UNKNOWN_MEMBER_ID, "x")


def test_pending_sync_is_completed_by_an_upgrade() -> None:
    harness = GroupHarness(image(t=4))
    harness.join(a_join(new_member_id="a", require_known_member_id=False))
    harness.join(a_join(new_member_id="b", require_known_member_id=False))
    pass_initial_delay(harness)
    waiting = harness.sync(a_sync("b", 1))
    assert isinstance(waiting, PendingReply)
    harness.consumer_heartbeat(JOIN)
    assert harness.try_complete(waiting) == SyncResult(GroupError.REBALANCE_IN_PROGRESS)
    assert harness.consumers.members["b"].assigned == {}


def test_group_before_its_first_generation_is_upgraded() -> None:
    harness = GroupHarness(image(t=4), GroupLimits(consumer_assignment_interval_ms=0))
    harness.join(a_join(new_member_id="a", require_known_member_id=False))
    assert harness.classics.generation == 0
    reply = harness.consumer_heartbeat(JOIN)
    assert (reply.error, reply.epoch, harness.consumers.members["a"].epoch) == (GroupError.NONE, 2, 0)
    assert harness.try_complete(PendingReply("a", None)) == JoinResult(GroupError.REBALANCE_IN_PROGRESS, "a")


def test_group_with_only_an_assigned_id_is_upgraded() -> None:
    harness = GroupHarness(image(t=4))
    harness.join(a_join(new_member_id="a", require_known_member_id=False))
    harness.join(a_join(new_member_id="b"))
    harness.leave(LeavingMember("a"))
    assert (harness.classics.phase, harness.classics.members) == (Phase.PREPARING, {})
    assert harness.consumer_heartbeat(JOIN).assignment == parts(t=[0, 1, 2, 3])


def test_empty_classic_group_is_replaced() -> None:
    harness = GroupHarness(image(t=4))
    stable_classic(harness, {"a": assignment_bytes(t=[0])})
    harness.leave(LeavingMember("a"))
    assert not harness.classics.members
    reply = harness.consumer_heartbeat(JOIN)
    assert (reply.epoch, reply.assignment) == (2, parts(t=[0, 1, 2, 3]))


@pytest.mark.parametrize("epoch", [-2, -1, 3])
def test_only_a_join_upgrades_a_group(epoch: int) -> None:
    harness = GroupHarness(image(t=4))
    stable_classic(harness, {"a": assignment_bytes(t=[0])})
    group = harness.group
    reply = harness.consumer_heartbeat(consumer.a_heartbeat("a", epoch, instance_id="i"))
    assert (reply.error, reply.message) == (GroupError.GROUP_ID_NOT_FOUND, "Group g is not a consumer group.")
    assert harness.group is group


def _message(reason: str) -> str:
    return f"Cannot upgrade classic group g to consumer group because {reason}."


@pytest.mark.parametrize(
    ("assignments", "changes", "limits", "reason"),
    [
        (
            {"a": assignment_bytes(t=[0])},
            {},
            {"consumer_migration_policy": "disabled"},
            "online upgrade is disabled",
        ),
        (
            {"a": assignment_bytes(t=[0])},
            {},
            {"consumer_migration_policy": "downgrade"},
            "online upgrade is disabled",
        ),
        (
            {"a": assignment_bytes(t=[0])},
            {"protocol_type": "connect"},
            {},
            "the group does not use the consumer embedded protocol",
        ),
        (
            {"a": assignment_bytes(t=[0]), "b": b""},
            {},
            {"consumer_group_max_size": 1},
            "the group size exceeds the consumer group maximum size",
        ),
        ({"a": b"\x00"}, {}, {}, "the embedded consumer protocol is malformed"),
        ({"a": b""}, {"metadata": b"\x00"}, {}, "the embedded consumer protocol is malformed"),
        (
            {"a": assignment_bytes(t=[0], user_data=b"mine")},
            {},
            {},
            CUSTOM,
        ),
        (
            {"a": assignment_bytes(t=[0, 1]), "b": assignment_bytes(t=[1])},
            {},
            {},
            "a partition is assigned to more than one member",
        ),
    ],
)
def test_upgrade_that_is_not_possible_is_rejected_with_the_reason(
    assignments: dict[str, bytes], changes: dict[str, Any], limits: dict[str, Any], reason: str
) -> None:
    harness = GroupHarness(image(t=4), GroupLimits(initial_rebalance_delay_ms=0, **limits))
    if changes.get("protocol_type") is None:
        stable_classic(harness, assignments, **changes)
    else:
        harness.join(a_join(new_member_id="a", require_known_member_id=False, **changes))
    group = harness.group
    reply = harness.consumer_heartbeat(JOIN)
    assert (reply.error, reply.message) == (GroupError.GROUP_ID_NOT_FOUND, _message(reason))
    assert harness.group is group


def test_rejected_consumer_member_does_not_upgrade_the_group() -> None:
    harness = GroupHarness(image(t=4), GroupLimits(initial_rebalance_delay_ms=0, consumer_group_max_size=1))
    stable_classic(harness, {"a": assignment_bytes(t=[0])})
    group = harness.group
    assert harness.consumer_heartbeat(JOIN).error is GroupError.GROUP_MAX_SIZE_REACHED
    assert harness.consumer_heartbeat(consumer.a_join("", "t")).error is GroupError.INVALID_REQUEST
    assert harness.group is group


def test_empty_user_data_does_not_prevent_an_upgrade() -> None:
    harness = GroupHarness(image(t=4))
    stable_classic(harness, {"a": assignment_bytes(t=[0], user_data=b"")})
    assert harness.consumer_heartbeat(JOIN).error is GroupError.NONE


def test_deleted_topics_are_dropped_by_an_upgrade() -> None:
    harness = GroupHarness(image(t=4))
    stable_classic(harness, {"a": assignment_bytes(t=[0], deleted=[1])})
    harness.consumer_heartbeat(JOIN)
    assert harness.consumers.members["a"].assigned == {T: {0: 1}}


def test_static_member_may_return_with_the_consumer_protocol() -> None:
    harness = GroupHarness(image(t=2))
    stable_classic(harness, {"a": assignment_bytes(t=[0, 1])}, instance_id="i")
    reply = harness.consumer_heartbeat(consumer.a_join("new", "t", instance_id="i"))
    assert (reply.error, reply.epoch, reply.assignment) == (GroupError.NONE, 1, parts(t=[0, 1]))
    assert isinstance(harness.group, ConsumerGroup)
    assert list(harness.group.members) == ["new"]
    assert harness.group.members["new"].classic is None
