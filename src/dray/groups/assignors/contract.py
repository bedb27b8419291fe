"""Contract of an assignor.

An assignor gets the members of a group, the partition counts of all existing topics, and the last target. It
returns the new target of every member, including those with nothing to read. What it does not know (a deleted
topic, a member that left) it leaves out. The same input gives the same output, whatever the order of the
mappings. A member whose target does not change gets back the very same object, so that callers can compare
with `is`.

Where an order is needed it is Kafka's, so that results can be compared with those of a real broker.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dray.groups.commands import Partitions


@dataclass(frozen=True, slots=True)
class AssignorMember:
    """A member as assignors see it. No assignor uses the rack; in Kafka 4.3 none does either."""

    instance_id: str | None
    rack_id: str | None
    topic_ids: frozenset[bytes]
    """Its subscription; may contain ids of deleted topics."""


Assignor: TypeAlias = Callable[
    [Mapping[str, AssignorMember], Mapping[bytes, int], Mapping[str, Partitions]], dict[str, Partitions]
]
"""(members by id, partition counts by topic id, last target by member id) → new target by member id."""


def id_order(topic_id: bytes) -> tuple[int, int]:
    """Sort key of topic ids: Java compares the two halves of a UUID as signed numbers."""
    return int.from_bytes(topic_id[:8], signed=True), int.from_bytes(topic_id[8:], signed=True)


def reuse_unchanged(
    targets: Mapping[str, Partitions], current: Mapping[str, Partitions]
) -> dict[str, Partitions]:
    """Return the targets, with the current object wherever a target has not changed."""
    return {
        member_id: current[member_id] if current.get(member_id) == target else target
        for member_id, target in targets.items()
    }
