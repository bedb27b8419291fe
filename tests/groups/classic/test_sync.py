"""SyncGroup."""

from typing import Any

import pytest

from dray.groups.classic import Phase, simple, sync
from dray.groups.faults import Fault
from dray.groups.outcome import Outcome, Parked, TimerKind
from dray.groups.replies import Synced
from tests.groups.classic.builders import LIMITS, a_sync, completing, stable


def test_followers_wait_for_the_leader() -> None:
    desk = completing("a", "b")
    assert desk.sync("b") == Parked("b", None, 1)
    assert desk.phase() is Phase.COMPLETING
    desk.now_ms = 7_000
    reply = desk.sync("a", assignments=(("b", b"B"), ("a", b"A")))
    assert reply == Synced(Fault.NONE, "consumer", "range", b"A")
    assert desk.last_synced("b") == Synced(Fault.NONE, "consumer", "range", b"B")
    assert (desk.phase(), desk.known.changed_at_ms) == (Phase.STABLE, 7_000)


def test_one_that_comes_later_gets_what_is_stored() -> None:
    desk = completing("a", "b")
    desk.sync("a", assignments=(("b", b"B"),))
    assert desk.sync("b") == Synced(Fault.NONE, "consumer", "range", b"B")
    before = desk.group
    assert desk.sync("b") == Synced(Fault.NONE, "consumer", "range", b"B")
    assert desk.group is before


def test_one_that_the_leader_forgot_gets_nothing() -> None:
    desk = completing("a", "b")
    desk.sync("a", assignments=(("a", b"A"), ("nobody", b"N")))
    assert desk.sync("b") == Synced(Fault.NONE, "consumer", "range", b"")
    assert list(desk.known.members) == ["a", "b"]


def test_what_followers_bring_is_not_looked_at() -> None:
    desk = completing("a", "b")
    assert isinstance(desk.sync("b", assignments=(("b", b"mine"),)), Parked)
    assert desk.member("b").assignment == b""


def test_a_leader_that_syncs_twice_is_answered_from_what_is_stored() -> None:
    desk = completing("a")
    desk.sync("a", assignments=(("a", b"first"),))
    before = desk.group
    assert desk.sync("a", assignments=(("a", b"second"),)) == Synced(
        Fault.NONE, "consumer", "range", b"first"
    )
    assert desk.group is before


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"member_id": "x"}, Fault.UNKNOWN_MEMBER_ID),
        ({"instance_id": "i"}, Fault.UNKNOWN_MEMBER_ID),
        ({"generation": 0}, Fault.ILLEGAL_GENERATION),
        ({"generation": 2}, Fault.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, Fault.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": "sticky"}, Fault.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": None}, Fault.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None}, Fault.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": None, "protocol_type": None, "names_protocol": False}, Fault.NONE),
        ({"protocol": "sticky", "generation": 0}, Fault.ILLEGAL_GENERATION),
        ({"protocol": None, "generation": 0, "member_id": "x"}, Fault.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_who_may_sync(said: dict[str, Any], fault: Fault) -> None:
    group = stable("a").known
    fields: dict[str, Any] = {"member_id": "a", "generation": 1} | said
    ask = a_sync(**fields)
    outcome = sync(group, ask, LIMITS, 0)
    assert isinstance(outcome.reply, Synced)
    assert outcome.reply.fault is fault
    assert outcome.group is group


def test_nobody_can_sync_with_a_group_without_members() -> None:
    assert sync(None, a_sync("a", 0), LIMITS, 0) == Outcome(None, Synced(Fault.UNKNOWN_MEMBER_ID))
    empty = simple(0)
    assert sync(empty, a_sync("a", 0), LIMITS, 0) == Outcome(empty, Synced(Fault.UNKNOWN_MEMBER_ID))


def test_a_sync_during_a_rebalance_is_told_so() -> None:
    desk = stable("a")
    desk.enter("b")
    before = desk.group
    assert desk.sync("a") == Synced(Fault.REBALANCE_IN_PROGRESS)
    assert desk.group is before


def test_a_sync_by_another_broker_takes_the_session_there() -> None:
    desk = completing("a", "b")
    desk.sync("b", broker=2)
    desk.sync("a", broker=3)
    assert (desk.member("a").broker, desk.member("b").broker) == (3, 2)


def test_one_that_does_not_fetch_its_assignment_in_time_is_dropped() -> None:
    desk = completing("a", "b", "c")
    desk.sync("a")
    desk.sync("b")
    assert desk.phase() is Phase.STABLE
    assert desk.timer(TimerKind.SYNC_PHASE).after_ms == 60_000
    desk.fire(TimerKind.SYNC_PHASE)
    assert list(desk.known.members) == ["a", "b"]
    assert desk.phase() is Phase.PREPARING


def test_if_the_leader_does_not_assign_in_time_it_is_dropped() -> None:
    desk = completing("a", "b")
    desk.sync("b")
    desk.fire(TimerKind.SYNC_PHASE)
    assert desk.last_synced("b").fault is Fault.REBALANCE_IN_PROGRESS
    assert (desk.known.leader, desk.phase()) == ("b", Phase.PREPARING)
    desk.rejoin("b")
    assert desk.known.generation == 2


def test_if_nobody_syncs_in_time_the_group_is_empty() -> None:
    desk = completing("a", "b", instance_id=None)
    desk.fire(TimerKind.SYNC_PHASE)
    assert (desk.phase(), desk.known.generation) == (Phase.EMPTY, 2)


def test_once_everybody_has_synced_nothing_is_waited_for() -> None:
    assert stable("a", "b").kinds() == set()
