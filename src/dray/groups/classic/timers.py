"""The timers that follow from a group, and what becomes of it when one fires.

    INITIAL_DELAY | JOIN_PHASE | SYNC_PHASE   at most one at a time, for the group
    PENDING_MEMBER                            for each id that was given out
    SESSION | NEW_MEMBER                      for each member, at the broker it belongs to

A member that waits for an answer has no session: the group keeps it waiting, not the other way round. One
that is new and waits is given five minutes: nobody may know its id, so that nothing else would ever end it.

A timer counts when it fires only if the group still asks for the very same one.
"""

from collections.abc import Iterator
from typing import Final

from dray.groups.classic.rebalance import begin, complete, expel, put_off
from dray.groups.classic.roster import rebalance_timeout_ms, without
from dray.groups.classic.state import ClassicGroup, Member, Phase
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Timer, TimerAsked, TimerKind

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60_000
"""Cannot be chosen in Kafka either."""


def timers(
    group: ClassicGroup,
    limits: GroupLimits,  # noqa: ARG001 - all machines are called alike
) -> Iterator[TimerAsked]:
    """All timers that are to run."""
    phase_timer = _phase_timer(group)
    if phase_timer is not None:
        yield TimerAsked(phase_timer, _phase_ms(group), None)
    for pending_id, session_timeout_ms in group.pending.items():
        yield TimerAsked(Timer(TimerKind.PENDING_MEMBER, pending_id, 0), session_timeout_ms, None)
    for member in group.members.values():
        member_timer = _member_timer(group, member)
        if member_timer is not None:
            yield TimerAsked(member_timer, _member_ms(member), member.broker)


def fire(group: ClassicGroup, timer: Timer, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """The group after a timer has fired; the same if the timer is stale."""
    if timer == _phase_timer(group):
        return _fire_phase(group, timer.kind, limits, now_ms)
    if timer.kind is TimerKind.PENDING_MEMBER and timer.member_id in group.pending:
        return expel(group, timer.member_id, limits, now_ms)
    member = group.members.get(timer.member_id)
    if member is not None and timer == _member_timer(group, member):
        return expel(group, timer.member_id, limits, now_ms)
    return group


def _phase_timer(group: ClassicGroup) -> Timer | None:
    kind = _phase_kind(group)
    return None if kind is None else Timer(kind, "", group.turn)


def _phase_kind(group: ClassicGroup) -> TimerKind | None:
    if group.phase is Phase.EMPTY:
        return None
    if group.phase is Phase.PREPARING:
        return TimerKind.JOIN_PHASE if group.initial is None else TimerKind.INITIAL_DELAY
    return None if all(member.synced for member in group.members.values()) else TimerKind.SYNC_PHASE


def _phase_ms(group: ClassicGroup) -> int:
    return rebalance_timeout_ms(group) if group.initial is None else group.initial.delay_ms


def _fire_phase(group: ClassicGroup, kind: TimerKind, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    if kind is TimerKind.INITIAL_DELAY:
        return put_off(group, limits, now_ms)
    if kind is TimerKind.JOIN_PHASE:
        return complete(group, now_ms)
    late = {key for key, member in group.members.items() if not member.synced}
    return begin(without(group, late), limits, now_ms)


def _member_timer(group: ClassicGroup, member: Member) -> Timer | None:
    if member.joining:
        # A member that has been in a generation before is ended by its session once the phase is over.
        return Timer(TimerKind.NEW_MEMBER, member.member_id, member.session) if member.is_new else None
    if member.synced and group.phase is Phase.COMPLETING:
        return None
    return Timer(TimerKind.SESSION, member.member_id, member.session)


def _member_ms(member: Member) -> int:
    return NEW_MEMBER_JOIN_TIMEOUT_MS if member.joining else member.session_timeout_ms
