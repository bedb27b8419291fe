"""JoinGroup requests to a classic group.

A join may be applied twice, when the outcome of the first commit is unknown, and must not add two members.
The second application recognizes itself by the id it would assign (`new_member_id`): if that is a member
already, the join counts as that member's.
"""

from typing import TypeAlias

from msgspec.structs import replace

from dray.groups.classic.completion import join_result, joined_members, try_complete_join
from dray.groups.classic.protocols import select, supports
from dray.groups.classic.rebalance import rebalance
from dray.groups.classic.state import (
    ClassicGroup,
    Member,
    Phase,
    add_member,
    add_pending_member,
    attach,
    attached,
    new_group,
    remove_members,
    replace_member,
    static_member,
    update_member,
)
from dray.groups.commands import Join
from dray.groups.limits import GroupLimits
from dray.groups.results import JoinResult, Outcome, PendingReply
from dray.groups.types import GroupError, member_error

JoinOutcome: TypeAlias = Outcome[ClassicGroup | None, JoinResult | PendingReply]


def join(group: ClassicGroup | None, command: Join, limits: GroupLimits, now_ms: int) -> JoinOutcome:
    """Add a new member, or let a known one rejoin.

    As in Kafka, a first join creates the group even if it is rejected.
    """
    if not limits.min_session_timeout_ms <= command.session_timeout_ms <= limits.max_session_timeout_ms:
        return Outcome(group, JoinResult(GroupError.INVALID_SESSION_TIMEOUT, command.member_id))
    if group is None and command.member_id:
        return Outcome(None, JoinResult(GroupError.UNKNOWN_MEMBER_ID, command.member_id))
    return _join(new_group(now_ms) if group is None else group, command, limits, now_ms)


def _join(group: ClassicGroup, command: Join, limits: GroupLimits, now_ms: int) -> JoinOutcome:
    is_retry = not command.member_id and command.new_member_id in group.members
    member_id = command.new_member_id if is_retry else command.member_id
    if not _has_capacity(group, member_id, limits):
        return _reject_excess(group, command)
    if not supports(group, command.protocol_type, command.protocols):
        return Outcome(group, JoinResult(GroupError.INCONSISTENT_GROUP_PROTOCOL, command.member_id))
    if is_retry and group.phase is Phase.STABLE:
        return _replace_without_rebalance(group, member_id, "", command)
    if member_id:
        return _join_with_id(group, member_id, command, limits, now_ms)
    return _join_without_id(group, command, limits, now_ms)


def _has_capacity(group: ClassicGroup, member_id: str, limits: GroupLimits) -> bool:
    """Return whether the group admits this member. During a rebalance only members that have joined count."""
    if group.phase is Phase.EMPTY or len(group.members) < limits.group_max_size:
        return True
    member = group.members.get(member_id)
    if group.phase is not Phase.PREPARING:
        return member is not None
    if member is not None and member.joining:
        return True
    return sum(other.joining for other in group.members.values()) < limits.group_max_size


def _reject_excess(group: ClassicGroup, command: Join) -> JoinOutcome:
    """Reject a member above the size limit. As in Kafka, a rebalance that waited only for it still waits."""
    rest = remove_members(group, (command.member_id or command.new_member_id,))
    return Outcome(rest, JoinResult(GroupError.GROUP_MAX_SIZE_REACHED, ""))


def _join_with_id(
    group: ClassicGroup, member_id: str, command: Join, limits: GroupLimits, now_ms: int
) -> JoinOutcome:
    if member_id in group.pending_members and command.instance_id is None:
        return _add(group, member_id, command, limits, now_ms)
    error = member_error(group.members, member_id, command.instance_id)
    if error is not GroupError.NONE:
        return Outcome(group, JoinResult(error, member_id))
    return _rejoin(group, group.members[member_id], command, limits, now_ms)


def _join_without_id(group: ClassicGroup, command: Join, limits: GroupLimits, now_ms: int) -> JoinOutcome:
    if command.instance_id is not None:
        old = static_member(group, command.instance_id)
        if old is not None:
            return _replace_static(group, old, command, limits, now_ms)
    elif command.require_known_member_id:
        waiting = add_pending_member(group, command.new_member_id, command.session_timeout_ms)
        return Outcome(waiting, JoinResult(GroupError.MEMBER_ID_REQUIRED, command.new_member_id))
    return _add(group, command.new_member_id, command, limits, now_ms)


def _add(group: ClassicGroup, member_id: str, command: Join, limits: GroupLimits, now_ms: int) -> JoinOutcome:
    """Add a new member."""
    member = Member(
        member_id=member_id,
        instance_id=command.instance_id,
        client_id=command.client_id,
        client_host=command.client_host,
        rebalance_timeout_ms=command.rebalance_timeout_ms,
        session_timeout_ms=command.session_timeout_ms,
        protocols=command.protocols,
        broker=command.broker,
        joining=True,
        is_new=True,
    )
    if group.initial_delay is not None:
        group = replace(group, initial_delay=replace(group.initial_delay, member_added=True))
    added = add_member(group, member, command.protocol_type)
    return _wait(rebalance(added, limits, now_ms), member)


def _rejoin(
    group: ClassicGroup, member: Member, command: Join, limits: GroupLimits, now_ms: int
) -> JoinOutcome:
    """Let a known member rejoin.

    Outside of a rebalance, a member with the same metadata only missed a reply and gets it again. The leader
    of a stable group is the exception: it rejoins to trigger a new assignment.
    """
    is_leader = group.leader == member.member_id
    is_unchanged_phase = group.phase is Phase.COMPLETING or (group.phase is Phase.STABLE and not is_leader)
    if is_unchanged_phase and member.protocols == command.protocols:
        return Outcome(attach(group, member.member_id, command.broker), join_result(group, member))
    return _wait(rebalance(update_member(group, _updated(member, command)), limits, now_ms), member)


def _replace_static(
    group: ClassicGroup, old: Member, command: Join, limits: GroupLimits, now_ms: int
) -> JoinOutcome:
    """Put a new member in the place of the one with the same instance id."""
    member = _updated(replace(old, member_id=command.new_member_id, is_new=False), command)
    replaced = replace_member(group, old.member_id, member)
    if group.phase is not Phase.STABLE or select(replaced.members.values()) != group.protocol:
        return _wait(rebalance(replaced, limits, now_ms), member)
    replaced = update_member(replaced, replace(member, joining=False))
    return _replace_without_rebalance(replaced, command.new_member_id, group.leader or "", command)


def _replace_without_rebalance(
    group: ClassicGroup, member_id: str, old_leader: str, command: Join
) -> JoinOutcome:
    """Let a replacement continue with the inherited assignment.

    If it leads, it must not assign. A client that supports it is asked to skip the assignment. Any other is
    returned another leader, the member it replaced; if the join is applied again, the id of that member is no
    longer known and the leader is empty.
    """
    reply = join_result(group, group.members[member_id])
    if reply.leader == member_id:
        reply = _leader_result(group, reply, old_leader, can_skip=command.supports_skipping_assignment)
    return Outcome(attach(group, member_id, command.broker), reply)


def _leader_result(group: ClassicGroup, reply: JoinResult, old_leader: str, *, can_skip: bool) -> JoinResult:
    return JoinResult(
        GroupError.NONE,
        reply.member_id,
        reply.generation,
        reply.protocol_type,
        reply.protocol,
        leader=reply.leader if can_skip else old_leader,
        members=joined_members(group) if can_skip else (),
        skip_assignment=can_skip,
    )


def _updated(member: Member, command: Join) -> Member:
    return replace(
        attached(member, command.broker),
        rebalance_timeout_ms=command.rebalance_timeout_ms,
        session_timeout_ms=command.session_timeout_ms,
        protocols=command.protocols,
        joining=True,
    )


def _wait(group: ClassicGroup, member: Member) -> JoinOutcome:
    """Keep the join pending, unless the rebalance waited only for it."""
    pending = PendingReply(member.member_id, member.instance_id)
    return Outcome(group, try_complete_join(group, pending) or pending)
