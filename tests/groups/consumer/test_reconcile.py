"""The way of one member from what it has to what it is to have."""

from dray.groups.consumer import Progress
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import TimerKind
from tests.groups.consumer.builders import Consumer, Desk, a_beat, a_join, image, joined, parts, topic_id

T = topic_id("t")


def _shared() -> tuple[Desk, Consumer, Consumer]:
    """`a` has four partitions and is to give up two for `b`."""
    desk = Desk(image(t=4))
    holder, newcomer = Consumer(desk, "a"), Consumer(desk, "b")
    holder.join("t")
    newcomer.join("t")
    return desk, holder, newcomer


def test_one_who_has_to_give_up_keeps_its_epoch() -> None:
    desk, _, _ = _shared()
    reply = desk.ask(a_beat("a", 2))
    assert (reply.epoch, reply.assignment) == (2, parts(t=[0, 1]))
    member = desk.member("a")
    assert (member.progress, member.revoking) == (Progress.UNREVOKED, {T: {2: 2, 3: 2}})


def test_nothing_goes_on_until_the_client_says_that_it_gave_up() -> None:
    desk, holder, newcomer = _shared()
    desk.ask(a_beat("a", 2))
    group = desk.known
    for owned in (None, holder.uses, parts(t=[0, 1, 3])):
        reply = desk.ask(a_beat("a", 2, owned=owned))
        assert (reply.epoch, reply.assignment) == (2, None)
        newcomer.beat()
        assert desk.known is group


def test_what_was_given_up_goes_to_the_other() -> None:
    desk, holder, newcomer = _shared()
    holder.beat()
    reply = holder.beat()
    assert (reply.epoch, reply.assignment, holder.uses) == (3, None, parts(t=[0, 1]))
    assert newcomer.beat().assignment == parts(t=[2, 3])
    assert desk.member("b").assigned == {T: {2: 3, 3: 3}}
    assert desk.member("a").assigned == {T: {0: 2, 1: 2}}


def test_one_that_owns_nothing_of_it_need_not_be_asked() -> None:
    desk, _, newcomer = _shared()
    reply = desk.ask(a_beat("a", 2, owned=parts(t=[0])))
    assert (reply.epoch, reply.assignment) == (3, parts(t=[0, 1]))
    assert newcomer.beat().assignment == parts(t=[2, 3])


def test_partitions_come_as_they_are_released() -> None:
    desk = Desk(image(t=6))
    first, second = joined(desk, "a", "b")
    third = Consumer(desk, "c")
    third.join("t")
    first.beat()
    first.beat()
    assert (third.beat().epoch, third.count, desk.member("c").progress) == (4, 1, Progress.UNRELEASED)
    second.beat()
    second.beat()
    third.beat()
    assert (third.count, desk.member("c").progress) == (2, Progress.STABLE)


def test_a_member_may_get_back_what_it_is_giving_up() -> None:
    desk, holder, newcomer = _shared()
    holder.beat()
    desk.ask(a_beat(newcomer.member_id, -1))
    desk.ask(a_beat("a", 2))
    assert desk.member("a").progress is Progress.UNREVOKED
    assert holder.beat().assignment == parts(t=[0, 1, 2, 3])
    assert desk.member("a").progress is Progress.STABLE


def test_a_later_target_does_not_wait_for_an_earlier_one() -> None:
    desk, holder, newcomer = _shared()
    third = Consumer(desk, "c")
    third.join("t")
    holder.beat()
    holder.beat()
    newcomer.beat()
    third.beat()
    assert (holder.epoch, newcomer.epoch, third.epoch) == (4, 4, 4)
    assert sorted((holder.count, newcomer.count, third.count)) == [1, 1, 2]


def test_a_topic_that_is_dropped_is_given_up_before_there_is_a_new_target() -> None:
    desk = Desk(image(t=1, u=1), GroupLimits())
    member = Consumer(desk, "a")
    member.join("t", "u")
    reply = desk.ask(a_beat("a", member.epoch, names=("t",)))
    assert desk.known.target_epoch < desk.known.epoch
    assert (reply.epoch, reply.assignment) == (2, parts(t=[0]))
    assert desk.member("a").revoking == {topic_id("u"): {0: 2}}
    reply = desk.ask(a_beat("a", member.epoch, owned=parts(t=[0])))
    assert (reply.epoch, desk.member("a").revoking) == (2, {})
    desk.now_ms += 1_000
    assert desk.ask(a_beat("a", 2)).epoch == 3


def test_a_dropped_topic_that_is_not_owned_is_free_at_once() -> None:
    desk = Desk(image(t=1, u=1), GroupLimits())
    Consumer(desk, "a").join("t", "u")
    desk.ask(a_beat("a", 2, names=("t",), owned=parts(t=[0])))
    assert (desk.member("a").progress, desk.member("a").revoking) == (Progress.STABLE, {})


def test_more_topics_are_dropped_while_one_is_given_up() -> None:
    desk = Desk(image(t=1, u=1, v=1), GroupLimits())
    Consumer(desk, "a").join("t", "u", "v")
    desk.ask(a_beat("a", 2, names=("t", "u")))
    since = desk.member("a").revoking_since
    desk.ask(a_beat("a", 2, names=("t",)))
    member = desk.member("a")
    assert member.revoking.keys() == {topic_id("u"), topic_id("v")}
    assert member.revoking_since > since


def test_one_that_does_not_give_up_is_put_out() -> None:
    desk, holder, newcomer = _shared()
    desk.ask(a_beat("a", 2))
    desk.fire(TimerKind.REVOCATION, "a")
    assert list(desk.known.members) == ["b"]
    assert newcomer.beat().assignment == parts(t=[0, 1, 2, 3])
    assert desk.ask(a_beat("a", 2)).fault is Fault.UNKNOWN_MEMBER_ID
    assert holder.join("t").fault is Fault.NONE


def test_one_that_left_frees_what_it_had() -> None:
    desk = Desk(image(t=4))
    one, other = joined(desk, "a", "b")
    desk.ask(a_beat("a", -1))
    assert other.beat().assignment == parts(t=[0, 1, 2, 3])
    assert one.epoch < other.epoch


def test_a_newcomer_does_not_get_what_an_older_member_still_has() -> None:
    desk = Desk(image(t=2))
    joined(desk, "a")
    reply = desk.ask(a_join("b", "t"))
    assert reply.assignment == {}
