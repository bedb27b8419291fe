"""JoinGroup to a group of the consumer protocol.

To the group it is a heartbeat: the member says what it wants and what it owns, and is led one step further.
It is answered at once, with its epoch as the generation and without a leader: nobody but the broker
assigns.

A static member of either protocol is replaced by a classic one that comes with its instance id and no
member id. If it was the last of the consumer protocol, the group becomes a classic one.
"""

from typing import NamedTuple

from msgspec.structs import replace

from dray.groups.asks import Join, Partitions
from dray.groups.classic import ClassicGroup, rebalance
from dray.groups.classic.subscription import CONSUMER_TYPE
from dray.groups.consumer import ClassicSide, ConsumerGroup, ConsumerMember, state_name
from dray.groups.consumer.checks import Refused
from dray.groups.consumer.epochs import bumped
from dray.groups.consumer.members import kept, replaced
from dray.groups.consumer.reconcile import reconciled
from dray.groups.consumer.state import static_id
from dray.groups.consumer.subscription import resubscribed
from dray.groups.consumer.targets import retargeted
from dray.groups.embedded import Malformed, Subscription, decode_subscription
from dray.groups.faults import Fault
from dray.groups.group import Group
from dray.groups.limits import GroupLimits
from dray.groups.migration.downgrade import downgraded, may_downgrade
from dray.groups.migration.inside import member_fault
from dray.groups.outcome import Outcome
from dray.groups.replies import Joined
from dray.groups.topics import TopicImage


def join(
    group: ConsumerGroup, ask: Join, topics: TopicImage, limits: GroupLimits, now_ms: int
) -> Outcome[Group, Joined]:
    """Let a classic member in, or in again. Whoever is refused changes nothing."""
    if not limits.min_session_timeout_ms <= ask.session_timeout_ms <= limits.max_session_timeout_ms:
        return Outcome(group, Joined(Fault.INVALID_SESSION_TIMEOUT, ask.member_id))
    try:
        return _joined(group, ask, topics, limits, now_ms)
    except Refused as refused:
        return Outcome(group, Joined(refused.fault, ""))


class _Arrived(NamedTuple):
    """Somebody who joins, as it was until now; a static member's place is taken already."""

    group: ConsumerGroup
    member_id: str
    member: ConsumerMember


def _joined(
    group: ConsumerGroup, ask: Join, topics: TopicImage, limits: GroupLimits, now_ms: int
) -> Outcome[Group, Joined]:
    _check_may_join(group, ask, limits)
    if not ask.member_id and ask.instance_id is None and ask.must_know_id:
        return Outcome(group, Joined(Fault.MEMBER_ID_REQUIRED, ask.new_id))
    before = _arrived(group, ask)
    subscription = _subscription(ask)
    member = _updated(before.member, ask, subscription)
    changed = (member.names, member.regex) != (before.member.names, before.member.regex)
    joined = kept(before.group, before.member_id, member)
    if changed:
        joined = bumped(resubscribed(joined, topics), now_ms)
    was_last = _takes_over_from_consumer(group, ask.instance_id) and may_downgrade(joined, limits)
    if not was_last:
        joined = retargeted(joined, limits, now_ms)
    # A group that changes over with an old target is about to rebalance, and leads nobody any further.
    if not was_last or joined.target_epoch == joined.epoch:
        owned = _owned(subscription, group, topics)
        member = reconciled(joined, before.member_id, member, owned, subscription_changed=changed)
        joined = kept(joined, before.member_id, member)
    reply = Joined(Fault.NONE, before.member_id, member.epoch, CONSUMER_TYPE, ask.protocols[0][0])
    return Outcome(_left_as_classic(joined, limits, now_ms) if was_last else joined, reply)


def _left_as_classic(group: ConsumerGroup, limits: GroupLimits, now_ms: int) -> ClassicGroup:
    """Go on as a classic group, without a rebalance if everybody has what it is to have.

    Kafka does without one if only the target is up to date. Then partitions that one member is giving up for
    another would be nobody's until the next rebalance.
    """
    changed_over = downgraded(group, group.members, now_ms)
    is_settled = state_name(group) == "Stable"
    return changed_over if is_settled else rebalance(changed_over, limits, now_ms)


def _check_may_join(group: ConsumerGroup, ask: Join, limits: GroupLimits) -> None:
    if limits.consumer_migration_policy == "disabled":
        raise Refused(Fault.INCONSISTENT_GROUP_PROTOCOL)
    is_in = ask.member_id in group.members or _holder(group, ask.instance_id) is not None
    if len(group.members) >= limits.consumer_max_size and not is_in:
        raise Refused(Fault.GROUP_MAX_SIZE_REACHED)
    if ask.protocol_type != CONSUMER_TYPE or not _share_protocol(group, ask):
        raise Refused(Fault.INCONSISTENT_GROUP_PROTOCOL)


def _share_protocol(group: ConsumerGroup, ask: Join) -> bool:
    """Whether all classic members know one that is asked for, so that they could do without our assignor."""
    names = {name for name, _ in ask.protocols}
    for member in group.members.values():
        if member.classic is not None:
            names = names.intersection(name for name, _ in member.classic.protocols)
    return bool(names)


def _arrived(group: ConsumerGroup, ask: Join) -> _Arrived:
    member_id = ask.member_id or ask.new_id
    if ask.instance_id is not None and ask.member_id:
        fault = member_fault(group, ask.member_id, ask.instance_id)
        if fault is not Fault.NONE:
            raise Refused(fault)
    holder = _holder(group, ask.instance_id)
    if holder is not None and holder != member_id:
        group = replaced(group, holder, member_id)
    newcomer = ConsumerMember(ask.client_id, ask.client_host, ask.broker)
    return _Arrived(group, member_id, group.members.get(member_id, newcomer))


def _subscription(ask: Join) -> Subscription:
    """All protocols of a consumer come with the same subscription; the first is read."""
    try:
        return decode_subscription(ask.protocols[0][1])
    except Malformed as malformed:
        raise Refused(Fault.INCONSISTENT_GROUP_PROTOCOL) from malformed


def _updated(member: ConsumerMember, ask: Join, subscription: Subscription) -> ConsumerMember:
    joins = 0 if member.classic is None else member.classic.joins
    return replace(
        member,
        client_id=ask.client_id,
        client_host=ask.client_host,
        broker=ask.broker,
        instance_id=ask.instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=ask.rebalance_timeout_ms,
        names=tuple(sorted(set(subscription.topics))),
        regex="",
        classic=ClassicSide(ask.session_timeout_ms, ask.protocols, joins + 1, must_sync=True),
    )


def _owned(subscription: Subscription, group: ConsumerGroup, topics: TopicImage) -> Partitions:
    """What the client still uses. One whose version does not say has given up everything before it joined."""
    found = (
        (_topic_id(name, group, topics), numbers) for name, numbers in (subscription.owned or {}).items()
    )
    return {topic_id: numbers for topic_id, numbers in found if topic_id is not None}


def _topic_id(name: str, group: ConsumerGroup, topics: TopicImage) -> bytes | None:
    """The group may know topics that this broker does not see yet."""
    if name in group.topics:
        return group.topics[name].topic_id
    seen = topics.find(name)
    return None if seen is None else seen.topic_id


def _holder(group: ConsumerGroup, instance_id: str | None) -> str | None:
    return None if instance_id is None else static_id(group, instance_id)


def _takes_over_from_consumer(group: ConsumerGroup, instance_id: str | None) -> bool:
    """Whether it is a member of the consumer protocol that has this instance id until now."""
    holder = _holder(group, instance_id)
    return holder is not None and group.members[holder].classic is None
