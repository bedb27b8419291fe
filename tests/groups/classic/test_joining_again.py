"""Joins of members, phase by phase."""

from dray.groups.classic import Phase
from dray.groups.faults import Fault
from dray.groups.outcome import Parked
from dray.groups.replies import Joined
from tests.groups.classic.builders import BOTH, completing, preparing, stable


def test_a_follower_that_has_nothing_new_to_say_is_told_of_the_generation() -> None:
    desk = stable("a", "b")
    before = desk.group
    assert desk.ask("b") == Joined(Fault.NONE, "b", 1, "consumer", "range", "a")
    assert desk.group is before


def test_a_follower_that_has_changed_makes_a_stable_group_rebalance() -> None:
    desk = stable("a", "b")
    assert desk.ask("b", protocols=(("range", b"new"),)) == Parked("b", None)
    assert desk.phase() is Phase.PREPARING
    assert desk.member("b").protocols == (("range", b"new"),)
    assert desk.member("a").assignment == b"a"


def test_the_leader_makes_a_stable_group_rebalance_in_any_case() -> None:
    desk = stable("a", "b")
    assert desk.ask("a") == Parked("a", None)
    assert desk.phase() is Phase.PREPARING


def test_the_only_member_is_through_at_once() -> None:
    desk = stable("a")
    reply = desk.ask("a")
    assert isinstance(reply, Joined)
    assert (reply.generation, reply.leader, len(reply.members)) == (2, "a", 1)
    assert desk.phase() is Phase.COMPLETING


def test_one_that_missed_the_answer_gets_it_again_before_the_assignment() -> None:
    desk = completing("a", "b")
    before = desk.group
    assert desk.ask("a") == desk.last_joined("a")
    assert desk.ask("b") == desk.last_joined("b")
    assert desk.group is before


def test_one_that_has_changed_interrupts_an_assignment() -> None:
    desk = completing("a", "b")
    desk.sync("b")
    assert desk.ask("b", protocols=BOTH) == Parked("b", None)
    assert desk.phase() is Phase.PREPARING
    assert desk.last_synced("b").fault is Fault.REBALANCE_IN_PROGRESS


def test_a_member_may_join_again_while_joins_are_collected() -> None:
    desk = stable("a", "b", "c")
    desk.rejoin("a")
    desk.rejoin("b", protocols=BOTH, session_timeout_ms=7_000, rebalance_timeout_ms=8_000)
    assert desk.member("b").protocols == BOTH
    assert (desk.member("b").session_timeout_ms, desk.member("b").rebalance_timeout_ms) == (7_000, 8_000)
    before = desk.group
    desk.rejoin("b", protocols=BOTH, session_timeout_ms=7_000, rebalance_timeout_ms=8_000)
    assert desk.group is before
    assert desk.phase() is Phase.PREPARING
    desk.rejoin("c")
    assert [answer.fault for answer in desk.answers["b"][-2:]] == [Fault.NONE, Fault.NONE]


def test_the_last_one_to_join_completes_the_rebalance() -> None:
    desk = stable("a", "b")
    desk.rejoin("a")
    reply = desk.ask("b")
    assert isinstance(reply, Joined)
    assert reply.generation == 2
    assert desk.last_joined("a").generation == 2
    assert not any(member.joining for member in desk.known.members.values())


def test_a_join_that_comes_by_another_broker_takes_the_session_there() -> None:
    for desk in (stable("a", "b"), completing("a", "b"), preparing("a", "b")):
        desk.rejoin("b", broker=2)
        assert desk.member("b").broker == 2
        assert desk.member("a").broker == 1


def test_client_id_and_host_stay_those_of_the_first_join() -> None:
    desk = stable("a")
    desk.rejoin("a", client_id="other", client_host="/10.9.9.9")
    assert (desk.member("a").client_id, desk.member("a").client_host) == ("client", "/10.0.0.1")
