"""Timers of a classic group, and what happens when one fires.

    INITIAL_DELAY | JOIN_PHASE | SYNC_PHASE   at most one at a time, for the group, at its owner broker
    PENDING_MEMBER                            for each assigned id that has not joined, at the owner broker
    SESSION | NEW_MEMBER                      for each member, at the broker it is attached to

A member that waits for a reply has no session: the group, not the member, causes the wait. A new one that
waits gets five minutes: its client may not know its id, so nothing else would ever remove it.

A timer that fires has an effect only if the group still asks for the very same one.
"""

from collections.abc import Iterator
from typing import Final

from dray.groups.classic.rebalance import complete, end_initial_delay, expire, prepare
from dray.groups.classic.state import ClassicGroup, Member, Phase, rebalance_timeout_ms, remove_members
from dray.groups.limits import GroupLimits
from dray.groups.timers import Timer, TimerKind, TimerSpec

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60_000
"""Not configurable in Kafka either."""


def timers(
    group: ClassicGroup,
    limits: GroupLimits,  # noqa: ARG001 - all machines have the same signature
) -> Iterator[TimerSpec]:
    """Return all timers that have to run."""
    phase_timer = _phase_timer(group)
    if phase_timer is not None:
        yield TimerSpec(phase_timer, _phase_ms(group), None)
    for pending_id, session_timeout_ms in group.pending_members.items():
        yield TimerSpec(Timer(TimerKind.PENDING_MEMBER, pending_id, 0), session_timeout_ms, None)
    for member in group.members.values():
        member_timer = _member_timer(group, member)
        if member_timer is not None:
            yield TimerSpec(member_timer, _member_ms(member), member.broker)


def fire(group: ClassicGroup, timer: Timer, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """Return the group after a timer has fired; the very same group if the timer is stale."""
    if timer == _phase_timer(group):
        return _fire_phase(group, timer.kind, limits, now_ms)
    if timer.kind is TimerKind.PENDING_MEMBER and timer.member_id in group.pending_members:
        return expire(group, timer.member_id, limits, now_ms)
    member = group.members.get(timer.member_id)
    if member is not None and timer == _member_timer(group, member):
        return expire(group, timer.member_id, limits, now_ms)
    return group


def _phase_timer(group: ClassicGroup) -> Timer | None:
    kind = _phase_kind(group)
    return None if kind is None else Timer(kind, "", group.phase_epoch)


def _phase_kind(group: ClassicGroup) -> TimerKind | None:
    if group.phase is Phase.EMPTY:
        return None
    if group.phase is Phase.PREPARING:
        return TimerKind.JOIN_PHASE if group.initial_delay is None else TimerKind.INITIAL_DELAY
    return None if all(member.synced for member in group.members.values()) else TimerKind.SYNC_PHASE


def _phase_ms(group: ClassicGroup) -> int:
    return rebalance_timeout_ms(group) if group.initial_delay is None else group.initial_delay.delay_ms


def _fire_phase(group: ClassicGroup, kind: TimerKind, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    if kind is TimerKind.INITIAL_DELAY:
        return end_initial_delay(group, limits, now_ms)
    if kind is TimerKind.JOIN_PHASE:
        return complete(group, now_ms)
    late = {key for key, member in group.members.items() if not member.synced}
    return prepare(remove_members(group, late), limits, now_ms)


def _member_timer(group: ClassicGroup, member: Member) -> Timer | None:
    if member.joining:
        # A member that was in an earlier generation is removed by its session once the phase is over.
        return Timer(TimerKind.NEW_MEMBER, member.member_id, member.session_epoch) if member.is_new else None
    if member.synced and group.phase is Phase.COMPLETING:
        return None
    return Timer(TimerKind.SESSION, member.member_id, member.session_epoch)


def _member_ms(member: Member) -> int:
    return NEW_MEMBER_JOIN_TIMEOUT_MS if member.joining else member.session_timeout_ms
