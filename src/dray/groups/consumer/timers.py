"""Timers of a consumer group. When one fires, the member is removed.

    SESSION        a member has to send a request        at its broker        token: that broker
    REVOCATION     a member has to revoke partitions     at the owner broker  token: `revoking_since`
    CLASSIC_JOIN   a classic member has to join again    at the owner broker  token: its number of joins
    CLASSIC_SYNC   a classic member has to sync          at the owner broker  token: its number of joins

A broker that fires a timer may not have seen the latest group, so a timer has an effect only if the group
still asks for it.
"""

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from dray.groups.consumer.members import removed
from dray.groups.consumer.state import ConsumerGroup, ConsumerMember, MemberState
from dray.groups.limits import GroupLimits
from dray.groups.timers import Timer, TimerKind, TimerSpec


def timers(group: ConsumerGroup, limits: GroupLimits) -> Iterator[TimerSpec]:
    """Return all timers that have to run."""
    for member_id, member in group.members.items():
        yield from _timers_of(member_id, member, limits)


def fire(group: ConsumerGroup, timer: Timer, limits: GroupLimits, now_ms: int) -> ConsumerGroup:
    """Return the group after a timer has fired; the very same group if the timer is stale."""
    member = group.members.get(timer.member_id)
    if member is None:
        return group
    if all(spec.timer != timer for spec in _timers_of(timer.member_id, member, limits)):
        return group
    return removed(group, {timer.member_id}, now_ms)


def take_over_members(group: ConsumerGroup, alive: Collection[int], broker: int) -> ConsumerGroup:
    """Attach the members of brokers that died to `broker`, each with a new session."""
    orphans = {id_: member for id_, member in group.members.items() if member.broker not in alive}
    if not orphans:
        return group
    attached = {id_: replace(member, broker=broker) for id_, member in orphans.items()}
    return replace(group, members=group.members | attached)


def _timers_of(member_id: str, member: ConsumerMember, limits: GroupLimits) -> Iterator[TimerSpec]:
    classic = member.classic
    session_ms = limits.consumer_session_timeout_ms if classic is None else classic.session_timeout_ms
    yield TimerSpec(Timer(TimerKind.SESSION, member_id, member.broker), session_ms, member.broker)
    rebalance_ms = max(member.rebalance_timeout_ms, 0)
    if classic is None:
        if member.state is MemberState.UNREVOKED_PARTITIONS and not member.has_left_temporarily:
            yield TimerSpec(Timer(TimerKind.REVOCATION, member_id, member.revoking_since), rebalance_ms, None)
        return
    if classic.must_join:
        yield TimerSpec(Timer(TimerKind.CLASSIC_JOIN, member_id, classic.joins), rebalance_ms, None)
    if classic.must_sync:
        yield TimerSpec(Timer(TimerKind.CLASSIC_SYNC, member_id, classic.joins), rebalance_ms, None)
