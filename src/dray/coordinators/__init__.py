"""Hosts of the group machines: load groups, apply commands, commit, run timers, keep pending replies."""

from dray.coordinators.context import CoordinatorDeps
from dray.coordinators.coordinator import GroupCoordinator, GroupsUnavailable
from dray.coordinators.expiry import OffsetExpiry
from dray.coordinators.lag import LagMeter
from dray.coordinators.metrics import GroupMetrics
from dray.coordinators.shard import GroupsClosed
from dray.coordinators.topics import BrokerTopicsImage

__all__ = [
    "BrokerTopicsImage",
    "CoordinatorDeps",
    "GroupCoordinator",
    "GroupMetrics",
    "GroupsClosed",
    "GroupsUnavailable",
    "LagMeter",
    "OffsetExpiry",
]
