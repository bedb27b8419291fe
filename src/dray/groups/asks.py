"""What is asked of groups: one value for each kind of request, without anything of the wire.

Every ask of a member names the broker that it came to: a member belongs to the broker it last called, which
keeps its session. What a machine may not make up by itself (a new member's id) comes with the ask.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Partitions: TypeAlias = Mapping[bytes, tuple[int, ...]]
"""Partitions by topic id, in order; a topic without any is not in it."""


@dataclass(frozen=True, slots=True)
class Join:
    """JoinGroup."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    """Name and metadata, the one liked best first."""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    broker: int
    new_id: str
    """The id to give out if one is needed: the client's or instance's name and a random part."""
    must_know_id: bool = True
    """Whether a new member has to come back with its id before it is let in (from version 4)."""
    may_skip_assignment: bool = True
    """Whether a leader can be told not to assign anything (from version 9)."""


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
    names_protocol: bool = True
    """Whether protocol type and name must be said (from version 5)."""


@dataclass(frozen=True, slots=True)
class Beat:
    """Heartbeat."""

    member_id: str
    instance_id: str | None
    generation: int
    broker: int


@dataclass(frozen=True, slots=True)
class Leaver:
    """One who leaves: by member id, by instance id, or by both."""

    member_id: str
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """LeaveGroup."""

    leavers: tuple[Leaver, ...]


@dataclass(frozen=True, slots=True)
class ConsumerBeat:
    """ConsumerGroupHeartbeat. None means: as it was said last."""

    group_id: str
    """Only for what a refusal says to people."""
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
    new_id: str = ""
    """The id to give out to one who came without; only version 0 of the request may."""


@dataclass(frozen=True, slots=True)
class Committer:
    """Who commits or fetches offsets. `epoch` is the generation, or the member's epoch."""

    member_id: str
    instance_id: str | None
    epoch: int
    broker: int
    knows_epochs: bool = True
    """Whether the request is of a version that members of the consumer protocol use (from version 9)."""
