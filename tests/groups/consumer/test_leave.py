"""Members that go, and groups that are left empty."""

from dray.groups.consumer import delete_fault, is_empty, state_name
from dray.groups.faults import Fault
from tests.groups.consumer.builders import Desk, a_beat, a_join, image, joined, parts


def test_one_that_leaves_is_gone() -> None:
    desk = Desk(image(t=2))
    joined(desk, "a", "b")
    epoch = desk.known.epoch
    desk.now_ms += 7
    reply = desk.ask(a_beat("a", -1))
    assert (reply.fault, reply.member_id, reply.epoch) == (Fault.NONE, "a", -1)
    assert (reply.interval_ms, reply.assignment) == (0, None)
    assert (desk.known.epoch, desk.known.changed_at_ms) == (epoch + 1, desk.now_ms)
    assert (list(desk.known.members), list(desk.known.targets)) == (["b"], ["b"])
    assert state_name(desk.known) == "Assigning"


def test_epochs_outlive_the_members() -> None:
    desk = Desk(image(t=2))
    joined(desk, "a")
    desk.ask(a_beat("a", -1))
    assert is_empty(desk.known)
    assert (state_name(desk.known), desk.known.epoch, desk.known.topics) == ("Empty", 3, {})
    reply = desk.ask(a_join("b", "t"))
    assert (reply.epoch, reply.assignment) == (4, parts(t=[0, 1]))


def test_whoever_is_not_in_cannot_leave() -> None:
    desk = Desk(image(t=2))
    joined(desk, "a")
    group = desk.known
    reply = desk.ask(a_beat("b", -1))
    assert (reply.fault, reply.message) == (Fault.UNKNOWN_MEMBER_ID, "Member b is not a member of group g.")
    assert desk.known is group


def test_a_leave_that_was_applied_changes_nothing_more() -> None:
    desk = Desk(image(t=2))
    joined(desk, "a", "b")
    desk.ask(a_beat("a", -1))
    group = desk.known
    assert desk.ask(a_beat("a", -1)).fault is Fault.UNKNOWN_MEMBER_ID
    assert desk.known is group


def test_only_empty_groups_are_deleted() -> None:
    desk = Desk(image(t=2))
    joined(desk, "a")
    assert delete_fault(desk.known) is Fault.NON_EMPTY_GROUP
    desk.ask(a_beat("a", -1))
    assert delete_fault(desk.known) is Fault.NONE
