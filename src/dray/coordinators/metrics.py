"""What is counted of groups.

Every broker knows all groups. What is told of a group as a whole is told by the one broker that looks after
it, so the sum over all brokers is the cluster's.
"""

from dataclasses import dataclass
from typing import Self

from dray.observe import Counter, Gauge, Metrics


@dataclass(frozen=True, slots=True)
class GroupMetrics:
    """Instruments of the groups."""

    groups: Gauge
    members: Gauge
    rebalances: Counter
    committed_offsets: Counter
    conflicts: Counter
    lag: Gauge

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        room = metrics.room("groups")
        return cls(
            groups=room.gauge(
                "current_groups",
                "Groups that this broker looks after, by protocol (classic, consumer) and state.",
                ["protocol", "state"],
            ),
            members=room.gauge(
                "current_members", "Members of the groups that this broker looks after.", ["protocol"]
            ),
            rebalances=room.counter(
                "rebalances",
                "New generations (classic) and new assignments (consumer) of groups that this broker looks "
                "after.",
                ["protocol"],
            ),
            committed_offsets=room.counter(
                "committed_offsets", "Offsets committed through this broker, one for each partition."
            ),
            conflicts=room.counter(
                "commit_conflicts", "Changes of groups that were lost to another broker, and tried again."
            ),
            lag=room.gauge(
                "lag_records",
                "Records behind the committed offsets of a group that this broker looks after, in all "
                "partitions of a topic; measured every groups.lag_interval_ms.",
                ["group", "topic"],
            ),
        )


def unseen() -> GroupMetrics:
    """Instruments that nobody looks at."""
    return GroupMetrics.on(Metrics())
