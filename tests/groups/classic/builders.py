"""Builders of commands, and a harness that hosts one classic group with its pending replies."""

from dataclasses import dataclass, field
from typing import Any

from dray.groups.classic import (
    ClassicGroup,
    Member,
    Phase,
    fire,
    heartbeat,
    join,
    leave,
    sync,
    timers,
    try_complete,
)
from dray.groups.commands import Heartbeat, Leave, LeavingMember
from dray.groups.limits import GroupLimits
from dray.groups.results import JoinResult, PendingReply, SyncResult
from dray.groups.timers import TimerKind, TimerSpec
from dray.groups.types import GroupError
from tests.groups.builders import a_join, a_sync

LIMITS = GroupLimits()
BOTH = (("range", b"r"), ("sticky", b"s"))


@dataclass
class GroupHarness:
    """Hosts one group: applies and stores every command, and completes pending replies after each change."""

    limits: GroupLimits = LIMITS
    now_ms: int = 1_000
    group: ClassicGroup | None = None
    replies: dict[str, list[JoinResult | SyncResult]] = field(default_factory=dict)
    """Replies to pending joins and syncs, by member id."""
    pending: list[PendingReply] = field(default_factory=list)

    @property
    def known(self) -> ClassicGroup:
        assert self.group is not None
        return self.group

    def phase(self) -> Phase:
        return self.known.phase

    def member(self, member_id: str) -> Member:
        return self.known.members[member_id]

    def join(self, member_id: str = "", **changes: Any) -> JoinResult | PendingReply:
        """Send a join."""
        outcome = join(self.group, a_join(member_id, **changes), self.limits, self.now_ms)
        self._store(outcome.group, outcome.reply)
        return outcome.reply

    def enter(self, *names: str, **changes: Any) -> None:
        """Join new members, with a version that does not require a known member id."""
        for name in names:
            self.join(new_member_id=name, require_known_member_id=False, **changes)

    def rejoin(self, *names: str, **changes: Any) -> None:
        for name in names:
            self.join(name, **changes)

    def sync(self, member_id: str, **changes: Any) -> SyncResult | PendingReply:
        changes = {"generation": self.known.generation} | changes
        outcome = sync(self.group, a_sync(member_id, **changes), self.limits, self.now_ms)
        self._store(outcome.group, outcome.reply)
        return outcome.reply

    def heartbeat(self, member_id: str, **changes: Any) -> GroupError:
        fields: dict[str, Any] = {"instance_id": None, "generation": self.known.generation, "broker": 1}
        outcome = heartbeat(self.group, Heartbeat(member_id, **fields | changes))
        self._store(outcome.group)
        return outcome.reply

    def leave(self, *leavers: LeavingMember | str) -> tuple[GroupError, ...]:
        named = tuple(LeavingMember(one) if isinstance(one, str) else one for one in leavers)
        outcome = leave(self.group, Leave(named), self.limits, self.now_ms)
        self._store(outcome.group)
        return outcome.reply

    def timer_specs(self) -> list[TimerSpec]:
        return list(timers(self.known, self.limits))

    def timer(self, kind: TimerKind, member_id: str = "") -> TimerSpec:
        return next(
            spec
            for spec in self.timer_specs()
            if spec.timer.kind is kind and spec.timer.member_id == member_id
        )

    def kinds(self, member_id: str = "") -> set[TimerKind]:
        return {spec.timer.kind for spec in self.timer_specs() if spec.timer.member_id == member_id}

    def fire(self, kind: TimerKind, member_id: str = "") -> None:
        spec = self.timer(kind, member_id)
        self._store(fire(self.known, spec.timer, self.limits, self.now_ms))

    def pass_initial_delay(self) -> None:
        """Let the initial delay pass, with all its extensions."""
        while self.known.initial_delay is not None:
            self.fire(TimerKind.INITIAL_DELAY)

    def _store(self, group: ClassicGroup | None, reply: object = None) -> None:
        self.group = group
        if isinstance(reply, PendingReply):
            self.pending.append(reply)
        for pending in tuple(self.pending):
            reply = try_complete(group, pending)
            if reply is not None:
                self.pending.remove(pending)
                self.replies.setdefault(pending.member_id, []).append(reply)

    def last_joined(self, member_id: str) -> JoinResult:
        reply = self.replies[member_id][-1]
        assert isinstance(reply, JoinResult)
        return reply

    def last_synced(self, member_id: str) -> SyncResult:
        reply = self.replies[member_id][-1]
        assert isinstance(reply, SyncResult)
        return reply


def preparing(*names: str, **changes: Any) -> GroupHarness:
    """A new group in its initial delay."""
    harness = GroupHarness()
    harness.enter(*names, **changes)
    return harness


def completing(*names: str, **changes: Any) -> GroupHarness:
    """A group in its first generation that waits for the leader's sync; the first member leads."""
    harness = preparing(*names, **changes)
    harness.pass_initial_delay()
    return harness


def stable(*names: str, **changes: Any) -> GroupHarness:
    """A stable group in its first generation; each member is assigned its own name."""
    harness = completing(*names, **changes)
    sync_all(harness)
    return harness


def sync_all(harness: GroupHarness) -> None:
    """Sync all members, the leader first; it assigns each member its own name."""
    group = harness.known
    assert group.leader is not None
    harness.sync(
        group.leader, protocol=group.protocol, assignments=tuple((id_, id_.encode()) for id_ in group.members)
    )
    for member_id in group.members:
        harness.sync(member_id, protocol=group.protocol)
