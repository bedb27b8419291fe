"""Reconciliation of members with their targets."""

from dray.groups.consumer import MemberState
from dray.groups.limits import GroupLimits
from dray.groups.timers import TimerKind
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

T = topic_id("t")


def _shared() -> tuple[GroupHarness, Consumer, Consumer]:
    """`a` has four partitions and has to revoke two for `b`."""
    harness = GroupHarness(image(t=4))
    holder, newcomer = Consumer(harness, "a"), Consumer(harness, "b")
    holder.join("t")
    newcomer.join("t")
    return harness, holder, newcomer


def test_member_that_has_to_revoke_keeps_its_epoch() -> None:
    harness, _, _ = _shared()
    reply = harness.send(a_heartbeat("a", 2))
    assert (reply.epoch, reply.assignment) == (2, parts(t=[0, 1]))
    member = harness.member("a")
    assert (member.state, member.revoking) == (MemberState.UNREVOKED_PARTITIONS, {T: {2: 2, 3: 2}})


def test_member_does_not_advance_until_the_client_reports_the_revocation() -> None:
    harness, holder, newcomer = _shared()
    harness.send(a_heartbeat("a", 2))
    group = harness.known
    for owned in (None, holder.uses, parts(t=[0, 1, 3])):
        reply = harness.send(a_heartbeat("a", 2, owned=owned))
        assert (reply.epoch, reply.assignment) == (2, None)
        newcomer.heartbeat()
        assert harness.known is group


def test_revoked_partitions_are_assigned_to_the_other_member() -> None:
    harness, holder, newcomer = _shared()
    holder.heartbeat()
    reply = holder.heartbeat()
    assert (reply.epoch, reply.assignment, holder.uses) == (3, None, parts(t=[0, 1]))
    assert newcomer.heartbeat().assignment == parts(t=[2, 3])
    assert harness.member("b").assigned == {T: {2: 3, 3: 3}}
    assert harness.member("a").assigned == {T: {0: 2, 1: 2}}


def test_partitions_that_the_client_does_not_own_need_no_revocation() -> None:
    harness, _, newcomer = _shared()
    reply = harness.send(a_heartbeat("a", 2, owned=parts(t=[0])))
    assert (reply.epoch, reply.assignment) == (3, parts(t=[0, 1]))
    assert newcomer.heartbeat().assignment == parts(t=[2, 3])


def test_partitions_are_assigned_as_they_are_released() -> None:
    harness = GroupHarness(image(t=6))
    first, second = joined(harness, "a", "b")
    third = Consumer(harness, "c")
    third.join("t")
    first.heartbeat()
    first.heartbeat()
    assert (third.heartbeat().epoch, third.count, harness.member("c").state) == (
        4,
        1,
        MemberState.UNRELEASED_PARTITIONS,
    )
    second.heartbeat()
    second.heartbeat()
    third.heartbeat()
    assert (third.count, harness.member("c").state) == (2, MemberState.STABLE)


def test_member_may_get_back_partitions_it_is_revoking() -> None:
    harness, holder, newcomer = _shared()
    holder.heartbeat()
    harness.send(a_heartbeat(newcomer.member_id, -1))
    harness.send(a_heartbeat("a", 2))
    assert harness.member("a").state is MemberState.UNREVOKED_PARTITIONS
    assert holder.heartbeat().assignment == parts(t=[0, 1, 2, 3])
    assert harness.member("a").state is MemberState.STABLE


def test_newer_target_replaces_one_that_was_not_reached() -> None:
    harness, holder, newcomer = _shared()
    third = Consumer(harness, "c")
    third.join("t")
    holder.heartbeat()
    holder.heartbeat()
    newcomer.heartbeat()
    third.heartbeat()
    assert (holder.epoch, newcomer.epoch, third.epoch) == (4, 4, 4)
    assert sorted((holder.count, newcomer.count, third.count)) == [1, 1, 2]


def test_unsubscribed_topic_is_revoked_before_the_next_target() -> None:
    harness = GroupHarness(image(t=1, u=1), GroupLimits())
    member = Consumer(harness, "a")
    member.join("t", "u")
    reply = harness.send(a_heartbeat("a", member.epoch, names=("t",)))
    assert harness.known.target_epoch < harness.known.epoch
    assert (reply.epoch, reply.assignment) == (2, parts(t=[0]))
    assert harness.member("a").revoking == {topic_id("u"): {0: 2}}
    reply = harness.send(a_heartbeat("a", member.epoch, owned=parts(t=[0])))
    assert (reply.epoch, harness.member("a").revoking) == (2, {})
    harness.now_ms += 1_000
    assert harness.send(a_heartbeat("a", 2)).epoch == 3


def test_unsubscribed_topic_that_is_not_owned_is_released_at_once() -> None:
    harness = GroupHarness(image(t=1, u=1), GroupLimits())
    Consumer(harness, "a").join("t", "u")
    harness.send(a_heartbeat("a", 2, names=("t",), owned=parts(t=[0])))
    assert (harness.member("a").state, harness.member("a").revoking) == (MemberState.STABLE, {})


def test_second_unsubscription_extends_a_revocation() -> None:
    harness = GroupHarness(image(t=1, u=1, v=1), GroupLimits())
    Consumer(harness, "a").join("t", "u", "v")
    harness.send(a_heartbeat("a", 2, names=("t", "u")))
    since = harness.member("a").revoking_since
    harness.send(a_heartbeat("a", 2, names=("t",)))
    member = harness.member("a")
    assert member.revoking.keys() == {topic_id("u"), topic_id("v")}
    assert member.revoking_since > since


def test_member_that_does_not_revoke_in_time_is_removed() -> None:
    harness, holder, newcomer = _shared()
    harness.send(a_heartbeat("a", 2))
    harness.fire(TimerKind.REVOCATION, "a")
    assert list(harness.known.members) == ["b"]
    assert newcomer.heartbeat().assignment == parts(t=[0, 1, 2, 3])
    assert harness.send(a_heartbeat("a", 2)).error is GroupError.UNKNOWN_MEMBER_ID
    assert holder.join("t").error is GroupError.NONE


def test_partitions_of_a_member_that_left_are_free() -> None:
    harness = GroupHarness(image(t=4))
    one, other = joined(harness, "a", "b")
    harness.send(a_heartbeat("a", -1))
    assert other.heartbeat().assignment == parts(t=[0, 1, 2, 3])
    assert one.epoch < other.epoch


def test_new_member_does_not_get_partitions_that_another_still_owns() -> None:
    harness = GroupHarness(image(t=2))
    joined(harness, "a")
    reply = harness.send(a_join("b", "t"))
    assert reply.assignment == {}
