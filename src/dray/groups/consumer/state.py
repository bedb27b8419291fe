"""Stored state of a consumer group (KIP-848): one value, replaced as a whole.

    group epoch     increases whenever a new target assignment is due
    target epoch    the group epoch that the target assignment was computed for
    member epoch    the target epoch that a member has reached

A member moves from what it owns to its target in steps. What it may use is `assigned`; what it was asked to
revoke and may still use is `revoking`. A partition is in at most one member's `assigned` or `revoking`; every
other rule of this package serves that one.

The group also stores the topics its members subscribe to, with ids and partition counts (Kafka stores a hash
of them and looks at its own view of the cluster for the rest). So all brokers compute targets from the same
topics, however far their own views of the cluster lag.

Values are never changed in place: dicts are replaced, never written to.
"""

from collections.abc import Container, Mapping
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dray.groups.commands import Partitions

FIRST_EPOCH: Final = 1
"""Kafka's groups begin with this epoch, so that no member is ever returned epoch 0, which means to join."""
JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
"""Not epochs, but what clients send in place of one: join, leave, leave temporarily (static members)."""

PartitionEpochs: TypeAlias = dict[bytes, dict[int, int]]
"""Partitions by topic id, each with the epoch it was assigned in. Topics without any are left out."""
Target: TypeAlias = dict[bytes, tuple[int, ...]]


class MemberState(IntEnum):
    """Progress of a member towards its target; names and numbers are Kafka's."""

    STABLE = 0
    """It has reached the target epoch, or did not have to move yet."""
    UNREVOKED_PARTITIONS = 1
    """It has to confirm that it revoked the partitions in `revoking`."""
    UNRELEASED_PARTITIONS = 2
    """It has reached the target epoch, but other members have not released all of its target yet."""


class TopicMetadata(NamedTuple):
    """A topic that the group subscribes to."""

    topic_id: bytes
    partitions: int


class ClassicMemberMetadata(Struct, frozen=True, array_like=True):
    """Additional state of a member that uses the classic protocol."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    joins: int = 0
    """Counts its joins; the token of its join and sync timers."""
    must_sync: bool = False
    """It has joined and not yet fetched its assignment."""
    must_join: bool = False
    """It was asked to join again and has not yet."""


class ConsumerMember(Struct, frozen=True, array_like=True):
    """A member; its id is its key in the group."""

    client_id: str
    client_host: str
    broker: int
    """The broker it last called, which keeps its session."""
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    names: tuple[str, ...] = ()
    """The topics it subscribes to by name, sorted and unique."""
    regex: str = ""
    """The regex it subscribes to; empty if none."""
    assignor: str | None = None
    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1
    """The epoch that the member may still send if it missed the last reply."""
    state: MemberState = MemberState.STABLE
    assigned: PartitionEpochs = {}
    revoking: PartitionEpochs = {}
    revoking_since: int = 0
    """The group epoch in which `revoking` last changed; the token of the revocation timer."""
    classic: ClassicMemberMetadata | None = None

    @property
    def has_left_temporarily(self) -> bool:
        """Whether it is a static member that left and may come back."""
        return self.epoch == STATIC_LEAVE_EPOCH


class ConsumerGroup(Struct, frozen=True, array_like=True, tag="c1"):
    """A group of the consumer protocol."""

    epoch: int = FIRST_EPOCH
    target_epoch: int = FIRST_EPOCH
    members: dict[str, ConsumerMember] = {}
    targets: dict[str, Target] = {}
    """The target assignment by member; members with an empty target may be left out."""
    topics: dict[str, TopicMetadata] = {}
    """The subscribed topics as last seen; those that do not exist are left out."""
    regexes: dict[str, tuple[str, ...]] = {}
    """The subscribed regexes, each with the sorted names it last matched."""
    assignor: str = ""
    """The assignor that computed the target; empty before the first target."""
    assigned_at_ms: int = 0
    """When the target was computed; 0 before the first target."""
    changed_at_ms: int = 0
    """When the group epoch last increased."""


def is_reconciled(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Return whether a member owns exactly its target."""
    return member.state is MemberState.STABLE and member.epoch == group.target_epoch


def static_member_id(group: ConsumerGroup, instance_id: str) -> str | None:
    """Return the id of the member with this instance id."""
    return next((id_ for id_, member in group.members.items() if member.instance_id == instance_id), None)


def bump_epoch(group: ConsumerGroup, now_ms: int) -> ConsumerGroup:
    """Begin a new group epoch: a new target assignment is due."""
    return replace(group, epoch=group.epoch + 1, changed_at_ms=now_ms)


# Partitions with epochs


def merge(one: PartitionEpochs, other: PartitionEpochs) -> PartitionEpochs:
    """Return the partitions of both; where both have a partition, with the second one's epoch."""
    return one | {topic_id: one.get(topic_id, {}) | numbers for topic_id, numbers in other.items()}


def split_by_target(
    held: PartitionEpochs, target: Mapping[bytes, Container[int]]
) -> tuple[PartitionEpochs, PartitionEpochs]:
    """Return the partitions that are in the target, and those that are not."""
    inside: PartitionEpochs = {}
    outside: PartitionEpochs = {}
    for topic_id, numbers in held.items():
        wanted = target.get(topic_id, ())
        inside[topic_id] = {number: epoch for number, epoch in numbers.items() if number in wanted}
        outside[topic_id] = {number: epoch for number, epoch in numbers.items() if number not in wanted}
    return drop_empty(inside), drop_empty(outside)


def drop_empty(held: PartitionEpochs) -> PartitionEpochs:
    """Without topics that have no partitions."""
    return {topic_id: numbers for topic_id, numbers in held.items() if numbers}


def partitions_of(held: PartitionEpochs) -> Partitions:
    """Sorted partitions without epochs, as clients get them."""
    return {topic_id: tuple(sorted(numbers)) for topic_id, numbers in held.items()}
