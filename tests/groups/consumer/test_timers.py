"""Timers, and members of brokers that died."""

from dray.groups.consumer import fire, take_over_members, timers
from dray.groups.timers import Timer, TimerKind, TimerSpec
from tests.groups.consumer.builders import LIMITS, Consumer, GroupHarness, a_heartbeat, image, joined


def test_every_member_has_a_session_timer_at_its_broker() -> None:
    harness = GroupHarness(image(t=2))
    members = joined(harness, "a", "b")
    members[1].heartbeat(broker=2)
    assert set(timers(harness.known, LIMITS)) == {
        TimerSpec(Timer(TimerKind.SESSION, "a", 1), 45_000, 1),
        TimerSpec(Timer(TimerKind.SESSION, "b", 2), 45_000, 2),
    }


def test_expired_session_removes_the_member() -> None:
    harness = GroupHarness(image(t=2))
    joined(harness, "a", "b")
    epoch = harness.known.epoch
    harness.fire(TimerKind.SESSION, "a")
    assert (list(harness.known.members), harness.known.epoch) == (["b"], epoch + 1)


def test_session_timer_of_the_old_broker_is_stale() -> None:
    harness = GroupHarness(image(t=2))
    (member,) = joined(harness, "a")
    timer = harness.timer(TimerKind.SESSION, "a")
    assert timer is not None
    member.heartbeat(broker=2)
    group = harness.known
    assert fire(group, timer, LIMITS, harness.now_ms) is group


def test_timers_of_removed_members_are_stale() -> None:
    harness = GroupHarness(image(t=2))
    joined(harness, "a", "b")
    timer = harness.timer(TimerKind.SESSION, "a")
    assert timer is not None
    harness.send(a_heartbeat("a", -1))
    group = harness.known
    assert fire(group, timer, LIMITS, harness.now_ms) is group


def test_revocation_timer_runs_for_the_rebalance_timeout() -> None:
    harness = GroupHarness(image(t=2))
    holder, newcomer = Consumer(harness, "a"), Consumer(harness, "b")
    holder.join("t", rebalance_timeout_ms=1_234)
    newcomer.join("t")
    holder.heartbeat()
    timer = Timer(TimerKind.REVOCATION, "a", harness.member("a").revoking_since)
    assert TimerSpec(timer, 1_234, None) in set(timers(harness.known, LIMITS))
    holder.heartbeat()
    assert harness.timer(TimerKind.REVOCATION, "a") is None
    group = harness.known
    assert fire(group, timer, LIMITS, harness.now_ms) is group


def test_each_revocation_has_its_own_timer() -> None:
    """The member keeps its epoch, but gets the full timeout again."""
    harness = GroupHarness(image(t=6))
    holder = Consumer(harness, "a")
    holder.join("t")
    Consumer(harness, "b").join("t")
    holder.heartbeat()
    first = harness.timer(TimerKind.REVOCATION, "a")
    Consumer(harness, "c").join("t")
    holder.heartbeat()
    second = harness.timer(TimerKind.REVOCATION, "a")
    assert first is not None
    assert second is not None
    assert first != second
    group = harness.known
    assert fire(group, first, LIMITS, harness.now_ms) is group


def test_members_of_dead_brokers_are_taken_over() -> None:
    harness = GroupHarness(image(t=2))
    one, other = joined(harness, "a", "b")
    other.heartbeat(broker=2)
    taken_over = take_over_members(harness.known, {1, 3}, 3)
    assert {key: member.broker for key, member in taken_over.members.items()} == {"a": 1, "b": 3}
    assert take_over_members(taken_over, {1, 3}, 3) is taken_over
    assert Timer(TimerKind.SESSION, "b", 3) in {spec.timer for spec in timers(taken_over, LIMITS)}
    assert one.count == 1
