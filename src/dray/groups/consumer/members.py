"""Members of a consumer group: lookup, join, update and removal.

A static member that left temporarily is replaced by the next one that joins with its instance id: the new
member inherits everything under its own id, so that no partition moves. As long as the old one has not left,
no other may use its instance id. The old one itself may join again under its own id, as may any member whose
reply was lost; Kafka rejects that, and clients treat the error as fatal.
"""

from collections.abc import Collection
from typing import TypeVar

from msgspec.structs import replace

from dray.groups.commands import ConsumerHeartbeat
from dray.groups.consumer import validation
from dray.groups.consumer.state import (
    JOIN_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroup,
    ConsumerMember,
    bump_epoch,
    static_member_id,
)
from dray.groups.consumer.subscription import unsubscribed
from dray.groups.results import ConsumerHeartbeatResult, Outcome
from dray.groups.types import GroupError

V = TypeVar("V")


def calling_member(group: ConsumerGroup, command: ConsumerHeartbeat) -> ConsumerMember:
    """Return the member that sent the request; raises `Rejected`."""
    member = group.members.get(command.member_id)
    if command.instance_id is None:
        if member is None:
            raise validation.unknown_member(command)
        return member
    if member is not None and member.instance_id == command.instance_id:
        return member
    holder = static_member_id(group, command.instance_id)
    if holder is None:
        raise validation.unknown_instance(command)
    raise validation.fenced_instance(command, holder)


def joining_member(
    group: ConsumerGroup, command: ConsumerHeartbeat, member_id: str
) -> tuple[ConsumerGroup, ConsumerMember]:
    """Return the group and the joining member before the request is applied; raises `Rejected`."""
    holder = None if command.instance_id is None else static_member_id(group, command.instance_id)
    if holder is not None and _must_replace(group, command, holder, member_id):
        group = replaced(group, holder, member_id)
    newcomer = ConsumerMember(command.client_id, command.client_host, command.broker)
    return group, group.members.get(member_id, newcomer)


def _must_replace(group: ConsumerGroup, command: ConsumerHeartbeat, holder: str, member_id: str) -> bool:
    old = group.members[holder]
    if old.has_left_temporarily or old.classic is not None:
        return True
    if holder != member_id:
        raise validation.unreleased_instance(command, holder)
    return False


def replaced(group: ConsumerGroup, old_id: str, new_id: str) -> ConsumerGroup:
    """Put a static member under a new id; it has yet to reach the target epoch."""
    members, targets = dict(group.members), dict(group.targets)
    member, target = members.pop(old_id), targets.pop(old_id, {})
    members[new_id] = replace(member, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
    targets[new_id] = target
    return replace(group, members=members, targets=targets)


def with_member(group: ConsumerGroup, member_id: str, member: ConsumerMember) -> ConsumerGroup:
    """Return the group with this member; the very same group if it already has it."""
    if group.members.get(member_id) is member:
        return group
    return replace(group, members=group.members | {member_id: member})


def updated(member: ConsumerMember, command: ConsumerHeartbeat) -> ConsumerMember:
    """Return the member with the fields of the request; the very same one if nothing changes."""
    if _is_unchanged(member, command):
        return member
    now = replace(
        member,
        client_id=command.client_id,
        client_host=command.client_host,
        broker=command.broker,
        instance_id=_sent_or_kept(command.instance_id, member.instance_id),
        rack_id=_sent_or_kept(command.rack_id, member.rack_id),
        rebalance_timeout_ms=_sent_or_kept(command.rebalance_timeout_ms, member.rebalance_timeout_ms),
        names=member.names if command.names is None else tuple(sorted(set(command.names))),
        regex=_sent_or_kept(command.regex, member.regex),
        assignor=_sent_or_kept(command.assignor, member.assignor),
        classic=None,
    )
    return member if now == member else now


def _is_unchanged(member: ConsumerMember, command: ConsumerHeartbeat) -> bool:
    """Return whether the request is a usual heartbeat without news; a cheap check."""
    return (
        command.names is None
        and command.regex is None
        and command.rebalance_timeout_ms is None
        and command.assignor is None
        and command.broker == member.broker
        and command.client_host == member.client_host
        and command.client_id == member.client_id
        and command.instance_id in (None, member.instance_id)
        and command.rack_id in (None, member.rack_id)
        and member.classic is None
    )


def _sent_or_kept(sent: V | None, kept: V) -> V:
    return kept if sent is None else sent


# Leaving


def leave(
    group: ConsumerGroup | None, command: ConsumerHeartbeat, now_ms: int
) -> Outcome[ConsumerGroup | None, ConsumerHeartbeatResult]:
    """Apply the request of a member to leave, for good or temporarily; raises `Rejected`."""
    if group is None:
        message = f"Group {command.group_id} not found."
        raise validation.Rejected(GroupError.GROUP_ID_NOT_FOUND, message)
    member = calling_member(group, command)
    reply = ConsumerHeartbeatResult(GroupError.NONE, member_id=command.member_id, epoch=command.epoch)
    if command.epoch != STATIC_LEAVE_EPOCH:
        return Outcome(removed(group, {command.member_id}, now_ms), reply)
    away = _left_temporarily(member, command.broker)
    if away == member:
        return Outcome(group, reply)
    return Outcome(replace(group, members=group.members | {command.member_id: away}), reply)


def _left_temporarily(member: ConsumerMember, broker: int) -> ConsumerMember:
    """The member keeps its partitions for its replacement, as if it had owned them from the beginning."""
    assigned = {topic_id: dict.fromkeys(held, 0) for topic_id, held in member.assigned.items()}
    return replace(member, epoch=STATIC_LEAVE_EPOCH, assigned=assigned, revoking={}, broker=broker)


def removed(group: ConsumerGroup, member_ids: Collection[str], now_ms: int) -> ConsumerGroup:
    """Return the group without these members, their partitions free; the very same group if it has none."""
    members = {id_: member for id_, member in group.members.items() if id_ not in member_ids}
    if len(members) == len(group.members):
        return group
    targets = {id_: target for id_, target in group.targets.items() if id_ in members}
    return bump_epoch(unsubscribed(replace(group, members=members, targets=targets)), now_ms)
