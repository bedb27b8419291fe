"""What must not take too long, and what becomes of the group if it does: the member in question is removed.

    SESSION        a member has to call                      at its broker      stamp: that broker
    REVOCATION     a member has to give up partitions        at the caretaker   stamp: since which epoch
    CLASSIC_JOIN   a classic member has to join again        at the caretaker   stamp: its last join
    CLASSIC_SYNC   one that has joined has to fetch its part at the caretaker   stamp: its last join

Whoever fires a timer may not have seen the latest group. So a timer only counts if the group still asks for
it.
"""

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from dray.groups.consumer.departure import removed
from dray.groups.consumer.state import ConsumerGroup, ConsumerMember, Progress
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Timer, TimerAsked, TimerKind


def timers(group: ConsumerGroup, limits: GroupLimits) -> Iterator[TimerAsked]:
    """The timers that are to run."""
    for member_id, member in group.members.items():
        yield from _timers_of(member_id, member, limits)


def fire(group: ConsumerGroup, timer: Timer, limits: GroupLimits, now_ms: int) -> ConsumerGroup:
    """What becomes of the group when a timer has run out; the very same group if it no longer counts."""
    member = group.members.get(timer.member_id)
    if member is None:
        return group
    if all(asked.timer != timer for asked in _timers_of(timer.member_id, member, limits)):
        return group
    return removed(group, {timer.member_id}, now_ms)


def adopt(group: ConsumerGroup, alive: Collection[int], broker: int) -> ConsumerGroup:
    """Give the members of brokers that are no more to another, with sessions that begin anew."""
    orphans = {id_: member for id_, member in group.members.items() if member.broker not in alive}
    if not orphans:
        return group
    adopted = {id_: replace(member, broker=broker) for id_, member in orphans.items()}
    return replace(group, members=group.members | adopted)


def _timers_of(member_id: str, member: ConsumerMember, limits: GroupLimits) -> Iterator[TimerAsked]:
    classic = member.classic
    session_ms = limits.consumer_session_timeout_ms if classic is None else classic.session_timeout_ms
    yield TimerAsked(Timer(TimerKind.SESSION, member_id, member.broker), session_ms, member.broker)
    rebalance_ms = max(member.rebalance_timeout_ms, 0)
    if classic is None:
        if member.progress is Progress.UNREVOKED and not member.away:
            yield TimerAsked(
                Timer(TimerKind.REVOCATION, member_id, member.revoking_since), rebalance_ms, None
            )
        return
    if classic.must_join:
        yield TimerAsked(Timer(TimerKind.CLASSIC_JOIN, member_id, classic.joins), rebalance_ms, None)
    if classic.must_sync:
        yield TimerAsked(Timer(TimerKind.CLASSIC_SYNC, member_id, classic.joins), rebalance_ms, None)
