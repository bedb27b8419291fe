"""Rebalance of a classic group: from one generation to the next.

    prepare ─▶ members join ─▶ complete ─▶ next generation, or Empty

A rebalance completes when all members have joined, or when its timeout is over. One that ends the Empty phase
waits in any case for more members (`initial_delay`), so that a new group does not rebalance with each of
them.
"""

from msgspec.structs import replace

from dray.groups.classic.protocols import select
from dray.groups.classic.state import (
    ClassicGroup,
    InitialDelay,
    Member,
    Phase,
    all_joined,
    rebalance_timeout_ms,
    remove_members,
)
from dray.groups.limits import GroupLimits


def rebalance(group: ClassicGroup, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """Prepare a rebalance; complete one that is already prepared if all members have joined."""
    if group.phase is not Phase.PREPARING:
        return prepare(group, limits, now_ms)
    return complete(group, now_ms) if group.initial_delay is None and all_joined(group) else group


def prepare(group: ClassicGroup, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """Begin to collect joins; completes at once if no member is missing."""
    prepared = replace(
        group,
        phase=Phase.PREPARING,
        members=_unassigned(group.members) if group.phase is Phase.COMPLETING else group.members,
        initial_delay=_initial_delay(group, limits) if group.phase is Phase.EMPTY else None,
        phase_epoch=group.phase_epoch + 1,
        changed_at_ms=now_ms,
    )
    return rebalance(prepared, limits, now_ms)


def complete(group: ClassicGroup, now_ms: int) -> ClassicGroup:
    """Begin the next generation with the members that have joined.

    Static members stay even if they have not joined; only their session removes them. If no other members are
    left, none can lead, and the wait begins again.
    """
    group = remove_members(group, {key for key, member in group.members.items() if _is_dropped(member)})
    leader = _joined_leader(group)
    if leader is not None:
        return _next_generation(group, leader, now_ms)
    if group.members:
        return replace(group, initial_delay=None, phase_epoch=group.phase_epoch + 1)
    return _emptied(group, now_ms)


def end_initial_delay(group: ClassicGroup, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """End the initial delay, or extend it if a member was added during it and time is left."""
    initial = group.initial_delay
    if initial is None or not initial.member_added or initial.remaining_ms == 0:
        return complete(group, now_ms)
    delay_ms = min(limits.initial_rebalance_delay_ms, initial.remaining_ms)
    remaining_ms = max(initial.remaining_ms - initial.delay_ms, 0)
    return replace(
        group, initial_delay=InitialDelay(delay_ms, remaining_ms), phase_epoch=group.phase_epoch + 1
    )


def expire(group: ClassicGroup, member_id: str, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """Remove a member that timed out. As in Kafka, this ends even an initial delay if no other is missing."""
    was_member = member_id in group.members
    rest = remove_members(group, (member_id,))
    if rest.phase is Phase.PREPARING and all_joined(rest):
        return complete(rest, now_ms)
    if was_member and rest.phase in (Phase.COMPLETING, Phase.STABLE):
        return prepare(rest, limits, now_ms)
    return rest


def _next_generation(group: ClassicGroup, leader: str, now_ms: int) -> ClassicGroup:
    return replace(
        group,
        phase=Phase.COMPLETING,
        generation=group.generation + 1,
        protocol=select(group.members.values()),
        leader=leader,
        members={
            key: replace(
                member, joining=False, synced=False, is_new=False, session_epoch=member.session_epoch + 1
            )
            for key, member in group.members.items()
        },
        initial_delay=None,
        phase_epoch=group.phase_epoch + 1,
        changed_at_ms=now_ms,
    )


def _emptied(group: ClassicGroup, now_ms: int) -> ClassicGroup:
    return replace(
        group,
        phase=Phase.EMPTY,
        generation=group.generation + 1,
        protocol=None,
        initial_delay=None,
        phase_epoch=group.phase_epoch + 1,
        changed_at_ms=now_ms,
    )


def _joined_leader(group: ClassicGroup) -> str | None:
    """Return the leader if it has joined, else the first member that has."""
    if group.leader is not None and group.members[group.leader].joining:
        return group.leader
    return next((key for key, member in group.members.items() if member.joining), None)


def _initial_delay(group: ClassicGroup, limits: GroupLimits) -> InitialDelay:
    delay_ms = limits.initial_rebalance_delay_ms
    return InitialDelay(delay_ms, max(rebalance_timeout_ms(group) - delay_ms, 0))


def _is_dropped(member: Member) -> bool:
    return not member.joining and member.instance_id is None


def _unassigned(members: dict[str, Member]) -> dict[str, Member]:
    """Without assignments: those of an older generation must not be shown as valid."""
    return {key: replace(member, assignment=b"") for key, member in members.items()}
