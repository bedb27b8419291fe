"""The range assignor: of every topic, each subscriber reads a run of neighbouring partitions.

Subscribers of a topic stand in a line, and the first of them read one partition more if they do not divide
evenly. Topics with equal counts and equal subscribers are cut alike, so that partition 7 of all of them is
read by the same member and streams can be joined. The last target plays no part: partitions stay where
they are only as far as the line does. Static members stand in front because their place outlives a restart.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from dray.groups.asks import Partitions
from dray.groups.assignors.contract import AssignorMember, id_order, settled


def assign_ranges(
    members: Mapping[str, AssignorMember], counts: Mapping[bytes, int], current: Mapping[str, Partitions]
) -> dict[str, Partitions]:
    targets: dict[str, dict[bytes, tuple[int, ...]]] = {member_id: {} for member_id in sorted(members)}
    subscribers = _subscribers(members)
    for topic in sorted(subscribers.keys() & counts.keys(), key=id_order):
        line = subscribers[topic]
        for member_id, run in zip(line, _runs(counts[topic], len(line)), strict=False):
            targets[member_id][topic] = run
    return settled(targets, current)


def _subscribers(members: Mapping[str, AssignorMember]) -> Mapping[bytes, Sequence[str]]:
    """The subscribers of each topic, in line."""
    lines: dict[bytes, list[str]] = defaultdict(list)
    for member_id in sorted(members, key=lambda member_id: _place(member_id, members[member_id])):
        for topic in members[member_id].topic_ids:
            lines[topic].append(member_id)
    return lines


def _place(member_id: str, member: AssignorMember) -> tuple[bool, bytes, str]:
    """Static members by instance, then the others by id; Java compares text by UTF-16 units."""
    dynamic = member.instance_id is None
    name = member_id if member.instance_id is None else member.instance_id
    return dynamic, name.encode("utf-16-be", "surrogatepass"), member_id


def _runs(partitions: int, subscribers: int) -> Iterator[tuple[int, ...]]:
    """The runs in order, as long as there are any: those last in line may get none."""
    least, extras = divmod(partitions, subscribers)
    start = 0
    for place in range(min(partitions, subscribers)):
        end = start + least + (place < extras)
        yield tuple(range(start, end))
        start = end
