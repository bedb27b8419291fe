"""JoinGroup to a consumer group.

To the group it is a heartbeat: the member sends its subscription and what it owns, and advances one step. It
is answered at once, with its epoch as the generation and without a leader, since only the broker assigns.

A static member of either protocol is replaced by a classic one that joins with its instance id and no member
id. If it was the last consumer protocol member, the group becomes a classic one.
"""

from typing import NamedTuple

from msgspec.structs import replace

from dray.groups.classic import ClassicGroup, rebalance
from dray.groups.classic.protocols import CONSUMER_TYPE
from dray.groups.commands import Join, Partitions
from dray.groups.consumer import ClassicMemberMetadata, ConsumerGroup, ConsumerMember, state_name
from dray.groups.consumer.members import replaced, with_member
from dray.groups.consumer.reconcile import reconciled
from dray.groups.consumer.state import bump_epoch, static_member_id
from dray.groups.consumer.subscription import resubscribed
from dray.groups.consumer.target_assignment import retargeted
from dray.groups.consumer.validation import Rejected
from dray.groups.embedded import Malformed, Subscription, decode_subscription
from dray.groups.limits import GroupLimits
from dray.groups.migration.downgrade import downgraded, may_downgrade
from dray.groups.results import JoinResult, Outcome
from dray.groups.stored import Group
from dray.groups.types import GroupError, TopicsImage, member_error


def join(
    group: ConsumerGroup, command: Join, topics: TopicsImage, limits: GroupLimits, now_ms: int
) -> Outcome[Group, JoinResult]:
    """Admit a classic member, new or not. A rejected join changes nothing."""
    if not limits.min_session_timeout_ms <= command.session_timeout_ms <= limits.max_session_timeout_ms:
        return Outcome(group, JoinResult(GroupError.INVALID_SESSION_TIMEOUT, command.member_id))
    try:
        return _join(group, command, topics, limits, now_ms)
    except Rejected as rejected:
        return Outcome(group, JoinResult(rejected.error, ""))


class _Joining(NamedTuple):
    """The joining member before the join is applied; it has already replaced a static member."""

    group: ConsumerGroup
    member_id: str
    member: ConsumerMember


def _join(
    group: ConsumerGroup, command: Join, topics: TopicsImage, limits: GroupLimits, now_ms: int
) -> Outcome[Group, JoinResult]:
    _check_may_join(group, command, limits)
    if not command.member_id and command.instance_id is None and command.require_known_member_id:
        return Outcome(group, JoinResult(GroupError.MEMBER_ID_REQUIRED, command.new_member_id))
    before = _joining(group, command)
    subscription = _subscription(command)
    member = _updated(before.member, command, subscription)
    changed = (member.names, member.regex) != (before.member.names, before.member.regex)
    joined = with_member(before.group, before.member_id, member)
    if changed:
        joined = bump_epoch(resubscribed(joined, topics), now_ms)
    downgrades = _replaces_consumer_member(group, command.instance_id) and may_downgrade(joined, limits)
    if not downgrades:
        joined = retargeted(joined, limits, now_ms)
    # A group that is downgraded with an old target is about to rebalance, so its members advance no further.
    if not downgrades or joined.target_epoch == joined.epoch:
        owned = _owned(subscription, group, topics)
        member = reconciled(joined, before.member_id, member, owned, subscription_changed=changed)
        joined = with_member(joined, before.member_id, member)
    protocol = command.protocols[0][0]
    reply = JoinResult(GroupError.NONE, before.member_id, member.epoch, CONSUMER_TYPE, protocol)
    return Outcome(_downgraded(joined, limits, now_ms) if downgrades else joined, reply)


def _downgraded(group: ConsumerGroup, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """Continue as a classic group, without a rebalance if every member owns its target.

    Kafka skips the rebalance as soon as the target is up to date. Partitions that one member is revoking for
    another would then have no owner until the next rebalance.
    """
    classic_group = downgraded(group, group.members, now_ms)
    return classic_group if state_name(group) == "Stable" else rebalance(classic_group, limits, now_ms)


def _check_may_join(group: ConsumerGroup, command: Join, limits: GroupLimits) -> None:
    if limits.consumer_migration_policy == "disabled":
        raise Rejected(GroupError.INCONSISTENT_GROUP_PROTOCOL)
    is_member = command.member_id in group.members or _holder(group, command.instance_id) is not None
    if len(group.members) >= limits.consumer_group_max_size and not is_member:
        raise Rejected(GroupError.GROUP_MAX_SIZE_REACHED)
    if command.protocol_type != CONSUMER_TYPE or not _share_protocol(group, command):
        raise Rejected(GroupError.INCONSISTENT_GROUP_PROTOCOL)


def _share_protocol(group: ConsumerGroup, command: Join) -> bool:
    """Return whether all classic members have a protocol in common, which a downgraded group needs."""
    names = {name for name, _ in command.protocols}
    for member in group.members.values():
        if member.classic is not None:
            names = names.intersection(name for name, _ in member.classic.protocols)
    return bool(names)


def _joining(group: ConsumerGroup, command: Join) -> _Joining:
    member_id = command.member_id or command.new_member_id
    if command.instance_id is not None and command.member_id:
        error = member_error(group.members, command.member_id, command.instance_id)
        if error is not GroupError.NONE:
            raise Rejected(error)
    holder = _holder(group, command.instance_id)
    if holder is not None and holder != member_id:
        group = replaced(group, holder, member_id)
    newcomer = ConsumerMember(command.client_id, command.client_host, command.broker)
    return _Joining(group, member_id, group.members.get(member_id, newcomer))


def _subscription(command: Join) -> Subscription:
    """Return the subscription in the first protocol; all protocols of a consumer carry the same one."""
    try:
        return decode_subscription(command.protocols[0][1])
    except Malformed as malformed:
        raise Rejected(GroupError.INCONSISTENT_GROUP_PROTOCOL) from malformed


def _updated(member: ConsumerMember, command: Join, subscription: Subscription) -> ConsumerMember:
    joins = 0 if member.classic is None else member.classic.joins
    return replace(
        member,
        client_id=command.client_id,
        client_host=command.client_host,
        broker=command.broker,
        instance_id=command.instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=command.rebalance_timeout_ms,
        names=tuple(sorted(set(subscription.topics))),
        regex="",
        classic=ClassicMemberMetadata(
            command.session_timeout_ms, command.protocols, joins + 1, must_sync=True
        ),
    )


def _owned(subscription: Subscription, group: ConsumerGroup, topics: TopicsImage) -> Partitions:
    """Return what the client still uses; one that cannot report it has revoked all before joining."""
    found = (
        (_topic_id(name, group, topics), numbers) for name, numbers in (subscription.owned or {}).items()
    )
    return {topic_id: numbers for topic_id, numbers in found if topic_id is not None}


def _topic_id(name: str, group: ConsumerGroup, topics: TopicsImage) -> bytes | None:
    """Return the id of a topic. The group may know topics that this broker does not see yet."""
    if name in group.topics:
        return group.topics[name].topic_id
    topic = topics.find(name)
    return None if topic is None else topic.topic_id


def _holder(group: ConsumerGroup, instance_id: str | None) -> str | None:
    return None if instance_id is None else static_member_id(group, instance_id)


def _replaces_consumer_member(group: ConsumerGroup, instance_id: str | None) -> bool:
    """Return whether the current holder of the instance id uses the consumer protocol."""
    holder = _holder(group, instance_id)
    return holder is not None and group.members[holder].classic is None
