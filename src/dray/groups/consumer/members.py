"""Who is it that calls: finds, makes or replaces the member of a heartbeat, and takes over what it says.

A static member who left for now is replaced by whoever joins with its instance id: the new member inherits
all of it under its own id, so that nothing moves. As long as the old one has not left, no other may have
its instance id. But the old one itself may join again under its own id, as any member may whose answer was
lost: Kafka refuses that, and a client takes it for the end.
"""

from typing import TypeVar

from msgspec.structs import replace

from dray.groups.asks import ConsumerBeat
from dray.groups.consumer import checks
from dray.groups.consumer.state import JOINS, ConsumerGroup, ConsumerMember, static_id

V = TypeVar("V")


def found(group: ConsumerGroup, ask: ConsumerBeat) -> ConsumerMember:
    """The member that calls, as it is; raises `Refused`."""
    member = group.members.get(ask.member_id)
    if ask.instance_id is None:
        if member is None:
            raise checks.unknown_member(ask)
        return member
    if member is not None and member.instance_id == ask.instance_id:
        return member
    holder = static_id(group, ask.instance_id)
    raise checks.unknown_instance(ask) if holder is None else checks.fenced_instance(ask, holder)


def joined(group: ConsumerGroup, ask: ConsumerBeat, member_id: str) -> tuple[ConsumerGroup, ConsumerMember]:
    """The group and the member that joins, new or not, as it was until now; raises `Refused`."""
    holder = None if ask.instance_id is None else static_id(group, ask.instance_id)
    if holder is not None and _must_replace(group, ask, holder, member_id):
        group = replaced(group, holder, member_id)
    return group, group.members.get(member_id, ConsumerMember(ask.client_id, ask.client_host, ask.broker))


def _must_replace(group: ConsumerGroup, ask: ConsumerBeat, holder: str, member_id: str) -> bool:
    old = group.members[holder]
    if old.away or old.classic is not None:
        return True
    if holder != member_id:
        raise checks.unreleased_instance(ask, holder)
    return False


def replaced(group: ConsumerGroup, old_id: str, new_id: str) -> ConsumerGroup:
    """Put a static member under a new id; it has yet to come up to the target epoch."""
    members, targets = dict(group.members), dict(group.targets)
    heir, target = members.pop(old_id), targets.pop(old_id, {})
    members[new_id] = replace(heir, epoch=JOINS, previous_epoch=JOINS)
    targets[new_id] = target
    return replace(group, members=members, targets=targets)


def kept(group: ConsumerGroup, member_id: str, member: ConsumerMember) -> ConsumerGroup:
    """The group with this member in it; the very same group if it is."""
    if group.members.get(member_id) is member:
        return group
    return replace(group, members=group.members | {member_id: member})


def updated(member: ConsumerMember, ask: ConsumerBeat) -> ConsumerMember:
    """The member with what it says now; the very same one if that is nothing new."""
    if _says_nothing(member, ask):
        return member
    now = replace(
        member,
        client_id=ask.client_id,
        client_host=ask.client_host,
        broker=ask.broker,
        instance_id=_said(ask.instance_id, member.instance_id),
        rack_id=_said(ask.rack_id, member.rack_id),
        rebalance_timeout_ms=_said(ask.rebalance_timeout_ms, member.rebalance_timeout_ms),
        names=member.names if ask.names is None else tuple(sorted(set(ask.names))),
        regex=_said(ask.regex, member.regex),
        assignor=_said(ask.assignor, member.assignor),
        classic=None,
    )
    return member if now == member else now


def _says_nothing(member: ConsumerMember, ask: ConsumerBeat) -> bool:
    """The usual heartbeat, found out cheaply."""
    return (
        ask.names is None
        and ask.regex is None
        and ask.rebalance_timeout_ms is None
        and ask.assignor is None
        and ask.broker == member.broker
        and ask.client_host == member.client_host
        and ask.client_id == member.client_id
        and ask.instance_id in (None, member.instance_id)
        and ask.rack_id in (None, member.rack_id)
        and member.classic is None
    )


def _said(now: V | None, before: V) -> V:
    return before if now is None else now
