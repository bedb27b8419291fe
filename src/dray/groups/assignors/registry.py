"""The assignors by the names that members call them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dray.groups.assignors.contract import Assignor
from dray.groups.assignors.ranges import assign_ranges
from dray.groups.assignors.uniform import assign_uniformly

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType(
    {"uniform": assign_uniformly, "range": assign_ranges}
)
"""The first is the one for groups whose members name none."""
