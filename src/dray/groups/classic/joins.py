"""JoinGroup.

A join that was applied and is applied again, because nobody knows what became of the first, must not bring a
second member. It is known by the id it would have given out (`new_id`): if that is a member already, the
join is taken as that member's own.
"""

from typing import TypeAlias

from msgspec.structs import replace

from dray.groups.asks import Join
from dray.groups.classic.protocols import select, supports
from dray.groups.classic.rebalance import rebalance
from dray.groups.classic.roster import (
    admit,
    attach,
    attached,
    await_return,
    holder,
    member_fault,
    put,
    succeed,
    without,
)
from dray.groups.classic.settling import joined, joined_members, settle_join
from dray.groups.classic.state import ClassicGroup, Member, Phase, simple
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Outcome, Parked
from dray.groups.replies import Joined

JoinOutcome: TypeAlias = Outcome[ClassicGroup | None, Joined | Parked]


def join(group: ClassicGroup | None, ask: Join, limits: GroupLimits, now_ms: int) -> JoinOutcome:
    """Let a member in, or in again. As in Kafka one who comes first makes a group even if it is refused."""
    if not limits.min_session_timeout_ms <= ask.session_timeout_ms <= limits.max_session_timeout_ms:
        return Outcome(group, Joined(Fault.INVALID_SESSION_TIMEOUT, ask.member_id))
    if group is None and ask.member_id:
        return Outcome(None, Joined(Fault.UNKNOWN_MEMBER_ID, ask.member_id))
    return _join(simple(now_ms) if group is None else group, ask, limits, now_ms)


def _join(group: ClassicGroup, ask: Join, limits: GroupLimits, now_ms: int) -> JoinOutcome:
    again = not ask.member_id and ask.new_id in group.members
    member_id = ask.new_id if again else ask.member_id
    if not _has_room(group, member_id, limits):
        return _turn_away(group, ask)
    if not supports(group, ask.protocol_type, ask.protocols):
        return Outcome(group, Joined(Fault.INCONSISTENT_GROUP_PROTOCOL, ask.member_id))
    if again and group.phase is Phase.STABLE:
        return _take_over_quietly(group, member_id, "", ask)
    if member_id:
        return _join_with_id(group, member_id, ask, limits, now_ms)
    return _join_without_id(group, ask, limits, now_ms)


def _has_room(group: ClassicGroup, member_id: str, limits: GroupLimits) -> bool:
    """Whether one more fits in. While joins are collected only those who have joined count."""
    if group.phase is Phase.EMPTY or len(group.members) < limits.max_size:
        return True
    member = group.members.get(member_id)
    if group.phase is not Phase.PREPARING:
        return member is not None
    if member is not None and member.joining:
        return True
    return sum(other.joining for other in group.members.values()) < limits.max_size


def _turn_away(group: ClassicGroup, ask: Join) -> JoinOutcome:
    """Refuse one too many. As in Kafka a rebalance that waited for nobody else goes on waiting."""
    rest = without(group, (ask.member_id or ask.new_id,))
    return Outcome(rest, Joined(Fault.GROUP_MAX_SIZE_REACHED, ""))


def _join_with_id(
    group: ClassicGroup, member_id: str, ask: Join, limits: GroupLimits, now_ms: int
) -> JoinOutcome:
    if member_id in group.pending and ask.instance_id is None:
        return _enter(group, member_id, ask, limits, now_ms)
    fault = member_fault(group, member_id, ask.instance_id)
    if fault is not Fault.NONE:
        return Outcome(group, Joined(fault, member_id))
    return _rejoin(group, group.members[member_id], ask, limits, now_ms)


def _join_without_id(group: ClassicGroup, ask: Join, limits: GroupLimits, now_ms: int) -> JoinOutcome:
    if ask.instance_id is not None:
        old = holder(group, ask.instance_id)
        if old is not None:
            return _take_over(group, old, ask, limits, now_ms)
    elif ask.must_know_id:
        waiting = await_return(group, ask.new_id, ask.session_timeout_ms)
        return Outcome(waiting, Joined(Fault.MEMBER_ID_REQUIRED, ask.new_id))
    return _enter(group, ask.new_id, ask, limits, now_ms)


def _enter(group: ClassicGroup, member_id: str, ask: Join, limits: GroupLimits, now_ms: int) -> JoinOutcome:
    """Add a new member."""
    member = Member(
        member_id=member_id,
        instance_id=ask.instance_id,
        client_id=ask.client_id,
        client_host=ask.client_host,
        rebalance_timeout_ms=ask.rebalance_timeout_ms,
        session_timeout_ms=ask.session_timeout_ms,
        protocols=ask.protocols,
        broker=ask.broker,
        joining=True,
        is_new=True,
    )
    if group.initial is not None:
        group = replace(group, initial=replace(group.initial, put_off=True))
    entered = admit(group, member, ask.protocol_type)
    return _wait(rebalance(entered, limits, now_ms), member)


def _rejoin(group: ClassicGroup, member: Member, ask: Join, limits: GroupLimits, now_ms: int) -> JoinOutcome:
    """Let a member join again.

    Outside of a rebalance one who has nothing new to say only missed an answer. The leader is an exception
    once the group is stable: it joins again to bring about a new assignment.
    """
    leads = group.leader == member.member_id
    needless = group.phase is Phase.COMPLETING or (group.phase is Phase.STABLE and not leads)
    if needless and member.protocols == ask.protocols:
        return Outcome(attach(group, member.member_id, ask.broker), joined(group, member))
    return _wait(rebalance(put(group, _updated(member, ask)), limits, now_ms), member)


def _take_over(group: ClassicGroup, old: Member, ask: Join, limits: GroupLimits, now_ms: int) -> JoinOutcome:
    """Put a new member in the place of the one that held its instance id."""
    member = _updated(replace(old, member_id=ask.new_id, is_new=False), ask)
    taken = succeed(group, old.member_id, member)
    if group.phase is not Phase.STABLE or select(taken.members.values()) != group.protocol:
        return _wait(rebalance(taken, limits, now_ms), member)
    taken = put(taken, replace(member, joining=False))
    return _take_over_quietly(taken, ask.new_id, group.leader or "", ask)


def _take_over_quietly(group: ClassicGroup, member_id: str, old_leader: str, ask: Join) -> JoinOutcome:
    """Let a successor go on with the assignment it inherits, without a rebalance.

    A leader that can be told so does not assign. One that cannot is told that somebody else leads: the one
    before it. If the join is applied again nobody knows that one's id any more, and it is nobody.
    """
    reply = joined(group, group.members[member_id])
    if reply.leader == member_id:
        reply = _leading_quietly(group, reply, old_leader, may_skip=ask.may_skip_assignment)
    return Outcome(attach(group, member_id, ask.broker), reply)


def _leading_quietly(group: ClassicGroup, reply: Joined, old_leader: str, *, may_skip: bool) -> Joined:
    return Joined(
        Fault.NONE,
        reply.member_id,
        reply.generation,
        reply.protocol_type,
        reply.protocol,
        leader=reply.leader if may_skip else old_leader,
        members=joined_members(group) if may_skip else (),
        skip_assignment=may_skip,
    )


def _updated(member: Member, ask: Join) -> Member:
    return replace(
        attached(member, ask.broker),
        rebalance_timeout_ms=ask.rebalance_timeout_ms,
        session_timeout_ms=ask.session_timeout_ms,
        protocols=ask.protocols,
        joining=True,
    )


def _wait(group: ClassicGroup, member: Member) -> JoinOutcome:
    """Park the join, unless it was the last one that was waited for."""
    parked = Parked(member.member_id, member.instance_id)
    return Outcome(group, settle_join(group, parked) or parked)
