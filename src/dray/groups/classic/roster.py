"""Who is in a group: coming, changing, going, and by which broker.

No function here changes the phase: what a change of the roster means for it is decided in `rebalance`. Each
returns the very same group when nothing changes.
"""

from collections.abc import Collection
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from dray.groups.classic.state import ClassicGroup, Member
from dray.groups.faults import Fault


def holder(group: ClassicGroup, instance_id: str) -> Member | None:
    """The member that holds an instance id."""
    return next((member for member in group.members.values() if member.instance_id == instance_id), None)


def member_fault(group: ClassicGroup, member_id: str, instance_id: str | None) -> Fault:
    """Whether somebody is the member it says. Only a refusal looks at all members."""
    member = group.members.get(member_id)
    if instance_id is not None and (member is None or member.instance_id != instance_id):
        return Fault.UNKNOWN_MEMBER_ID if holder(group, instance_id) is None else Fault.FENCED_INSTANCE_ID
    return Fault.UNKNOWN_MEMBER_ID if member is None else Fault.NONE


def put(group: ClassicGroup, member: Member) -> ClassicGroup:
    """Store a member anew in its old place."""
    if group.members[member.member_id] == member:
        return group
    members = group.members.copy()
    members[member.member_id] = member
    return replace(group, members=members)


def admit(group: ClassicGroup, member: Member, protocol_type: str) -> ClassicGroup:
    """Let a new member in. The first one brings the protocol type, and leads."""
    members = group.members.copy()
    members[member.member_id] = member
    return replace(
        group,
        members=members,
        protocol_type=group.protocol_type if group.members else protocol_type,
        leader=member.member_id if group.leader is None else group.leader,
        pending=_pending_without(group, (member.member_id,)),
    )


def succeed(group: ClassicGroup, old_id: str, member: Member) -> ClassicGroup:
    """Put `member` in the place of another, leadership included."""
    return replace(
        group,
        members={member.member_id if key == old_id else key: known for key, known in group.members.items()}
        | {member.member_id: member},
        leader=member.member_id if group.leader == old_id else group.leader,
    )


def without(group: ClassicGroup, ids: Collection[str]) -> ClassicGroup:
    """Leave out members and ids that were given out. The next in line leads if the leader is among them."""
    if not any(gone in group.members or gone in group.pending for gone in ids):
        return group
    members = {key: member for key, member in group.members.items() if key not in ids}
    leader = group.leader if group.leader in members else next(iter(members), None)
    return replace(group, members=members, leader=leader, pending=_pending_without(group, ids))


def await_return(group: ClassicGroup, new_id: str, session_timeout_ms: int) -> ClassicGroup:
    """Remember an id that was given out."""
    if new_id in group.pending:
        return group
    return replace(group, pending=group.pending | {new_id: session_timeout_ms})


def attach(group: ClassicGroup, member_id: str, broker: int) -> ClassicGroup:
    """Hand a member's session to the broker it has called."""
    member = group.members[member_id]
    return group if member.broker == broker else put(group, attached(member, broker))


def attached(member: Member, broker: int) -> Member:
    if member.broker == broker:
        return member
    return replace(member, broker=broker, session=member.session + 1)


def adopt(group: ClassicGroup, alive: AbstractSet[int], broker: int) -> ClassicGroup:
    """Move the members of brokers that are gone to `broker`, each with a fresh session.

    A join that waited at such a broker goes on counting: its client asks again elsewhere, or its session runs
    out as soon as the rebalance is over.
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


def rebalance_timeout_ms(group: ClassicGroup) -> int:
    """The longest that any member may take to join again."""
    return max((0, *(member.rebalance_timeout_ms for member in group.members.values())))


def all_joined(group: ClassicGroup) -> bool:
    """Whether nobody is missing, of those either that were given an id."""
    return not group.pending and all(member.joining for member in group.members.values())


def _pending_without(group: ClassicGroup, ids: Collection[str]) -> dict[str, int]:
    if not any(gone in group.pending for gone in ids):
        return group.pending
    return {key: timeout for key, timeout in group.pending.items() if key not in ids}
