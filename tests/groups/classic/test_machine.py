"""Property test of classic groups: any sequence of commands, timers and broker deaths."""

from collections.abc import Callable
from dataclasses import replace as changed
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dray.groups.classic import (
    ClassicGroup,
    Phase,
    after_commit,
    commit_error,
    fire,
    heartbeat,
    join,
    leave,
    sync,
    take_over_members,
    timers,
)
from dray.groups.commands import Heartbeat, Join, Leave, LeavingMember
from dray.groups.limits import GroupLimits
from dray.groups.results import JoinResult, Outcome, PendingReply
from dray.groups.timers import Timer, TimerKind
from dray.groups.types import GroupError
from tests.groups.builders import a_committer, a_join, a_sync
from tests.groups.classic.invariants import check_group, check_reply, is_awaited

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
NEW_MEMBERS = st.fixed_dictionaries(
    {
        "instance_id": st.sampled_from([None, None, "i1", "i2"]),
        "protocols": PROTOCOLS,
        "broker": BROKERS,
        "rebalance_timeout_ms": st.sampled_from([2_000, 10_000, 60_000]),
        "require_known_member_id": st.booleans(),
        "supports_skipping_assignment": st.booleans(),
    }
)


class Groups(RuleBasedStateMachine):
    """One group and its model: every pending reply, the leader's assignments, every timer there ever was.

    Pending replies stay on the list when completed, since a broker may see any number of changes as one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.limits = GroupLimits()
        self.group: ClassicGroup | None = None
        self.seen: list[str] = ["unknown"]
        self.pending: list[PendingReply] = []
        self.assigned: dict[str, bytes] = {}
        self.stale: set[Timer] = set()
        self.generation = self.phase_epoch = self.now_ms = 0
        self.rejected_in = -1

    @initialize(
        max_size=st.sampled_from([100, 100, 3, 1]),
        delay_ms=st.sampled_from([3_000, 0]),
        first_members=st.lists(NEW_MEMBERS, max_size=4),
    )
    def begin(self, max_size: int, delay_ms: int, first_members: list[dict[str, Any]]) -> None:
        self.limits = GroupLimits(group_max_size=max_size, initial_rebalance_delay_ms=delay_ms)
        for fields in first_members:
            self.join_as_new(fields | {"require_known_member_id": False})

    @rule(fields=NEW_MEMBERS)
    def join_as_new(self, fields: dict[str, Any]) -> None:
        command = a_join(new_member_id=f"m{len(self.seen)}", **fields)
        self.seen.append(command.new_member_id)
        self.join(command)

    @rule(data=st.data(), protocols=PROTOCOLS, broker=BROKERS, as_before=st.booleans())
    def join_as_member(self, data: st.DataObject, protocols: Any, broker: int, as_before: bool) -> None:
        member_id, instance_id = self.any_member(data)
        member = None if self.group is None else self.group.members.get(member_id)
        if member is not None and as_before:
            protocols = member.protocols
        self.join(a_join(member_id, instance_id=instance_id, protocols=protocols, broker=broker))

    @rule(data=st.data(), broker=BROKERS, late=st.sampled_from([0, 0, 0, 1]))
    def sync_as_member(self, data: st.DataObject, broker: int, late: int) -> None:
        member_id, instance_id = self.any_member(data)
        self.sync(member_id, self.generation - late, instance_id=instance_id, broker=broker)

    @precondition(lambda self: self.group is not None and self.group.members)
    @rule(leader_syncs=st.booleans(), followers_sync=st.booleans())
    def all_join_and_sync(self, leader_syncs: bool, followers_sync: bool) -> None:
        """All members join unchanged, and perhaps sync."""
        assert self.group is not None
        for member in tuple(self.group.members.values()):
            self.join(a_join(member.member_id, instance_id=member.instance_id, protocols=member.protocols))
        while (timer := self.join_timer()) is not None:
            self.store(fire(self.group, timer, self.limits, self.now_ms))
        for member_id in self.group.members:
            if leader_syncs if member_id == self.group.leader else followers_sync:
                self.sync(member_id, self.generation)

    @rule(data=st.data(), broker=BROKERS)
    def heartbeat(self, data: st.DataObject, broker: int) -> None:
        member_id, instance_id = self.any_member(data)
        outcome = self.twice(
            lambda group: heartbeat(group, Heartbeat(member_id, instance_id, self.generation, broker))
        )
        self.store(outcome.group)

    @rule(data=st.data(), broker=BROKERS)
    def commit(self, data: st.DataObject, broker: int) -> None:
        member_id, instance_id = self.any_member(data)
        committer = a_committer(member_id, self.generation, instance_id=instance_id, broker=broker)
        error = commit_error(self.group, committer)
        if self.group is not None:
            after = after_commit(self.group, committer)
            assert after is self.group or error is GroupError.NONE
            self.store(after)

    @rule(data=st.data(), by_instance=st.booleans())
    def leave(self, data: st.DataObject, by_instance: bool) -> None:
        member_id, instance_id = self.any_member(data)
        leaving = LeavingMember("" if by_instance else member_id, instance_id)
        outcome = leave(self.group, Leave((leaving, leaving)), self.limits, self.now_ms)
        assert outcome.reply[1] is not GroupError.NONE
        assert outcome.group is self.group or outcome.reply[0] is GroupError.NONE
        self.store(outcome.group)

    @precondition(lambda self: self.group is not None)
    @rule(data=st.data())
    def time_passes(self, data: st.DataObject) -> None:
        assert self.group is not None
        specs = [one.timer for one in timers(self.group, self.limits)]
        if specs:
            timer = data.draw(st.sampled_from(specs))
            after = fire(self.group, timer, self.limits, self.now_ms)
            assert after is not self.group, "a timer that the group asks for must have an effect"
            assert timer not in {one.timer for one in timers(after, self.limits)}, (
                "a timer that fired must not be asked for again"
            )
            self.store(after)

    @precondition(lambda self: self.group is not None)
    @rule(alive=st.sets(BROKERS, min_size=1))
    def brokers_die(self, alive: set[int]) -> None:
        assert self.group is not None
        taken_over_group = take_over_members(self.group, alive, min(alive))
        assert all(member.broker in alive for member in taken_over_group.members.values())
        assert take_over_members(taken_over_group, alive, min(alive)) is taken_over_group
        self.store(taken_over_group)

    @invariant()
    def holds(self) -> None:
        for pending in self.pending:
            check_reply(self.group, pending)
        if self.group is None:
            return
        check_group(self.group, self.limits)
        if self.group.phase is Phase.PREPARING and self.group.phase_epoch != self.rejected_in:
            assert is_awaited(self.group)
        if self.group.phase is Phase.STABLE:
            assert {key: member.assignment for key, member in self.group.members.items()} == self.assigned
        specs = {one.timer for one in timers(self.group, self.limits)}
        for timer in self.stale - specs:
            assert fire(self.group, timer, self.limits, self.now_ms) is self.group
        self.stale |= specs

    def teardown(self) -> None:
        """Without further requests, every reply is completed and the group becomes empty."""
        rounds = 0
        while self.group is not None and (specs := list(timers(self.group, self.limits))):
            for one in specs:
                self.store(fire(self.group, one.timer, self.limits, self.now_ms))
            rounds += 1
            assert rounds < 50
        assert all(check_reply(self.group, pending) for pending in self.pending)
        assert self.group is None or self.group.phase is Phase.EMPTY

    def join(self, command: Join) -> None:
        stable = self.group is not None and self.group.phase is Phase.STABLE
        old = None if self.group is None else self.holder(command.instance_id)
        outcome = self.twice(lambda group: join(group, command, self.limits, self.now_ms))
        self.store(outcome.group, outcome.reply)
        if isinstance(outcome.reply, JoinResult) and outcome.reply.error is GroupError.GROUP_MAX_SIZE_REACHED:
            self.rejected_in = self.phase_epoch
        taken_over = (
            stable
            and old is not None
            and self.group is not None
            and command.new_member_id in self.group.members
        )
        if taken_over and old in self.assigned:
            self.assigned[command.new_member_id] = self.assigned.pop(old)

    def sync(self, member_id: str, generation: int, **changes: Any) -> None:
        assignments = tuple((key, f"{key}@{self.now_ms}".encode()) for key in self.seen[::2])
        protocol = None if self.group is None else self.group.protocol
        command = a_sync(
            member_id,
            generation,
            require_protocol=False,
            protocol=protocol,
            assignments=assignments,
            **changes,
        )
        before = None if self.group is None else self.group.phase
        outcome = self.twice(lambda group: sync(group, command, self.limits, self.now_ms))
        self.store(outcome.group, outcome.reply)
        if self.group is not None and before is Phase.COMPLETING and self.group.phase is Phase.STABLE:
            self.assigned = {key: dict(assignments).get(key, b"") for key in self.group.members}

    def join_timer(self) -> Timer | None:
        assert self.group is not None
        kinds = (TimerKind.INITIAL_DELAY, TimerKind.JOIN_PHASE)
        specs = (one.timer for one in timers(self.group, self.limits) if one.timer.kind in kinds)
        return next(specs, None)

    def twice(
        self, apply: Callable[[ClassicGroup | None], Outcome[ClassicGroup | None, R]]
    ) -> Outcome[Any, R]:
        """Apply a command twice, as after an unknown outcome."""
        outcome = apply(self.group)
        again = apply(outcome.group)
        assert again.group is outcome.group
        assert _without_leader(again.reply) == _without_leader(outcome.reply)
        return outcome

    def store(self, group: ClassicGroup | None, reply: object = None) -> None:
        self.now_ms += 1
        if isinstance(reply, PendingReply):
            self.pending.append(reply)
        assert group is not None or self.group is None
        if group is not None:
            assert group.generation >= self.generation
            assert group.phase_epoch >= self.phase_epoch
            self.generation, self.phase_epoch = group.generation, group.phase_epoch
        self.group = group

    def any_member(self, data: st.DataObject) -> tuple[str, str | None]:
        """Any member that was ever seen, usually with its own instance id."""
        here = [] if self.group is None else [*self.group.members, *self.group.pending_members]
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


def _without_leader(reply: object) -> object:
    """Without the leader: when a replacement is applied again, the old leader is no longer known."""
    return changed(reply, leader="") if isinstance(reply, JoinResult) and not reply.members else reply


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
