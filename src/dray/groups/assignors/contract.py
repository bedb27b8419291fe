"""What an assignor is given and what it gives back.

An assignor gets the members of a group, the number of partitions of every topic that there is, and the target
as it was worked out last. It returns the new target for every member, those with nothing to read too. What it
does not know (a topic that was deleted, a member that left) it leaves out. The same input gives the same
output, in whatever order the mappings hold it. A member whose target stays what it was gets back the very
same object, so that a caller can see with `is` what changed.

Where an order is needed it is Kafka's, so that results can be compared with those of a real broker.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dray.groups.asks import Partitions


@dataclass(frozen=True, slots=True)
class AssignorMember:
    """A member as assignors see it. No assignor looks at the rack; in Kafka 4.3 none does either."""

    instance_id: str | None
    rack_id: str | None
    topic_ids: frozenset[bytes]
    """What it is subscribed to; may hold ids of topics that are no more."""


Assignor: TypeAlias = Callable[
    [Mapping[str, AssignorMember], Mapping[bytes, int], Mapping[str, Partitions]], dict[str, Partitions]
]
"""(members by id, partition counts by topic id, last target by member id) → new target by member id."""


def id_order(topic_id: bytes) -> tuple[int, int]:
    """The order of topic ids: Java compares the halves of one as signed numbers."""
    return int.from_bytes(topic_id[:8], signed=True), int.from_bytes(topic_id[8:], signed=True)


def settled(targets: Mapping[str, Partitions], current: Mapping[str, Partitions]) -> dict[str, Partitions]:
    """The targets, with the old object wherever nothing changed."""
    return {
        member_id: current[member_id] if current.get(member_id) == target else target
        for member_id, target in targets.items()
    }
