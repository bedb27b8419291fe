"""Results of applying a command to a group, without anything of the wire protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from dray.groups.commands import Partitions
from dray.groups.types import CommittedOffset, GroupError, TopicPartition

G_co = TypeVar("G_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)

OffsetChanges: TypeAlias = Mapping[TopicPartition, CommittedOffset | None]
"""Committed offsets to store together with the group; None deletes one."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[G_co, R_co]):
    """The group to store (None: there is no group), and the reply to send once it is durable."""

    group: G_co
    reply: R_co
    offsets: OffsetChanges = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingReply:
    """A join or sync that waits for other members; `machine.try_complete` ends the wait."""

    member_id: str
    instance_id: str | None
    sync_generation: int | None = None
    """The generation of a sync; None for a join."""


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as the leader sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinResult:
    """Reply to a `Join`."""

    error: GroupError
    member_id: str
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class SyncResult:
    """Reply to a `Sync`."""

    error: GroupError
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class ConsumerHeartbeatResult:
    """Reply to a `ConsumerHeartbeat`."""

    error: GroupError
    message: str | None = None
    member_id: str | None = None
    epoch: int = 0
    interval_ms: int = 0
    assignment: Partitions | None = None
    """All partitions that the member may use; None if that has not changed."""
