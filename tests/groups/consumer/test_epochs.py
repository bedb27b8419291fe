"""Member epochs: which are accepted, and what a heartbeat returns."""

from dray.groups.consumer import MemberState
from dray.groups.types import GroupError
from tests.groups.consumer.builders import Consumer, GroupHarness, a_heartbeat, a_join, image, joined, parts


def test_heartbeat_without_news_changes_nothing_and_returns_no_assignment() -> None:
    harness = GroupHarness(image(t=3))
    (member,) = joined(harness, "a")
    group = harness.known
    reply = harness.send(a_heartbeat("a", member.epoch))
    assert (reply.error, reply.epoch, reply.assignment) == (GroupError.NONE, member.epoch, None)
    assert harness.known is group
    member.heartbeat()
    assert harness.known is group


def test_full_heartbeat_returns_the_assignment() -> None:
    harness = GroupHarness(image(t=2))
    (member,) = joined(harness, "a")
    group = harness.known
    assert member.heartbeat(names=("t",), rebalance_timeout_ms=60_000).assignment == parts(t=[0, 1])
    assert harness.known is group


def test_unknown_member_returns_unknown_member_id() -> None:
    harness = GroupHarness(image(t=1))
    joined(harness, "a")
    reply = harness.send(a_heartbeat("b", 2))
    assert (reply.error, reply.message) == (
        GroupError.UNKNOWN_MEMBER_ID,
        "Member b is not a member of group g.",
    )


def test_future_epoch_returns_fenced_member_epoch() -> None:
    harness = GroupHarness(image(t=1))
    (member,) = joined(harness, "a")
    reply = harness.send(a_heartbeat("a", member.epoch + 1))
    assert reply.error is GroupError.FENCED_MEMBER_EPOCH
    assert reply.message == (
        "The consumer group member has a greater member epoch (3) than the one known by the group "
        "coordinator (2). The member must abandon all its partitions and rejoin."
    )


def test_lost_reply_is_sent_again() -> None:
    """The member has reached a new epoch and does not know it."""
    harness = GroupHarness(image(t=2, u=1))
    (member,) = joined(harness, "a")
    harness.send(a_heartbeat("a", member.epoch, names=("t", "u"), owned=member.uses))
    assert harness.member("a").epoch == member.epoch + 1
    reply = harness.send(
        a_heartbeat("a", member.epoch, names=("t", "u"), rebalance_timeout_ms=60_000, owned=member.uses)
    )
    assert (reply.error, reply.epoch) == (GroupError.NONE, member.epoch + 1)
    assert reply.assignment == parts(t=[0, 1], u=[0])


def test_previous_epoch_is_accepted_only_with_owned_partitions_that_are_assigned() -> None:
    harness = GroupHarness(image(t=2))
    member = Consumer(harness, "a")
    member.join("t")
    harness.send(a_join("b", "t"))
    harness.send(a_heartbeat("a", 2))
    harness.send(a_heartbeat("a", 2, owned=parts(t=[0])))
    assert (harness.member("a").epoch, harness.member("a").previous_epoch) == (3, 2)
    assert harness.send(a_heartbeat("a", 2)).error is GroupError.FENCED_MEMBER_EPOCH
    assert harness.send(a_heartbeat("a", 2, owned=parts(t=[0, 1]))).error is GroupError.FENCED_MEMBER_EPOCH
    assert harness.send(a_heartbeat("a", 1, owned={})).error is GroupError.FENCED_MEMBER_EPOCH
    assert harness.send(a_heartbeat("a", 2, owned=parts(t=[0]))).error is GroupError.NONE


def test_full_heartbeat_applied_twice_returns_the_same() -> None:
    harness = GroupHarness(image(t=2))
    Consumer(harness, "a").join("t")
    harness.send(a_join("b", "t"))
    harness.send(a_heartbeat("a", 2))
    harness.send(a_heartbeat("a", 2, owned=parts(t=[0])))
    group = harness.known
    assert harness.send(a_heartbeat("a", 2)).error is GroupError.FENCED_MEMBER_EPOCH
    reply = harness.send(a_heartbeat("a", 2, owned=parts(t=[0]), names=("t",), rebalance_timeout_ms=60_000))
    assert (reply.error, reply.epoch, reply.assignment) == (GroupError.NONE, 3, parts(t=[0]))
    assert harness.known is group


def test_heartbeats_of_a_waiting_member_do_not_change_the_group() -> None:
    harness = GroupHarness(image(t=2))
    Consumer(harness, "a").join("t")
    waiting = Consumer(harness, "b")
    waiting.join("t")
    group = harness.known
    for _ in range(3):
        waiting.heartbeat()
        assert harness.member("b").state is MemberState.UNRELEASED_PARTITIONS
        assert harness.known is group


def test_member_is_attached_to_the_broker_it_calls() -> None:
    harness = GroupHarness(image(t=2))
    (member,) = joined(harness, "a")
    before = harness.known
    member.heartbeat(broker=2)
    assert harness.known is not before
    assert harness.member("a").broker == 2
    before = harness.known
    member.heartbeat(broker=2)
    assert harness.known is before


def test_rejected_heartbeat_does_not_attach_the_member() -> None:
    harness = GroupHarness(image(t=2))
    joined(harness, "a")
    harness.send(a_heartbeat("a", 99, broker=2))
    assert harness.member("a").broker == 1
