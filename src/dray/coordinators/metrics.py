"""Metrics of consumer groups.

Every broker knows all groups. Metrics about a group as a whole are reported by its owner broker only, so that
the sum over all brokers is right for the cluster.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

from dray.groups import machine
from dray.groups.classic import ClassicGroup
from dray.groups.consumer.state import FIRST_EPOCH
from dray.groups.stored import Group
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
        registry = metrics.package("groups")
        return cls(
            groups=registry.gauge(
                "current_groups",
                "Groups that this broker owns, by protocol (classic, consumer) and state.",
                ["protocol", "state"],
            ),
            members=registry.gauge(
                "current_members", "Members of the groups that this broker owns.", ["protocol"]
            ),
            rebalances=registry.counter(
                "rebalances",
                "New generations (classic) and target assignments (consumer) of groups that this broker "
                "owns.",
                ["protocol"],
            ),
            committed_offsets=registry.counter(
                "committed_offsets", "Offsets committed through this broker, one per partition."
            ),
            conflicts=registry.counter(
                "commit_conflicts",
                "Group commits that conflicted with another broker's and were retried.",
            ),
            lag=registry.gauge(
                "lag_records",
                "Lag of a group that this broker owns, in records, summed over the partitions of a topic; "
                "measured every groups.lag_interval_ms.",
                ["group", "topic"],
            ),
        )


def unregistered() -> GroupMetrics:
    """Instruments that are not exported."""
    return GroupMetrics.on(Metrics())


class _CountedGroup(NamedTuple):
    """A group as the gauges include it."""

    protocol: str
    state: str
    members: int
    generation: int
    """Increases with every rebalance; 0 before the first."""
    owned: bool


class GroupGauges:
    """Numbers of groups, members and rebalances, updated by the difference whenever a group changes.

    A rebalance shows as a higher generation or target epoch. Several rebalances between two updates count as
    one.
    """

    def __init__(self, metrics: GroupMetrics) -> None:
        self._metrics = metrics
        self._counted: dict[str, _CountedGroup] = {}
        self._groups: dict[tuple[str, str], int] = {}
        self._members: dict[str, int] = {}

    def add_existing(self, group_id: str, group: Group) -> None:
        """Record a group that is older than this broker: its last rebalance is not counted."""
        self._counted[group_id] = _counted(group, owned=False)

    def update(self, group_id: str, group: Group | None, *, owned: bool) -> None:
        """Count a group as it is now; `owned` says whether this broker owns it."""
        before = self._counted.pop(group_id, None)
        now = None if group is None else _counted(group, owned=owned)
        if now is not None:
            self._counted[group_id] = now
        if before == now:
            return
        if before is not None and before.owned:
            self._add(before, -1)
        if now is not None and now.owned:
            self._add(now, 1)
            if _has_rebalanced(before, now):
                self._metrics.rebalances.labels(now.protocol).inc()

    def _add(self, counted: _CountedGroup, sign: int) -> None:
        protocol, labels = counted.protocol, (counted.protocol, counted.state)
        self._groups[labels] = self._groups.get(labels, 0) + sign
        self._members[protocol] = self._members.get(protocol, 0) + sign * counted.members
        self._metrics.groups.labels(*labels).set(self._groups[labels])
        self._metrics.members.labels(protocol).set(self._members[protocol])


def _counted(group: Group, *, owned: bool) -> _CountedGroup:
    generation = group.generation if isinstance(group, ClassicGroup) else group.target_epoch - FIRST_EPOCH
    return _CountedGroup(
        machine.kind(group), machine.state_name(group), len(group.members), generation, owned
    )


def _has_rebalanced(before: _CountedGroup | None, now: _CountedGroup) -> bool:
    if before is None or before.protocol != now.protocol:
        return now.generation > 0
    return now.generation > before.generation
