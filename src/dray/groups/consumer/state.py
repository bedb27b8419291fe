"""A group of the consumer protocol (KIP-848) as it is stored: one value, replaced as a whole.

    group epoch     grows whenever the target has to be worked out anew
    target epoch    the group epoch that the target was worked out for
    member epoch    the target epoch that a member has come up to

A member is led from what it has to its target in steps. What it may use is `assigned`; what it was told to
give up and may still use is `revoking`. A partition is in at most one member's `assigned` and `revoking`:
everything else in this room serves that sentence.

The group also keeps the topics that its members are subscribed to, with their ids and numbers of partitions
(Kafka keeps a hash of them and asks its own view of the cluster for the rest). So every broker sees the
same topics when it works out a target or leads a member to it, however far its own view of the cluster lags
behind.

Nothing here is ever changed in place: dicts are replaced, never written to.
"""

from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

FIRST_EPOCH: Final = 1
"""Kafka's groups begin with this epoch, so that no member is ever told epoch 0, which means to join."""
JOINS: Final = 0
LEAVES: Final = -1
LEAVES_FOR_NOW: Final = -2
"""Not epochs: what members say in the place of one. A static member who left for now keeps this last one."""

Held: TypeAlias = dict[bytes, dict[int, int]]
"""Partitions by topic id, each with the epoch it was given out in. A topic without any is not in it."""
Target: TypeAlias = dict[bytes, tuple[int, ...]]


class Progress(IntEnum):
    """How far a member has come on its way to its target; the numbers are Kafka's."""

    STABLE = 0
    """It has come up to the target epoch, or was not yet asked to."""
    UNREVOKED = 1
    """It has to say that it has given up what is in `revoking`."""
    UNRELEASED = 2
    """It has the target epoch, but others have not yet given up all that it is to have."""


class Topic(NamedTuple):
    """A topic that the group is subscribed to, by its name."""

    topic_id: bytes
    partitions: int


class ClassicSide(Struct, frozen=True, array_like=True):
    """What a member that speaks the classic protocol has besides."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    joins: int = 0
    """Counts its joins; tells one wait for a join or a sync from the next."""
    must_sync: bool = False
    """It has joined and not yet fetched its assignment."""
    must_join: bool = False
    """It was told to join again and has not yet."""


class ConsumerMember(Struct, frozen=True, array_like=True):
    """A member; its id is the key it is kept under."""

    client_id: str
    client_host: str
    broker: int
    """The broker it called last, which keeps its session."""
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    names: tuple[str, ...] = ()
    """The topics it is subscribed to, in order, each once."""
    regex: str = ""
    """The pattern it is subscribed to; empty if none."""
    assignor: str | None = None
    epoch: int = JOINS
    previous_epoch: int = -1
    """What a member may still say as its epoch when the last answer was lost."""
    progress: Progress = Progress.STABLE
    assigned: Held = {}
    revoking: Held = {}
    revoking_since: int = 0
    """The group epoch in which `revoking` was last changed; tells one wait for a revocation from the next."""
    classic: ClassicSide | None = None

    @property
    def away(self) -> bool:
        """Whether it is a static member who left for now."""
        return self.epoch == LEAVES_FOR_NOW


class ConsumerGroup(Struct, frozen=True, array_like=True, tag="c1"):
    """A group of the consumer protocol."""

    epoch: int = FIRST_EPOCH
    target_epoch: int = FIRST_EPOCH
    members: dict[str, ConsumerMember] = {}
    targets: dict[str, Target] = {}
    """What each member is to have; one who is to have nothing need not be in it."""
    topics: dict[str, Topic] = {}
    """The topics subscribed to, as they were last seen; those that do not exist are not in it."""
    regexes: dict[str, tuple[str, ...]] = {}
    """The patterns subscribed to, with the names that matched last, in order."""
    assignor: str = ""
    """The one that worked out the target; empty if there never was one."""
    assigned_at_ms: int = 0
    """When the target was worked out; 0 if never."""
    changed_at_ms: int = 0
    """When the epoch last grew."""


def is_settled(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether a member has all that it is to have, and nothing else."""
    return member.progress is Progress.STABLE and member.epoch == group.target_epoch


def static_id(group: ConsumerGroup, instance_id: str) -> str | None:
    """The id of the member that has this instance id."""
    return next((id_ for id_, member in group.members.items() if member.instance_id == instance_id), None)
