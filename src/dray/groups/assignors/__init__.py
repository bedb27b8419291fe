"""The server's assignors of the consumer protocol: who is to read which partition. Pure."""

from dray.groups.assignors.contract import Assignor, AssignorMember
from dray.groups.assignors.ranges import assign_ranges
from dray.groups.assignors.registry import ASSIGNORS
from dray.groups.assignors.uniform import assign_uniformly

__all__ = ["ASSIGNORS", "Assignor", "AssignorMember", "assign_ranges", "assign_uniformly"]
