"""Target assignment: when it is computed, by which assignor, and from what.

The first heartbeat that finds the group epoch ahead of the target epoch computes the target, but not more
often than every assignment interval. So a burst of joins is assigned in a few steps, not in one per member.
"""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from dray.groups.assignors import Assignor, AssignorMember, assign_ranges, assign_uniformly
from dray.groups.consumer.state import ConsumerGroup
from dray.groups.consumer.subscription import topic_ids_of
from dray.groups.limits import GroupLimits

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType(
    {"uniform": assign_uniformly, "range": assign_ranges}
)
"""The server-side assignors by name; the first is the default."""


def retargeted(group: ConsumerGroup, limits: GroupLimits, now_ms: int) -> ConsumerGroup:
    """Return the group with a new target if one is due; the very same group if not."""
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
    """Return the assignor that most members ask for; the default if none does or in a tie with it."""
    named = Counter(member.assignor for member in group.members.values() if member.assignor in ASSIGNORS)
    return max(ASSIGNORS, key=lambda name: named[name])


def _may_assign(group: ConsumerGroup, limits: GroupLimits, now_ms: int) -> bool:
    """Return whether the interval is over; a time in the future is another broker's, and does not delay."""
    passed_ms = now_ms - group.assigned_at_ms
    return not 0 <= passed_ms < limits.consumer_assignment_interval_ms
