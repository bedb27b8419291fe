"""From one generation to the next: the initial delay, who is kept, who leads, which protocol."""

import pytest

from dray.groups.classic import Phase, fire
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Parked, TimerKind
from dray.groups.replies import Joined
from tests.groups.classic.builders import BOTH, Desk, completing, preparing, share_out, stable

STICKY_FIRST = (("sticky", b"s"), ("range", b"r"))


def test_a_new_group_waits_for_more_members() -> None:
    desk = preparing("a")
    asked = desk.timer(TimerKind.INITIAL_DELAY)
    assert (asked.after_ms, asked.broker) == (3_000, None)
    assert desk.kinds() == {TimerKind.INITIAL_DELAY}
    desk.fire(TimerKind.INITIAL_DELAY)
    assert (desk.phase(), desk.known.generation) == (Phase.COMPLETING, 1)


def test_each_who_comes_meanwhile_puts_it_off_as_long_as_the_rebalance_timeout_allows() -> None:
    desk = preparing("a", rebalance_timeout_ms=10_000)
    delays = [desk.timer(TimerKind.INITIAL_DELAY)]
    for name in ("b", "c", "d"):
        desk.enter(name)
        desk.fire(TimerKind.INITIAL_DELAY)
        delays.append(desk.timer(TimerKind.INITIAL_DELAY))
    assert [asked.after_ms for asked in delays] == [3_000, 3_000, 3_000, 1_000]
    assert len({asked.timer for asked in delays}) == 4
    desk.enter("e")
    desk.fire(TimerKind.INITIAL_DELAY)
    assert desk.phase() is Phase.COMPLETING


def test_it_is_not_put_off_if_nobody_came() -> None:
    desk = preparing("a", "b")
    desk.fire(TimerKind.INITIAL_DELAY)
    assert desk.phase() is Phase.PREPARING
    desk.fire(TimerKind.INITIAL_DELAY)
    assert desk.phase() is Phase.COMPLETING


def test_an_old_member_that_joins_again_does_not_put_it_off() -> None:
    desk = preparing("a")
    desk.rejoin("a")
    desk.fire(TimerKind.INITIAL_DELAY)
    assert desk.phase() is Phase.COMPLETING


def test_it_is_not_put_off_if_the_rebalance_timeout_is_shorter() -> None:
    desk = preparing("a", "b", rebalance_timeout_ms=1_000)
    desk.fire(TimerKind.INITIAL_DELAY)
    assert desk.phase() is Phase.COMPLETING


def test_without_a_delay_the_timer_fires_at_once() -> None:
    desk = Desk(limits=GroupLimits(initial_rebalance_delay_ms=0))
    desk.enter("a")
    assert desk.timer(TimerKind.INITIAL_DELAY).after_ms == 0


def test_a_group_that_became_empty_waits_again() -> None:
    desk = stable("a")
    desk.leave("a")
    desk.enter("b")
    assert desk.kinds() == {TimerKind.INITIAL_DELAY}


def test_only_an_empty_group_waits() -> None:
    desk = stable("a")
    desk.enter("b")
    assert desk.kinds() == {TimerKind.JOIN_PHASE}


def test_joins_are_collected_for_the_longest_rebalance_timeout() -> None:
    desk = preparing("a", rebalance_timeout_ms=5_000)
    desk.enter("b", rebalance_timeout_ms=90_000)
    desk.wait_out()
    share_out(desk)
    desk.rejoin("a", rebalance_timeout_ms=5_000)
    asked = desk.timer(TimerKind.JOIN_PHASE)
    assert (asked.after_ms, asked.broker) == (90_000, None)


def test_one_that_did_not_join_in_time_is_dropped() -> None:
    desk = stable("a", "b", "c")
    desk.rejoin("a", "b")
    desk.fire(TimerKind.JOIN_PHASE)
    assert list(desk.known.members) == ["a", "b"]
    assert desk.last_joined("a").generation == 2
    assert desk.beat("c") is Fault.UNKNOWN_MEMBER_ID


def test_another_leads_if_the_leader_did_not_join_in_time() -> None:
    desk = stable("a", "b", "c")
    desk.rejoin("c", protocols=BOTH)
    desk.fire(TimerKind.JOIN_PHASE)
    assert desk.last_joined("c").leader == "c"
    assert len(desk.last_joined("c").members) == 1


def test_the_leader_goes_on_leading() -> None:
    desk = stable("a", "b")
    desk.enter("c")
    desk.rejoin("b", "a")
    assert [desk.last_joined(name).leader for name in "abc"] == ["a", "a", "a"]


def test_pending_ids_are_not_waited_for_for_ever() -> None:
    desk = stable("a")
    desk.ask(new_id="b")
    desk.rejoin("a")
    desk.fire(TimerKind.JOIN_PHASE)
    assert desk.phase() is Phase.COMPLETING
    assert desk.known.pending == {"b": 10_000}
    desk.rejoin("b")
    assert desk.phase() is Phase.PREPARING


def test_the_last_one_to_go_empties_the_group() -> None:
    desk = stable("a")
    desk.now_ms = 9_000
    desk.leave("a")
    group = desk.known
    assert (group.phase, group.generation, group.changed_at_ms) == (Phase.EMPTY, 2, 9_000)
    assert (group.protocol_type, group.protocol, group.leader) == ("consumer", None, None)
    assert desk.asked() == []


def test_generations_go_on_after_an_empty_phase() -> None:
    desk = stable("a")
    desk.leave("a")
    desk.enter("b")
    desk.fire(TimerKind.INITIAL_DELAY)
    assert desk.last_joined("b").generation == 3


@pytest.mark.parametrize(
    ("lists", "chosen"),
    [
        ([BOTH, BOTH], "range"),
        ([BOTH, STICKY_FIRST, STICKY_FIRST], "sticky"),
        ([STICKY_FIRST, BOTH, BOTH], "range"),
        ([STICKY_FIRST, (("range", b""),)], "range"),
        ([(("x", b""), *STICKY_FIRST), (("y", b""), *BOTH), BOTH], "range"),
        ([STICKY_FIRST, BOTH], "sticky"),
    ],
    ids=[
        "one mind",
        "most votes",
        "not the first's wish",
        "known to all",
        "votes only for those",
        "first of equals",
    ],
)
def test_the_protocol_is_chosen_by_vote(lists: list[tuple[tuple[str, bytes], ...]], chosen: str) -> None:
    desk = Desk()
    for name, protocols in zip("abc", lists, strict=False):
        desk.enter(name, protocols=protocols)
    desk.wait_out()
    assert desk.last_joined("a").protocol == chosen


def test_assignments_are_shown_until_a_rebalance_is_interrupted() -> None:
    desk = stable("a", "b")
    desk.enter("c")
    desk.rejoin("a", "b")
    assert (desk.phase(), desk.member("b").assignment) == (Phase.COMPLETING, b"b")
    desk.rejoin("b", protocols=BOTH)
    assert desk.member("b").assignment == b""


class TestMaximumSize:
    """As in Kafka, members that are awaited may be pushed out by others that are quicker."""

    def full(self) -> Desk:
        desk = stable("a", "b")
        desk.limits = GroupLimits(max_size=2)
        return desk

    def test_a_stable_group_that_is_full_lets_nobody_in(self) -> None:
        desk = self.full()
        before = desk.group
        assert desk.ask(new_id="c") == Joined(Fault.GROUP_MAX_SIZE_REACHED, "")
        assert desk.group is before

    def test_members_may_join_again(self) -> None:
        desk = self.full()
        desk.rejoin("a", "b")
        assert desk.last_joined("a").fault is Fault.NONE
        assert desk.phase() is Phase.COMPLETING

    def test_while_joins_are_collected_those_who_have_joined_count(self) -> None:
        desk = self.full()
        desk.rejoin("a")
        desk.enter("c")
        assert desk.ask("b") == Joined(Fault.GROUP_MAX_SIZE_REACHED, "")
        assert list(desk.known.members) == ["a", "c"]

    def test_a_rebalance_does_not_notice_that_it_waited_for_nobody_else(self) -> None:
        desk = self.full()
        desk.rejoin("a")
        desk.enter("c")
        desk.ask("b")
        assert desk.phase() is Phase.PREPARING
        desk.fire(TimerKind.JOIN_PHASE)
        assert desk.last_joined("c").generation == 2

    def test_an_id_that_comes_back_too_late_is_forgotten(self) -> None:
        desk = stable("a")
        desk.limits = GroupLimits(max_size=2)
        desk.ask(new_id="b")
        desk.ask(new_id="c")
        desk.rejoin("b", "a")
        assert desk.phase() is Phase.PREPARING
        assert desk.ask("c") == Joined(Fault.GROUP_MAX_SIZE_REACHED, "")
        assert desk.known.pending == {}

    def test_one_that_waits_already_may_ask_again(self) -> None:
        desk = self.full()
        desk.rejoin("a")
        desk.limits = GroupLimits(max_size=1)
        before = desk.group
        assert desk.ask("a") == Parked("a", None)
        assert desk.group is before

    def test_a_join_that_is_applied_twice_is_not_one_too_many(self) -> None:
        desk = stable("a")
        desk.limits = GroupLimits(max_size=2)
        desk.enter("b")
        desk.rejoin("a")
        reply = desk.ask(new_id="b", must_know_id=False)
        assert isinstance(reply, Joined)
        assert reply.fault is Fault.NONE

    def test_an_empty_group_always_gives_ids(self) -> None:
        desk = Desk(limits=GroupLimits(max_size=1))
        for name in ("a", "b"):
            reply = desk.ask(new_id=name)
            assert isinstance(reply, Joined)
            assert reply.fault is Fault.MEMBER_ID_REQUIRED
        desk.rejoin("a")
        assert desk.ask("b") == Joined(Fault.GROUP_MAX_SIZE_REACHED, "")


def test_a_stale_phase_timer_changes_nothing() -> None:
    desk = completing("a", "b")
    stale = [desk.timer(TimerKind.SYNC_PHASE).timer]
    desk.rejoin("a", protocols=BOTH)
    stale.append(desk.timer(TimerKind.JOIN_PHASE).timer)
    desk.rejoin("b")
    assert desk.phase() is Phase.COMPLETING
    for timer in stale:
        assert fire(desk.known, timer, desk.limits, 0) is desk.group
    desk.rejoin("a")
    desk.rejoin("b", protocols=BOTH)
    for timer in stale:
        assert fire(desk.known, timer, desk.limits, 0) is desk.group
