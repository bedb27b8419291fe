"""Requests of existing members: SyncGroup, Heartbeat, LeaveGroup, OffsetCommit. JoinGroup is in `join`."""

from typing import TypeAlias

from msgspec.structs import replace

from dray.groups.classic.completion import try_complete_sync
from dray.groups.classic.rebalance import rebalance
from dray.groups.classic.state import (
    ClassicGroup,
    Phase,
    attach,
    attached,
    remove_members,
    static_member,
    update_member,
)
from dray.groups.commands import Heartbeat, Leave, LeavingMember, OffsetCommitter, Sync
from dray.groups.limits import GroupLimits
from dray.groups.results import Outcome, PendingReply, SyncResult
from dray.groups.types import GroupError, member_error

SyncOutcome: TypeAlias = Outcome[ClassicGroup | None, SyncResult | PendingReply]


def sync(
    group: ClassicGroup | None,
    command: Sync,
    limits: GroupLimits,  # noqa: ARG001 - all commands have the same signature
    now_ms: int,
) -> SyncOutcome:
    """Store the assignment if the leader sends it; reply once there is one."""
    error = _sync_error(group, command)
    if group is None or error is not GroupError.NONE:
        return Outcome(group, SyncResult(error))
    member = group.members[command.member_id]
    group = update_member(group, replace(attached(member, command.broker), synced=True))
    if group.phase is Phase.COMPLETING and group.leader == command.member_id:
        group = _assigned(group, dict(command.assignments), now_ms)
    pending = PendingReply(command.member_id, member.instance_id, group.generation)
    return Outcome(group, try_complete_sync(group, pending) or pending)


def _assigned(group: ClassicGroup, assignments: dict[str, bytes], now_ms: int) -> ClassicGroup:
    """Return the stable group; a member without an assignment gets an empty one."""
    return replace(
        group,
        phase=Phase.STABLE,
        members={
            key: replace(member, assignment=assignments.get(key, b""))
            for key, member in group.members.items()
        },
        changed_at_ms=now_ms,
    )


def _sync_error(group: ClassicGroup | None, command: Sync) -> GroupError:
    if command.require_protocol and (command.protocol_type is None or command.protocol is None):
        return GroupError.INCONSISTENT_GROUP_PROTOCOL
    if group is None:
        return GroupError.UNKNOWN_MEMBER_ID
    error = member_error(group.members, command.member_id, command.instance_id)
    if error is not GroupError.NONE:
        return error
    if command.generation != group.generation:
        return GroupError.ILLEGAL_GENERATION
    if _differs(command.protocol_type, group.protocol_type) or _differs(command.protocol, group.protocol):
        return GroupError.INCONSISTENT_GROUP_PROTOCOL
    return GroupError.REBALANCE_IN_PROGRESS if group.phase is Phase.PREPARING else GroupError.NONE


def _differs(sent: str | None, known: str | None) -> bool:
    return sent is not None and known is not None and sent != known


def heartbeat(group: ClassicGroup | None, command: Heartbeat) -> Outcome[ClassicGroup | None, GroupError]:
    """Keep a member's session alive, and notify it of a rebalance. Looks at one member only."""
    if group is None:
        return Outcome(None, GroupError.UNKNOWN_MEMBER_ID)
    error = member_error(group.members, command.member_id, command.instance_id)
    if error is not GroupError.NONE:
        return Outcome(group, error)
    if command.generation != group.generation:
        return Outcome(group, GroupError.ILLEGAL_GENERATION)
    reply = GroupError.REBALANCE_IN_PROGRESS if group.phase is Phase.PREPARING else GroupError.NONE
    return Outcome(attach(group, command.member_id, command.broker), reply)


def leave(
    group: ClassicGroup | None, command: Leave, limits: GroupLimits, now_ms: int
) -> Outcome[ClassicGroup | None, tuple[GroupError, ...]]:
    """Remove each named member of the group; one rebalance follows for all of them.

    Members leave by themselves, or an admin removes static members by instance id. As in Kafka, removing only
    ids that have not joined yet causes a rebalance too.
    """
    if group is None:
        return Outcome(None, tuple(GroupError.UNKNOWN_MEMBER_ID for _ in command.members))
    rest, errors = group, list[GroupError]()
    for leaving in command.members:
        rest, error = _leave(rest, leaving)
        errors.append(error)
    if rest is not group and rest.phase is not Phase.EMPTY:
        rest = rebalance(rest, limits, now_ms)
    return Outcome(rest, tuple(errors))


def _leave(group: ClassicGroup, leaving: LeavingMember) -> tuple[ClassicGroup, GroupError]:
    if not leaving.member_id:
        member = None if leaving.instance_id is None else static_member(group, leaving.instance_id)
        if member is None:
            return group, GroupError.UNKNOWN_MEMBER_ID
        return remove_members(group, (member.member_id,)), GroupError.NONE
    error = GroupError.NONE
    if leaving.member_id not in group.pending_members:
        error = member_error(group.members, leaving.member_id, leaving.instance_id)
    return (remove_members(group, (leaving.member_id,)) if error is GroupError.NONE else group), error


def commit_error(group: ClassicGroup | None, committer: OffsetCommitter) -> GroupError:
    """Return the error of a commit; `NONE` if allowed. A commit to no group creates one."""
    if group is None:
        return _commit_error_without_group(committer)
    if committer.epoch < 0 and group.phase is Phase.EMPTY:
        return GroupError.NONE
    if committer.epoch < 0 and not committer.member_id and committer.instance_id is None:
        return GroupError.UNKNOWN_MEMBER_ID
    error = member_error(group.members, committer.member_id, committer.instance_id)
    if error is not GroupError.NONE:
        return error
    if committer.epoch != group.generation:
        return GroupError.ILLEGAL_GENERATION
    return GroupError.REBALANCE_IN_PROGRESS if group.phase is Phase.COMPLETING else GroupError.NONE


def _commit_error_without_group(committer: OffsetCommitter) -> GroupError:
    if committer.epoch < 0:
        return GroupError.NONE
    return (
        GroupError.GROUP_ID_NOT_FOUND if committer.supports_member_epochs else GroupError.ILLEGAL_GENERATION
    )


def after_commit(group: ClassicGroup, committer: OffsetCommitter) -> ClassicGroup:
    """Return the group after an accepted commit: the member is attached to the broker it called."""
    if committer.member_id not in group.members or commit_error(group, committer) is not GroupError.NONE:
        return group
    return attach(group, committer.member_id, committer.broker)
