"""How members come in."""

import pytest

from dray.groups.consumer import Progress, state_name
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from tests.groups.consumer.builders import Consumer, Desk, a_beat, a_join, image, joined, parts, topic_id


def test_the_first_member_gets_all_at_once() -> None:
    desk = Desk(image(t=3))
    reply = desk.ask(a_join("a", "t"))
    assert (reply.fault, reply.member_id, reply.epoch, reply.interval_ms) == (Fault.NONE, "a", 2, 5_000)
    assert reply.assignment == parts(t=[0, 1, 2])
    assert state_name(desk.known) == "Stable"


def test_what_a_member_says_is_kept() -> None:
    desk = Desk(image(t=1))
    desk.ask(
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
    member = desk.member("a")
    assert (member.names, member.instance_id, member.rack_id, member.assignor) == (
        ("b", "t"),
        "i",
        "r",
        "range",
    )
    assert (member.client_id, member.client_host, member.rebalance_timeout_ms) == ("c", "/h", 60_000)
    assert (member.broker, member.progress, desk.known.assignor) == (1, Progress.STABLE, "range")


def test_a_second_member_waits_until_the_first_has_given_up() -> None:
    desk = Desk(image(t=4))
    first = Consumer(desk, "a")
    first.join("t")
    reply = desk.ask(a_join("b", "t"))
    assert (reply.epoch, reply.assignment) == (3, {})
    assert desk.member("b").progress is Progress.UNRELEASED
    assert state_name(desk.known) == "Reconciling"


def test_members_share_in_the_end() -> None:
    desk = Desk(image(t=4))
    one, other = joined(desk, "a", "b")
    assert (one.count, other.count) == (2, 2)
    assert sorted([*one.uses[topic_id("t")], *other.uses[topic_id("t")]]) == [0, 1, 2, 3]
    assert state_name(desk.known) == "Stable"


def test_one_without_topics_is_a_member_all_the_same() -> None:
    desk = Desk(image(t=3))
    reply = desk.ask(a_join("a"))
    assert (reply.fault, reply.epoch, reply.assignment) == (Fault.NONE, 1, {})
    assert state_name(desk.known) == "Stable"


def test_topics_that_do_not_exist_are_waited_for() -> None:
    desk = Desk(image())
    member = Consumer(desk, "a")
    assert member.join("t").assignment == {}
    desk.topics = desk.topics.with_topic("t", 2)
    assert member.beat().assignment == parts(t=[0, 1])


def test_one_who_came_without_an_id_is_given_one() -> None:
    desk = Desk(image(t=1))
    reply = desk.ask(a_join("", "t", new_id="made-up"))
    assert (reply.fault, reply.member_id) == (Fault.NONE, "made-up")
    assert list(desk.known.members) == ["made-up"]


def test_joining_again_changes_nothing_and_tells_all() -> None:
    desk = Desk(image(t=3))
    ask = a_join("", "t", new_id="a")
    first = desk.ask(ask)
    group = desk.known
    assert desk.ask(ask) == first
    assert desk.known is group


def test_one_who_joins_again_has_given_up_what_it_was_asked_for() -> None:
    desk = Desk(image(t=4))
    Consumer(desk, "a").join("t")
    newcomer = Consumer(desk, "b")
    newcomer.join("t")
    desk.ask(a_beat("a", 2))
    assert desk.member("a").progress is Progress.UNREVOKED
    assert len(desk.ask(a_join("a", "t")).assignment or {}) == 1
    assert newcomer.beat().assignment == parts(t=[2, 3])


def test_a_full_group_takes_nobody_in() -> None:
    desk = Desk(image(t=1), GroupLimits(consumer_max_size=1, consumer_assignment_interval_ms=0))
    desk.ask(a_join("a", "t", instance_id="i"))
    group = desk.known
    refused = desk.ask(a_join("b", "t"))
    assert refused.fault is Fault.GROUP_MAX_SIZE_REACHED
    assert refused.message == "The consumer group has reached its maximum capacity of 1 members."
    assert desk.known is group
    assert desk.ask(a_join("a", "t", instance_id="i")).fault is Fault.NONE


def test_a_full_group_lets_a_static_member_come_back() -> None:
    desk = Desk(image(t=1), GroupLimits(consumer_max_size=1, consumer_assignment_interval_ms=0))
    desk.ask(a_join("a", "t", instance_id="i"))
    desk.ask(a_beat("a", -2, instance_id="i"))
    assert desk.ask(a_join("b", "t", instance_id="i")).fault is Fault.NONE


@pytest.mark.parametrize("epoch", [-2, -1, 1])
def test_only_a_join_makes_a_group(epoch: int) -> None:
    desk = Desk(image(t=1))
    reply = desk.ask(a_beat("a", epoch, instance_id="i"))
    assert reply.fault is Fault.GROUP_ID_NOT_FOUND
    assert "g not found." in str(reply.message)
    assert desk.group is None
