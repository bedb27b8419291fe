"""What holds of every group, however it came about."""

from collections import Counter

import msgspec

from dray.groups.classic import ClassicGroup, Phase, settle, timers
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Parked, TimerKind
from dray.groups.replies import Joined, Synced


def check_group(group: ClassicGroup, limits: GroupLimits) -> None:
    check_members(group)
    check_phase(group)
    check_protocols(group)
    check_timers(group, limits)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(group), type=ClassicGroup) == group


def check_members(group: ClassicGroup) -> None:
    """Nobody is in two places, and one of the members leads."""
    assert all(key == member.member_id for key, member in group.members.items())
    assert not group.members.keys() & group.pending.keys()
    instances = Counter(member.instance_id for member in group.members.values() if member.instance_id)
    assert all(count == 1 for count in instances.values())
    assert group.leader in group.members if group.members else group.leader is None


def check_phase(group: ClassicGroup) -> None:
    preparing = group.phase is Phase.PREPARING
    members = group.members.values()
    assert preparing or not any(member.joining for member in members)
    assert all(member.joining for member in members if member.is_new)
    assert preparing or group.initial is None
    assert preparing or bool(group.members) == (group.phase is not Phase.EMPTY)


def is_awaited(group: ClassicGroup) -> bool:
    """Whether a rebalance still waits for somebody, or for the initial delay."""
    everybody = not group.pending and all(member.joining for member in group.members.values())
    return group.initial is not None or not everybody


def check_protocols(group: ClassicGroup) -> None:
    known = [{name for name, _ in member.protocols} for member in group.members.values()]
    assert not known or set.intersection(*known)
    if group.phase in (Phase.COMPLETING, Phase.STABLE):
        assert all(group.protocol in names for names in known)


def check_timers(group: ClassicGroup, limits: GroupLimits) -> None:
    """Each runs once; nobody is without one that ends its waiting; who waits has no session."""
    asked = list(timers(group, limits))
    assert len({one.timer for one in asked}) == len(asked)
    assert all(one.after_ms >= 0 for one in asked)
    kinds = {(one.timer.kind, one.timer.member_id) for one in asked}
    assert (group.phase is Phase.PREPARING) == any(
        kind in (TimerKind.INITIAL_DELAY, TimerKind.JOIN_PHASE) for kind, _ in kinds
    )
    for member in group.members.values():
        waits = member.joining or (group.phase is Phase.COMPLETING and member.synced)
        assert ((TimerKind.SESSION, member.member_id) in kinds) != waits
        assert ((TimerKind.NEW_MEMBER, member.member_id) in kinds) == member.is_new


def check_answer(group: ClassicGroup | None, parked: Parked) -> Joined | Synced | None:
    """One goes on waiting if and only if the phase makes it wait; an answer fits the group."""
    answer = settle(group, parked)
    member = None if group is None else group.members.get(parked.member_id)
    if group is None or member is None:
        assert answer is not None
        assert answer.fault in (Fault.UNKNOWN_MEMBER_ID, Fault.FENCED_INSTANCE_ID)
    elif parked.sync_of is None:
        assert (answer is None) == member.joining
        if isinstance(answer, Joined):
            assert (answer.fault, answer.generation) == (Fault.NONE, group.generation)
    else:
        same = group.generation == parked.sync_of
        assert (answer is None) == (same and group.phase is Phase.COMPLETING)
        if isinstance(answer, Synced) and answer.fault is Fault.NONE:
            assert same
            assert group.phase is Phase.STABLE
            assert answer.assignment == member.assignment
    return answer
