"""Consumer group heartbeat: the one request by which members join, stay and leave.

    identify ─▶ apply the subscription ─▶ compute a new target if one is due ─▶ one step towards it ─▶ reply

A heartbeat without news returns the very same group. It looks at one member and a few numbers, whatever the
size of the group. Topics that were created, grew or were deleted are handled by `topic_refresh`.

Applying a heartbeat twice is harmless: the second application finds the member as the first left it, or is
rejected. The host never does so: when the outcome of a commit is unknown, the client gets an error and sends
all it knows again, as after a lost reply.
"""

from typing import TypeAlias

from dray.groups.commands import ConsumerHeartbeat
from dray.groups.consumer import members, validation
from dray.groups.consumer.reconcile import reconciled
from dray.groups.consumer.regexes import InvalidRegex
from dray.groups.consumer.state import JOIN_EPOCH, ConsumerGroup, ConsumerMember, bump_epoch, partitions_of
from dray.groups.consumer.subscription import resubscribed
from dray.groups.consumer.target_assignment import retargeted
from dray.groups.limits import GroupLimits
from dray.groups.results import ConsumerHeartbeatResult, Outcome
from dray.groups.types import GroupError, TopicsImage

HeartbeatOutcome: TypeAlias = Outcome[ConsumerGroup | None, ConsumerHeartbeatResult]


def heartbeat(
    group: ConsumerGroup | None,
    command: ConsumerHeartbeat,
    topics: TopicsImage,
    limits: GroupLimits,
    now_ms: int,
) -> HeartbeatOutcome:
    """Apply a heartbeat. A rejected one changes nothing."""
    try:
        validation.check_request(command)
        if command.epoch < JOIN_EPOCH:
            return members.leave(group, command, now_ms)
        return _join_or_stay(group, command, topics, limits, now_ms)
    except validation.Rejected as rejected:
        return Outcome(group, ConsumerHeartbeatResult(rejected.error, rejected.message))


def _join_or_stay(
    group: ConsumerGroup | None,
    command: ConsumerHeartbeat,
    topics: TopicsImage,
    limits: GroupLimits,
    now_ms: int,
) -> HeartbeatOutcome:
    group = _existing_or_new(group, command, now_ms)
    validation.check_capacity(group, command, limits)
    member_id = command.member_id or command.new_member_id
    if command.epoch == JOIN_EPOCH:
        group, before = members.joining_member(group, command, member_id)
    else:
        before = members.calling_member(group, command)
        validation.check_epoch(before, command)
    member = members.updated(before, command)
    changed = member is not before and (member.names, member.regex) != (before.names, before.regex)
    group = members.with_member(group, member_id, member)
    if changed:
        group = bump_epoch(_resubscribed(group, topics, member.regex), now_ms)
    group = retargeted(group, limits, now_ms)
    member = reconciled(group, member_id, member, command.owned, subscription_changed=changed)
    return Outcome(
        members.with_member(group, member_id, member), _reply(command, member_id, before, member, limits)
    )


def _existing_or_new(group: ConsumerGroup | None, command: ConsumerHeartbeat, now_ms: int) -> ConsumerGroup:
    if group is not None:
        return group
    if command.epoch != JOIN_EPOCH:
        message = f"Consumer group {command.group_id} not found."
        raise validation.Rejected(GroupError.GROUP_ID_NOT_FOUND, message)
    return ConsumerGroup(changed_at_ms=now_ms)


def _resubscribed(group: ConsumerGroup, topics: TopicsImage, regex: str) -> ConsumerGroup:
    try:
        return resubscribed(group, topics)
    except InvalidRegex as invalid:
        raise validation.Rejected(
            GroupError.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {invalid}.",
        ) from invalid


def _reply(
    command: ConsumerHeartbeat,
    member_id: str,
    before: ConsumerMember,
    member: ConsumerMember,
    limits: GroupLimits,
) -> ConsumerHeartbeatResult:
    has_changed = member.assigned is not before.assigned and member.assigned != before.assigned
    with_assignment = has_changed or command.epoch == JOIN_EPOCH or _is_full_request(command)
    return ConsumerHeartbeatResult(
        GroupError.NONE,
        None,
        member_id,
        member.epoch,
        limits.consumer_heartbeat_interval_ms,
        partitions_of(member.assigned) if with_assignment else None,
    )


def _is_full_request(command: ConsumerHeartbeat) -> bool:
    """Return whether the client sent every field, as it does after a heartbeat whose reply it missed."""
    return (
        command.owned is not None
        and command.rebalance_timeout_ms is not None
        and (command.names is not None or command.regex is not None)
    )
