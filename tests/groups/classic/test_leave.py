"""LeaveGroup."""

from dray.groups.asks import Leave, Leaver
from dray.groups.classic import Phase, leave
from dray.groups.faults import Fault
from dray.groups.outcome import Outcome, TimerKind
from dray.groups.replies import Joined
from tests.groups.classic.builders import LIMITS, completing, preparing, stable


def test_one_that_leaves_makes_the_group_rebalance() -> None:
    for desk in (stable("a", "b"), completing("a", "b")):
        assert desk.leave("a") == (Fault.NONE,)
        assert (desk.phase(), desk.known.leader) == (Phase.PREPARING, "b")
        assert list(desk.known.members) == ["b"]


def test_one_that_leaves_is_not_waited_for() -> None:
    desk = stable("a", "b")
    desk.rejoin("a")
    desk.leave("b")
    assert desk.last_joined("a").generation == 2


def test_several_leave_at_once_with_one_rebalance() -> None:
    desk = stable("a", "b", "c")
    turn = desk.known.turn
    assert desk.leave("a", "x", "b", "a") == (
        Fault.NONE,
        Fault.UNKNOWN_MEMBER_ID,
        Fault.NONE,
        Fault.UNKNOWN_MEMBER_ID,
    )
    assert list(desk.known.members) == ["c"]
    assert desk.known.turn == turn + 1


def test_an_admin_takes_out_instances() -> None:
    desk = preparing("a")
    desk.enter("b", instance_id="ib")
    assert desk.leave(Leaver("", "ib"), Leaver("", "other"), Leaver("")) == (
        Fault.NONE,
        Fault.UNKNOWN_MEMBER_ID,
        Fault.UNKNOWN_MEMBER_ID,
    )
    assert desk.last_joined("b") == Joined(Fault.UNKNOWN_MEMBER_ID, "")


def test_instances_are_those_they_say() -> None:
    desk = stable("a", instance_id="ia")
    before = desk.group
    assert desk.leave(Leaver("x", "ia"), Leaver("a", "other")) == (
        Fault.FENCED_INSTANCE_ID,
        Fault.UNKNOWN_MEMBER_ID,
    )
    assert desk.group is before
    assert desk.leave(Leaver("a", "ia")) == (Fault.NONE,)


def test_a_join_that_waits_is_told() -> None:
    desk = preparing("a", "b")
    desk.leave("a")
    assert desk.last_joined("a") == Joined(Fault.UNKNOWN_MEMBER_ID, "")
    assert desk.known.leader == "b"


def test_a_sync_that_waits_is_told() -> None:
    desk = completing("a", "b")
    desk.sync("b")
    desk.leave("b")
    assert desk.last_synced("b").fault is Fault.UNKNOWN_MEMBER_ID


def test_a_leave_does_not_end_the_initial_delay() -> None:
    desk = preparing("a", "b")
    desk.leave("b")
    assert desk.kinds() == {TimerKind.INITIAL_DELAY}
    desk.leave("a")
    assert desk.phase() is Phase.PREPARING
    desk.wait_out()
    assert (desk.phase(), desk.known.generation) == (Phase.EMPTY, 1)


def test_one_may_come_while_the_delay_of_those_who_left_goes_on() -> None:
    desk = preparing("a")
    desk.leave("a")
    assert desk.ask(new_id="b", protocol_type="connect", must_know_id=False) == Joined(
        Fault.INCONSISTENT_GROUP_PROTOCOL, ""
    )
    desk.enter("b", protocols=(("other", b""),))
    assert desk.known.leader == "b"


def test_one_that_was_only_given_an_id_may_leave() -> None:
    desk = stable("a")
    desk.ask(new_id="b")
    desk.rejoin("a")
    assert desk.leave("b") == (Fault.NONE,)
    assert desk.known.pending == {}
    assert desk.last_joined("a").generation == 2


def test_even_that_makes_a_stable_group_rebalance_as_in_kafka() -> None:
    desk = stable("a")
    desk.ask(new_id="b")
    desk.leave("b")
    assert desk.phase() is Phase.PREPARING


def test_but_not_an_empty_one() -> None:
    desk = stable("a")
    desk.leave("a")
    desk.ask(new_id="b")
    generation = desk.known.generation
    assert desk.leave("b") == (Fault.NONE,)
    assert (desk.phase(), desk.known.generation) == (Phase.EMPTY, generation)


def test_nobody_is_in_a_group_that_does_not_exist() -> None:
    ask = Leave((Leaver("a"), Leaver("", "i")))
    faults = (Fault.UNKNOWN_MEMBER_ID, Fault.UNKNOWN_MEMBER_ID)
    assert leave(None, ask, LIMITS, 0) == Outcome(None, faults)


def test_a_group_outlives_a_last_member_whose_successor_has_an_id() -> None:
    desk = stable("a")
    desk.ask(new_id="b")
    desk.leave("a")
    assert desk.timer(TimerKind.JOIN_PHASE).after_ms == 0
    reply = desk.ask("b")
    assert isinstance(reply, Joined)
    assert (reply.generation, reply.leader, len(reply.members)) == (2, "b", 1)
