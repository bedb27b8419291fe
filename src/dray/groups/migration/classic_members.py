"""Classic members of a consumer group: SyncGroup, Heartbeat and LeaveGroup. JoinGroup is in `join`.

The generation of such a member is its member epoch. Nothing waits for other members: every request is
answered at once, and the member reaches its target by joining again, when asked to, for each step.
"""

from typing import Final, NamedTuple

from msgspec.structs import replace

from dray.groups.classic.protocols import CONSUMER_TYPE
from dray.groups.commands import Heartbeat, Leave, LeavingMember, Sync
from dray.groups.consumer import ClassicMemberMetadata, ConsumerGroup, ConsumerMember, MemberState
from dray.groups.consumer.members import removed, with_member
from dray.groups.consumer.reconcile import awaits_others
from dray.groups.consumer.state import partitions_of, static_member_id
from dray.groups.consumer.validation import Rejected
from dray.groups.limits import GroupLimits
from dray.groups.migration.downgrade import after_departure, assignment_bytes
from dray.groups.results import JoinResult, Outcome, PendingReply, SyncResult
from dray.groups.stored import Group
from dray.groups.types import GroupError, member_error

_JOIN_AGAIN: Final = SyncResult(GroupError.REBALANCE_IN_PROGRESS)


class _ClassicMember(NamedTuple):
    """A member that is known to use the classic protocol."""

    member: ConsumerMember
    classic: ClassicMemberMetadata


def sync(group: ConsumerGroup, command: Sync) -> Outcome[ConsumerGroup, SyncResult]:
    """Return a classic member its assignment."""
    try:
        found = _syncing_member(group, command)
    except Rejected as rejected:
        return Outcome(group, SyncResult(rejected.error))
    member, classic = found
    # A member that has to revoke partitions has joined already; it is asked to join again once it has done
    # so.
    if member.epoch < group.target_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        return Outcome(_called(group, command.member_id, found, command.broker, must_join=True), _JOIN_AGAIN)
    assignment = assignment_bytes(partitions_of(member.assigned), group.topics, classic.protocols[0][1])
    return Outcome(
        _called(group, command.member_id, found, command.broker, must_sync=False),
        SyncResult(GroupError.NONE, command.protocol_type, command.protocol, assignment),
    )


def heartbeat(group: ConsumerGroup, command: Heartbeat) -> Outcome[ConsumerGroup, GroupError]:
    """Keep a classic member's session alive. It is asked to join again if that advances it."""
    try:
        found = _find(group, command.member_id, command.instance_id, command.generation)
    except Rejected as rejected:
        return Outcome(group, rejected.error)
    if _can_advance(group, command.member_id, found.member):
        called = _called(group, command.member_id, found, command.broker, must_join=True)
        return Outcome(called, GroupError.REBALANCE_IN_PROGRESS)
    return Outcome(_called(group, command.member_id, found, command.broker), GroupError.NONE)


def leave(
    group: ConsumerGroup, command: Leave, limits: GroupLimits, now_ms: int
) -> Outcome[Group, tuple[GroupError, ...]]:
    """Remove each named member of the group, of either protocol; admins may name any."""
    errors, leaving = list[GroupError](), set[str]()
    for one in command.members:
        try:
            leaving.add(_leaving_id(group, one))
            errors.append(GroupError.NONE)
        except Rejected as rejected:
            errors.append(rejected.error)
    rest = removed(group, leaving, now_ms)
    return Outcome(after_departure(group, rest, limits, now_ms), tuple(errors))


def try_complete(group: ConsumerGroup, pending: PendingReply) -> JoinResult | SyncResult:
    """Return the reply to a join or sync that was pending when the classic group was upgraded: join again."""
    error = member_error(group.members, pending.member_id, pending.instance_id)
    reply = GroupError.REBALANCE_IN_PROGRESS if error is GroupError.NONE else error
    return JoinResult(reply, pending.member_id) if pending.sync_generation is None else SyncResult(reply)


def _find(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> _ClassicMember:
    error = member_error(group.members, member_id, instance_id)
    if error is not GroupError.NONE:
        raise Rejected(error)
    member = group.members[member_id]
    if member.classic is None:
        raise Rejected(GroupError.UNKNOWN_MEMBER_ID)
    if generation != member.epoch:
        raise Rejected(GroupError.ILLEGAL_GENERATION)
    return _ClassicMember(member, member.classic)


def _syncing_member(group: ConsumerGroup, command: Sync) -> _ClassicMember:
    if command.require_protocol and (command.protocol_type is None or command.protocol is None):
        raise Rejected(GroupError.INCONSISTENT_GROUP_PROTOCOL)
    found = _find(group, command.member_id, command.instance_id, command.generation)
    protocol = found.classic.protocols[0][0]
    if command.protocol_type not in {None, CONSUMER_TYPE} or command.protocol not in {None, protocol}:
        raise Rejected(GroupError.INCONSISTENT_GROUP_PROTOCOL)
    return found


def _can_advance(group: ConsumerGroup, member_id: str, member: ConsumerMember) -> bool:
    """Return whether another join gets the member to the target epoch, a revocation, or more partitions."""
    if member.state is MemberState.UNRELEASED_PARTITIONS and member.epoch == group.target_epoch:
        return not awaits_others(group, member_id, member)
    return member.epoch < group.target_epoch or member.state is MemberState.UNREVOKED_PARTITIONS


def _called(
    group: ConsumerGroup, member_id: str, found: _ClassicMember, broker: int, **changes: bool
) -> ConsumerGroup:
    """Return the group after a member has called a broker; the very same one if nothing changes."""
    member, classic = found
    if broker == member.broker and all(getattr(classic, name) is value for name, value in changes.items()):
        return group
    return with_member(group, member_id, replace(member, classic=replace(classic, **changes), broker=broker))


def _leaving_id(group: ConsumerGroup, leaving: LeavingMember) -> str:
    """Return the id of the member that leaves; an admin names it by instance id alone."""
    holder = None if leaving.instance_id is None else static_member_id(group, leaving.instance_id)
    if not leaving.member_id and holder is not None:
        return holder
    error = member_error(group.members, leaving.member_id, leaving.instance_id)
    if error is not GroupError.NONE:
        raise Rejected(error)
    return leaving.member_id
