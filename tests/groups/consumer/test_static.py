"""Members with an instance id: they leave for now, and come back under another member id."""

from dray.groups.consumer import Progress, state_name
from dray.groups.faults import Fault
from dray.groups.outcome import TimerKind
from tests.groups.consumer.builders import Consumer, Desk, a_beat, a_join, image, parts, topic_id

T = topic_id("t")


def _two(desk: Desk) -> tuple[Consumer, Consumer]:
    static, other = Consumer(desk, "a"), Consumer(desk, "b")
    static.join("t", instance_id="i")
    other.join("t")
    for _ in range(2):
        static.beat(instance_id="i")
        other.beat()
    return static, other


def test_nothing_moves_when_it_comes_back() -> None:
    desk = Desk(image(t=4))
    static, other = _two(desk)
    epoch = desk.known.epoch
    reply = desk.ask(a_beat("a", -2, instance_id="i"))
    assert (reply.fault, reply.member_id, reply.epoch, reply.assignment) == (Fault.NONE, "a", -2, None)
    assert state_name(desk.known) == "Reconciling"
    reply = desk.ask(a_join("new", "t", instance_id="i"))
    assert (reply.epoch, reply.assignment) == (epoch, static.uses)
    assert desk.member("new").assigned == {T: {0: 0, 1: 0}}
    assert (desk.known.epoch, set(desk.known.members)) == (epoch, {"b", "new"})
    assert other.beat().assignment is None
    assert state_name(desk.known) == "Stable"


def test_its_partitions_wait_for_it() -> None:
    desk = Desk(image(t=4))
    _, other = _two(desk)
    desk.ask(a_beat("a", -2, instance_id="i"))
    other.beat()
    assert other.count == 2


def test_one_that_does_not_come_back_is_put_out() -> None:
    desk = Desk(image(t=4))
    _, other = _two(desk)
    desk.ask(a_beat("a", -2, instance_id="i"))
    desk.fire(TimerKind.SESSION, "a")
    assert other.beat().assignment == parts(t=[0, 1, 2, 3])


def test_an_instance_that_has_not_left_is_not_replaced() -> None:
    desk = Desk(image(t=4))
    _two(desk)
    reply = desk.ask(a_join("new", "t", instance_id="i"))
    assert reply.fault is Fault.UNRELEASED_INSTANCE_ID
    assert reply.message == (
        "Static member new with instance id i cannot join the group because the instance id is owned "
        "by a member."
    )


def test_the_member_itself_may_join_again() -> None:
    """Kafka takes it for another; a client whose first answer was lost would never come in."""
    desk = Desk(image(t=4))
    static, _ = _two(desk)
    group = desk.known
    reply = desk.ask(a_join("a", "t", instance_id="i"))
    assert (reply.fault, reply.assignment) == (Fault.NONE, static.uses)
    assert desk.known is group


def test_a_replacement_that_is_applied_twice() -> None:
    desk = Desk(image(t=4))
    _two(desk)
    desk.ask(a_beat("a", -2, instance_id="i"))
    ask = a_join("new", "t", instance_id="i")
    first = desk.ask(ask)
    group = desk.known
    assert desk.ask(ask) == first
    assert desk.known is group


def test_it_may_come_back_under_its_old_id() -> None:
    desk = Desk(image(t=4))
    static, _ = _two(desk)
    desk.ask(a_beat("a", -2, instance_id="i"))
    reply = desk.ask(a_join("a", "t", instance_id="i"))
    assert (reply.assignment, len(desk.known.members)) == (static.uses, 2)


def test_who_left_for_now_is_fenced_if_it_goes_on() -> None:
    desk = Desk(image(t=4))
    static, _ = _two(desk)
    desk.ask(a_beat("a", -2, instance_id="i"))
    assert desk.ask(a_beat("a", static.epoch, instance_id="i")).fault is Fault.FENCED_MEMBER_EPOCH
    desk.ask(a_join("new", "t", instance_id="i"))
    reply = desk.ask(a_beat("a", static.epoch, instance_id="i"))
    assert (reply.fault, reply.message) == (
        Fault.FENCED_INSTANCE_ID,
        "Static member a with instance id i was fenced by member new.",
    )


def test_instances_that_nobody_knows() -> None:
    desk = Desk(image(t=4))
    _two(desk)
    for epoch in (-2, -1, 3):
        reply = desk.ask(a_beat("a", epoch, instance_id="j"))
        assert (reply.fault, reply.message) == (Fault.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")


def test_leaving_for_good() -> None:
    desk = Desk(image(t=4))
    _two(desk)
    assert desk.ask(a_beat("b", -1, instance_id="i")).fault is Fault.FENCED_INSTANCE_ID
    reply = desk.ask(a_beat("a", -1, instance_id="i"))
    assert (reply.fault, reply.epoch, list(desk.known.members)) == (Fault.NONE, -1, ["b"])


def test_leaving_for_now_gives_up_what_was_asked_for() -> None:
    desk = Desk(image(t=4))
    static, newcomer = Consumer(desk, "a"), Consumer(desk, "b")
    static.join("t", instance_id="i")
    newcomer.join("t")
    static.beat(instance_id="i")
    assert desk.member("a").progress is Progress.UNREVOKED
    desk.ask(a_beat("a", -2, instance_id="i"))
    assert desk.timer(TimerKind.REVOCATION, "a") is None
    assert newcomer.beat().assignment == parts(t=[2, 3])
    assert desk.ask(a_join("new", "t", instance_id="i")).assignment == parts(t=[0, 1])


def test_leaving_twice() -> None:
    desk = Desk(image(t=4))
    _two(desk)
    ask = a_beat("a", -2, instance_id="i")
    first = desk.ask(ask)
    group = desk.known
    assert desk.ask(ask) == first
    assert desk.known is group


def test_an_instance_id_may_be_taken_over_from_one_that_is_in_already() -> None:
    desk = Desk(image(t=4))
    _two(desk)
    desk.ask(a_beat("a", -2, instance_id="i"))
    assert desk.ask(a_join("b", "t", instance_id="i")).fault is Fault.NONE
    assert list(desk.known.members) == ["b"]
    assert set(desk.known.targets) == {"b"}
