"""The way from one generation to the next.

    begin ─▶ members join ─▶ complete ─▶ next generation, or Empty

A rebalance completes when everybody has joined, or when its time is up. One that ends an empty phase waits in
any case, in the hope that more members come (`initial`), so that a new group does not rebalance with each.
"""

from msgspec.structs import replace

from dray.groups.classic.protocols import select
from dray.groups.classic.roster import all_joined, rebalance_timeout_ms, without
from dray.groups.classic.state import ClassicGroup, InitialDelay, Member, Phase
from dray.groups.limits import GroupLimits


def rebalance(group: ClassicGroup, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """Begin a rebalance; if one is going on, complete it if that is all it waited for."""
    if group.phase is not Phase.PREPARING:
        return begin(group, limits, now_ms)
    return complete(group, now_ms) if group.initial is None and all_joined(group) else group


def begin(group: ClassicGroup, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """Begin to collect joins, and be done at once if nobody is missing."""
    prepared = replace(
        group,
        phase=Phase.PREPARING,
        members=_unassigned(group.members) if group.phase is Phase.COMPLETING else group.members,
        initial=_initial_delay(group, limits) if group.phase is Phase.EMPTY else None,
        turn=group.turn + 1,
        changed_at_ms=now_ms,
    )
    return rebalance(prepared, limits, now_ms)


def complete(group: ClassicGroup, now_ms: int) -> ClassicGroup:
    """Begin the next generation with those who have joined.

    Members with an instance id stay even if they have not joined; only their session ends them. If none but
    such are left, there is nobody to lead, and the waiting starts anew.
    """
    group = without(group, {key for key, member in group.members.items() if _dropped(member)})
    leader = _joined_leader(group)
    if leader is not None:
        return _next_generation(group, leader, now_ms)
    if group.members:
        return replace(group, initial=None, turn=group.turn + 1)
    return _emptied(group, now_ms)


def put_off(group: ClassicGroup, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """End the initial delay, or extend it if somebody came meanwhile and time is left."""
    initial = group.initial
    if initial is None or not initial.put_off or initial.remaining_ms == 0:
        return complete(group, now_ms)
    delay_ms = min(limits.initial_rebalance_delay_ms, initial.remaining_ms)
    remaining_ms = max(initial.remaining_ms - initial.delay_ms, 0)
    return replace(group, initial=InitialDelay(delay_ms, remaining_ms), turn=group.turn + 1)


def expel(group: ClassicGroup, member_id: str, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """Take out one whose time is up. As in Kafka this ends even an initial delay if nobody is missing now."""
    was_member = member_id in group.members
    rest = without(group, (member_id,))
    if rest.phase is Phase.PREPARING and all_joined(rest):
        return complete(rest, now_ms)
    if was_member and rest.phase in (Phase.COMPLETING, Phase.STABLE):
        return begin(rest, limits, now_ms)
    return rest


def _next_generation(group: ClassicGroup, leader: str, now_ms: int) -> ClassicGroup:
    return replace(
        group,
        phase=Phase.COMPLETING,
        generation=group.generation + 1,
        protocol=select(group.members.values()),
        leader=leader,
        members={
            key: replace(member, joining=False, synced=False, is_new=False, session=member.session + 1)
            for key, member in group.members.items()
        },
        initial=None,
        turn=group.turn + 1,
        changed_at_ms=now_ms,
    )


def _emptied(group: ClassicGroup, now_ms: int) -> ClassicGroup:
    return replace(
        group,
        phase=Phase.EMPTY,
        generation=group.generation + 1,
        protocol=None,
        initial=None,
        turn=group.turn + 1,
        changed_at_ms=now_ms,
    )


def _joined_leader(group: ClassicGroup) -> str | None:
    """The leader if it has joined, else the first who has."""
    if group.leader is not None and group.members[group.leader].joining:
        return group.leader
    return next((key for key, member in group.members.items() if member.joining), None)


def _initial_delay(group: ClassicGroup, limits: GroupLimits) -> InitialDelay:
    delay_ms = limits.initial_rebalance_delay_ms
    return InitialDelay(delay_ms, max(rebalance_timeout_ms(group) - delay_ms, 0))


def _dropped(member: Member) -> bool:
    return not member.joining and member.instance_id is None


def _unassigned(members: dict[str, Member]) -> dict[str, Member]:
    """Without assignments: those of an older generation, that nobody may show as valid any more."""
    return {key: replace(member, assignment=b"") for key, member in members.items()}
