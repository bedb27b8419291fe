"""The consumer protocol of groups (KIP-848): the broker assigns, and leads each member to its part. Pure."""

from dray.groups.consumer.beat import heartbeat
from dray.groups.consumer.offsets import commit_fault, commits, fetch_fault
from dray.groups.consumer.sight import Sight, refresh
from dray.groups.consumer.state import ClassicSide, ConsumerGroup, ConsumerMember, Progress, Topic
from dray.groups.consumer.subscription import is_subscribed, subscribed_topics
from dray.groups.consumer.timers import adopt, fire, timers
from dray.groups.consumer.view import (
    ShownConsumer,
    ShownConsumerGroup,
    delete_fault,
    is_empty,
    show,
    state_name,
)

__all__ = [
    "ClassicSide",
    "ConsumerGroup",
    "ConsumerMember",
    "Progress",
    "ShownConsumer",
    "ShownConsumerGroup",
    "Sight",
    "Topic",
    "adopt",
    "commit_fault",
    "commits",
    "delete_fault",
    "fetch_fault",
    "fire",
    "heartbeat",
    "is_empty",
    "is_subscribed",
    "refresh",
    "show",
    "state_name",
    "subscribed_topics",
    "timers",
]
