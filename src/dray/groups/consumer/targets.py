"""When a new target is worked out, by which assignor, and from what.

A target is worked out by the first heartbeat that finds the group epoch ahead of it, but not more often
than every assignment interval. So a wave of members that join at once is assigned in a few steps and not in
one for each.
"""

from collections import Counter

from msgspec.structs import replace

from dray.groups.assignors import ASSIGNORS, AssignorMember
from dray.groups.consumer.state import ConsumerGroup
from dray.groups.consumer.subscription import topic_ids_of
from dray.groups.limits import GroupLimits


def retargeted(group: ConsumerGroup, limits: GroupLimits, now_ms: int) -> ConsumerGroup:
    """Work out the target if it is due; the very same group if not."""
    if group.target_epoch >= group.epoch or not _may_assign(group, limits, now_ms):
        return group
    name = preferred_assignor(group)
    members = {
        member_id: AssignorMember(member.instance_id, member.rack_id, topic_ids_of(group, member))
        for member_id, member in group.members.items()
    }
    counts = {topic.topic_id: topic.partitions for topic in group.topics.values()}
    assigned = ASSIGNORS[name](members, counts, group.targets)
    targets = {member_id: dict(target) for member_id, target in assigned.items() if target}
    return replace(group, target_epoch=group.epoch, targets=targets, assignor=name, assigned_at_ms=now_ms)


def preferred_assignor(group: ConsumerGroup) -> str:
    """The one that most members name; Kafka's first choice if none does, or if it is a tie."""
    named = Counter(member.assignor for member in group.members.values() if member.assignor in ASSIGNORS)
    return max(ASSIGNORS, key=lambda name: named[name])


def _may_assign(group: ConsumerGroup, limits: GroupLimits, now_ms: int) -> bool:
    """A time that is still to come was another broker's clock's: nobody waits for it."""
    passed_ms = now_ms - group.assigned_at_ms
    return not 0 <= passed_ms < limits.consumer_assignment_interval_ms
