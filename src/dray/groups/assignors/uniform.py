"""Uniform assignor: all members get equally many partitions, and few partitions move.

If all members subscribe to the same topics, one pass assigns equal shares: they differ by one partition at
most. A member keeps what it has up to its share, and the larger shares go to members that have that much, so
no assignment of equal shares moves less. Unassigned partitions, and then the surplus of members above their
share, go to the members below theirs, one after the other.

As soon as two subscriptions differ, equal shares may be impossible, and the balance is approached topic by
topic (`heterogeneous`).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from dray.groups.assignors.builder import AssignmentBuilder, start
from dray.groups.assignors.contract import AssignorMember, id_order
from dray.groups.assignors.heterogeneous import balance
from dray.groups.commands import Partitions


def assign_uniformly(
    members: Mapping[str, AssignorMember], counts: Mapping[bytes, int], current: Mapping[str, Partitions]
) -> dict[str, Partitions]:
    builder = start(members, counts, current)
    subscriptions = [members[member_id].topic_ids for member_id in builder.ids]
    if len({frozenset(topics & builder.unassigned.keys()) for topics in set(subscriptions)}) == 1:
        _assign_equal_shares(builder)
    else:
        balance(builder, subscriptions)
    return builder.targets(current)


def _assign_equal_shares(builder: AssignmentBuilder) -> None:
    loose = [(topic, partition) for topic, free in builder.unassigned.items() for partition in free]
    deficits: list[tuple[int, int]] = []
    for member, share in enumerate(_shares(builder.sizes, sum(builder.sizes) + len(loose))):
        deficit = share - builder.sizes[member]
        if deficit > 0:
            deficits.append((member, deficit))
        elif deficit < 0:
            loose += _released(builder, member, -deficit)
    remaining = iter(loose)
    for member, deficit in deficits:
        for topic, partition in islice(remaining, deficit):
            builder.assign(topic, partition, member)


def _shares(sizes: Sequence[int], partitions: int) -> list[int]:
    """Return how many partitions each member gets."""
    smaller, extras = divmod(partitions, len(sizes))
    shares = []
    for place, size in enumerate(sizes):
        one_more = extras > 0 and (size > smaller or len(sizes) - place <= extras)
        extras -= one_more
        shares.append(smaller + one_more)
    return shares


def _released(builder: AssignmentBuilder, member: int, surplus: int) -> Iterator[tuple[bytes, int]]:
    """Unassign the last of a member's partitions."""
    assigned = builder.assigned[member]
    held = [
        (topic, partition)
        for topic in sorted(assigned, key=id_order)
        for partition in sorted(assigned[topic])
    ]
    for topic, partition in held[-surplus:]:
        builder.unassign(topic, partition, member)
        yield topic, partition
