"""Server-side assignors of the consumer protocol. Pure."""

from dray.groups.assignors.contract import Assignor, AssignorMember
from dray.groups.assignors.range import assign_ranges
from dray.groups.assignors.uniform import assign_uniformly

__all__ = ["Assignor", "AssignorMember", "assign_ranges", "assign_uniformly"]
