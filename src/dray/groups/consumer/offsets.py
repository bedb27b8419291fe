"""Permission to commit and fetch offsets of a consumer group.

A member sends its epoch. One that lags behind may still commit partitions it has owned all along: the group
stores since which epoch a member has each partition. A client that is not a member may commit while the group
is empty.
"""

from msgspec.structs import replace

from dray.groups.commands import OffsetCommitter, Partitions
from dray.groups.consumer.state import ConsumerGroup, ConsumerMember
from dray.groups.types import GroupError


def commit_error(group: ConsumerGroup, committer: OffsetCommitter, partitions: Partitions) -> GroupError:
    """Return the error of a commit; `NONE` if allowed."""
    if committer.epoch < 0 and not group.members:
        return GroupError.NONE
    member = group.members.get(committer.member_id)
    if member is None:
        return GroupError.UNKNOWN_MEMBER_ID
    if member.classic is None and not committer.supports_member_epochs:
        return GroupError.UNSUPPORTED_VERSION
    if committer.epoch == member.epoch:
        return GroupError.NONE
    if committer.epoch < member.epoch and _owned_since(member, committer.epoch, partitions):
        return GroupError.NONE
    return _stale(member)


def fetch_error(group: ConsumerGroup, committer: OffsetCommitter) -> GroupError:
    """Return the error of a fetch; `NONE` if allowed."""
    member = group.members.get(committer.member_id)
    if member is None:
        return GroupError.UNKNOWN_MEMBER_ID
    return GroupError.NONE if committer.epoch == member.epoch else _stale(member)


def _owned_since(member: ConsumerMember, epoch: int, partitions: Partitions) -> bool:
    return all(
        _assigned_in(member, topic_id, number) <= epoch
        for topic_id, numbers in partitions.items()
        for number in numbers
    )


def _assigned_in(member: ConsumerMember, topic_id: bytes, number: int) -> float:
    for held in (member.assigned, member.revoking):
        since = held.get(topic_id, {}).get(number)
        if since is not None:
            return since
    return float("inf")


def _stale(member: ConsumerMember) -> GroupError:
    return GroupError.STALE_MEMBER_EPOCH if member.classic is None else GroupError.ILLEGAL_GENERATION


def after_commit(group: ConsumerGroup, committer: OffsetCommitter) -> ConsumerGroup:
    """Return the group after an accepted commit: the member is attached to the broker it called."""
    member = group.members.get(committer.member_id)
    if member is None or member.broker == committer.broker:
        return group
    attached = replace(member, broker=committer.broker)
    return replace(group, members=group.members | {committer.member_id: attached})
