"""From the consumer protocol to the classic protocol, when only classic members are left.

The group keeps its epoch as the generation, and every member what it has. Who left has left
partitions behind, so a rebalance begins at once. Only when a static member was replaced by a classic one
that wants the same there need not be any.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from dray.groups.classic import ClassicGroup, Member, Phase, rebalance, select
from dray.groups.classic.protocols import metadata
from dray.groups.classic.subscription import CONSUMER_TYPE
from dray.groups.consumer import ClassicSide, ConsumerGroup, ConsumerMember, Topic
from dray.groups.consumer.held import merged, partitions_in
from dray.groups.group import Group
from dray.groups.limits import GroupLimits
from dray.groups.migration.assignments import assignment_bytes


def after_departure(before: ConsumerGroup, after: ConsumerGroup, limits: GroupLimits, now_ms: int) -> Group:
    """What becomes of a group that members may have left; the very same as `after` if it stays what it is."""
    if len(after.members) >= len(before.members) or not may_downgrade(after, limits):
        return after
    # The members that are gone did not bring about a new epoch of this group: it ends with the last one.
    return rebalance(downgraded(before, after.members, now_ms), limits, now_ms)


def may_downgrade(group: ConsumerGroup, limits: GroupLimits) -> bool:
    """Whether a group with these members is to be a classic one."""
    if not group.members or any(member.classic is None for member in group.members.values()):
        return False
    allowed = limits.consumer_migration_policy in {"bidirectional", "downgrade"}
    return allowed and len(group.members) <= limits.max_size


def downgraded(group: ConsumerGroup, stay: Mapping[str, ConsumerMember], now_ms: int) -> ClassicGroup:
    """The group as a classic one, with those who stay, all of them classic members; no rebalance yet."""
    bare = {
        member_id: _classic_member(member_id, member, member.classic)
        for member_id, member in stay.items()
        if member.classic is not None
    }
    protocol = select(bare.values())
    members = {
        member_id: _assigned(member, group.topics, stay[member_id], protocol)
        for member_id, member in bare.items()
    }
    return ClassicGroup(
        phase=Phase.STABLE,
        generation=group.epoch,
        protocol_type=CONSUMER_TYPE,
        protocol=protocol,
        leader=next(iter(members)),
        members=members,
        pending={},
        initial=None,
        # No timer of an earlier life of the group as a classic one has such a stamp.
        turn=now_ms,
        changed_at_ms=now_ms,
    )


def _classic_member(member_id: str, member: ConsumerMember, side: ClassicSide) -> Member:
    return Member(
        member_id=member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=side.session_timeout_ms,
        protocols=side.protocols,
        broker=member.broker,
        synced=True,
    )


def _assigned(member: Member, topics: Mapping[str, Topic], before: ConsumerMember, protocol: str) -> Member:
    """The member with what it has.

    Kafka gives it what it was to have. If the group changes back before the member has joined again, that
    would be taken for what the client uses.
    """
    has = partitions_in(merged(before.assigned, before.revoking))
    return replace(member, assignment=assignment_bytes(has, topics, metadata(member, protocol)))
