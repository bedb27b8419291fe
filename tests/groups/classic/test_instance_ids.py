"""Members that hold an instance id: they come back under another member id, mostly without a rebalance."""

import pytest

from dray.groups.asks import Leaver
from dray.groups.classic import Phase
from dray.groups.faults import Fault
from dray.groups.outcome import Parked, TimerKind
from dray.groups.replies import Joined, Synced
from tests.groups.classic.builders import BOTH, Desk, preparing, share_out


def static_stable() -> Desk:
    """A leader `a` with instance `ia`, a follower `b` with instance `ib`; assigned."""
    desk = preparing("a", instance_id="ia")
    desk.enter("b", instance_id="ib")
    desk.wait_out()
    share_out(desk)
    return desk


def test_a_follower_that_comes_back_goes_on_with_its_assignment() -> None:
    desk = static_stable()
    reply = desk.ask(new_id="b2", instance_id="ib", broker=2)
    assert reply == Joined(Fault.NONE, "b2", 1, "consumer", "range", "a")
    assert desk.phase() is Phase.STABLE
    assert list(desk.known.members) == ["a", "b2"]
    member = desk.member("b2")
    assert (member.assignment, member.broker, member.joining, member.is_new) == (b"b", 2, False, False)
    assert desk.sync("b2", broker=2) == Synced(Fault.NONE, "consumer", "range", b"b")
    assert desk.beat("b", instance_id="ib") is Fault.FENCED_INSTANCE_ID


def test_a_leader_that_comes_back_is_told_not_to_assign() -> None:
    desk = static_stable()
    reply = desk.ask(new_id="a2", instance_id="ia")
    assert isinstance(reply, Joined)
    assert (reply.leader, reply.skip_assignment) == ("a2", True)
    assert [member.member_id for member in reply.members] == ["a2", "b"]
    assert desk.known.leader == "a2"
    assert desk.phase() is Phase.STABLE


def test_a_leader_that_cannot_be_told_so_is_told_that_another_leads() -> None:
    desk = static_stable()
    reply = desk.ask(new_id="a2", instance_id="ia", may_skip_assignment=False)
    assert reply == Joined(Fault.NONE, "a2", 1, "consumer", "range", "a")
    assert desk.known.leader == "a2"


@pytest.mark.parametrize(("may_skip", "leader", "members"), [(True, "a2", 2), (False, "", 0)])
def test_a_return_that_is_applied_twice_changes_nothing(may_skip: bool, leader: str, members: int) -> None:
    desk = static_stable()
    desk.ask(new_id="a2", instance_id="ia", may_skip_assignment=may_skip)
    before = desk.group
    reply = desk.ask(new_id="a2", instance_id="ia", may_skip_assignment=may_skip)
    assert isinstance(reply, Joined)
    assert (reply.fault, reply.member_id, reply.generation) == (Fault.NONE, "a2", 1)
    assert (reply.leader, reply.skip_assignment, len(reply.members)) == (leader, may_skip, members)
    assert desk.group is before


def test_a_return_that_changes_the_vote_makes_the_group_rebalance() -> None:
    desk = preparing("a", instance_id="ia", protocols=BOTH)
    desk.enter("b", protocols=BOTH)
    desk.enter("c", protocols=(("sticky", b"s"), ("range", b"r")))
    desk.wait_out()
    share_out(desk)
    assert desk.known.protocol == "range"
    reply = desk.ask(new_id="a2", instance_id="ia", protocols=(("sticky", b"s"), ("range", b"r")))
    assert reply == Parked("a2", "ia")
    assert desk.phase() is Phase.PREPARING
    desk.rejoin("b", protocols=BOTH)
    desk.rejoin("c", protocols=(("sticky", b"s"), ("range", b"r")))
    assert desk.last_joined("a2").protocol == "sticky"


def test_a_return_while_joins_are_collected_fences_the_one_that_waits() -> None:
    desk = preparing("a", instance_id="ia")
    assert desk.ask(new_id="a2", instance_id="ia") == Parked("a2", "ia")
    assert desk.last_joined("a") == Joined(Fault.FENCED_INSTANCE_ID, "a")
    assert list(desk.known.members) == ["a2"]
    desk.fire(TimerKind.INITIAL_DELAY)
    assert desk.last_joined("a2").leader == "a2"


def test_a_return_may_be_all_that_a_rebalance_waited_for() -> None:
    desk = static_stable()
    desk.rejoin("a", instance_id="ia")
    reply = desk.ask(new_id="b2", instance_id="ib")
    assert isinstance(reply, Joined)
    assert reply.generation == 2


def test_a_return_interrupts_an_assignment_and_fences_the_one_that_waits_for_it() -> None:
    desk = preparing("a", instance_id="ia")
    desk.enter("b", instance_id="ib")
    desk.wait_out()
    assert isinstance(desk.sync("b", instance_id="ib"), Parked)
    assert desk.ask(new_id="b2", instance_id="ib") == Parked("b2", "ib")
    assert desk.phase() is Phase.PREPARING
    assert desk.last_synced("b").fault is Fault.FENCED_INSTANCE_ID


def test_one_is_fenced_even_if_its_sync_did_not_name_the_instance() -> None:
    desk = preparing("a")
    desk.enter("b", instance_id="ib")
    desk.wait_out()
    assert isinstance(desk.sync("b"), Parked)
    desk.ask(new_id="b2", instance_id="ib")
    assert desk.last_synced("b").fault is Fault.FENCED_INSTANCE_ID


@pytest.mark.parametrize(
    ("member_id", "instance_id", "fault"),
    [
        ("a", "other", Fault.UNKNOWN_MEMBER_ID),
        ("a", "ib", Fault.FENCED_INSTANCE_ID),
        ("x", "ib", Fault.FENCED_INSTANCE_ID),
        ("x", None, Fault.UNKNOWN_MEMBER_ID),
        ("a", None, Fault.NONE),
        ("a", "ia", Fault.NONE),
    ],
)
def test_members_are_who_they_say(member_id: str, instance_id: str | None, fault: Fault) -> None:
    desk = static_stable()
    assert desk.beat(member_id, instance_id=instance_id) is fault
    reply = desk.sync(member_id, instance_id=instance_id)
    assert not isinstance(reply, Parked)
    assert reply.fault is fault
    joined = desk.ask(member_id, instance_id=instance_id)
    assert joined == Joined(fault, member_id) if fault is not Fault.NONE else isinstance(joined, Parked)


def test_one_that_does_not_join_again_is_kept_until_its_session_ends() -> None:
    desk = static_stable()
    desk.enter("c")
    desk.fire(TimerKind.JOIN_PHASE)
    assert list(desk.known.members) == ["a", "b", "c"]
    assert desk.known.leader == "c"
    assert desk.known.generation == 2
    desk.fire(TimerKind.SESSION, "a")
    assert list(desk.known.members) == ["b", "c"]
    assert desk.phase() is Phase.PREPARING


def test_if_none_but_such_are_left_the_waiting_starts_anew() -> None:
    desk = static_stable()
    desk.enter("c")
    desk.leave("c")
    assert desk.phase() is Phase.PREPARING
    first = desk.timer(TimerKind.JOIN_PHASE)
    desk.fire(TimerKind.JOIN_PHASE)
    assert (desk.phase(), desk.known.generation) == (Phase.PREPARING, 1)
    assert desk.timer(TimerKind.JOIN_PHASE).timer != first.timer
    desk.fire(TimerKind.SESSION, "a")
    desk.fire(TimerKind.SESSION, "b")
    assert (desk.phase(), desk.known.generation) == (Phase.EMPTY, 2)


def test_an_instance_that_left_can_come_again_as_new() -> None:
    desk = static_stable()
    assert desk.leave(Leaver("", "ib")) == (Fault.NONE,)
    desk.ask(new_id="b2", instance_id="ib")
    assert desk.member("b2").is_new
