"""Assignment under construction by the uniform assignor: partitions of each member, and unassigned ones.

Members are numbered in the order of their ids, and keep these numbers to the end. The builder starts from the
last target without what may not stay: topics that a member no longer subscribes to or that were deleted,
partitions that a topic does not have, and partitions that an earlier member already has (a target that was
converted from a classic group may contain anything). After that every known partition is either assigned to
one member or unassigned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dray.groups.assignors.contract import AssignorMember, id_order, reuse_unchanged
from dray.groups.commands import Partitions

MutablePartitions: TypeAlias = dict[bytes, set[int]]


@dataclass(slots=True)
class AssignmentBuilder:
    """Changed in place by an assignor."""

    ids: Sequence[str]
    assigned: list[MutablePartitions]
    sizes: list[int]
    """Number of partitions assigned to each member."""
    unassigned: dict[bytes, list[int]]
    """Partitions that were unassigned at the start: contains every known topic, sorted."""

    def assign(self, topic: bytes, partition: int, member: int) -> None:
        self.assigned[member].setdefault(topic, set()).add(partition)
        self.sizes[member] += 1

    def unassign(self, topic: bytes, partition: int, member: int) -> None:
        self.assigned[member][topic].remove(partition)
        self.sizes[member] -= 1

    def targets(self, current: Mapping[str, Partitions]) -> dict[str, Partitions]:
        return reuse_unchanged(
            {
                member_id: _sorted_partitions(assigned)
                for member_id, assigned in zip(self.ids, self.assigned, strict=True)
            },
            current,
        )


def start(
    members: Mapping[str, AssignorMember], counts: Mapping[bytes, int], current: Mapping[str, Partitions]
) -> AssignmentBuilder:
    ids = sorted(members)
    subscribed = frozenset[bytes]().union(*{member.topic_ids for member in members.values()})
    remaining = {
        topic: dict.fromkeys(range(counts[topic]), True)
        for topic in sorted(subscribed & counts.keys(), key=id_order)
    }
    assigned = [_kept(members[member_id], current.get(member_id, {}), remaining) for member_id in ids]
    sizes = [sum(map(len, partitions.values())) for partitions in assigned]
    unassigned = {topic: list(partitions) for topic, partitions in remaining.items()}
    return AssignmentBuilder(ids, assigned, sizes, unassigned)


def _kept(
    member: AssignorMember, last: Partitions, remaining: Mapping[bytes, dict[int, bool]]
) -> MutablePartitions:
    """Return the partitions that a member may keep of its last target; removes them from `remaining`."""
    return {
        topic: {partition for partition in last[topic] if remaining[topic].pop(partition, False)}
        for topic in last.keys() & member.topic_ids & remaining.keys()
    }


def _sorted_partitions(assigned: MutablePartitions) -> Partitions:
    return {
        topic: tuple(sorted(assigned[topic])) for topic in sorted(assigned, key=id_order) if assigned[topic]
    }
