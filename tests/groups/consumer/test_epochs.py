"""Which epochs a member may say, and what it is told."""

from dray.groups.consumer import Progress
from dray.groups.faults import Fault
from tests.groups.consumer.builders import Consumer, Desk, a_beat, a_join, image, joined, parts


def test_a_quiet_heartbeat_changes_nothing_and_says_nothing_new() -> None:
    desk = Desk(image(t=3))
    (member,) = joined(desk, "a")
    group = desk.known
    reply = desk.ask(a_beat("a", member.epoch))
    assert (reply.fault, reply.epoch, reply.assignment) == (Fault.NONE, member.epoch, None)
    assert desk.known is group
    member.beat()
    assert desk.known is group


def test_one_who_says_all_is_told_all() -> None:
    desk = Desk(image(t=2))
    (member,) = joined(desk, "a")
    group = desk.known
    assert member.beat(names=("t",), rebalance_timeout_ms=60_000).assignment == parts(t=[0, 1])
    assert desk.known is group


def test_unknown_members() -> None:
    desk = Desk(image(t=1))
    joined(desk, "a")
    reply = desk.ask(a_beat("b", 2))
    assert (reply.fault, reply.message) == (Fault.UNKNOWN_MEMBER_ID, "Member b is not a member of group g.")


def test_an_epoch_that_is_still_to_come() -> None:
    desk = Desk(image(t=1))
    (member,) = joined(desk, "a")
    reply = desk.ask(a_beat("a", member.epoch + 1))
    assert reply.fault is Fault.FENCED_MEMBER_EPOCH
    assert reply.message == (
        "The consumer group member has a greater member epoch (3) than the one known by the group "
        "coordinator (2). The member must abandon all its partitions and rejoin."
    )


def test_a_lost_answer_is_given_again() -> None:
    """The member has come up to a new epoch and does not know."""
    desk = Desk(image(t=2, u=1))
    (member,) = joined(desk, "a")
    desk.ask(a_beat("a", member.epoch, names=("t", "u"), owned=member.uses))
    assert desk.member("a").epoch == member.epoch + 1
    reply = desk.ask(
        a_beat("a", member.epoch, names=("t", "u"), rebalance_timeout_ms=60_000, owned=member.uses)
    )
    assert (reply.fault, reply.epoch) == (Fault.NONE, member.epoch + 1)
    assert reply.assignment == parts(t=[0, 1], u=[0])


def test_the_previous_epoch_needs_a_word_on_what_is_owned() -> None:
    desk = Desk(image(t=2))
    member = Consumer(desk, "a")
    member.join("t")
    desk.ask(a_join("b", "t"))
    desk.ask(a_beat("a", 2))
    desk.ask(a_beat("a", 2, owned=parts(t=[0])))
    assert (desk.member("a").epoch, desk.member("a").previous_epoch) == (3, 2)
    assert desk.ask(a_beat("a", 2)).fault is Fault.FENCED_MEMBER_EPOCH
    assert desk.ask(a_beat("a", 2, owned=parts(t=[0, 1]))).fault is Fault.FENCED_MEMBER_EPOCH
    assert desk.ask(a_beat("a", 1, owned={})).fault is Fault.FENCED_MEMBER_EPOCH
    assert desk.ask(a_beat("a", 2, owned=parts(t=[0]))).fault is Fault.NONE


def test_a_heartbeat_that_was_applied_is_told_again_to_who_says_all() -> None:
    desk = Desk(image(t=2))
    Consumer(desk, "a").join("t")
    desk.ask(a_join("b", "t"))
    desk.ask(a_beat("a", 2))
    desk.ask(a_beat("a", 2, owned=parts(t=[0])))
    group = desk.known
    assert desk.ask(a_beat("a", 2)).fault is Fault.FENCED_MEMBER_EPOCH
    reply = desk.ask(a_beat("a", 2, owned=parts(t=[0]), names=("t",), rebalance_timeout_ms=60_000))
    assert (reply.fault, reply.epoch, reply.assignment) == (Fault.NONE, 3, parts(t=[0]))
    assert desk.known is group


def test_a_member_that_waits_stays_as_it_is() -> None:
    desk = Desk(image(t=2))
    Consumer(desk, "a").join("t")
    waiting = Consumer(desk, "b")
    waiting.join("t")
    group = desk.known
    for _ in range(3):
        waiting.beat()
        assert desk.member("b").progress is Progress.UNRELEASED
        assert desk.known is group


def test_a_member_is_attached_to_the_broker_it_calls() -> None:
    desk = Desk(image(t=2))
    (member,) = joined(desk, "a")
    before = desk.known
    member.beat(broker=2)
    assert desk.known is not before
    assert desk.member("a").broker == 2
    before = desk.known
    member.beat(broker=2)
    assert desk.known is before


def test_one_who_is_refused_is_not_attached() -> None:
    desk = Desk(image(t=2))
    joined(desk, "a")
    desk.ask(a_beat("a", 99, broker=2))
    assert desk.member("a").broker == 1
