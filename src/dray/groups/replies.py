"""What groups answer, without anything of the wire."""

from dataclasses import dataclass

from dray.groups.asks import Partitions
from dray.groups.faults import Fault


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as its leader is told of it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Joined:
    """The answer to a join."""

    fault: Fault
    member_id: str
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class Synced:
    """The answer to a sync."""

    fault: Fault
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class ConsumerBeaten:
    """The answer to a heartbeat of the consumer protocol."""

    fault: Fault
    message: str | None = None
    member_id: str | None = None
    epoch: int = 0
    interval_ms: int = 0
    assignment: Partitions | None = None
    """All that the member may use now; None when it knows."""
