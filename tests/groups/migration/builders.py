"""Builders of classic commands, and a harness that hosts a group of either protocol."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dray.groups import classic, consumer, migration
from dray.groups.classic import ClassicGroup
from dray.groups.commands import ConsumerHeartbeat, Heartbeat, Join, Leave, LeavingMember, Sync
from dray.groups.consumer import ConsumerGroup, LastRefresh
from dray.groups.embedded import (
    Assignment,
    NamedPartitions,
    Subscription,
    decode_assignment,
    encode_assignment,
)
from dray.groups.limits import GroupLimits
from dray.groups.results import ConsumerHeartbeatResult, JoinResult, Outcome, PendingReply, SyncResult
from dray.groups.stored import Group
from dray.groups.timers import Timer, TimerKind
from dray.groups.types import GroupError
from tests.groups import builders
from tests.groups.builders import a_sync
from tests.groups.consumer.builders import Image
from tests.groups.subscriptions import encode_subscription

LIMITS = GroupLimits(consumer_assignment_interval_ms=0, initial_rebalance_delay_ms=0)


def subscription_bytes(
    *topics: str,
    version: int = 1,
    owned: Mapping[str, Iterable[int]] | None = None,
    generation: int = -1,
) -> bytes:
    """A subscription as a classic consumer encodes it."""
    named = {topic: tuple(numbers) for topic, numbers in (owned or {}).items()}
    return encode_subscription(Subscription(topics, owned=named, generation=generation), version)


def assignment_bytes(version: int = 1, user_data: bytes | None = None, **partitions: Iterable[int]) -> bytes:
    """An assignment as a leader encodes it."""
    named = {topic: tuple(numbers) for topic, numbers in partitions.items()}
    return encode_assignment(Assignment(named, user_data), version)


def a_join(member_id: str = "", metadata: bytes | None = None, **changes: Any) -> Join:
    """A join of a classic consumer, which subscribes to `t` by default."""
    fields: dict[str, Any] = {
        "protocols": (("range", subscription_bytes("t") if metadata is None else metadata),),
        "new_member_id": "made-up",
    }
    return builders.a_join(member_id, **fields | changes)


def a_heartbeat(
    member_id: str, generation: int, instance_id: str | None = None, broker: int = 1
) -> Heartbeat:
    return Heartbeat(member_id, instance_id, generation, broker)


@dataclass
class GroupHarness:
    """Hosts one group, whichever protocol it uses at the moment."""

    topics: Image
    limits: GroupLimits = LIMITS
    now_ms: int = 1_000_000
    group: Group | None = None
    last_refresh: LastRefresh | None = None

    @property
    def consumers(self) -> ConsumerGroup:
        assert isinstance(self.group, ConsumerGroup)
        return self.group

    @property
    def classics(self) -> ClassicGroup:
        assert isinstance(self.group, ClassicGroup)
        return self.group

    def consumer_heartbeat(self, command: ConsumerHeartbeat) -> ConsumerHeartbeatResult:
        self.refresh_topics()
        outcome: Outcome[Group | None, ConsumerHeartbeatResult]
        before = self.group
        if isinstance(before, ClassicGroup):
            outcome = migration.consumer_heartbeat(before, command, self.topics, self.limits, self.now_ms)
        else:
            outcome = consumer.heartbeat(before, command, self.topics, self.limits, self.now_ms)
        self.group = outcome.group
        if isinstance(before, ConsumerGroup) and isinstance(self.group, ConsumerGroup):
            self.group = migration.after_departure(before, self.group, self.limits, self.now_ms)
        return outcome.reply

    def join(self, command: Join) -> JoinResult | PendingReply:
        self.refresh_topics()
        outcome: Outcome[Group | None, JoinResult | PendingReply]
        if isinstance(self.group, ConsumerGroup) and self.group.members:
            outcome = migration.join(self.group, command, self.topics, self.limits, self.now_ms)
        else:
            known = self.group if isinstance(self.group, ClassicGroup) else None
            outcome = classic.join(known, command, self.limits, self.now_ms)
        self.group = outcome.group
        return outcome.reply

    def sync(self, command: Sync) -> SyncResult | PendingReply:
        outcome: Outcome[Group | None, SyncResult | PendingReply]
        if isinstance(self.group, ConsumerGroup):
            outcome = migration.sync(self.group, command)
        else:
            outcome = classic.sync(self.group, command, self.limits, self.now_ms)
        self.group = outcome.group
        return outcome.reply

    def heartbeat(self, command: Heartbeat) -> GroupError:
        outcome: Outcome[Group | None, GroupError]
        if isinstance(self.group, ConsumerGroup):
            outcome = migration.heartbeat(self.group, command)
        else:
            outcome = classic.heartbeat(self.group, command)
        self.group = outcome.group
        return outcome.reply

    def leave(self, *leavers: LeavingMember) -> tuple[GroupError, ...]:
        outcome: Outcome[Group | None, tuple[GroupError, ...]]
        if isinstance(self.group, ConsumerGroup):
            outcome = migration.leave(self.group, Leave(leavers), self.limits, self.now_ms)
        else:
            outcome = classic.leave(self.group, Leave(leavers), self.limits, self.now_ms)
        self.group = outcome.group
        return outcome.reply

    def try_complete(self, pending: PendingReply) -> JoinResult | SyncResult | None:
        if isinstance(self.group, ConsumerGroup):
            return migration.try_complete(self.group, pending)
        return classic.try_complete(self.group, pending)

    def fire(self, timer: Timer) -> None:
        if isinstance(self.group, ConsumerGroup):
            after = consumer.fire(self.group, timer, self.limits, self.now_ms)
            self.group = migration.after_departure(self.group, after, self.limits, self.now_ms)
        elif self.group is not None:
            self.group = classic.fire(self.group, timer, self.limits, self.now_ms)

    def timers(self) -> list[Timer]:
        if isinstance(self.group, ConsumerGroup):
            specs = consumer.timers(self.group, self.limits)
        else:
            specs = classic.timers(self.classics, self.limits)
        return [one.timer for one in specs]

    def timer(self, kind: TimerKind, member_id: str) -> Timer | None:
        return next((t for t in self.timers() if (t.kind, t.member_id) == (kind, member_id)), None)

    def refresh_topics(self) -> None:
        if isinstance(self.group, ConsumerGroup):
            self.group, self.last_refresh = consumer.refresh(
                self.group, self.topics, self.limits, self.now_ms, self.last_refresh
            )


def stable_classic(harness: GroupHarness, assignments: Mapping[str, bytes], **changes: Any) -> int:
    """Create a stable classic group with these members and assignments; returns its generation."""
    first = next(iter(assignments))
    for member_id in assignments:
        harness.join(a_join(new_member_id=member_id, require_known_member_id=False, **changes))
    pass_initial_delay(harness)
    generation = harness.classics.generation
    for member_id in reversed(list(assignments)):
        sent = tuple(assignments.items()) if member_id == first else ()
        harness.sync(a_sync(member_id, generation, assignments=sent))
    assert harness.classics.phase is classic.Phase.STABLE
    return generation


def pass_initial_delay(harness: GroupHarness) -> None:
    while (timer := harness.timer(TimerKind.INITIAL_DELAY, "")) is not None:
        harness.fire(timer)


def assigned(reply: SyncResult | PendingReply) -> NamedPartitions:
    """The assignment that a classic member gets."""
    assert isinstance(reply, SyncResult)
    assert reply.error is GroupError.NONE, reply.error
    return decode_assignment(reply.assignment).partitions
