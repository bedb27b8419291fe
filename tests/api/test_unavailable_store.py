"""Error codes of every API that needs the metadata store while it is unavailable."""

from typing import Any

import msgspec

from dray.wire import ErrorCode, Message
from dray.wire.apis import alter_configs, describe_producers, incremental_alter_configs
from dray.wire.apis.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from dray.wire.apis.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from dray.wire.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from dray.wire.apis.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.api.builders import Broker, on_broker

TOPIC = 2
REQUESTS: list[tuple[type[Message], Message]] = [
    (
        CreateTopicsResponse,
        CreateTopicsRequest(topics=[CreatableTopic(name="u", num_partitions=1, replication_factor=1)]),
    ),
    (DeleteTopicsResponse, DeleteTopicsRequest(topics=[DeleteTopicState(name="t")])),
    (DeleteTopicsResponse, DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=b"\1" * 16)])),
    (
        CreatePartitionsResponse,
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=2, assignments=None)]),
    ),
    (
        alter_configs.AlterConfigsResponse,
        alter_configs.AlterConfigsRequest(
            resources=[alter_configs.AlterConfigsResource(resource_type=TOPIC, resource_name="t")]
        ),
    ),
    (
        incremental_alter_configs.IncrementalAlterConfigsResponse,
        incremental_alter_configs.IncrementalAlterConfigsRequest(
            resources=[incremental_alter_configs.AlterConfigsResource(resource_type=TOPIC, resource_name="t")]
        ),
    ),
    (
        DeleteRecordsResponse,
        DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(offset=-1)])]
        ),
    ),
    (
        OffsetForLeaderEpochResponse,
        OffsetForLeaderEpochRequest(
            topics=[OffsetForLeaderTopic(topic="t", partitions=[OffsetForLeaderPartition()])]
        ),
    ),
    (
        describe_producers.DescribeProducersResponse,
        describe_producers.DescribeProducersRequest(
            topics=[describe_producers.TopicRequest(name="t", partition_indexes=[0])]
        ),
    ),
]


def codes(response: Any) -> list[int]:
    """Return every error code in a response, at any depth."""
    if isinstance(response, dict):
        own = [response["error_code"]] if "error_code" in response else []
        return own + [code for value in response.values() for code in codes(value)]
    return [code for value in response for code in codes(value)] if isinstance(response, list) else []


@on_broker
async def test_unavailable_store_is_an_error_in_every_response(broker: Broker) -> None:
    await broker.make_topic("t")
    await broker.services.topic_admin._meta.close()
    for response_type, request in REQUESTS:
        response = await broker.ask(response_type, request)
        assert codes(msgspec.to_builtins(response)) == [ErrorCode.KAFKA_STORAGE_ERROR], request
