"""Static members, which leave temporarily and return under another member id."""

from dray.groups.consumer import MemberState, state_name
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError
from tests.groups.consumer.builders import Consumer, GroupHarness, a_heartbeat, a_join, image, parts, topic_id

T = topic_id("t")


def _two(harness: GroupHarness) -> tuple[Consumer, Consumer]:
    static, other = Consumer(harness, "a"), Consumer(harness, "b")
    static.join("t", instance_id="i")
    other.join("t")
    for _ in range(2):
        static.heartbeat(instance_id="i")
        other.heartbeat()
    return static, other


def test_no_partition_moves_when_a_static_member_returns() -> None:
    harness = GroupHarness(image(t=4))
    static, other = _two(harness)
    epoch = harness.known.epoch
    reply = harness.send(a_heartbeat("a", -2, instance_id="i"))
    assert (reply.error, reply.member_id, reply.epoch, reply.assignment) == (GroupError.NONE, "a", -2, None)
    assert state_name(harness.known) == "Reconciling"
    reply = harness.send(a_join("new", "t", instance_id="i"))
    assert (reply.epoch, reply.assignment) == (epoch, static.uses)
    assert harness.member("new").assigned == {T: {0: 0, 1: 0}}
    assert (harness.known.epoch, set(harness.known.members)) == (epoch, {"b", "new"})
    assert other.heartbeat().assignment is None
    assert state_name(harness.known) == "Stable"


def test_partitions_of_a_temporarily_absent_member_are_kept() -> None:
    harness = GroupHarness(image(t=4))
    _, other = _two(harness)
    harness.send(a_heartbeat("a", -2, instance_id="i"))
    other.heartbeat()
    assert other.count == 2


def test_absent_static_member_is_removed_after_its_session_timeout() -> None:
    harness = GroupHarness(image(t=4))
    _, other = _two(harness)
    harness.send(a_heartbeat("a", -2, instance_id="i"))
    harness.fire(TimerKind.SESSION, "a")
    assert other.heartbeat().assignment == parts(t=[0, 1, 2, 3])


def test_instance_id_in_use_returns_unreleased_instance_id() -> None:
    harness = GroupHarness(image(t=4))
    _two(harness)
    reply = harness.send(a_join("new", "t", instance_id="i"))
    assert reply.error is GroupError.UNRELEASED_INSTANCE_ID
    assert reply.message == (
        "Static member new with instance id i cannot join the group because the instance id is owned "
        "by a member."
    )


def test_static_member_may_rejoin_under_its_own_id() -> None:
    """Kafka rejects it, so a client whose first reply was lost could never join."""
    harness = GroupHarness(image(t=4))
    static, _ = _two(harness)
    group = harness.known
    reply = harness.send(a_join("a", "t", instance_id="i"))
    assert (reply.error, reply.assignment) == (GroupError.NONE, static.uses)
    assert harness.known is group


def test_replacement_applied_twice_changes_nothing() -> None:
    harness = GroupHarness(image(t=4))
    _two(harness)
    harness.send(a_heartbeat("a", -2, instance_id="i"))
    command = a_join("new", "t", instance_id="i")
    first = harness.send(command)
    group = harness.known
    assert harness.send(command) == first
    assert harness.known is group


def test_static_member_may_return_under_its_old_id() -> None:
    harness = GroupHarness(image(t=4))
    static, _ = _two(harness)
    harness.send(a_heartbeat("a", -2, instance_id="i"))
    reply = harness.send(a_join("a", "t", instance_id="i"))
    assert (reply.assignment, len(harness.known.members)) == (static.uses, 2)


def test_heartbeat_after_leaving_temporarily_is_fenced() -> None:
    harness = GroupHarness(image(t=4))
    static, _ = _two(harness)
    harness.send(a_heartbeat("a", -2, instance_id="i"))
    assert (
        harness.send(a_heartbeat("a", static.epoch, instance_id="i")).error is GroupError.FENCED_MEMBER_EPOCH
    )
    harness.send(a_join("new", "t", instance_id="i"))
    reply = harness.send(a_heartbeat("a", static.epoch, instance_id="i"))
    assert (reply.error, reply.message) == (
        GroupError.FENCED_INSTANCE_ID,
        "Static member a with instance id i was fenced by member new.",
    )


def test_unknown_instance_id_returns_unknown_member_id() -> None:
    harness = GroupHarness(image(t=4))
    _two(harness)
    for epoch in (-2, -1, 3):
        reply = harness.send(a_heartbeat("a", epoch, instance_id="j"))
        assert (reply.error, reply.message) == (GroupError.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")


def test_static_member_may_leave_for_good() -> None:
    harness = GroupHarness(image(t=4))
    _two(harness)
    assert harness.send(a_heartbeat("b", -1, instance_id="i")).error is GroupError.FENCED_INSTANCE_ID
    reply = harness.send(a_heartbeat("a", -1, instance_id="i"))
    assert (reply.error, reply.epoch, list(harness.known.members)) == (GroupError.NONE, -1, ["b"])


def test_leaving_temporarily_releases_partitions_under_revocation() -> None:
    harness = GroupHarness(image(t=4))
    static, newcomer = Consumer(harness, "a"), Consumer(harness, "b")
    static.join("t", instance_id="i")
    newcomer.join("t")
    static.heartbeat(instance_id="i")
    assert harness.member("a").state is MemberState.UNREVOKED_PARTITIONS
    harness.send(a_heartbeat("a", -2, instance_id="i"))
    assert harness.timer(TimerKind.REVOCATION, "a") is None
    assert newcomer.heartbeat().assignment == parts(t=[2, 3])
    assert harness.send(a_join("new", "t", instance_id="i")).assignment == parts(t=[0, 1])


def test_leaving_temporarily_twice_changes_nothing() -> None:
    harness = GroupHarness(image(t=4))
    _two(harness)
    command = a_heartbeat("a", -2, instance_id="i")
    first = harness.send(command)
    group = harness.known
    assert harness.send(command) == first
    assert harness.known is group


def test_existing_member_may_take_over_an_instance_id() -> None:
    harness = GroupHarness(image(t=4))
    _two(harness)
    harness.send(a_heartbeat("a", -2, instance_id="i"))
    assert harness.send(a_join("b", "t", instance_id="i")).error is GroupError.NONE
    assert list(harness.known.members) == ["b"]
    assert set(harness.known.targets) == {"b"}
