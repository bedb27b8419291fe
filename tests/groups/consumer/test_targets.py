"""When targets are worked out, and by whom."""

from dray.groups.consumer import state_name
from dray.groups.consumer.targets import preferred_assignor
from dray.groups.limits import GroupLimits
from tests.groups.consumer.builders import Consumer, Desk, a_beat, a_join, image, joined, parts


def test_not_more_often_than_the_interval() -> None:
    desk = Desk(image(t=4), GroupLimits())
    first = Consumer(desk, "a")
    first.join("t")
    desk.now_ms += 999
    reply = desk.ask(a_join("b", "t"))
    assert (reply.epoch, reply.assignment, state_name(desk.known)) == (2, {}, "Assigning")
    assert first.beat().assignment is None
    desk.now_ms += 1
    assert first.beat().assignment == parts(t=[0, 1])
    assert (desk.known.target_epoch, desk.known.assigned_at_ms) == (3, desk.now_ms)


def test_a_clock_that_is_behind_another_brokers_does_not_wait_for_it() -> None:
    desk = Desk(image(t=4), GroupLimits())
    Consumer(desk, "a").join("t")
    desk.now_ms -= 60_000
    desk.ask(a_join("b", "t"))
    assert desk.known.target_epoch == desk.known.epoch


def test_most_members_decide_on_the_assignor() -> None:
    desk = Desk(image(t=4))
    joined(desk, "a", "b", "c")
    assert desk.known.assignor == preferred_assignor(desk.known) == "uniform"
    desk.ask(a_beat("a", desk.member("a").epoch, assignor="range"))
    assert preferred_assignor(desk.known) == "range"
    desk.ask(a_beat("b", desk.member("b").epoch, assignor="uniform"))
    assert preferred_assignor(desk.known) == "uniform"
    desk.ask(a_beat("c", desk.member("c").epoch, assignor="range"))
    assert preferred_assignor(desk.known) == "range"


def test_another_assignor_comes_with_the_next_target() -> None:
    desk = Desk(image(t=4, u=4))
    (member,) = joined(desk, "a")
    epoch = desk.known.epoch
    member.beat(assignor="range")
    assert (desk.known.epoch, desk.known.assignor) == (epoch, "uniform")
    member.beat(names=("t", "u"))
    assert (desk.known.epoch, desk.known.assignor) == (epoch + 1, "range")


def test_members_that_are_away_are_assigned_to() -> None:
    desk = Desk(image(t=4))
    desk.ask(a_join("a", "t", instance_id="i"))
    desk.ask(a_beat("a", -2, instance_id="i"))
    other = Consumer(desk, "b")
    assert other.join("t").assignment == {}
    assert len(desk.known.targets) == 2
