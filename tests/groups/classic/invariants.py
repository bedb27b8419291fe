"""Invariants of every classic group."""

from collections import Counter

import msgspec

from dray.groups.classic import ClassicGroup, Phase, timers, try_complete
from dray.groups.limits import GroupLimits
from dray.groups.results import JoinResult, PendingReply, SyncResult
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError


def check_group(group: ClassicGroup, limits: GroupLimits) -> None:
    check_members(group)
    check_phase(group)
    check_protocols(group)
    check_timers(group, limits)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(group), type=ClassicGroup) == group


def check_members(group: ClassicGroup) -> None:
    """Every id and instance id is unique, and one of the members leads."""
    assert all(key == member.member_id for key, member in group.members.items())
    assert not group.members.keys() & group.pending_members.keys()
    instances = Counter(member.instance_id for member in group.members.values() if member.instance_id)
    assert all(count == 1 for count in instances.values())
    assert group.leader in group.members if group.members else group.leader is None


def check_phase(group: ClassicGroup) -> None:
    preparing = group.phase is Phase.PREPARING
    members = group.members.values()
    assert preparing or not any(member.joining for member in members)
    assert all(member.joining for member in members if member.is_new)
    assert preparing or group.initial_delay is None
    assert preparing or bool(group.members) == (group.phase is not Phase.EMPTY)


def is_awaited(group: ClassicGroup) -> bool:
    """Whether a rebalance still waits for a member, or for the initial delay."""
    complete = not group.pending_members and all(member.joining for member in group.members.values())
    return group.initial_delay is not None or not complete


def check_protocols(group: ClassicGroup) -> None:
    known = [{name for name, _ in member.protocols} for member in group.members.values()]
    assert not known or set.intersection(*known)
    if group.phase in (Phase.COMPLETING, Phase.STABLE):
        assert all(group.protocol in names for names in known)


def check_timers(group: ClassicGroup, limits: GroupLimits) -> None:
    """Timers are unique, every wait is limited by one, and a member that waits has no session timer."""
    specs = list(timers(group, limits))
    assert len({one.timer for one in specs}) == len(specs)
    assert all(one.delay_ms >= 0 for one in specs)
    kinds = {(one.timer.kind, one.timer.member_id) for one in specs}
    assert (group.phase is Phase.PREPARING) == any(
        kind in (TimerKind.INITIAL_DELAY, TimerKind.JOIN_PHASE) for kind, _ in kinds
    )
    for member in group.members.values():
        waits = member.joining or (group.phase is Phase.COMPLETING and member.synced)
        assert ((TimerKind.SESSION, member.member_id) in kinds) != waits
        assert ((TimerKind.NEW_MEMBER, member.member_id) in kinds) == member.is_new


def check_reply(group: ClassicGroup | None, pending: PendingReply) -> JoinResult | SyncResult | None:
    """A reply stays pending if and only if the phase requires it; a completed one matches the group."""
    reply = try_complete(group, pending)
    member = None if group is None else group.members.get(pending.member_id)
    if group is None or member is None:
        assert reply is not None
        assert reply.error in (GroupError.UNKNOWN_MEMBER_ID, GroupError.FENCED_INSTANCE_ID)
    elif pending.sync_generation is None:
        assert (reply is None) == member.joining
        if isinstance(reply, JoinResult):
            assert (reply.error, reply.generation) == (GroupError.NONE, group.generation)
    else:
        same = group.generation == pending.sync_generation
        assert (reply is None) == (same and group.phase is Phase.COMPLETING)
        if isinstance(reply, SyncResult) and reply.error is GroupError.NONE:
            assert same
            assert group.phase is Phase.STABLE
            assert reply.assignment == member.assignment
    return reply
