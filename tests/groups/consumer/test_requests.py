"""Validation of heartbeats, in Kafka's order and with Kafka's messages."""

from typing import Any

import pytest

from dray.groups.commands import ConsumerHeartbeat
from dray.groups.consumer import heartbeat
from dray.groups.types import GroupError
from tests.groups.consumer.builders import LIMITS, a_heartbeat, a_join, image, parts

TOPICS = image(t=1)
BLANK = "\t \x00"

REJECTED: list[tuple[ConsumerHeartbeat, str]] = [
    (a_join("", "t"), "MemberId can't be empty."),
    (a_join(BLANK, "t"), "MemberId can't be empty."),
    (a_heartbeat("", 1, new_member_id="x"), "MemberId can't be empty."),
    (a_heartbeat("", -1, new_member_id="x"), "MemberId can't be empty."),
    (a_join("", "t", group_id=""), "MemberId can't be empty."),
    (a_join("a", "t", group_id=BLANK), "GroupId can't be empty."),
    (a_join("a", "t", instance_id="", rack_id=""), "InstanceId can't be empty."),
    (a_join("a", "t", rack_id=" "), "RackId can't be empty."),
    (a_join("a", "t", rebalance_timeout_ms=None), "RebalanceTimeoutMs must be provided in first request."),
    (a_join("a", "t", owned=None), "TopicPartitions must be empty when (re-)joining."),
    (a_join("a", "t", owned=parts(t=[0])), "TopicPartitions must be empty when (re-)joining."),
    (
        a_join("a", names=None),
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    ),
    (a_heartbeat("a", -2), "InstanceId can't be null."),
    (a_heartbeat("a", -3), "MemberEpoch is invalid."),
]


@pytest.mark.parametrize(
    ("command", "message"), REJECTED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_invalid_fields_return_invalid_request(command: ConsumerHeartbeat, message: str) -> None:
    outcome = heartbeat(None, command, TOPICS, LIMITS, 1)
    assert (outcome.reply.error, outcome.reply.message) == (GroupError.INVALID_REQUEST, message)
    assert outcome.group is None


def test_unknown_assignor_returns_unsupported_assignor() -> None:
    reply = heartbeat(None, a_join("a", "t", assignor="sticky"), TOPICS, LIMITS, 1).reply
    assert reply.error is GroupError.UNSUPPORTED_ASSIGNOR
    assert reply.message == "ServerAssignor sticky is not supported. Supported assignors: uniform, range."


@pytest.mark.parametrize("changes", [{"names": ()}, {"names": None, "regex": ""}])
def test_empty_subscriptions_are_accepted(changes: dict[str, Any]) -> None:
    assert heartbeat(None, a_join("a", **changes), TOPICS, LIMITS, 1).reply.error is GroupError.NONE


def test_only_characters_that_java_trims_count_as_blank() -> None:
    """Java's `trim` removes only characters up to the space."""
    assert heartbeat(None, a_join("\u2003", "t"), TOPICS, LIMITS, 1).reply.error is GroupError.NONE
