"""Partitions that members own after an upgrade: those that their clients may be using."""

from dray.groups.classic import Phase
from dray.groups.consumer import MemberState
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
JOIN_WITHOUT_TOPICS = consumer.a_join("new")
"""Joins without a subscription, so that only the upgrade itself changes the group."""


def _completing(owned: dict[str, tuple[int, ...]]) -> GroupHarness:
    """`a` has partitions 0 and 1; both members have rejoined, and `a` reports what it owns."""
    harness = GroupHarness(image(t=2))
    stable_classic(harness, {"a": assignment_bytes(t=[0, 1]), "b": assignment_bytes()})
    harness.join(a_join("b", subscription_bytes("t", "u")))
    harness.join(a_join("a", subscription_bytes("t", owned=owned)))
    assert harness.classics.phase is Phase.COMPLETING
    return harness


def test_cooperative_member_keeps_the_partitions_it_reported() -> None:
    harness = _completing({"t": (0, 1)})
    harness.sync(a_sync("a", 2, assignments=(("a", assignment_bytes(t=[0])), ("b", assignment_bytes(t=[1])))))
    harness.consumer_heartbeat(JOIN_WITHOUT_TOPICS)
    assert harness.consumers.members["a"].assigned == {T: {0: 2, 1: 2}}
    assert harness.consumers.members["b"].assigned == {}
    assert harness.consumers.targets["b"] == parts(t=[1])


def test_eager_member_owns_nothing() -> None:
    harness = _completing({})
    harness.consumer_heartbeat(JOIN_WITHOUT_TOPICS)
    assert harness.consumers.members["a"].assigned == {}
    assert harness.consumer_heartbeat(consumer.a_heartbeat("new", 2, names=("t",))).assignment == parts(t=[1])


def test_member_that_does_not_own_its_target_is_asked_to_rejoin() -> None:
    harness = _completing({"t": (0, 1)})
    harness.sync(a_sync("a", 2, assignments=(("a", assignment_bytes(t=[0])), ("b", assignment_bytes(t=[1])))))
    harness.consumer_heartbeat(JOIN_WITHOUT_TOPICS)
    assert harness.consumers.members["a"].state is MemberState.UNRELEASED_PARTITIONS
    assert harness.heartbeat(a_heartbeat("a", 2)) is GroupError.REBALANCE_IN_PROGRESS
    assert harness.heartbeat(a_heartbeat("b", 2)) is GroupError.NONE
    harness.join(a_join("a", subscription_bytes("t", owned={"t": (0,)})))
    assert harness.consumers.members["a"].assigned == {T: {0: 2}}
    assert harness.heartbeat(a_heartbeat("b", 2)) is GroupError.REBALANCE_IN_PROGRESS


def test_upgrade_during_a_rebalance_keeps_reported_partitions() -> None:
    harness = _completing({"t": (0, 1)})
    harness.join(a_join("b", subscription_bytes("t")))
    assert harness.classics.phase is Phase.PREPARING
    assert harness.classics.members["a"].assignment == b""
    harness.consumer_heartbeat(JOIN_WITHOUT_TOPICS)
    assert harness.consumers.members["a"].assigned == {T: {0: 2, 1: 2}}


def test_fetched_assignment_takes_precedence_over_reported_partitions() -> None:
    """The partition that `a` reported as owned already belongs to `b`."""
    harness = GroupHarness(image(t=1))
    joins = {"a": subscription_bytes("t", owned={"t": (0,)}), "b": subscription_bytes("t")}
    for member_id, metadata in joins.items():
        harness.join(a_join(new_member_id=member_id, metadata=metadata, require_known_member_id=False))
    pass_initial_delay(harness)
    harness.sync(a_sync("b", 1))
    harness.sync(a_sync("a", 1, assignments=(("a", assignment_bytes()), ("b", assignment_bytes(t=[0])))))
    harness.consumer_heartbeat(JOIN_WITHOUT_TOPICS)
    assert harness.consumers.members["a"].assigned == {}
    assert harness.consumers.members["b"].assigned == {T: {0: 1}}


def test_partition_reported_by_two_members_is_assigned_to_one() -> None:
    harness = GroupHarness(image(t=1))
    for member_id in ("a", "b"):
        metadata = subscription_bytes("t", owned={"t": (0,)})
        harness.join(a_join(new_member_id=member_id, metadata=metadata, require_known_member_id=False))
    harness.consumer_heartbeat(JOIN_WITHOUT_TOPICS)
    held = [member.assigned for member in harness.consumers.members.values() if member.assigned]
    assert held == [{T: {0: 0}}]


def test_partition_reported_by_several_members_goes_to_the_latest_generation() -> None:
    harness = GroupHarness(image(t=1))
    for member_id, generation in (("a", 3), ("b", 5), ("c", 4)):
        metadata = subscription_bytes("t", version=2, owned={"t": (0,)}, generation=generation)
        harness.join(a_join(new_member_id=member_id, metadata=metadata, require_known_member_id=False))
    harness.consumer_heartbeat(JOIN_WITHOUT_TOPICS)
    assert [key for key, member in harness.consumers.members.items() if member.assigned] == ["b"]
