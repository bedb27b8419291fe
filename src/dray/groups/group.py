"""A group, of either protocol. A group that does not exist has no value."""

from typing import TypeAlias

from msgspec import Struct

from dray.groups.classic.state import ClassicGroup
from dray.groups.consumer.state import ConsumerGroup

Group: TypeAlias = ClassicGroup | ConsumerGroup


class Doomed(Struct, frozen=True, array_like=True, tag="d1"):
    """What stands in the place of a group while its offsets are being removed; then it goes too."""
