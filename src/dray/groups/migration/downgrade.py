"""Downgrade from the consumer protocol to the classic protocol, when only classic members are left.

The group keeps its epoch as generation, and every member what it owns. The members that left have freed
partitions, so a rebalance begins at once. It can only be skipped if the last consumer protocol member was
static and was replaced by a classic one with the same subscription.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from dray.groups.classic import ClassicGroup, Member, Phase, rebalance, select
from dray.groups.classic.protocols import CONSUMER_TYPE, metadata
from dray.groups.commands import Partitions
from dray.groups.consumer import ClassicMemberMetadata, ConsumerGroup, ConsumerMember, TopicMetadata
from dray.groups.consumer.state import merge, partitions_of
from dray.groups.embedded import HIGHEST_VERSION, Assignment, Malformed, encode_assignment, version_of
from dray.groups.limits import GroupLimits
from dray.groups.stored import Group


def after_departure(before: ConsumerGroup, after: ConsumerGroup, limits: GroupLimits, now_ms: int) -> Group:
    """Return the group after members may have left; the very same as `after` if it is not downgraded."""
    if len(after.members) >= len(before.members) or not may_downgrade(after, limits):
        return after
    # The departure does not start a new epoch of the consumer group: it ends with the last one.
    return rebalance(downgraded(before, after.members, now_ms), limits, now_ms)


def may_downgrade(group: ConsumerGroup, limits: GroupLimits) -> bool:
    """Return whether a group with these members becomes a classic one."""
    if not group.members or any(member.classic is None for member in group.members.values()):
        return False
    allowed = limits.consumer_migration_policy in {"bidirectional", "downgrade"}
    return allowed and len(group.members) <= limits.group_max_size


def downgraded(group: ConsumerGroup, stay: Mapping[str, ConsumerMember], now_ms: int) -> ClassicGroup:
    """Return the classic group of the members that stay, all of them classic ones; without a rebalance."""
    unassigned = {
        member_id: _classic_member(member_id, member, member.classic)
        for member_id, member in stay.items()
        if member.classic is not None
    }
    protocol = select(unassigned.values())
    members = {
        member_id: _assigned(member, group.topics, stay[member_id], protocol)
        for member_id, member in unassigned.items()
    }
    return ClassicGroup(
        phase=Phase.STABLE,
        generation=group.epoch,
        protocol_type=CONSUMER_TYPE,
        protocol=protocol,
        leader=next(iter(members)),
        members=members,
        pending_members={},
        initial_delay=None,
        # No timer from before the group was upgraded has such a token.
        phase_epoch=now_ms,
        changed_at_ms=now_ms,
    )


def _classic_member(member_id: str, member: ConsumerMember, classic: ClassicMemberMetadata) -> Member:
    return Member(
        member_id=member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=classic.session_timeout_ms,
        protocols=classic.protocols,
        broker=member.broker,
        synced=True,
    )


def _assigned(
    member: Member, topics: Mapping[str, TopicMetadata], before: ConsumerMember, protocol: str
) -> Member:
    """Return the member with the partitions it owns.

    Kafka gives it its target. If the group is upgraded again before the member has joined, the target would
    be taken for what the client uses.
    """
    owned = partitions_of(merge(before.assigned, before.revoking))
    return replace(member, assignment=assignment_bytes(owned, topics, metadata(member, protocol)))


def assignment_bytes(
    partitions: Partitions, topics: Mapping[str, TopicMetadata], subscription: bytes
) -> bytes:
    """Encode partitions in the version of the member's subscription; deleted topics are left out."""
    names = {topic.topic_id: name for name, topic in topics.items()}
    named = {names[topic_id]: numbers for topic_id, numbers in partitions.items() if topic_id in names}
    return encode_assignment(Assignment(named), _version(subscription))


def _version(subscription: bytes) -> int:
    try:
        return min(version_of(subscription), HIGHEST_VERSION)
    except Malformed:
        # Only the first of the protocols that a member supports was decoded when it joined.
        return 0
