"""Rejoins of members, phase by phase."""

from dray.groups.classic import Phase
from dray.groups.results import JoinResult, PendingReply
from dray.groups.types import GroupError
from tests.groups.classic.builders import BOTH, completing, preparing, stable


def test_unchanged_follower_of_a_stable_group_gets_the_current_generation() -> None:
    harness = stable("a", "b")
    before = harness.group
    assert harness.join("b") == JoinResult(GroupError.NONE, "b", 1, "consumer", "range", "a")
    assert harness.group is before


def test_changed_follower_triggers_a_rebalance() -> None:
    harness = stable("a", "b")
    assert harness.join("b", protocols=(("range", b"new"),)) == PendingReply("b", None)
    assert harness.phase() is Phase.PREPARING
    assert harness.member("b").protocols == (("range", b"new"),)
    assert harness.member("a").assignment == b"a"


def test_rejoining_leader_always_triggers_a_rebalance() -> None:
    harness = stable("a", "b")
    assert harness.join("a") == PendingReply("a", None)
    assert harness.phase() is Phase.PREPARING


def test_join_of_the_only_member_completes_at_once() -> None:
    harness = stable("a")
    reply = harness.join("a")
    assert isinstance(reply, JoinResult)
    assert (reply.generation, reply.leader, len(reply.members)) == (2, "a", 1)
    assert harness.phase() is Phase.COMPLETING


def test_member_that_missed_the_join_result_gets_it_again() -> None:
    harness = completing("a", "b")
    before = harness.group
    assert harness.join("a") == harness.last_joined("a")
    assert harness.join("b") == harness.last_joined("b")
    assert harness.group is before


def test_changed_member_interrupts_the_sync_phase() -> None:
    harness = completing("a", "b")
    harness.sync("b")
    assert harness.join("b", protocols=BOTH) == PendingReply("b", None)
    assert harness.phase() is Phase.PREPARING
    assert harness.last_synced("b").error is GroupError.REBALANCE_IN_PROGRESS


def test_member_may_rejoin_during_a_rebalance() -> None:
    harness = stable("a", "b", "c")
    harness.rejoin("a")
    harness.rejoin("b", protocols=BOTH, session_timeout_ms=7_000, rebalance_timeout_ms=8_000)
    assert harness.member("b").protocols == BOTH
    assert (harness.member("b").session_timeout_ms, harness.member("b").rebalance_timeout_ms) == (
        7_000,
        8_000,
    )
    before = harness.group
    harness.rejoin("b", protocols=BOTH, session_timeout_ms=7_000, rebalance_timeout_ms=8_000)
    assert harness.group is before
    assert harness.phase() is Phase.PREPARING
    harness.rejoin("c")
    assert [reply.error for reply in harness.replies["b"][-2:]] == [GroupError.NONE, GroupError.NONE]


def test_last_join_completes_the_rebalance() -> None:
    harness = stable("a", "b")
    harness.rejoin("a")
    reply = harness.join("b")
    assert isinstance(reply, JoinResult)
    assert reply.generation == 2
    assert harness.last_joined("a").generation == 2
    assert not any(member.joining for member in harness.known.members.values())


def test_join_at_another_broker_moves_the_session_there() -> None:
    for harness in (stable("a", "b"), completing("a", "b"), preparing("a", "b")):
        harness.rejoin("b", broker=2)
        assert harness.member("b").broker == 2
        assert harness.member("a").broker == 1


def test_client_id_and_host_stay_those_of_the_first_join() -> None:
    harness = stable("a")
    harness.rejoin("a", client_id="other", client_host="/10.9.9.9")
    assert (harness.member("a").client_id, harness.member("a").client_host) == ("client", "/10.0.0.1")
