"""Leaves, and groups that become empty."""

from dray.groups.consumer import delete_error, is_empty, state_name
from dray.groups.types import GroupError
from tests.groups.consumer.builders import GroupHarness, a_heartbeat, a_join, image, joined, parts


def test_member_that_leaves_is_removed() -> None:
    harness = GroupHarness(image(t=2))
    joined(harness, "a", "b")
    epoch = harness.known.epoch
    harness.now_ms += 7
    reply = harness.send(a_heartbeat("a", -1))
    assert (reply.error, reply.member_id, reply.epoch) == (GroupError.NONE, "a", -1)
    assert (reply.interval_ms, reply.assignment) == (0, None)
    assert (harness.known.epoch, harness.known.changed_at_ms) == (epoch + 1, harness.now_ms)
    assert (list(harness.known.members), list(harness.known.targets)) == (["b"], ["b"])
    assert state_name(harness.known) == "Assigning"


def test_epochs_continue_after_the_last_member_left() -> None:
    harness = GroupHarness(image(t=2))
    joined(harness, "a")
    harness.send(a_heartbeat("a", -1))
    assert is_empty(harness.known)
    assert (state_name(harness.known), harness.known.epoch, harness.known.topics) == ("Empty", 3, {})
    reply = harness.send(a_join("b", "t"))
    assert (reply.epoch, reply.assignment) == (4, parts(t=[0, 1]))


def test_leave_of_an_unknown_member_returns_unknown_member_id() -> None:
    harness = GroupHarness(image(t=2))
    joined(harness, "a")
    group = harness.known
    reply = harness.send(a_heartbeat("b", -1))
    assert (reply.error, reply.message) == (
        GroupError.UNKNOWN_MEMBER_ID,
        "Member b is not a member of group g.",
    )
    assert harness.known is group


def test_leave_applied_twice_changes_nothing_more() -> None:
    harness = GroupHarness(image(t=2))
    joined(harness, "a", "b")
    harness.send(a_heartbeat("a", -1))
    group = harness.known
    assert harness.send(a_heartbeat("a", -1)).error is GroupError.UNKNOWN_MEMBER_ID
    assert harness.known is group


def test_only_empty_groups_can_be_deleted() -> None:
    harness = GroupHarness(image(t=2))
    joined(harness, "a")
    assert delete_error(harness.known) is GroupError.NON_EMPTY_GROUP
    harness.send(a_heartbeat("a", -1))
    assert delete_error(harness.known) is GroupError.NONE
