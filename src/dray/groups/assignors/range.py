"""Range assignor: of each topic, every subscriber gets a run of adjacent partitions.

The subscribers of a topic are ordered, and the first ones get one partition more if they do not divide
evenly. Topics with equal counts and equal subscribers are divided alike, so partition 7 of all of them
belongs to the same member and streams can be joined. The last target is not used: partitions stay only as far
as the order does. Static members come first because their place outlives a restart.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from dray.groups.assignors.contract import AssignorMember, id_order, reuse_unchanged
from dray.groups.commands import Partitions


def assign_ranges(
    members: Mapping[str, AssignorMember], counts: Mapping[bytes, int], current: Mapping[str, Partitions]
) -> dict[str, Partitions]:
    targets: dict[str, dict[bytes, tuple[int, ...]]] = {member_id: {} for member_id in sorted(members)}
    subscribers = _subscribers(members)
    for topic in sorted(subscribers.keys() & counts.keys(), key=id_order):
        ordered = subscribers[topic]
        for member_id, run in zip(ordered, _runs(counts[topic], len(ordered)), strict=False):
            targets[member_id][topic] = run
    return reuse_unchanged(targets, current)


def _subscribers(members: Mapping[str, AssignorMember]) -> Mapping[bytes, Sequence[str]]:
    """Return the ordered subscribers of each topic."""
    subscribers: dict[bytes, list[str]] = defaultdict(list)
    for member_id in sorted(members, key=lambda member_id: _place(member_id, members[member_id])):
        for topic in members[member_id].topic_ids:
            subscribers[topic].append(member_id)
    return subscribers


def _place(member_id: str, member: AssignorMember) -> tuple[bool, bytes, str]:
    """Static members by instance id, then the others by member id; Java compares strings by UTF-16 units."""
    dynamic = member.instance_id is None
    name = member_id if member.instance_id is None else member.instance_id
    return dynamic, name.encode("utf-16-be", "surrogatepass"), member_id


def _runs(partitions: int, subscribers: int) -> Iterator[tuple[int, ...]]:
    """Return the runs in order, as long as there are any: the last subscribers may get none."""
    smaller, extras = divmod(partitions, subscribers)
    start = 0
    for place in range(min(partitions, subscribers)):
        end = start + smaller + (place < extras)
        yield tuple(range(start, end))
        start = end
