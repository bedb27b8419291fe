"""What must not take too long, and the members of brokers that are gone."""

from dray.groups.consumer import adopt, fire, timers
from dray.groups.outcome import Timer, TimerAsked, TimerKind
from tests.groups.consumer.builders import LIMITS, Consumer, Desk, a_beat, image, joined


def test_every_member_has_a_session_at_its_broker() -> None:
    desk = Desk(image(t=2))
    members = joined(desk, "a", "b")
    members[1].beat(broker=2)
    assert set(timers(desk.known, LIMITS)) == {
        TimerAsked(Timer(TimerKind.SESSION, "a", 1), 45_000, 1),
        TimerAsked(Timer(TimerKind.SESSION, "b", 2), 45_000, 2),
    }


def test_one_that_is_silent_is_put_out() -> None:
    desk = Desk(image(t=2))
    joined(desk, "a", "b")
    epoch = desk.known.epoch
    desk.fire(TimerKind.SESSION, "a")
    assert (list(desk.known.members), desk.known.epoch) == (["b"], epoch + 1)


def test_a_session_that_another_broker_took_over_does_not_count() -> None:
    desk = Desk(image(t=2))
    (member,) = joined(desk, "a")
    timer = desk.timer(TimerKind.SESSION, "a")
    assert timer is not None
    member.beat(broker=2)
    group = desk.known
    assert fire(group, timer, LIMITS, desk.now_ms) is group


def test_timers_of_members_that_are_gone_do_not_count() -> None:
    desk = Desk(image(t=2))
    joined(desk, "a", "b")
    timer = desk.timer(TimerKind.SESSION, "a")
    assert timer is not None
    desk.ask(a_beat("a", -1))
    group = desk.known
    assert fire(group, timer, LIMITS, desk.now_ms) is group


def test_a_revocation_has_its_time() -> None:
    desk = Desk(image(t=2))
    holder, newcomer = Consumer(desk, "a"), Consumer(desk, "b")
    holder.join("t", rebalance_timeout_ms=1_234)
    newcomer.join("t")
    holder.beat()
    timer = Timer(TimerKind.REVOCATION, "a", desk.member("a").revoking_since)
    assert TimerAsked(timer, 1_234, None) in set(timers(desk.known, LIMITS))
    holder.beat()
    assert desk.timer(TimerKind.REVOCATION, "a") is None
    group = desk.known
    assert fire(group, timer, LIMITS, desk.now_ms) is group


def test_one_revocation_is_not_taken_for_the_next() -> None:
    """The member keeps its epoch, but gets the whole time again."""
    desk = Desk(image(t=6))
    holder = Consumer(desk, "a")
    holder.join("t")
    Consumer(desk, "b").join("t")
    holder.beat()
    first = desk.timer(TimerKind.REVOCATION, "a")
    Consumer(desk, "c").join("t")
    holder.beat()
    second = desk.timer(TimerKind.REVOCATION, "a")
    assert first is not None
    assert second is not None
    assert first != second
    group = desk.known
    assert fire(group, first, LIMITS, desk.now_ms) is group


def test_members_of_dead_brokers_are_adopted() -> None:
    desk = Desk(image(t=2))
    one, other = joined(desk, "a", "b")
    other.beat(broker=2)
    adopted = adopt(desk.known, {1, 3}, 3)
    assert {key: member.broker for key, member in adopted.members.items()} == {"a": 1, "b": 3}
    assert adopt(adopted, {1, 3}, 3) is adopted
    assert Timer(TimerKind.SESSION, "b", 3) in {asked.timer for asked in timers(adopted, LIMITS)}
    assert one.count == 1
