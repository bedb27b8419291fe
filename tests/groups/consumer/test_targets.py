"""Target assignments: when they are computed, and by which assignor."""

from dray.groups.consumer import state_name
from dray.groups.consumer.target_assignment import preferred_assignor
from dray.groups.limits import GroupLimits
from tests.groups.consumer.builders import Consumer, GroupHarness, a_heartbeat, a_join, image, joined, parts


def test_targets_are_computed_at_most_once_per_interval() -> None:
    harness = GroupHarness(image(t=4), GroupLimits())
    first = Consumer(harness, "a")
    first.join("t")
    harness.now_ms += 999
    reply = harness.send(a_join("b", "t"))
    assert (reply.epoch, reply.assignment, state_name(harness.known)) == (2, {}, "Assigning")
    assert first.heartbeat().assignment is None
    harness.now_ms += 1
    assert first.heartbeat().assignment == parts(t=[0, 1])
    assert (harness.known.target_epoch, harness.known.assigned_at_ms) == (3, harness.now_ms)


def test_assignment_time_in_the_future_does_not_delay_the_next_target() -> None:
    harness = GroupHarness(image(t=4), GroupLimits())
    Consumer(harness, "a").join("t")
    harness.now_ms -= 60_000
    harness.send(a_join("b", "t"))
    assert harness.known.target_epoch == harness.known.epoch


def test_assignor_is_chosen_by_majority() -> None:
    harness = GroupHarness(image(t=4))
    joined(harness, "a", "b", "c")
    assert harness.known.assignor == preferred_assignor(harness.known) == "uniform"
    harness.send(a_heartbeat("a", harness.member("a").epoch, assignor="range"))
    assert preferred_assignor(harness.known) == "range"
    harness.send(a_heartbeat("b", harness.member("b").epoch, assignor="uniform"))
    assert preferred_assignor(harness.known) == "uniform"
    harness.send(a_heartbeat("c", harness.member("c").epoch, assignor="range"))
    assert preferred_assignor(harness.known) == "range"


def test_new_assignor_is_used_for_the_next_target() -> None:
    harness = GroupHarness(image(t=4, u=4))
    (member,) = joined(harness, "a")
    epoch = harness.known.epoch
    member.heartbeat(assignor="range")
    assert (harness.known.epoch, harness.known.assignor) == (epoch, "uniform")
    member.heartbeat(names=("t", "u"))
    assert (harness.known.epoch, harness.known.assignor) == (epoch + 1, "range")


def test_temporarily_absent_members_are_assigned_partitions() -> None:
    harness = GroupHarness(image(t=4))
    harness.send(a_join("a", "t", instance_id="i"))
    harness.send(a_heartbeat("a", -2, instance_id="i"))
    other = Consumer(harness, "b")
    assert other.join("t").assignment == {}
    assert len(harness.known.targets) == 2
