"""The consumer protocol (KIP-848), in which the broker assigns partitions and reconciles members. Pure."""

from dray.groups.consumer.heartbeat import heartbeat
from dray.groups.consumer.offsets import after_commit, commit_error, fetch_error
from dray.groups.consumer.state import (
    ClassicMemberMetadata,
    ConsumerGroup,
    ConsumerMember,
    MemberState,
    TopicMetadata,
)
from dray.groups.consumer.subscription import is_subscribed, subscribed_topics
from dray.groups.consumer.target_assignment import ASSIGNORS
from dray.groups.consumer.timers import fire, take_over_members, timers
from dray.groups.consumer.topic_refresh import LastRefresh, refresh
from dray.groups.consumer.view import (
    ConsumerGroupDescription,
    ConsumerMemberDescription,
    delete_error,
    describe,
    is_empty,
    state_name,
)

__all__ = [
    "ASSIGNORS",
    "ClassicMemberMetadata",
    "ConsumerGroup",
    "ConsumerGroupDescription",
    "ConsumerMember",
    "ConsumerMemberDescription",
    "LastRefresh",
    "MemberState",
    "TopicMetadata",
    "after_commit",
    "commit_error",
    "delete_error",
    "describe",
    "fetch_error",
    "fire",
    "heartbeat",
    "is_empty",
    "is_subscribed",
    "refresh",
    "state_name",
    "subscribed_topics",
    "take_over_members",
    "timers",
]
