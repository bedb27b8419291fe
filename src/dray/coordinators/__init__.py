"""Hosts for the pure machines: load, apply, commit, timers, waiting callers."""

from dray.coordinators.coordinator import CoordinatorParts, GroupCoordinator, GroupsAway, OffsetGiven
from dray.coordinators.desk import GroupsClosed
from dray.coordinators.expiry import OffsetExpiry
from dray.coordinators.lag import LagMeter
from dray.coordinators.metrics import GroupMetrics
from dray.coordinators.topics_seen import TopicsSeen

__all__ = [
    "CoordinatorParts",
    "GroupCoordinator",
    "GroupMetrics",
    "GroupsAway",
    "GroupsClosed",
    "LagMeter",
    "OffsetExpiry",
    "OffsetGiven",
    "TopicsSeen",
]
