"""Answers to joins and syncs, derived from the group alone.

The broker that holds a socket asks after every change it sees, and may see several changes as one. So an
answer fits the group as it is now, not the moment that ended the waiting. That is safe: a generation that
is over by then is refused at the client's next step.
"""

from dray.groups.classic.protocols import metadata
from dray.groups.classic.roster import member_fault
from dray.groups.classic.state import ClassicGroup, Member, Phase
from dray.groups.faults import Fault
from dray.groups.outcome import Parked
from dray.groups.replies import Joined, JoinedMember, Synced


def settle(group: ClassicGroup | None, parked: Parked) -> Joined | Synced | None:
    """What to answer to a join or sync that waits; None while it has to go on waiting."""
    return settle_join(group, parked) if parked.sync_of is None else settle_sync(group, parked)


def settle_join(group: ClassicGroup | None, parked: Parked) -> Joined | None:
    member = _find(group, parked)
    if group is None or member is None:
        return _lost_join(group, parked)
    return None if member.joining else joined(group, member)


def settle_sync(group: ClassicGroup | None, parked: Parked) -> Synced | None:
    member = _find(group, parked)
    if group is None or member is None:
        return Synced(_lost(group, parked))
    if group.generation != parked.sync_of or group.phase is Phase.PREPARING:
        return Synced(Fault.REBALANCE_IN_PROGRESS)
    if group.phase is Phase.COMPLETING:
        return None
    return Synced(Fault.NONE, group.protocol_type, group.protocol, member.assignment)


def joined(group: ClassicGroup, member: Member) -> Joined:
    """The generation as it is told to one member: only the leader learns who else is in it."""
    return Joined(
        Fault.NONE,
        member.member_id,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader or "",
        joined_members(group) if group.leader == member.member_id else (),
    )


def joined_members(group: ClassicGroup) -> tuple[JoinedMember, ...]:
    return tuple(
        JoinedMember(member.member_id, member.instance_id, metadata(member, group.protocol))
        for member in group.members.values()
    )


def _find(group: ClassicGroup | None, parked: Parked) -> Member | None:
    return None if group is None else group.members.get(parked.member_id)


def _lost(group: ClassicGroup | None, parked: Parked) -> Fault:
    """Why one who waited is no member any more: it left, was expelled, or another took its place."""
    return (
        Fault.UNKNOWN_MEMBER_ID
        if group is None
        else member_fault(group, parked.member_id, parked.instance_id)
    )


def _lost_join(group: ClassicGroup | None, parked: Parked) -> Joined:
    fault = _lost(group, parked)
    # Kafka names the member only to one who was fenced; the other is to join again without an id.
    return Joined(fault, parked.member_id if fault is Fault.FENCED_INSTANCE_ID else "")
