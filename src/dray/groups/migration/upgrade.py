"""Upgrade from the classic protocol to the consumer protocol, while the group has members.

A client of the consumer protocol that joins a classic group upgrades the whole group. The existing members
stay classic members (see `classic_members`), with their ids and the partitions that their leader assigned
last. The upgrade itself moves nothing; the new member then triggers a new target, as in any consumer group.
Every pending join and sync is answered with REBALANCE_IN_PROGRESS.

What does a classic member own? The leader's assignment is its target, but the client may not use it yet. A
member that has fetched the assignment of this generation is taken to own it. For any other, the reply may be
lost or under way, and it uses what it had before: what its join reported as owned (clients that report
nothing revoke everything before they join). So a member also owns what it reported, unless another member is
known to own it. Kafka takes the assignment alone as owned, so that partitions which a cooperative client
keeps using while it rejoins may be assigned to others meanwhile.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from dray.groups.classic import ClassicGroup, Member, Phase, is_empty, select
from dray.groups.classic.protocols import CONSUMER_TYPE, metadata
from dray.groups.commands import ConsumerHeartbeat, Partitions
from dray.groups.consumer import (
    ClassicMemberMetadata,
    ConsumerGroup,
    ConsumerMember,
    MemberState,
    heartbeat,
)
from dray.groups.consumer.state import FIRST_EPOCH, JOIN_EPOCH, PartitionEpochs, Target, partitions_of
from dray.groups.consumer.subscription import topics_by_name
from dray.groups.consumer.validation import Rejected, check_request
from dray.groups.embedded import (
    Malformed,
    NamedPartitions,
    Subscription,
    decode_assignment,
    decode_subscription,
)
from dray.groups.limits import GroupLimits
from dray.groups.results import ConsumerHeartbeatResult, Outcome
from dray.groups.stored import Group
from dray.groups.types import GroupError, TopicsImage

_CUSTOM_ASSIGNOR: Final = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
    "assignor before re-attempting the upgrade"
)


def consumer_heartbeat(
    group: ClassicGroup, command: ConsumerHeartbeat, topics: TopicsImage, limits: GroupLimits, now_ms: int
) -> Outcome[Group, ConsumerHeartbeatResult]:
    """Apply a heartbeat of the consumer protocol to a classic group. A rejected one changes nothing."""
    try:
        check_request(command)
        upgraded = _upgraded(group, command, topics, limits, now_ms)
    except Rejected as rejected:
        return Outcome(group, ConsumerHeartbeatResult(rejected.error, rejected.message))
    outcome = heartbeat(upgraded, command, topics, limits, now_ms)
    if outcome.group is None or outcome.reply.error is not GroupError.NONE:
        return Outcome(group, outcome.reply)
    return Outcome(outcome.group, outcome.reply)


def _upgraded(
    group: ClassicGroup, command: ConsumerHeartbeat, topics: TopicsImage, limits: GroupLimits, now_ms: int
) -> ConsumerGroup | None:
    """Return the group as a consumer group; None if it has no members to convert."""
    if command.epoch != JOIN_EPOCH:
        message = f"Group {command.group_id} is not a consumer group."
        raise Rejected(GroupError.GROUP_ID_NOT_FOUND, message)
    if is_empty(group):
        return None
    _check_may_upgrade(group, command.group_id, limits)
    try:
        return converted(group, topics, now_ms)
    except Malformed as malformed:
        raise _rejected(command.group_id, "the embedded consumer protocol is malformed") from malformed
    except NotConvertible as error:
        raise _rejected(command.group_id, str(error)) from error


def _check_may_upgrade(group: ClassicGroup, group_id: str, limits: GroupLimits) -> None:
    if limits.consumer_migration_policy not in {"bidirectional", "upgrade"}:
        raise _rejected(group_id, "online upgrade is disabled")
    if group.protocol_type != CONSUMER_TYPE:
        raise _rejected(group_id, "the group does not use the consumer embedded protocol")
    if len(group.members) > limits.consumer_group_max_size:
        raise _rejected(group_id, "the group size exceeds the consumer group maximum size")


def _rejected(group_id: str, reason: str) -> Rejected:
    message = f"Cannot upgrade classic group {group_id} to consumer group because {reason}."
    return Rejected(GroupError.GROUP_ID_NOT_FOUND, message)


# Conversion of the members


class NotConvertible(Exception):
    """The assignments of the members are not possible in a consumer group."""


class _DecodedMember(NamedTuple):
    """A classic member with its decoded metadata."""

    member: Member
    subscription: Subscription
    target: Partitions
    """What the leader assigned."""
    owned: Partitions
    """What its join reported as owned."""
    has_fetched: bool


def converted(group: ClassicGroup, topics: TopicsImage, now_ms: int) -> ConsumerGroup:
    """Return the group as a consumer group; raises `Malformed` and `NotConvertible`."""
    members = _decoded_members(group, topics)
    # Before the first generation it is 0, which to consumer protocol members means to join.
    epoch = max(group.generation, FIRST_EPOCH)
    assigned = _assigned(members, group.generation)
    names = {name for one in members for name in one.subscription.topics}
    return ConsumerGroup(
        epoch=epoch,
        target_epoch=epoch,
        members={
            one.member.member_id: _converted_member(one, group.generation, assigned[one.member.member_id])
            for one in members
        },
        targets={one.member.member_id: dict(one.target) for one in members},
        topics=topics_by_name(names, topics),
        changed_at_ms=now_ms,
    )


def _decoded_members(group: ClassicGroup, topics: TopicsImage) -> list[_DecodedMember]:
    members = group.members.values()
    # All protocols of a consumer carry the same subscription, so any that all members support will do.
    protocol = select(members) if members else None
    return [
        _decoded_member(group, member, decode_subscription(metadata(member, protocol)), topics)
        for member in members
    ]


def _decoded_member(
    group: ClassicGroup, member: Member, subscription: Subscription, topics: TopicsImage
) -> _DecodedMember:
    return _DecodedMember(
        member,
        subscription,
        _by_topic_id(_decoded_assignment(member.assignment), topics),
        _by_topic_id(subscription.owned or {}, topics),
        has_fetched=member.synced and not member.joining and group.phase is not Phase.COMPLETING,
    )


def _decoded_assignment(assignment: bytes) -> NamedPartitions:
    if not assignment:
        return {}
    decoded = decode_assignment(assignment)
    if decoded.user_data:
        raise NotConvertible(_CUSTOM_ASSIGNOR)
    return decoded.partitions


def _by_topic_id(partitions: NamedPartitions, topics: TopicsImage) -> Target:
    """Partitions by topic id, without deleted topics."""
    found = ((topics.find(name), numbers) for name, numbers in partitions.items() if numbers)
    return {topic.topic_id: numbers for topic, numbers in found if topic is not None}


def _assigned(members: Collection[_DecodedMember], generation: int) -> dict[str, PartitionEpochs]:
    """Return what each member owns, each partition at most once."""
    _check_no_partition_is_assigned_twice(members)
    owner: dict[tuple[bytes, int], str] = {}
    for one in members:
        if one.has_fetched:
            owner |= dict.fromkeys(_flat(one.target), one.member.member_id)
    # If two members report the same partition, the one that was in the later generation is right.
    for one in sorted(members, key=_last_generation, reverse=True):
        for partition in _flat(one.owned):
            owner.setdefault(partition, one.member.member_id)
    assigned: dict[str, PartitionEpochs] = {one.member.member_id: {} for one in members}
    for (topic_id, number), member_id in owner.items():
        assigned[member_id].setdefault(topic_id, {})[number] = generation
    return assigned


def _check_no_partition_is_assigned_twice(members: Collection[_DecodedMember]) -> None:
    partitions = [partition for one in members for partition in _flat(one.target)]
    if len(partitions) != len(set(partitions)):
        raise NotConvertible("a partition is assigned to more than one member")


def _last_generation(one: _DecodedMember) -> int:
    return one.subscription.generation


def _flat(partitions: Partitions) -> list[tuple[bytes, int]]:
    return [(topic_id, number) for topic_id, numbers in partitions.items() for number in numbers]


def _converted_member(one: _DecodedMember, generation: int, assigned: PartitionEpochs) -> ConsumerMember:
    member, subscription = one.member, one.subscription
    owns_target = partitions_of(assigned) == one.target
    return ConsumerMember(
        client_id=member.client_id,
        client_host=member.client_host,
        broker=member.broker,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        names=tuple(sorted(set(subscription.topics))),
        epoch=generation,
        previous_epoch=generation,
        # A member that does not own its target is asked to join again.
        state=MemberState.STABLE if owns_target else MemberState.UNRELEASED_PARTITIONS,
        assigned=assigned,
        classic=ClassicMemberMetadata(member.session_timeout_ms, member.protocols),
    )
