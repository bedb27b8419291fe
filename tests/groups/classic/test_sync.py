"""SyncGroup."""

from typing import Any

import pytest

from dray.groups.classic import Phase, new_group, sync
from dray.groups.results import Outcome, PendingReply, SyncResult
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError
from tests.groups.builders import a_sync
from tests.groups.classic.builders import LIMITS, completing, stable


def test_syncs_of_followers_wait_for_the_leader() -> None:
    harness = completing("a", "b")
    assert harness.sync("b") == PendingReply("b", None, 1)
    assert harness.phase() is Phase.COMPLETING
    harness.now_ms = 7_000
    reply = harness.sync("a", assignments=(("b", b"B"), ("a", b"A")))
    assert reply == SyncResult(GroupError.NONE, "consumer", "range", b"A")
    assert harness.last_synced("b") == SyncResult(GroupError.NONE, "consumer", "range", b"B")
    assert (harness.phase(), harness.known.changed_at_ms) == (Phase.STABLE, 7_000)


def test_later_sync_returns_the_stored_assignment() -> None:
    harness = completing("a", "b")
    harness.sync("a", assignments=(("b", b"B"),))
    assert harness.sync("b") == SyncResult(GroupError.NONE, "consumer", "range", b"B")
    before = harness.group
    assert harness.sync("b") == SyncResult(GroupError.NONE, "consumer", "range", b"B")
    assert harness.group is before


def test_member_without_assignment_gets_an_empty_one() -> None:
    harness = completing("a", "b")
    harness.sync("a", assignments=(("a", b"A"), ("unknown", b"N")))
    assert harness.sync("b") == SyncResult(GroupError.NONE, "consumer", "range", b"")
    assert list(harness.known.members) == ["a", "b"]


def test_assignments_of_followers_are_ignored() -> None:
    harness = completing("a", "b")
    assert isinstance(harness.sync("b", assignments=(("b", b"mine"),)), PendingReply)
    assert harness.member("b").assignment == b""


def test_second_sync_of_the_leader_returns_the_stored_assignment() -> None:
    harness = completing("a")
    harness.sync("a", assignments=(("a", b"first"),))
    before = harness.group
    assert harness.sync("a", assignments=(("a", b"second"),)) == SyncResult(
        GroupError.NONE, "consumer", "range", b"first"
    )
    assert harness.group is before


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"member_id": "x"}, GroupError.UNKNOWN_MEMBER_ID),
        ({"instance_id": "i"}, GroupError.UNKNOWN_MEMBER_ID),
        ({"generation": 0}, GroupError.ILLEGAL_GENERATION),
        ({"generation": 2}, GroupError.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, GroupError.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": "sticky"}, GroupError.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": None}, GroupError.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None}, GroupError.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": None, "protocol_type": None, "require_protocol": False}, GroupError.NONE),
        ({"protocol": "sticky", "generation": 0}, GroupError.ILLEGAL_GENERATION),
        ({"protocol": None, "generation": 0, "member_id": "x"}, GroupError.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_sync_is_accepted_or_rejected_by_member_generation_and_protocol(
    fields: dict[str, Any], error: GroupError
) -> None:
    group = stable("a").known
    defaults: dict[str, Any] = {"member_id": "a", "generation": 1}
    command = a_sync(**defaults | fields)
    outcome = sync(group, command, LIMITS, 0)
    assert isinstance(outcome.reply, SyncResult)
    assert outcome.reply.error is error
    assert outcome.group is group


def test_sync_with_an_empty_or_unknown_group_returns_unknown_member_id() -> None:
    assert sync(None, a_sync("a", 0), LIMITS, 0) == Outcome(None, SyncResult(GroupError.UNKNOWN_MEMBER_ID))
    empty = new_group(0)
    assert sync(empty, a_sync("a", 0), LIMITS, 0) == Outcome(empty, SyncResult(GroupError.UNKNOWN_MEMBER_ID))


def test_sync_during_a_rebalance_returns_rebalance_in_progress() -> None:
    harness = stable("a")
    harness.enter("b")
    before = harness.group
    assert harness.sync("a") == SyncResult(GroupError.REBALANCE_IN_PROGRESS)
    assert harness.group is before


def test_sync_at_another_broker_moves_the_session_there() -> None:
    harness = completing("a", "b")
    harness.sync("b", broker=2)
    harness.sync("a", broker=3)
    assert (harness.member("a").broker, harness.member("b").broker) == (3, 2)


def test_member_that_does_not_sync_in_time_is_removed() -> None:
    harness = completing("a", "b", "c")
    harness.sync("a")
    harness.sync("b")
    assert harness.phase() is Phase.STABLE
    assert harness.timer(TimerKind.SYNC_PHASE).delay_ms == 60_000
    harness.fire(TimerKind.SYNC_PHASE)
    assert list(harness.known.members) == ["a", "b"]
    assert harness.phase() is Phase.PREPARING


def test_leader_that_does_not_sync_in_time_is_removed() -> None:
    harness = completing("a", "b")
    harness.sync("b")
    harness.fire(TimerKind.SYNC_PHASE)
    assert harness.last_synced("b").error is GroupError.REBALANCE_IN_PROGRESS
    assert (harness.known.leader, harness.phase()) == ("b", Phase.PREPARING)
    harness.rejoin("b")
    assert harness.known.generation == 2


def test_group_becomes_empty_if_no_member_syncs_in_time() -> None:
    harness = completing("a", "b", instance_id=None)
    harness.fire(TimerKind.SYNC_PHASE)
    assert (harness.phase(), harness.known.generation) == (Phase.EMPTY, 2)


def test_no_phase_timer_runs_once_all_members_have_synced() -> None:
    assert stable("a", "b").kinds() == set()
