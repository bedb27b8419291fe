"""Golden frames, which never change, and their messages. The files explain their bytes."""

from pathlib import Path

import pytest

from dray.wire import (
    Api,
    ErrorCode,
    Message,
    RequestHeader,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from dray.wire.apis.api_versions import (
    API_VERSIONS,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from dray.wire.apis.consumer_group_heartbeat import (
    CONSUMER_GROUP_HEARTBEAT,
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from dray.wire.apis.fetch import (
    FETCH,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from dray.wire.apis.join_group import JOIN_GROUP, JoinGroupRequest, JoinGroupRequestProtocol
from dray.wire.apis.metadata import (
    METADATA,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from dray.wire.apis.produce import PRODUCE, PartitionProduceData, ProduceRequest, TopicProduceData
from tests.wire.kio_bridge import joined

FOLDER = Path(__file__).parent / "golden"
TOPIC_ID = bytes(range(16))

REQUESTS: dict[str, tuple[Api, RequestHeader, Message]] = {
    "api-versions-request-v3": (
        API_VERSIONS,
        RequestHeader(18, 3, 7, "app"),
        ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2.15.0"),
    ),
    "produce-request-v9": (
        PRODUCE,
        RequestHeader(0, 9, 3, None),
        ProduceRequest(
            acks=-1,
            timeout_ms=30_000,
            topic_data=[
                TopicProduceData(
                    name="orders",
                    partition_data=[
                        PartitionProduceData(index=0, records=memoryview(b"\xde\xad\xbe\xef")),
                        PartitionProduceData(index=1, records=None),
                    ],
                )
            ],
        ),
    ),
    "join-group-request-v5": (
        JOIN_GROUP,
        RequestHeader(11, 5, 4, "c"),
        JoinGroupRequest(
            group_id="g",
            session_timeout_ms=45_000,
            rebalance_timeout_ms=300_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\1\2\3")],
        ),
    ),
}

RESPONSES: dict[str, tuple[Api, int, int, Message]] = {
    "api-versions-response-v3": (
        API_VERSIONS,
        3,
        7,
        ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=0, min_version=0, max_version=13),
                ApiVersion(api_key=18, min_version=0, max_version=4),
            ],
            finalized_features_epoch=0,
            finalized_features=[
                FinalizedFeatureKey(name="group.version", max_version_level=1, min_version_level=1)
            ],
        ),
    ),
    "metadata-response-v1": (
        METADATA,
        1,
        2,
        MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host="127.0.0.1", port=9092)],
            controller_id=1,
            topics=[
                MetadataResponseTopic(
                    name="t",
                    partitions=[MetadataResponsePartition(leader_id=1, replica_nodes=[1], isr_nodes=[1])],
                )
            ],
        ),
    ),
    "fetch-response-v16": (
        FETCH,
        16,
        9,
        FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic_id=TOPIC_ID,
                    partitions=[
                        PartitionData(
                            high_watermark=42,
                            last_stable_offset=42,
                            log_start_offset=0,
                            aborted_transactions=None,
                            records=[memoryview(b"\1\2\3\4\5\6")],
                        ),
                        PartitionData(
                            partition_index=1,
                            error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
                            high_watermark=-1,
                            current_leader=LeaderIdAndEpoch(leader_id=2, leader_epoch=5),
                            records=[],
                        ),
                    ],
                )
            ],
            node_endpoints=[NodeEndpoint(node_id=2, host="h", port=9092)],
        ),
    ),
    "consumer-group-heartbeat-response-v0": (
        CONSUMER_GROUP_HEARTBEAT,
        0,
        5,
        ConsumerGroupHeartbeatResponse(
            member_id="m",
            member_epoch=3,
            heartbeat_interval_ms=5000,
            assignment=Assignment(topic_partitions=[TopicPartitions(topic_id=TOPIC_ID, partitions=[0, 2])]),
        ),
    ),
}


def golden(name: str) -> bytes:
    lines = (FOLDER / f"{name}.hex").read_text().splitlines()
    return bytes.fromhex("".join(line.partition("#")[0] for line in lines))


def test_every_golden_file_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.hex")} == {*REQUESTS, *RESPONSES}


@pytest.mark.parametrize("name", REQUESTS)
def test_golden_request_is_decoded_and_encoded(name: str) -> None:
    api, header, request = REQUESTS[name]
    frame = golden(name)
    assert decode_request(frame) == (header, request)
    # Unknown tagged fields are not encoded again.
    plain = frame.replace(bytes.fromhex("01 63 02 abcd"), b"\0")
    assert joined(encode_request(api, header, request)) == len(plain).to_bytes(4, "big") + plain


@pytest.mark.parametrize("name", RESPONSES)
def test_golden_response_is_decoded_and_encoded(name: str) -> None:
    api, version, correlation_id, response = RESPONSES[name]
    frame = golden(name)
    assert decode_response(api, version, frame) == (correlation_id, response)
    encoded = joined(encode_response(api, version, correlation_id, response))
    assert encoded == len(frame).to_bytes(4, "big") + frame
