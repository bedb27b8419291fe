"""Completion of pending joins and syncs, derived from the group alone.

The broker that holds the connection calls this after every change it sees, and may see several changes as
one. So a reply describes the group as it is now, not as it was when the wait ended. That is safe: if that
generation ends meanwhile, the client's next request is rejected.
"""

from dray.groups.classic.protocols import metadata
from dray.groups.classic.state import ClassicGroup, Member, Phase
from dray.groups.results import JoinedMember, JoinResult, PendingReply, SyncResult
from dray.groups.types import GroupError, member_error


def try_complete(group: ClassicGroup | None, pending: PendingReply) -> JoinResult | SyncResult | None:
    """Return the reply to a pending join or sync, or None if it must keep waiting."""
    if pending.sync_generation is None:
        return try_complete_join(group, pending)
    return try_complete_sync(group, pending)


def try_complete_join(group: ClassicGroup | None, pending: PendingReply) -> JoinResult | None:
    member = _find(group, pending)
    if group is None or member is None:
        return _removed_join(group, pending)
    return None if member.joining else join_result(group, member)


def try_complete_sync(group: ClassicGroup | None, pending: PendingReply) -> SyncResult | None:
    member = _find(group, pending)
    if group is None or member is None:
        return SyncResult(_removed(group, pending))
    if group.generation != pending.sync_generation or group.phase is Phase.PREPARING:
        return SyncResult(GroupError.REBALANCE_IN_PROGRESS)
    if group.phase is Phase.COMPLETING:
        return None
    return SyncResult(GroupError.NONE, group.protocol_type, group.protocol, member.assignment)


def join_result(group: ClassicGroup, member: Member) -> JoinResult:
    """Return the current generation, as returned to one member: only the leader gets the list of members."""
    return JoinResult(
        GroupError.NONE,
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


def _find(group: ClassicGroup | None, pending: PendingReply) -> Member | None:
    return None if group is None else group.members.get(pending.member_id)


def _removed(group: ClassicGroup | None, pending: PendingReply) -> GroupError:
    """Return the error of a client that is no longer a member: it left, expired, or was replaced."""
    return (
        GroupError.UNKNOWN_MEMBER_ID
        if group is None
        else member_error(group.members, pending.member_id, pending.instance_id)
    )


def _removed_join(group: ClassicGroup | None, pending: PendingReply) -> JoinResult:
    error = _removed(group, pending)
    # As in Kafka, only a fenced member gets its id back; any other has to join again without one.
    return JoinResult(error, pending.member_id if error is GroupError.FENCED_INSTANCE_ID else "")
