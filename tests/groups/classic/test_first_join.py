"""Joins of those who are not in the group yet."""

from typing import Any

import pytest

from dray.groups.classic import Phase, simple
from dray.groups.faults import Fault
from dray.groups.outcome import Parked, TimerKind
from dray.groups.replies import Joined
from tests.groups.classic.builders import BOTH, LIMITS, Desk, completing, preparing, share_out, stable


def test_a_new_member_has_to_come_back_with_its_id() -> None:
    desk = Desk()
    assert desk.ask(new_id="a") == Joined(Fault.MEMBER_ID_REQUIRED, "a")
    assert desk.phase() is Phase.EMPTY
    assert desk.known.members == {}
    assert desk.timer(TimerKind.PENDING_MEMBER, "a").after_ms == 10_000
    assert desk.ask("a") == Parked("a", None)
    assert desk.phase() is Phase.PREPARING
    assert desk.known.pending == {}
    assert desk.member("a").joining


def test_old_versions_are_let_in_at_once() -> None:
    desk = Desk()
    assert desk.ask(new_id="a", must_know_id=False) == Parked("a", None)
    assert list(desk.known.members) == ["a"]


def test_one_with_an_instance_id_is_let_in_at_once() -> None:
    desk = Desk()
    assert desk.ask(new_id="a", instance_id="i") == Parked("a", "i")
    assert desk.member("a").instance_id == "i"


def test_a_new_member_is_stored_as_it_says() -> None:
    desk = Desk()
    desk.enter("a", client_id="c", client_host="/h", protocols=BOTH, broker=7, rebalance_timeout_ms=5)
    member = desk.member("a")
    assert (member.client_id, member.client_host, member.protocols) == ("c", "/h", BOTH)
    assert (member.rebalance_timeout_ms, member.session_timeout_ms, member.broker) == (5, 10_000, 7)
    assert (desk.known.protocol_type, desk.known.leader) == ("consumer", "a")


@pytest.mark.parametrize(
    "session_timeout_ms", [LIMITS.min_session_timeout_ms - 1, LIMITS.max_session_timeout_ms + 1]
)
def test_a_session_too_short_or_too_long_is_refused(session_timeout_ms: int) -> None:
    desk = Desk()
    reply = desk.ask("a", session_timeout_ms=session_timeout_ms)
    assert reply == Joined(Fault.INVALID_SESSION_TIMEOUT, "a")
    assert desk.group is None


@pytest.mark.parametrize("session_timeout_ms", [LIMITS.min_session_timeout_ms, LIMITS.max_session_timeout_ms])
def test_the_shortest_and_the_longest_session_are_allowed(session_timeout_ms: int) -> None:
    assert isinstance(
        Desk().ask(new_id="a", must_know_id=False, session_timeout_ms=session_timeout_ms), Parked
    )


def test_an_id_makes_no_group() -> None:
    desk = Desk()
    assert desk.ask("a") == Joined(Fault.UNKNOWN_MEMBER_ID, "a")
    assert desk.group is None


def test_an_unknown_id_is_refused_by_a_group_that_exists() -> None:
    desk = stable("a")
    before = desk.group
    assert desk.ask("x") == Joined(Fault.UNKNOWN_MEMBER_ID, "x")
    assert desk.group is before
    empty = Desk(group=simple(0))
    assert empty.ask("x") == Joined(Fault.UNKNOWN_MEMBER_ID, "x")


@pytest.mark.parametrize("said", [{"protocol_type": ""}, {"protocols": ()}])
def test_a_first_member_has_to_name_a_type_and_a_protocol(said: dict[str, Any]) -> None:
    desk = Desk()
    assert desk.ask(new_id="a", **said) == Joined(Fault.INCONSISTENT_GROUP_PROTOCOL, "")
    assert desk.group == simple(desk.now_ms)


@pytest.mark.parametrize(
    "said", [{"protocol_type": "connect"}, {"protocols": (("other", b""),)}, {"protocols": ()}]
)
def test_a_further_member_has_to_fit_in(said: dict[str, Any]) -> None:
    desk = stable("a", protocols=BOTH)
    before = desk.group
    assert desk.ask(new_id="b", **said) == Joined(Fault.INCONSISTENT_GROUP_PROTOCOL, "")
    assert desk.ask("a", **said) == Joined(Fault.INCONSISTENT_GROUP_PROTOCOL, "a")
    assert desk.group is before


def test_the_protocol_in_common_must_be_known_to_all_members() -> None:
    desk = stable("a", protocols=BOTH)
    desk.enter("b", protocols=(("range", b""),))
    assert desk.ask(new_id="c", protocols=(("sticky", b""),)) == Joined(Fault.INCONSISTENT_GROUP_PROTOCOL, "")


def test_an_empty_group_takes_on_another_type() -> None:
    desk = stable("a")
    desk.leave("a")
    assert (desk.phase(), desk.known.protocol_type) == (Phase.EMPTY, "consumer")
    desk.enter("b", protocol_type="connect")
    assert desk.known.protocol_type == "connect"


def test_a_new_member_makes_a_stable_group_rebalance() -> None:
    desk = stable("a")
    desk.now_ms = 5_000
    desk.enter("b")
    assert (desk.phase(), desk.known.changed_at_ms) == (Phase.PREPARING, 5_000)
    assert not desk.member("a").joining
    assert "b" not in desk.answers
    desk.rejoin("a")
    assert desk.known.generation == 2
    assert desk.last_joined("b").generation == 2


def test_a_new_member_interrupts_an_assignment() -> None:
    desk = stable("a")
    desk.enter("b")
    desk.rejoin("a")
    assert desk.phase() is Phase.COMPLETING
    assert isinstance(desk.sync("b"), Parked)
    desk.enter("c")
    assert desk.phase() is Phase.PREPARING
    assert desk.last_synced("b").fault is Fault.REBALANCE_IN_PROGRESS
    assert desk.member("a").assignment == b""


def test_an_id_that_was_given_out_is_waited_for() -> None:
    desk = stable("a")
    desk.ask(new_id="b")
    assert desk.phase() is Phase.STABLE
    desk.rejoin("a")
    assert desk.phase() is Phase.PREPARING
    desk.rejoin("b")
    assert desk.phase() is Phase.COMPLETING
    assert list(desk.known.members) == ["a", "b"]


def test_a_pending_id_cannot_become_that_of_an_instance() -> None:
    desk = stable("a")
    desk.ask(new_id="b")
    assert desk.ask("b", instance_id="i") == Joined(Fault.UNKNOWN_MEMBER_ID, "b")


def test_everybody_is_told_of_the_generation_and_the_leader_of_the_members() -> None:
    desk = preparing("a", instance_id="i", protocols=(("range", b"1"),))
    desk.enter("b", protocols=(("sticky", b"3"), ("range", b"2")))
    desk.fire(TimerKind.INITIAL_DELAY)
    desk.fire(TimerKind.INITIAL_DELAY)
    leader = desk.last_joined("a")
    assert (leader.fault, leader.generation, leader.leader) == (Fault.NONE, 1, "a")
    assert (leader.protocol_type, leader.protocol, leader.skip_assignment) == ("consumer", "range", False)
    told = [(member.member_id, member.instance_id, member.metadata) for member in leader.members]
    assert told == [("a", "i", b"1"), ("b", None, b"2")]
    assert desk.last_joined("b") == Joined(Fault.NONE, "b", 1, "consumer", "range", "a")


def test_a_join_that_is_applied_twice_brings_one_id() -> None:
    desk = Desk()
    desk.ask(new_id="a")
    before = desk.group
    assert desk.ask(new_id="a") == Joined(Fault.MEMBER_ID_REQUIRED, "a")
    assert desk.group is before


def test_a_join_that_is_applied_twice_brings_one_member() -> None:
    desk = completing("b")
    share_out(desk)
    desk.enter("a")
    before = desk.group
    desk.enter("a")
    assert desk.group is before
    desk.rejoin("b")
    assert isinstance(desk.ask(new_id="a", must_know_id=False), Joined)
    assert list(desk.known.members) == ["b", "a"]
    assert desk.known.generation == 2
