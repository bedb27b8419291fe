"""Groups under any sequence of asks, timers, lost brokers and asks that are applied twice."""

from collections.abc import Callable
from dataclasses import replace as changed
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dray.groups.asks import Beat, Join, Leave, Leaver
from dray.groups.classic import (
    ClassicGroup,
    Phase,
    adopt,
    beat,
    commit_fault,
    commits,
    fire,
    join,
    leave,
    sync,
    timers,
)
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Outcome, Parked, Timer, TimerKind
from dray.groups.replies import Joined
from tests.groups.classic.builders import a_committer, a_join, a_sync
from tests.groups.classic.invariants import check_answer, check_group, is_awaited

R = TypeVar("R")
BROKERS = st.integers(1, 3)
PROTOCOLS = st.sampled_from(
    [
        (("range", b"1"),),
        (("range", b"1"), ("sticky", b"2")),
        (("sticky", b"2"), ("range", b"1")),
        (("sticky", b"3"), ("other", b"")),
    ]
)
NEWCOMERS = st.fixed_dictionaries(
    {
        "instance_id": st.sampled_from([None, None, "i1", "i2"]),
        "protocols": PROTOCOLS,
        "broker": BROKERS,
        "rebalance_timeout_ms": st.sampled_from([2_000, 10_000, 60_000]),
        "must_know_id": st.booleans(),
        "may_skip_assignment": st.booleans(),
    }
)


class Groups(RuleBasedStateMachine):
    """One group, and the model of it: who ever waited, what the leader gave, which timers there ever were.

    Nobody who waits is taken off the list when answered: a broker may see any number of changes as one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.limits = GroupLimits()
        self.group: ClassicGroup | None = None
        self.seen: list[str] = ["nobody"]
        self.waiting: list[Parked] = []
        self.given: dict[str, bytes] = {}
        self.stale: set[Timer] = set()
        self.generation = self.turn = self.now_ms = 0
        self.turned_away_in = -1

    @initialize(
        max_size=st.sampled_from([100, 100, 3, 1]),
        delay_ms=st.sampled_from([3_000, 0]),
        crowd=st.lists(NEWCOMERS, max_size=4),
    )
    def begin(self, max_size: int, delay_ms: int, crowd: list[dict[str, Any]]) -> None:
        self.limits = GroupLimits(max_size=max_size, initial_rebalance_delay_ms=delay_ms)
        for said in crowd:
            self.join_as_new(said | {"must_know_id": False})

    @rule(said=NEWCOMERS)
    def join_as_new(self, said: dict[str, Any]) -> None:
        ask = a_join(new_id=f"m{len(self.seen)}", **said)
        self.seen.append(ask.new_id)
        self.join(ask)

    @rule(data=st.data(), protocols=PROTOCOLS, broker=BROKERS, as_before=st.booleans())
    def join_as_member(self, data: st.DataObject, protocols: Any, broker: int, as_before: bool) -> None:
        member_id, instance_id = self.somebody(data)
        member = None if self.group is None else self.group.members.get(member_id)
        if member is not None and as_before:
            protocols = member.protocols
        self.join(a_join(member_id, instance_id=instance_id, protocols=protocols, broker=broker))

    @rule(data=st.data(), broker=BROKERS, late=st.sampled_from([0, 0, 0, 1]))
    def sync_as_member(self, data: st.DataObject, broker: int, late: int) -> None:
        member_id, instance_id = self.somebody(data)
        self.sync(member_id, self.generation - late, instance_id=instance_id, broker=broker)

    @precondition(lambda self: self.group is not None and self.group.members)
    @rule(led=st.booleans(), followed=st.booleans())
    def all_goes_well(self, led: bool, followed: bool) -> None:
        """Those who are awaited join, as they are, and perhaps sync."""
        assert self.group is not None
        for member in tuple(self.group.members.values()):
            self.join(a_join(member.member_id, instance_id=member.instance_id, protocols=member.protocols))
        while (timer := self.join_timer()) is not None:
            self.store(fire(self.group, timer, self.limits, self.now_ms))
        for member_id in self.group.members:
            if led if member_id == self.group.leader else followed:
                self.sync(member_id, self.generation)

    @rule(data=st.data(), broker=BROKERS)
    def beat(self, data: st.DataObject, broker: int) -> None:
        member_id, instance_id = self.somebody(data)
        outcome = self.twice(lambda group: beat(group, Beat(member_id, instance_id, self.generation, broker)))
        self.store(outcome.group)

    @rule(data=st.data(), broker=BROKERS)
    def commit(self, data: st.DataObject, broker: int) -> None:
        member_id, instance_id = self.somebody(data)
        committer = a_committer(member_id, self.generation, instance_id=instance_id, broker=broker)
        fault = commit_fault(self.group, committer)
        if self.group is not None:
            after = commits(self.group, committer)
            assert after is self.group or fault is Fault.NONE
            self.store(after)

    @rule(data=st.data(), by_instance=st.booleans())
    def leave(self, data: st.DataObject, by_instance: bool) -> None:
        member_id, instance_id = self.somebody(data)
        leaver = Leaver("" if by_instance else member_id, instance_id)
        outcome = leave(self.group, Leave((leaver, leaver)), self.limits, self.now_ms)
        assert outcome.reply[1] is not Fault.NONE
        assert outcome.group is self.group or outcome.reply[0] is Fault.NONE
        self.store(outcome.group)

    @precondition(lambda self: self.group is not None)
    @rule(data=st.data())
    def time_passes(self, data: st.DataObject) -> None:
        assert self.group is not None
        asked = [one.timer for one in timers(self.group, self.limits)]
        if asked:
            timer = data.draw(st.sampled_from(asked))
            after = fire(self.group, timer, self.limits, self.now_ms)
            assert after is not self.group, "a timer that is asked for has an effect"
            assert timer not in {one.timer for one in timers(after, self.limits)}, (
                "and would have it for ever"
            )
            self.store(after)

    @precondition(lambda self: self.group is not None)
    @rule(alive=st.sets(BROKERS, min_size=1))
    def brokers_die(self, alive: set[int]) -> None:
        assert self.group is not None
        adopted = adopt(self.group, alive, min(alive))
        assert all(member.broker in alive for member in adopted.members.values())
        assert adopt(adopted, alive, min(alive)) is adopted
        self.store(adopted)

    @invariant()
    def holds(self) -> None:
        for parked in self.waiting:
            check_answer(self.group, parked)
        if self.group is None:
            return
        check_group(self.group, self.limits)
        if self.group.phase is Phase.PREPARING and self.group.turn != self.turned_away_in:
            assert is_awaited(self.group)
        if self.group.phase is Phase.STABLE:
            assert {key: member.assignment for key, member in self.group.members.items()} == self.given
        asked = {one.timer for one in timers(self.group, self.limits)}
        for timer in self.stale - asked:
            assert fire(self.group, timer, self.limits, self.now_ms) is self.group
        self.stale |= asked

    def teardown(self) -> None:
        """If nobody calls any more, everybody is answered, and the group ends up empty."""
        rounds = 0
        while self.group is not None and (asked := list(timers(self.group, self.limits))):
            for one in asked:
                self.store(fire(self.group, one.timer, self.limits, self.now_ms))
            rounds += 1
            assert rounds < 50
        assert all(check_answer(self.group, parked) for parked in self.waiting)
        assert self.group is None or self.group.phase is Phase.EMPTY

    def join(self, ask: Join) -> None:
        stable = self.group is not None and self.group.phase is Phase.STABLE
        old = None if self.group is None else self.holder(ask.instance_id)
        outcome = self.twice(lambda group: join(group, ask, self.limits, self.now_ms))
        self.store(outcome.group, outcome.reply)
        if isinstance(outcome.reply, Joined) and outcome.reply.fault is Fault.GROUP_MAX_SIZE_REACHED:
            self.turned_away_in = self.turn
        taken_over = (
            stable and old is not None and self.group is not None and ask.new_id in self.group.members
        )
        if taken_over and old in self.given:
            self.given[ask.new_id] = self.given.pop(old)

    def sync(self, member_id: str, generation: int, **changes: Any) -> None:
        assignments = tuple((key, f"{key}@{self.now_ms}".encode()) for key in self.seen[::2])
        protocol = None if self.group is None else self.group.protocol
        ask = a_sync(
            member_id, generation, names_protocol=False, protocol=protocol, assignments=assignments, **changes
        )
        before = None if self.group is None else self.group.phase
        outcome = self.twice(lambda group: sync(group, ask, self.limits, self.now_ms))
        self.store(outcome.group, outcome.reply)
        if self.group is not None and before is Phase.COMPLETING and self.group.phase is Phase.STABLE:
            self.given = {key: dict(assignments).get(key, b"") for key in self.group.members}

    def join_timer(self) -> Timer | None:
        assert self.group is not None
        kinds = (TimerKind.INITIAL_DELAY, TimerKind.JOIN_PHASE)
        asked = (one.timer for one in timers(self.group, self.limits) if one.timer.kind in kinds)
        return next(asked, None)

    def twice(
        self, apply: Callable[[ClassicGroup | None], Outcome[ClassicGroup | None, R]]
    ) -> Outcome[Any, R]:
        """Apply an ask, and apply it again as if nobody knew what had become of it."""
        outcome = apply(self.group)
        again = apply(outcome.group)
        assert again.group is outcome.group
        assert _nameless(again.reply) == _nameless(outcome.reply)
        return outcome

    def store(self, group: ClassicGroup | None, reply: object = None) -> None:
        self.now_ms += 1
        if isinstance(reply, Parked):
            self.waiting.append(reply)
        assert group is not None or self.group is None
        if group is not None:
            assert group.generation >= self.generation
            assert group.turn >= self.turn
            self.generation, self.turn = group.generation, group.turn
        self.group = group

    def somebody(self, data: st.DataObject) -> tuple[str, str | None]:
        """Anybody who was ever seen, mostly with the instance id it has."""
        here = [] if self.group is None else [*self.group.members, *self.group.pending]
        member_id = data.draw(st.sampled_from(here or self.seen) | st.sampled_from(self.seen))
        member = None if self.group is None else self.group.members.get(member_id)
        own = None if member is None else member.instance_id
        return member_id, data.draw(st.sampled_from([own, own, own, None, "i1"]))

    def holder(self, instance_id: str | None) -> str | None:
        assert self.group is not None
        members = self.group.members.values()
        return next(
            (member.member_id for member in members if instance_id and member.instance_id == instance_id),
            None,
        )


def _nameless(reply: object) -> object:
    """Without the leader: who led before one that came back is not known when its join is applied again."""
    return changed(reply, leader="") if isinstance(reply, Joined) and not reply.members else reply


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
