"""Groups beside coordinators that are starting, are older, or refuse."""

import pytest

from dray.client import BrokerError, Unreachable
from dray.client.groups import commit_offsets, committed_offsets, delete_group, find_groups, list_groups
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
from dray.wire.apis.find_coordinator import FIND_COORDINATOR, Coordinator, FindCoordinatorResponse
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
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from tests.client.scripted_broker import BROKER_ID, HANG_UP, TOPIC, ScriptedBroker, scripted

pytestmark = pytest.mark.slow

GROUP = "g"


def found(broker: ScriptedBroker, error_code: int = 0) -> FindCoordinatorResponse:
    host, port = broker.address
    where = {"node_id": BROKER_ID, "host": host, "port": port}
    error = {"error_code": error_code, "error_message": None}
    return FindCoordinatorResponse(coordinators=[Coordinator(key=GROUP, **where, **error)], **where, **error)  # type: ignore[arg-type]


def coordinated() -> ScriptedBroker:
    broker = ScriptedBroker()
    broker.on(FIND_COORDINATOR.key, lambda _: found(broker))
    return broker


def deleted(error_code: int = 0) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult(group_id=GROUP, error_code=error_code)])


def test_change_is_retried_while_the_coordinator_moves() -> None:
    broker = coordinated()
    broker.on_each(
        DELETE_GROUPS.key,
        [deleted(ErrorCode.NOT_COORDINATOR), deleted(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), deleted()],
    )
    with scripted(broker) as admin:
        delete_group(admin, GROUP)
    assert broker.count(DeleteGroupsRequest) == 3


def test_change_is_not_repeated_after_a_lost_connection() -> None:
    broker = coordinated()
    broker.on(DELETE_GROUPS.key, lambda _: HANG_UP)
    with scripted(broker, timeout_s=2) as admin, pytest.raises(Unreachable, match="group 'g': "):
        delete_group(admin, GROUP)
    assert broker.count(DeleteGroupsRequest) == 1


def test_unavailable_coordinator_is_reported_at_the_time_limit() -> None:
    broker = coordinated()
    broker.on(FIND_COORDINATOR.key, lambda _: found(broker, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    broker.on(classic.DESCRIBE_GROUPS.key, lambda _: None)
    with (
        scripted(broker, timeout_s=0.3) as admin,
        pytest.raises(Unreachable, match="group 'g': no response within"),
    ):
        find_groups(admin, [GROUP])


def test_broker_without_the_consumer_protocol_describes_classic_groups() -> None:
    broker = coordinated()
    described = classic.DescribedGroup(group_id=GROUP, group_state="Empty", protocol_type="consumer")
    broker.on(classic.DESCRIBE_GROUPS.key, lambda _: classic.DescribeGroupsResponse(groups=[described]))
    with scripted(broker) as admin:
        assert find_groups(admin, [GROUP])[GROUP].protocol == "classic"


def test_dead_group_does_not_exist() -> None:
    broker = coordinated()
    dead = classic.DescribedGroup(group_id=GROUP, group_state="Dead")
    broker.on(classic.DESCRIBE_GROUPS.key, lambda _: classic.DescribeGroupsResponse(groups=[dead]))
    broker.versions[classic.DESCRIBE_GROUPS.key] = (0, 5)
    with scripted(broker) as admin:
        assert find_groups(admin, [GROUP]) == {}


def test_refusal_names_the_group() -> None:
    broker = coordinated()
    refused = DescribedGroup(group_id=GROUP, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    broker.on(CONSUMER_GROUP_DESCRIBE.key, lambda _: ConsumerGroupDescribeResponse(groups=[refused]))
    broker.on(classic.DESCRIBE_GROUPS.key, lambda _: None)
    with (
        scripted(broker) as admin,
        pytest.raises(BrokerError, match=r"group 'g': .*GROUP_AUTHORIZATION_FAILED"),
    ):
        find_groups(admin, [GROUP])


def test_listing_is_retried_while_a_broker_loads_its_groups() -> None:
    broker = coordinated()
    loading = ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    broker.on_each(LIST_GROUPS.key, [loading, ListGroupsResponse()])
    with scripted(broker) as admin:
        assert list_groups(admin) == []


def test_partitions_without_a_committed_offset_are_left_out() -> None:
    broker = coordinated()
    parts = [
        OffsetFetchResponsePartitions(partition_index=0, committed_offset=5),
        OffsetFetchResponsePartitions(partition_index=1, committed_offset=-1),
    ]
    topic = OffsetFetchResponseTopics(name=TOPIC, partitions=parts)
    # librdkafka asks in a version without groups.
    old = OffsetFetchResponseTopic(
        name=TOPIC,
        partitions=[
            OffsetFetchResponsePartition(partition_index=0, committed_offset=5),
            OffsetFetchResponsePartition(partition_index=1, committed_offset=-1),
        ],
    )
    group = OffsetFetchResponseGroup(group_id=GROUP, topics=[topic])
    broker.versions[OFFSET_FETCH.key] = (1, 9)
    broker.on(OFFSET_FETCH.key, lambda _: OffsetFetchResponse(groups=[group], topics=[old]))
    with scripted(broker) as admin:
        assert committed_offsets(admin, GROUP) == {TOPIC: {0: 5}}


def test_refused_offset_names_its_partition() -> None:
    broker = coordinated()
    part = OffsetCommitResponsePartition(partition_index=3, error_code=ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
    answer = OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name=TOPIC, partitions=[part])])
    broker.on(OFFSET_COMMIT.key, lambda _: answer)
    subject = "group 'g', partition 3 of topic 'scripted': .*INVALID_COMMIT_OFFSET_SIZE"
    with scripted(broker) as admin, pytest.raises(BrokerError, match=subject):
        commit_offsets(admin, GROUP, {TOPIC: {3: 1}})
