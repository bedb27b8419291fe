"""How a group's epoch grows."""

from msgspec.structs import replace

from dray.groups.consumer.state import ConsumerGroup


def bumped(group: ConsumerGroup, now_ms: int) -> ConsumerGroup:
    """Begin a new epoch: the target has to be worked out anew."""
    return replace(group, epoch=group.epoch + 1, changed_at_ms=now_ms)
