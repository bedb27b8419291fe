"""Joins of the consumer protocol."""

import pytest

from dray.groups.consumer import MemberState, state_name
from dray.groups.limits import GroupLimits
from dray.groups.types import GroupError
from tests.groups.consumer.builders import (
    Consumer,
    GroupHarness,
    a_heartbeat,
    a_join,
    image,
    joined,
    parts,
    topic_id,
)


def test_first_member_gets_all_partitions_at_once() -> None:
    harness = GroupHarness(image(t=3))
    reply = harness.send(a_join("a", "t"))
    assert (reply.error, reply.member_id, reply.epoch, reply.interval_ms) == (GroupError.NONE, "a", 2, 5_000)
    assert reply.assignment == parts(t=[0, 1, 2])
    assert state_name(harness.known) == "Stable"


def test_fields_of_the_join_are_stored() -> None:
    harness = GroupHarness(image(t=1))
    harness.send(
        a_join(
            "a",
            "t",
            "t",
            "b",
            instance_id="i",
            rack_id="r",
            assignor="range",
            client_id="c",
            client_host="/h",
        )
    )
    member = harness.member("a")
    assert (member.names, member.instance_id, member.rack_id, member.assignor) == (
        ("b", "t"),
        "i",
        "r",
        "range",
    )
    assert (member.client_id, member.client_host, member.rebalance_timeout_ms) == ("c", "/h", 60_000)
    assert (member.broker, member.state, harness.known.assignor) == (1, MemberState.STABLE, "range")


def test_second_member_waits_until_the_first_has_revoked() -> None:
    harness = GroupHarness(image(t=4))
    first = Consumer(harness, "a")
    first.join("t")
    reply = harness.send(a_join("b", "t"))
    assert (reply.epoch, reply.assignment) == (3, {})
    assert harness.member("b").state is MemberState.UNRELEASED_PARTITIONS
    assert state_name(harness.known) == "Reconciling"


def test_members_share_the_partitions_in_the_end() -> None:
    harness = GroupHarness(image(t=4))
    one, other = joined(harness, "a", "b")
    assert (one.count, other.count) == (2, 2)
    assert sorted([*one.uses[topic_id("t")], *other.uses[topic_id("t")]]) == [0, 1, 2, 3]
    assert state_name(harness.known) == "Stable"


def test_member_without_topics_is_admitted() -> None:
    harness = GroupHarness(image(t=3))
    reply = harness.send(a_join("a"))
    assert (reply.error, reply.epoch, reply.assignment) == (GroupError.NONE, 1, {})
    assert state_name(harness.known) == "Stable"


def test_subscribed_topic_is_assigned_once_it_is_created() -> None:
    harness = GroupHarness(image())
    member = Consumer(harness, "a")
    assert member.join("t").assignment == {}
    harness.topics = harness.topics.with_topic("t", 2)
    assert member.heartbeat().assignment == parts(t=[0, 1])


def test_member_without_an_id_is_assigned_one() -> None:
    harness = GroupHarness(image(t=1))
    reply = harness.send(a_join("", "t", new_member_id="made-up"))
    assert (reply.error, reply.member_id) == (GroupError.NONE, "made-up")
    assert list(harness.known.members) == ["made-up"]


def test_join_applied_twice_changes_nothing_and_returns_the_assignment() -> None:
    harness = GroupHarness(image(t=3))
    command = a_join("", "t", new_member_id="a")
    first = harness.send(command)
    group = harness.known
    assert harness.send(command) == first
    assert harness.known is group


def test_rejoin_confirms_a_revocation() -> None:
    harness = GroupHarness(image(t=4))
    Consumer(harness, "a").join("t")
    newcomer = Consumer(harness, "b")
    newcomer.join("t")
    harness.send(a_heartbeat("a", 2))
    assert harness.member("a").state is MemberState.UNREVOKED_PARTITIONS
    assert len(harness.send(a_join("a", "t")).assignment or {}) == 1
    assert newcomer.heartbeat().assignment == parts(t=[2, 3])


def test_full_group_rejects_new_members() -> None:
    harness = GroupHarness(
        image(t=1), GroupLimits(consumer_group_max_size=1, consumer_assignment_interval_ms=0)
    )
    harness.send(a_join("a", "t", instance_id="i"))
    group = harness.known
    rejected = harness.send(a_join("b", "t"))
    assert rejected.error is GroupError.GROUP_MAX_SIZE_REACHED
    assert rejected.message == "The consumer group has reached its maximum capacity of 1 members."
    assert harness.known is group
    assert harness.send(a_join("a", "t", instance_id="i")).error is GroupError.NONE


def test_full_group_admits_a_returning_static_member() -> None:
    harness = GroupHarness(
        image(t=1), GroupLimits(consumer_group_max_size=1, consumer_assignment_interval_ms=0)
    )
    harness.send(a_join("a", "t", instance_id="i"))
    harness.send(a_heartbeat("a", -2, instance_id="i"))
    assert harness.send(a_join("b", "t", instance_id="i")).error is GroupError.NONE


@pytest.mark.parametrize("epoch", [-2, -1, 1])
def test_only_a_join_creates_a_group(epoch: int) -> None:
    harness = GroupHarness(image(t=1))
    reply = harness.send(a_heartbeat("a", epoch, instance_id="i"))
    assert reply.error is GroupError.GROUP_ID_NOT_FOUND
    assert "g not found." in str(reply.message)
    assert harness.group is None
