"""Who may commit and fetch offsets.

A member says its epoch. One that lags behind may still commit what it had all the while: for each partition
the group knows since which epoch the member has it. Whoever names no member may commit while the group is
empty.
"""

from msgspec.structs import replace

from dray.groups.asks import Committer, Partitions
from dray.groups.consumer.state import ConsumerGroup, ConsumerMember
from dray.groups.faults import Fault


def commit_fault(group: ConsumerGroup, committer: Committer, partitions: Partitions) -> Fault:
    """Why these partitions may not be committed, none of them; `NONE` if they may."""
    if committer.epoch < 0 and not group.members:
        return Fault.NONE
    member = group.members.get(committer.member_id)
    if member is None:
        return Fault.UNKNOWN_MEMBER_ID
    if member.classic is None and not committer.knows_epochs:
        return Fault.UNSUPPORTED_VERSION
    if committer.epoch == member.epoch:
        return Fault.NONE
    if committer.epoch < member.epoch and _had_all(member, committer.epoch, partitions):
        return Fault.NONE
    return _stale(member)


def fetch_fault(group: ConsumerGroup, committer: Committer) -> Fault:
    """Why a member may not fetch offsets; `NONE` if it may."""
    member = group.members.get(committer.member_id)
    if member is None:
        return Fault.UNKNOWN_MEMBER_ID
    return Fault.NONE if committer.epoch == member.epoch else _stale(member)


def _had_all(member: ConsumerMember, epoch: int, partitions: Partitions) -> bool:
    return all(
        _since(member, topic_id, number) <= epoch
        for topic_id, numbers in partitions.items()
        for number in numbers
    )


def _since(member: ConsumerMember, topic_id: bytes, number: int) -> float:
    for held in (member.assigned, member.revoking):
        since = held.get(topic_id, {}).get(number)
        if since is not None:
            return since
    return float("inf")


def _stale(member: ConsumerMember) -> Fault:
    return Fault.STALE_MEMBER_EPOCH if member.classic is None else Fault.ILLEGAL_GENERATION


def commits(group: ConsumerGroup, committer: Committer) -> ConsumerGroup:
    """The group after a commit that is not refused: its member belongs to the broker it came to."""
    member = group.members.get(committer.member_id)
    if member is None or member.broker == committer.broker:
        return group
    attached = replace(member, broker=committer.broker)
    return replace(group, members=group.members | {committer.member_id: attached})
