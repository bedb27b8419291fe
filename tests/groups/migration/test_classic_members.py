"""Classic members of a consumer group."""

from typing import Any

import pytest

from dray.groups import migration
from dray.groups.commands import LeavingMember
from dray.groups.consumer import ConsumerGroup, MemberState, state_name
from dray.groups.embedded import version_of
from dray.groups.limits import GroupLimits
from dray.groups.results import JoinResult, SyncResult
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError
from tests.groups.builders import a_sync
from tests.groups.consumer import builders as consumer
from tests.groups.consumer.builders import image, parts, topic_id
from tests.groups.migration.builders import GroupHarness, a_heartbeat, a_join, assigned, subscription_bytes

T = topic_id("t")


def _harness(**limits: Any) -> GroupHarness:
    """A consumer group with one member, which owns all four partitions."""
    harness = GroupHarness(image(t=4), GroupLimits(**{"consumer_assignment_interval_ms": 0} | limits))
    assert harness.consumer_heartbeat(consumer.a_join("new", "t")).assignment == parts(t=[0, 1, 2, 3])
    return harness


def test_join_is_answered_at_once() -> None:
    harness = _harness()
    assert harness.join(a_join()) == JoinResult(GroupError.MEMBER_ID_REQUIRED, "made-up")
    assert list(harness.consumers.members) == ["new"]
    reply = harness.join(a_join("made-up"))
    assert reply == JoinResult(GroupError.NONE, "made-up", 3, "consumer", "range", "", ())
    assert harness.consumers.members["made-up"].state is MemberState.UNRELEASED_PARTITIONS
    assert assigned(harness.sync(a_sync("made-up", 3))) == {}


def test_members_of_old_versions_are_admitted_without_an_id() -> None:
    harness = _harness()
    reply = harness.join(a_join(require_known_member_id=False))
    assert (reply.member_id, list(harness.consumers.members)) == ("made-up", ["new", "made-up"])


def test_classic_member_reaches_its_target_by_rejoining() -> None:
    harness = _harness()
    harness.join(a_join("old"))
    harness.sync(a_sync("old", 3))
    assert harness.heartbeat(a_heartbeat("old", 3)) is GroupError.NONE
    harness.consumer_heartbeat(consumer.a_heartbeat("new", 2))
    assert harness.heartbeat(a_heartbeat("old", 3)) is GroupError.NONE
    harness.consumer_heartbeat(consumer.a_heartbeat("new", 2, owned=parts(t=[0, 1])))
    assert harness.heartbeat(a_heartbeat("old", 3)) is GroupError.REBALANCE_IN_PROGRESS
    assert harness.join(a_join("old", subscription_bytes("t", owned={}))).error is GroupError.NONE  # type: ignore[union-attr]
    assert assigned(harness.sync(a_sync("old", 3))) == {"t": (2, 3)}
    assert harness.heartbeat(a_heartbeat("old", 3)) is GroupError.NONE
    assert state_name(harness.consumers) == "Stable"


def _sharing() -> GroupHarness:
    """`old` has two partitions."""
    harness = _harness()
    harness.consumer_heartbeat(consumer.a_heartbeat("new", 2, owned={}))
    harness.join(a_join("old"))
    harness.consumer_heartbeat(consumer.a_heartbeat("new", 2, owned={}))
    harness.join(a_join("old"))
    assert assigned(harness.sync(a_sync("old", 3))) == {"t": (2, 3)}
    return harness


def test_classic_member_revokes_by_rejoining_without_the_partitions() -> None:
    harness = _sharing()
    harness.consumer_heartbeat(consumer.a_join("third", "t"))
    assert harness.heartbeat(a_heartbeat("old", 3)) is GroupError.REBALANCE_IN_PROGRESS
    reply = harness.join(a_join("old", subscription_bytes("t", owned={"t": (2, 3)})))
    assert reply == JoinResult(GroupError.NONE, "old", 3, "consumer", "range")
    assert harness.consumers.members["old"].state is MemberState.UNREVOKED_PARTITIONS
    left = assigned(harness.sync(a_sync("old", 3)))
    assert len(left["t"]) == 1
    assert harness.heartbeat(a_heartbeat("old", 3)) is GroupError.REBALANCE_IN_PROGRESS
    reply = harness.join(a_join("old", subscription_bytes("t", owned=left)))
    assert (reply.error, reply.generation) == (GroupError.NONE, 4)  # type: ignore[union-attr]
    assert assigned(harness.sync(a_sync("old", 4))) == left
    assert harness.heartbeat(a_heartbeat("old", 4)) is GroupError.NONE


def test_rejoin_with_a_subscription_version_without_owned_partitions_revokes_everything() -> None:
    harness = _sharing()
    harness.consumer_heartbeat(consumer.a_join("third", "t"))
    reply = harness.join(a_join("old", subscription_bytes("t", version=0)))
    assert (reply.error, reply.generation) == (GroupError.NONE, 4)  # type: ignore[union-attr]


def test_assignments_are_encoded_in_the_version_of_the_subscription() -> None:
    harness = _harness()
    for version, answered in ((0, 0), (1, 1), (3, 3), (9, 3)):
        harness.join(a_join("old", subscription_bytes("t", version=version)))
        reply = harness.sync(a_sync("old", 3))
        assert isinstance(reply, SyncResult)
        assert version_of(reply.assignment) == answered


def test_join_applied_twice_adds_one_member() -> None:
    harness = _harness()
    first = harness.join(a_join("old"))
    assert harness.join(a_join("old")) == first
    harness = _harness()
    first = harness.join(a_join(instance_id="i"))
    assert harness.join(a_join(instance_id="i")) == first
    assert len(harness.consumers.members) == 2


@pytest.mark.parametrize(
    ("changes", "limits", "error"),
    [
        ({}, {"consumer_migration_policy": "disabled"}, GroupError.INCONSISTENT_GROUP_PROTOCOL),
        ({}, {"consumer_group_max_size": 2}, GroupError.GROUP_MAX_SIZE_REACHED),
        ({"protocol_type": "connect"}, {}, GroupError.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, {}, GroupError.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("sticky", subscription_bytes("t")),)}, {}, GroupError.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("range", b"\xff"),)}, {}, GroupError.INCONSISTENT_GROUP_PROTOCOL),
        ({"session_timeout_ms": 1}, {}, GroupError.INVALID_SESSION_TIMEOUT),
        ({"instance_id": "i"}, {}, GroupError.UNKNOWN_MEMBER_ID),
        ({"instance_id": "held"}, {}, GroupError.FENCED_INSTANCE_ID),
    ],
)
def test_rejected_joins_change_nothing(
    changes: dict[str, Any], limits: dict[str, Any], error: GroupError
) -> None:
    harness = _harness()
    harness.join(a_join(new_member_id="holder", instance_id="held"))
    harness.limits = GroupLimits(**limits)
    group = harness.group
    reply = harness.join(a_join("old", **changes))
    assert reply.error is error  # type: ignore[union-attr]
    assert harness.group is group


def test_rejected_syncs_change_nothing() -> None:
    harness = _harness()
    harness.join(a_join(new_member_id="old", instance_id="i"))
    rejected = {
        GroupError.INCONSISTENT_GROUP_PROTOCOL: [
            a_sync("old", 3, protocol=None),
            a_sync("old", 3, protocol_type="connect"),
            a_sync("old", 3, protocol="sticky"),
        ],
        GroupError.UNKNOWN_MEMBER_ID: [a_sync("x", 3), a_sync("new", 2), a_sync("old", 3, instance_id="j")],
        GroupError.FENCED_INSTANCE_ID: [a_sync("x", 3, instance_id="i")],
        GroupError.ILLEGAL_GENERATION: [a_sync("old", 2)],
    }
    group = harness.group
    for error, commands in rejected.items():
        for command in commands:
            assert harness.sync(command) == SyncResult(error)
    assert harness.group is group


def test_sync_after_a_new_target_returns_rebalance_in_progress() -> None:
    harness = _harness()
    harness.join(a_join("old"))
    harness.consumer_heartbeat(consumer.a_join("third", "t"))
    assert harness.sync(a_sync("old", 3)) == SyncResult(GroupError.REBALANCE_IN_PROGRESS)
    assert harness.timer(TimerKind.CLASSIC_JOIN, "old") is not None


def test_heartbeat_with_wrong_member_or_generation_is_rejected() -> None:
    harness = _sharing()
    assert harness.heartbeat(a_heartbeat("x", 3)) is GroupError.UNKNOWN_MEMBER_ID
    assert harness.heartbeat(a_heartbeat("new", 3)) is GroupError.UNKNOWN_MEMBER_ID
    assert harness.heartbeat(a_heartbeat("old", 2)) is GroupError.ILLEGAL_GENERATION


def test_heartbeats_and_syncs_without_news_change_nothing() -> None:
    harness = _sharing()
    group = harness.group
    assert harness.heartbeat(a_heartbeat("old", 3)) is GroupError.NONE
    harness.sync(a_sync("old", 3))
    assert harness.group is group


def test_classic_members_are_attached_to_the_broker_they_call() -> None:
    harness = _sharing()
    harness.heartbeat(a_heartbeat("old", 3, broker=2))
    assert harness.consumers.members["old"].broker == 2
    harness.sync(a_sync("old", 3, broker=3))
    assert harness.consumers.members["old"].broker == 3
    harness.join(a_join("old", broker=4))
    assert harness.consumers.members["old"].broker == 4


def test_join_and_sync_timers_of_a_classic_member() -> None:
    harness = _harness()
    harness.join(a_join("old"))
    first = harness.timer(TimerKind.CLASSIC_SYNC, "old")
    assert first is not None
    assert harness.timer(TimerKind.CLASSIC_JOIN, "old") is None
    harness.join(a_join("old"))
    assert harness.timer(TimerKind.CLASSIC_SYNC, "old") not in {None, first}
    harness.sync(a_sync("old", 3))
    assert harness.timer(TimerKind.CLASSIC_SYNC, "old") is None
    harness.consumer_heartbeat(consumer.a_join("third", "t"))
    assert harness.timer(TimerKind.CLASSIC_JOIN, "old") is None
    harness.heartbeat(a_heartbeat("old", 3))
    must_join = harness.timer(TimerKind.CLASSIC_JOIN, "old")
    assert must_join is not None
    group = harness.group
    harness.heartbeat(a_heartbeat("old", 3))
    assert harness.group is group
    harness.join(a_join("old"))
    assert harness.timer(TimerKind.CLASSIC_JOIN, "old") is None
    harness.fire(must_join)
    assert "old" in harness.consumers.members


def test_classic_member_that_does_not_rejoin_in_time_is_removed() -> None:
    harness = _sharing()
    harness.consumer_heartbeat(consumer.a_join("third", "t"))
    harness.heartbeat(a_heartbeat("old", 3))
    must_join = harness.timer(TimerKind.CLASSIC_JOIN, "old")
    assert must_join is not None
    assert harness.timer(TimerKind.REVOCATION, "old") is None
    harness.fire(must_join)
    assert set(harness.consumers.members) == {"new", "third"}


def test_classic_member_that_does_not_sync_in_time_is_removed() -> None:
    harness = _harness()
    harness.join(a_join("old"))
    must_sync = harness.timer(TimerKind.CLASSIC_SYNC, "old")
    assert must_sync is not None
    harness.fire(must_sync)
    assert list(harness.consumers.members) == ["new"]


def test_classic_member_keeps_its_own_session_timeout() -> None:
    harness = _harness()
    harness.join(a_join("old", session_timeout_ms=7_000))
    session = harness.timer(TimerKind.SESSION, "old")
    assert session is not None
    harness.fire(session)
    assert list(harness.consumers.members) == ["new"]


def test_leave_removes_members_of_both_protocols() -> None:
    harness = _sharing()
    harness.join(a_join(new_member_id="static", instance_id="i"))
    epoch = harness.consumers.epoch
    errors = harness.leave(
        LeavingMember("old"),
        LeavingMember("x"),
        LeavingMember("", "i"),
        LeavingMember("", "j"),
        LeavingMember("new", "i"),
    )
    none, unknown = GroupError.NONE, GroupError.UNKNOWN_MEMBER_ID
    assert errors == (none, unknown, none, unknown, GroupError.FENCED_INSTANCE_ID)
    assert (list(harness.consumers.members), harness.consumers.epoch) == (["new"], epoch + 1)
    group = harness.group
    assert harness.leave(LeavingMember("x")) == (unknown,)
    assert harness.group is group


def test_classic_member_may_switch_to_the_consumer_protocol() -> None:
    harness = _sharing()
    reply = harness.consumer_heartbeat(consumer.a_join("old", "t"))
    assert (reply.error, reply.assignment) == (GroupError.NONE, parts(t=[2, 3]))
    assert harness.consumers.members["old"].classic is None


def test_unsubscribed_topic_of_a_classic_member_is_revoked() -> None:
    harness = _harness()
    harness.topics = harness.topics.with_topic("u", 1)
    harness.join(a_join("old", subscription_bytes("u")))
    assert assigned(harness.sync(a_sync("old", 3))) == {"u": (0,)}
    harness.join(a_join("old", subscription_bytes("t", owned={"u": (0,)})))
    assert harness.consumers.members["old"].revoking == {topic_id("u"): {0: 3}}


def test_classic_member_that_has_to_revoke_before_a_new_target_is_asked_to_rejoin() -> None:
    harness = _harness()
    harness.topics = harness.topics.with_topic("u", 1)
    harness.join(a_join("old", subscription_bytes("t", "u")))
    harness.sync(a_sync("old", 3))
    harness.limits = GroupLimits()
    harness.join(a_join("old", subscription_bytes("t", owned={"u": (0,)})))
    assert harness.consumers.members["old"].epoch == harness.consumers.target_epoch < harness.consumers.epoch
    assert harness.heartbeat(a_heartbeat("old", 3)) is GroupError.REBALANCE_IN_PROGRESS


def test_owned_topics_are_resolved_by_the_group_if_unknown_to_the_broker() -> None:
    harness = _sharing()
    harness.consumer_heartbeat(consumer.a_join("third", "t"))
    command = a_join("old", subscription_bytes("t", owned={"t": (2, 3)}))
    outcome = migration.join(harness.consumers, command, image(), harness.limits, harness.now_ms)
    assert isinstance(outcome.group, ConsumerGroup)
    assert outcome.group.members["old"].state is MemberState.UNREVOKED_PARTITIONS
