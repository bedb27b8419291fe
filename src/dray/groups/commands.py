"""Commands to a group: one value per kind of request, without anything of the wire protocol.

Every command of a member names the broker that received it: a member is attached to the broker it last
called, which keeps its session. What a pure machine cannot generate (the id of a new member) comes with the
command.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Partitions: TypeAlias = Mapping[bytes, tuple[int, ...]]
"""Sorted partitions by topic id; topics without any are left out."""


@dataclass(frozen=True, slots=True)
class Join:
    """JoinGroup."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    """Names and metadata, in order of preference."""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    broker: int
    new_member_id: str
    """The id to assign if the member needs one: client or instance id, and a random part."""
    require_known_member_id: bool = True
    """Whether a new member has to join again with its id before it is admitted (from version 4)."""
    supports_skipping_assignment: bool = True
    """Whether the leader can be asked not to compute an assignment (from version 9)."""


@dataclass(frozen=True, slots=True)
class Sync:
    """SyncGroup."""

    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol: str | None
    assignments: tuple[tuple[str, bytes], ...]
    broker: int
    require_protocol: bool = True
    """Whether protocol type and name are mandatory (from version 5)."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Heartbeat."""

    member_id: str
    instance_id: str | None
    generation: int
    broker: int


@dataclass(frozen=True, slots=True)
class LeavingMember:
    """A member that leaves, identified by member id, by instance id, or by both."""

    member_id: str
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """LeaveGroup."""

    members: tuple[LeavingMember, ...]


@dataclass(frozen=True, slots=True)
class ConsumerHeartbeat:
    """ConsumerGroupHeartbeat. A field that is None has not changed since the member last sent it."""

    group_id: str
    """Only for error messages."""
    member_id: str
    epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int | None
    names: tuple[str, ...] | None
    regex: str | None
    assignor: str | None
    owned: Partitions | None
    client_id: str
    client_host: str
    broker: int
    new_member_id: str = ""
    """The id to assign to a member that sent none; only version 0 of the request allows that."""


@dataclass(frozen=True, slots=True)
class OffsetCommitter:
    """The client of an OffsetCommit or OffsetFetch. `epoch` is its generation or member epoch."""

    member_id: str
    instance_id: str | None
    epoch: int
    broker: int
    supports_member_epochs: bool = True
    """Whether the version of the request is one that consumer protocol members use (from version 9)."""
