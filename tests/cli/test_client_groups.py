"""The small client and groups, against coordinators that are not there yet, are older, or have moved."""

import pytest

from dray.cli.client.errors import Lost, NotNow, Refused
from dray.cli.client.group_admin import delete_group, find_groups, list_groups
from dray.cli.client.group_offsets import commit_offsets, committed_offsets
from dray.wire import ErrorCode
from dray.wire.apis import describe_groups as classic
from dray.wire.apis.consumer_group_describe import (
    CONSUMER_GROUP_DESCRIBE,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from dray.wire.apis.delete_groups import (
    DELETE_GROUPS,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from dray.wire.apis.find_coordinator import (
    FIND_COORDINATOR,
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from dray.wire.apis.list_groups import LIST_GROUPS, ListGroupsResponse
from dray.wire.apis.offset_commit import (
    OFFSET_COMMIT,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from dray.wire.apis.offset_fetch import (
    OFFSET_FETCH,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.cli.scripted_broker import BROKER_ID, HANG_UP, TOPIC, ScriptedBroker, scripted_cluster

GROUP = "g"


def found(error_code: int = 0, node_id: int = BROKER_ID) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        coordinators=[Coordinator(key=GROUP, node_id=node_id, error_code=error_code, error_message=None)]
    )


def coordinated() -> ScriptedBroker:
    broker = ScriptedBroker()
    broker.on(FIND_COORDINATOR.key, lambda _: found())
    return broker


def deleted(error_code: int = 0) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult(group_id=GROUP, error_code=error_code)])


async def test_a_coordinator_is_waited_for_and_followed() -> None:
    broker = coordinated()
    gone = BROKER_ID + 1
    broker.on_each(
        FIND_COORDINATOR.key, [found(ErrorCode.COORDINATOR_NOT_AVAILABLE), found(node_id=gone), found()]
    )
    broker.on_each(DELETE_GROUPS.key, [deleted(ErrorCode.NOT_COORDINATOR), deleted()])
    async with scripted_cluster(broker) as cluster:
        await delete_group(cluster, GROUP)
    assert broker.requests(FindCoordinatorRequest) == 4
    assert broker.requests(DeleteGroupsRequest) == 2


async def test_a_change_is_not_repeated_when_nobody_knows_whether_it_happened() -> None:
    broker = coordinated()
    broker.on(DELETE_GROUPS.key, lambda _: HANG_UP)
    async with scripted_cluster(broker) as cluster:
        with pytest.raises(Lost, match="closed the connection"):
            await delete_group(cluster, GROUP)
    assert broker.requests(DeleteGroupsRequest) == 1


async def test_waiting_for_a_coordinator_ends_at_the_time_limit() -> None:
    broker = coordinated()
    broker.on(FIND_COORDINATOR.key, lambda _: found(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    async with scripted_cluster(broker, timeout_s=0.3) as cluster:
        with pytest.raises(NotNow, match="the coordinator of group 'g': COORDINATOR_NOT_AVAILABLE"):
            await find_groups(cluster, [GROUP])


async def test_a_broker_that_does_not_know_the_consumer_protocol() -> None:
    broker = coordinated()
    described = classic.DescribedGroup(group_id=GROUP, group_state="Empty", protocol_type="consumer")
    broker.on(classic.DESCRIBE_GROUPS.key, lambda _: classic.DescribeGroupsResponse(groups=[described]))
    async with scripted_cluster(broker) as cluster:
        assert (await find_groups(cluster, [GROUP]))[GROUP].protocol == "classic"


async def test_a_group_that_older_brokers_call_dead_is_not_there() -> None:
    broker = coordinated()
    dead = classic.DescribedGroup(group_id=GROUP, group_state="Dead")
    broker.on(classic.DESCRIBE_GROUPS.key, lambda _: classic.DescribeGroupsResponse(groups=[dead]))
    broker.versions[classic.DESCRIBE_GROUPS.key] = (0, 5)
    async with scripted_cluster(broker) as cluster:
        assert await find_groups(cluster, [GROUP]) == {}


async def test_an_assignment_that_cannot_be_read_says_nothing() -> None:
    broker = coordinated()
    member = classic.DescribedGroupMember(member_id="m", member_assignment=b"\0")
    for kind in ("consumer", "connect"):
        described = classic.DescribedGroup(
            group_id=GROUP, group_state="Stable", protocol_type=kind, members=[member]
        )
        answer = classic.DescribeGroupsResponse(groups=[described])
        broker.on_each(classic.DESCRIBE_GROUPS.key, [answer])
        async with scripted_cluster(broker) as cluster:
            (only,) = (await find_groups(cluster, [GROUP]))[GROUP].members
        assert (only.member_id, only.partitions) == ("m", {})


async def test_a_refusal_names_the_group() -> None:
    broker = coordinated()
    refused = DescribedGroup(group_id=GROUP, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    broker.on(CONSUMER_GROUP_DESCRIBE.key, lambda _: ConsumerGroupDescribeResponse(groups=[refused]))
    async with scripted_cluster(broker) as cluster:
        with pytest.raises(Refused, match="group 'g': GROUP_AUTHORIZATION_FAILED"):
            await find_groups(cluster, [GROUP])


async def test_a_broker_that_is_still_loading_its_groups_is_waited_for() -> None:
    broker = coordinated()
    loading = ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    broker.on_each(LIST_GROUPS.key, [loading, ListGroupsResponse()])
    async with scripted_cluster(broker) as cluster:
        assert await list_groups(cluster) == []


async def test_topics_may_be_told_by_name() -> None:
    broker = coordinated()
    broker.versions[OFFSET_FETCH.key] = (1, 9)
    parts = [
        OffsetFetchResponsePartitions(partition_index=0, committed_offset=5),
        OffsetFetchResponsePartitions(partition_index=1, committed_offset=-1),
    ]
    topic = OffsetFetchResponseTopics(name=TOPIC, partitions=parts)
    group = OffsetFetchResponseGroup(group_id=GROUP, topics=[topic])
    broker.on(OFFSET_FETCH.key, lambda _: OffsetFetchResponse(groups=[group]))
    async with scripted_cluster(broker) as cluster:
        assert await committed_offsets(cluster, GROUP) == {TOPIC: {0: 5}}


async def test_a_refused_offset_is_told_with_its_place() -> None:
    broker = coordinated()
    part = OffsetCommitResponsePartition(partition_index=3, error_code=ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
    answer = OffsetCommitResponse(topics=[OffsetCommitResponseTopic(partitions=[part])])
    broker.on(OFFSET_COMMIT.key, lambda _: answer)
    async with scripted_cluster(broker) as cluster:
        told = "group 'g', partition 3 of topic 'scripted': INVALID_COMMIT_OFFSET_SIZE"
        with pytest.raises(Refused, match=told):
            await commit_offsets(cluster, GROUP, {TOPIC: {3: 1}})
