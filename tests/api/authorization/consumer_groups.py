"""Steps about groups of the consumer protocol."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from dray.wire import Message
from dray.wire.apis.consumer_group_describe import ConsumerGroupDescribeRequest
from dray.wire.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.api.authorization.rendering import Answer
from tests.api.authorization.steps import Step
from tests.api.authorization.world import CONSUMERS, MEMBER, World

_HEARTBEATS: Final = 20


def _heartbeat(
    group: str, names: list[str] | None, _: World, version: int, *, regex: str | None = None
) -> ConsumerGroupHeartbeatRequest:
    """Make a request of a member that the group does not know: it changes nothing."""
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="BBBBBBBBBBBBBBBBBBBBBB",
        member_epoch=5,
        rebalance_timeout_ms=-1,
        subscribed_topic_names=names,
        subscribed_topic_regex=regex,
    )


def _heartbeats() -> Iterator[Step]:
    for group in (*CONSUMERS, "pre-denied", ""):
        yield Step(
            ConsumerGroupHeartbeatRequest,
            group or "group without name",
            partial(_heartbeat, group, None),
            prepare=lambda world: world.restore_consumers(),
        )
    for label, names in (
        ("allowed topics", ["exact", "pre-1"]),
        ("one denied topic", ["exact", "pre-denied"]),
        ("one topic without ACL", ["other", "exact"]),
        ("missing topics", ["exact-missing", "other-missing"]),
    ):
        yield Step(
            ConsumerGroupHeartbeatRequest,
            label,
            partial(_heartbeat, "exact-consumer", names),
            prepare=lambda world: world.restore_consumers(),
        )
    yield Step(
        ConsumerGroupHeartbeatRequest,
        "regular expression",
        partial(_heartbeat, "exact-consumer", None, regex="exact|other"),
        (1,),
        lambda world: world.restore_consumers(),
    )


async def _read_by_regex(world: World, user: str) -> Answer:
    """Join a group of the user's own, and wait for the topics that the regular expression matches."""
    group = f"pre-regex-{user}"
    heard = await world.consumer_heartbeat(
        group, MEMBER, user=user, subscribed_topic_regex="exact|pre-.*|other"
    )
    for _ in range(_HEARTBEATS):
        if heard.error_code or (heard.assignment is not None and heard.assignment.topic_partitions):
            break
        await world.pause()
        heard = await world.consumer_heartbeat(group, MEMBER, heard.member_epoch, user)
    return world.rendered(heard)


def _describe_consumers(_: World, version: int) -> Message:
    groups = [*CONSUMERS, "exact", "exact-missing", "other-missing"]
    return ConsumerGroupDescribeRequest(group_ids=groups, include_authorized_operations=True)


STEPS: Final = (
    *_heartbeats(),
    Step(
        ConsumerGroupDescribeRequest,
        "some",
        _describe_consumers,
        prepare=lambda world: world.restore_consumers(),
    ),
    Step(
        ConsumerGroupHeartbeatRequest,
        "topics that a regular expression matches",
        partial(_heartbeat, "exact-consumer", None),
        (1,),
        exchange=_read_by_regex,
    ),
)
