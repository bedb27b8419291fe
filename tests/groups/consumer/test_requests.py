"""Heartbeats that are refused for what they say, in Kafka's order and words."""

from typing import Any

import pytest

from dray.groups.asks import ConsumerBeat
from dray.groups.consumer import heartbeat
from dray.groups.faults import Fault
from tests.groups.consumer.builders import LIMITS, a_beat, a_join, image, parts

TOPICS = image(t=1)
BLANK = "\t \x00"

REFUSED: list[tuple[ConsumerBeat, str]] = [
    (a_join("", "t"), "MemberId can't be empty."),
    (a_join(BLANK, "t"), "MemberId can't be empty."),
    (a_beat("", 1, new_id="x"), "MemberId can't be empty."),
    (a_beat("", -1, new_id="x"), "MemberId can't be empty."),
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
    (a_beat("a", -2), "InstanceId can't be null."),
    (a_beat("a", -3), "MemberEpoch is invalid."),
]


@pytest.mark.parametrize(
    ("ask", "message"), REFUSED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_requests_that_make_no_sense(ask: ConsumerBeat, message: str) -> None:
    outcome = heartbeat(None, ask, TOPICS, LIMITS, 1)
    assert (outcome.reply.fault, outcome.reply.message) == (Fault.INVALID_REQUEST, message)
    assert outcome.group is None


def test_assignors_that_nobody_knows() -> None:
    reply = heartbeat(None, a_join("a", "t", assignor="sticky"), TOPICS, LIMITS, 1).reply
    assert reply.fault is Fault.UNSUPPORTED_ASSIGNOR
    assert reply.message == "ServerAssignor sticky is not supported. Supported assignors: uniform, range."


@pytest.mark.parametrize("changes", [{"names": ()}, {"names": None, "regex": ""}])
def test_subscriptions_to_nothing(changes: dict[str, Any]) -> None:
    assert heartbeat(None, a_join("a", **changes), TOPICS, LIMITS, 1).reply.fault is Fault.NONE


def test_strange_spaces_are_no_blanks() -> None:
    """Java's trim knows only what sorts before the space."""
    assert heartbeat(None, a_join("\u2003", "t"), TOPICS, LIMITS, 1).reply.fault is Fault.NONE
