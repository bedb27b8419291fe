"""Groups that change over: asks of both protocols to a group of either."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dray.groups import classic, consumer, migration
from dray.groups.asks import Beat, ConsumerBeat, Join, Leave, Leaver, Sync
from dray.groups.classic import ClassicGroup
from dray.groups.consumer import ConsumerGroup, Sight
from dray.groups.embedded import (
    Assignment,
    NamedPartitions,
    Subscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from dray.groups.faults import Fault
from dray.groups.group import Group
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Outcome, Parked, Timer, TimerKind
from dray.groups.replies import ConsumerBeaten, Joined, Synced
from tests.groups.consumer.builders import Image

LIMITS = GroupLimits(consumer_assignment_interval_ms=0, initial_rebalance_delay_ms=0)


def said(
    *topics: str,
    version: int = 1,
    owned: Mapping[str, Iterable[int]] | None = None,
    generation: int = -1,
) -> bytes:
    """A subscription as a classic consumer says it."""
    named = {topic: tuple(numbers) for topic, numbers in (owned or {}).items()}
    return encode_subscription(Subscription(topics, owned=named, generation=generation), version)


def given(version: int = 1, user_data: bytes | None = None, **partitions: Iterable[int]) -> bytes:
    """An assignment as a leader gives it."""
    named = {topic: tuple(numbers) for topic, numbers in partitions.items()}
    return encode_assignment(Assignment(named, user_data), version)


def a_join(member_id: str = "", metadata: bytes | None = None, **changes: Any) -> Join:
    fields: dict[str, Any] = {
        "member_id": member_id,
        "instance_id": None,
        "client_id": "client",
        "client_host": "/10.0.0.1",
        "protocol_type": "consumer",
        "protocols": (("range", said("t") if metadata is None else metadata),),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "broker": 1,
        "new_id": "made-up",
    }
    return Join(**fields | changes)


def a_sync(member_id: str, generation: int, **changes: Any) -> Sync:
    fields: dict[str, Any] = {
        "member_id": member_id,
        "instance_id": None,
        "generation": generation,
        "protocol_type": "consumer",
        "protocol": "range",
        "assignments": (),
        "broker": 1,
    }
    return Sync(**fields | changes)


def a_beat(member_id: str, generation: int, instance_id: str | None = None, broker: int = 1) -> Beat:
    return Beat(member_id, instance_id, generation, broker)


@dataclass
class Desk:
    """One group as a host keeps it, whatever protocol it is of at the moment."""

    topics: Image
    limits: GroupLimits = LIMITS
    now_ms: int = 1_000_000
    group: Group | None = None
    sight: Sight | None = None

    @property
    def consumers(self) -> ConsumerGroup:
        assert isinstance(self.group, ConsumerGroup)
        return self.group

    @property
    def classics(self) -> ClassicGroup:
        assert isinstance(self.group, ClassicGroup)
        return self.group

    def heartbeat(self, ask: ConsumerBeat) -> ConsumerBeaten:
        self.look()
        outcome: Outcome[Group | None, ConsumerBeaten]
        before = self.group
        if isinstance(before, ClassicGroup):
            outcome = migration.heartbeat_to_classic(before, ask, self.topics, self.limits, self.now_ms)
        else:
            outcome = consumer.heartbeat(before, ask, self.topics, self.limits, self.now_ms)
        self.group = outcome.group
        if isinstance(before, ConsumerGroup) and isinstance(self.group, ConsumerGroup):
            self.group = migration.after_departure(before, self.group, self.limits, self.now_ms)
        return outcome.reply

    def join(self, ask: Join) -> Joined | Parked:
        self.look()
        outcome: Outcome[Group | None, Joined | Parked]
        if isinstance(self.group, ConsumerGroup) and self.group.members:
            outcome = migration.join(self.group, ask, self.topics, self.limits, self.now_ms)
        else:
            known = self.group if isinstance(self.group, ClassicGroup) else None
            outcome = classic.join(known, ask, self.limits, self.now_ms)
        self.group = outcome.group
        return outcome.reply

    def sync(self, ask: Sync) -> Synced | Parked:
        outcome: Outcome[Group | None, Synced | Parked]
        if isinstance(self.group, ConsumerGroup):
            outcome = migration.sync(self.group, ask)
        else:
            outcome = classic.sync(self.group, ask, self.limits, self.now_ms)
        self.group = outcome.group
        return outcome.reply

    def beat(self, ask: Beat) -> Fault:
        outcome: Outcome[Group | None, Fault]
        if isinstance(self.group, ConsumerGroup):
            outcome = migration.beat(self.group, ask)
        else:
            outcome = classic.beat(self.group, ask)
        self.group = outcome.group
        return outcome.reply

    def leave(self, *leavers: Leaver) -> tuple[Fault, ...]:
        outcome: Outcome[Group | None, tuple[Fault, ...]]
        if isinstance(self.group, ConsumerGroup):
            outcome = migration.leave(self.group, Leave(leavers), self.limits, self.now_ms)
        else:
            outcome = classic.leave(self.group, Leave(leavers), self.limits, self.now_ms)
        self.group = outcome.group
        return outcome.reply

    def settle(self, parked: Parked) -> Joined | Synced | None:
        if isinstance(self.group, ConsumerGroup):
            return migration.settle(self.group, parked)
        return classic.settle(self.group, parked)

    def fire(self, timer: Timer) -> None:
        if isinstance(self.group, ConsumerGroup):
            after = consumer.fire(self.group, timer, self.limits, self.now_ms)
            self.group = migration.after_departure(self.group, after, self.limits, self.now_ms)
        elif self.group is not None:
            self.group = classic.fire(self.group, timer, self.limits, self.now_ms)

    def timers(self) -> list[Timer]:
        if isinstance(self.group, ConsumerGroup):
            asked = consumer.timers(self.group, self.limits)
        else:
            asked = classic.timers(self.classics, self.limits)
        return [one.timer for one in asked]

    def timer(self, kind: TimerKind, member_id: str) -> Timer | None:
        return next((t for t in self.timers() if (t.kind, t.member_id) == (kind, member_id)), None)

    def look(self) -> None:
        if isinstance(self.group, ConsumerGroup):
            self.group, self.sight = consumer.refresh(
                self.group, self.topics, self.limits, self.now_ms, self.sight
            )


def stable_classic(desk: Desk, assignments: Mapping[str, bytes], **changes: Any) -> int:
    """Make a classic group with these members and assignments; returns its generation."""
    first = next(iter(assignments))
    for member_id in assignments:
        desk.join(a_join(new_id=member_id, must_know_id=False, **changes))
    pass_initial_delay(desk)
    generation = desk.classics.generation
    for member_id in reversed(list(assignments)):
        brought = tuple(assignments.items()) if member_id == first else ()
        desk.sync(a_sync(member_id, generation, assignments=brought))
    assert desk.classics.phase is classic.Phase.STABLE
    return generation


def pass_initial_delay(desk: Desk) -> None:
    while (timer := desk.timer(TimerKind.INITIAL_DELAY, "")) is not None:
        desk.fire(timer)


def told(reply: Synced | Parked) -> NamedPartitions:
    """What a classic member is told to read."""
    assert isinstance(reply, Synced)
    assert reply.fault is Fault.NONE, reply.fault
    return decode_assignment(reply.assignment).partitions
