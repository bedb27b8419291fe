"""Stored state of a classic group, and edits of its members.

`dray.groups.machine` describes the phases. A group without a value does not exist. Nothing here remembers
sockets or elapsed time: any broker derives replies and timers from these values (`completion`, `timers`).

Members are ordered by arrival; the first one leads. Values are never changed in place. The functions below
edit members without changing the phase, which is up to `rebalance`; each returns the very same group when
nothing changes.
"""

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

Protocols = tuple[tuple[str, bytes], ...]
"""Names and metadata, in order of preference."""


class Phase(Enum):
    """Phase of a group, under the name that Kafka shows."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


class Member(Struct, frozen=True, array_like=True):
    """One member. Client id and host stay those of its first join, as in Kafka."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    broker: int
    """The broker it last called, which keeps its session."""
    assignment: bytes = b""
    """From the last leader that assigned; of an older generation until the phase is Stable."""
    joining: bool = False
    """Its join is pending. Only while the group prepares a rebalance."""
    synced: bool = False
    """It has requested the assignment of this generation."""
    is_new: bool = False
    """It has never been in a generation, and its client may not have received its id."""
    session_epoch: int = 0
    """Increases when its session restarts other than by a request; the token of its timers."""


class InitialDelay(Struct, frozen=True, array_like=True):
    """How long a group that was empty waits for more members."""

    delay_ms: int
    remaining_ms: int
    """By how much the delay may still be extended."""
    member_added: bool = False
    """A member joined during this delay, so it is extended."""


class ClassicGroup(Struct, frozen=True, array_like=True, tag="g1"):
    """A classic group, in one value."""

    phase: Phase
    generation: int
    protocol_type: str | None
    """That of the first member; None before there was one. Kept when the group becomes empty."""
    protocol: str | None
    """Selected for this generation."""
    leader: str | None
    members: dict[str, Member]
    pending_members: dict[str, int]
    """Assigned member ids that have not joined yet, with the session timeouts they requested."""
    initial_delay: InitialDelay | None
    """Set during the rebalance that ends the Empty phase."""
    phase_epoch: int
    """Increases when a phase, or the wait in it, begins again; the token of the group's own timers."""
    changed_at_ms: int
    """When the phase last changed: for an empty group, when the last member left."""


def new_group(now_ms: int) -> ClassicGroup:
    """Return a group that was never joined, as the first join or an offset commit creates it."""
    return ClassicGroup(Phase.EMPTY, 0, None, None, None, {}, {}, None, 0, now_ms)


# Lookup


def static_member(group: ClassicGroup, instance_id: str) -> Member | None:
    """Return the member with this instance id."""
    return next((member for member in group.members.values() if member.instance_id == instance_id), None)


def rebalance_timeout_ms(group: ClassicGroup) -> int:
    """Return the longest rebalance timeout of any member."""
    return max((0, *(member.rebalance_timeout_ms for member in group.members.values())))


def all_joined(group: ClassicGroup) -> bool:
    """Return whether a rebalance waits neither for a member nor for a client that was assigned an id."""
    return not group.pending_members and all(member.joining for member in group.members.values())


# Edits


def update_member(group: ClassicGroup, member: Member) -> ClassicGroup:
    """Replace a member by its new value, in the same place."""
    if group.members[member.member_id] == member:
        return group
    members = group.members.copy()
    members[member.member_id] = member
    return replace(group, members=members)


def add_member(group: ClassicGroup, member: Member, protocol_type: str) -> ClassicGroup:
    """Add a member. The first one sets the protocol type, and leads."""
    members = group.members.copy()
    members[member.member_id] = member
    return replace(
        group,
        members=members,
        protocol_type=group.protocol_type if group.members else protocol_type,
        leader=member.member_id if group.leader is None else group.leader,
        pending_members=_pending_without(group, (member.member_id,)),
    )


def replace_member(group: ClassicGroup, old_id: str, member: Member) -> ClassicGroup:
    """Put `member` in the place of another, as leader too if the other led."""
    return replace(
        group,
        members={member.member_id if key == old_id else key: known for key, known in group.members.items()}
        | {member.member_id: member},
        leader=member.member_id if group.leader == old_id else group.leader,
    )


def remove_members(group: ClassicGroup, ids: Collection[str]) -> ClassicGroup:
    """Remove members and assigned ids. If the leader is among them, the next member leads."""
    if not any(removed in group.members or removed in group.pending_members for removed in ids):
        return group
    members = {key: member for key, member in group.members.items() if key not in ids}
    leader = group.leader if group.leader in members else next(iter(members), None)
    return replace(group, members=members, leader=leader, pending_members=_pending_without(group, ids))


def add_pending_member(group: ClassicGroup, new_id: str, session_timeout_ms: int) -> ClassicGroup:
    """Record an id that was assigned to a client, which has to join with it."""
    if new_id in group.pending_members:
        return group
    return replace(group, pending_members=group.pending_members | {new_id: session_timeout_ms})


def attach(group: ClassicGroup, member_id: str, broker: int) -> ClassicGroup:
    """Move a member's session to the broker it has called."""
    member = group.members[member_id]
    return group if member.broker == broker else update_member(group, attached(member, broker))


def attached(member: Member, broker: int) -> Member:
    if member.broker == broker:
        return member
    return replace(member, broker=broker, session_epoch=member.session_epoch + 1)


def take_over_members(group: ClassicGroup, alive: AbstractSet[int], broker: int) -> ClassicGroup:
    """Attach the members of brokers that died to `broker`, each with a new session.

    A join that was pending at such a broker still counts: its client joins again elsewhere, or its session
    expires once the rebalance has completed.
    """
    if all(member.broker in alive for member in group.members.values()):
        return group
    return replace(
        group,
        members={
            key: member if member.broker in alive else attached(member, broker)
            for key, member in group.members.items()
        },
    )


def _pending_without(group: ClassicGroup, ids: Collection[str]) -> dict[str, int]:
    if not any(removed in group.pending_members for removed in ids):
        return group.pending_members
    return {key: timeout for key, timeout in group.pending_members.items() if key not in ids}
