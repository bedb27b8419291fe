"""Differences between versions: added and removed fields, defaults, null, tags."""

import pytest

from dray.wire import (
    ZERO_UUID,
    BadLength,
    EncodeError,
    Truncated,
    UnexpectedNull,
    UnknownVersion,
    decode_body,
    encode_body,
)
from dray.wire.apis.api_versions import API_VERSIONS, ApiVersionsResponse, FinalizedFeatureKey
from dray.wire.apis.consumer_group_heartbeat import (
    CONSUMER_GROUP_HEARTBEAT,
    Assignment,
    ConsumerGroupHeartbeatResponse,
)
from dray.wire.apis.find_coordinator import FIND_COORDINATOR, FindCoordinatorResponse
from dray.wire.apis.metadata import METADATA, MetadataRequest, MetadataResponse, MetadataResponseTopic
from dray.wire.apis.produce import (
    PRODUCE,
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.wire.kio_bridge import joined


def through(version: int, response: MetadataResponse) -> MetadataResponse:
    data = joined(encode_body(METADATA, version, response))
    return decode_body(METADATA, MetadataResponse, version, data)[0]


def test_ignorable_fields_are_omitted_in_versions_without_them_and_decoded_as_defaults() -> None:
    response = MetadataResponse(
        throttle_time_ms=7,
        cluster_id="c",
        controller_id=3,
        topics=[MetadataResponseTopic(name="t", topic_id=b"i" * 16, is_internal=True)],
    )
    assert through(10, response) == response
    bare = MetadataResponseTopic(name="t", is_internal=True)
    assert bare.topic_id == ZERO_UUID
    assert through(9, response) == MetadataResponse(
        throttle_time_ms=7, cluster_id="c", controller_id=3, topics=[bare]
    )
    assert through(2, response) == MetadataResponse(cluster_id="c", controller_id=3, topics=[bare])
    assert through(0, response) == MetadataResponse(
        controller_id=-1, topics=[MetadataResponseTopic(name="t")]
    )


def test_other_fields_are_encode_errors_in_versions_without_them() -> None:
    response = MetadataResponse(cluster_authorized_operations=3)
    assert through(10, response) == response
    for version in (7, 11):
        with pytest.raises(EncodeError, match="cluster_authorized_operations: is set"):
            through(version, response)
    batched = FindCoordinatorResponse(coordinators=[])
    assert encode_body(FIND_COORDINATOR, 0, batched)
    with pytest.raises(EncodeError, match="host: is set"):
        encode_body(FIND_COORDINATOR, 4, FindCoordinatorResponse(host="h"))


@pytest.mark.parametrize("version", [2, 14, -1])
def test_unknown_versions_are_refused(version: int) -> None:
    for act in (
        lambda: encode_body(PRODUCE, version, ProduceResponse()),
        lambda: decode_body(PRODUCE, ProduceResponse, version, b""),
    ):
        with pytest.raises(UnknownVersion, match=f"Produce has versions 3 to 13, not {version}"):
            act()


def test_null_and_empty_are_distinguished() -> None:
    for topics, data in ((None, b"\0\1\0\0"), ([], b"\1\1\0\0")):
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=True)
        encoded = joined(encode_body(METADATA, 11, request))
        assert encoded == data
        assert decode_body(METADATA, MetadataRequest, 11, encoded)[0] == request


def test_any_negative_length_is_null_as_in_kafka() -> None:
    assert decode_body(METADATA, MetadataRequest, 1, b"\xff\xff\xff\xfe")[0].topics is None
    with pytest.raises(UnexpectedNull):
        decode_body(METADATA, MetadataRequest, 0, b"\xff\xff\xff\xfe")


def test_nullable_struct_is_preceded_by_a_marker() -> None:
    empty = ConsumerGroupHeartbeatResponse(assignment=None)
    there = ConsumerGroupHeartbeatResponse(assignment=Assignment())
    data = {
        response.assignment is None: joined(encode_body(CONSUMER_GROUP_HEARTBEAT, 0, response))
        for response in (empty, there)
    }
    assert data[True][-2:] == b"\xff\0"
    assert data[False][-4:] == b"\1\1\0\0"
    for response in (empty, there):
        encoded = data[response.assignment is None]
        assert decode_body(CONSUMER_GROUP_HEARTBEAT, type(response), 0, encoded)[0] == response


def test_malformed_utf8_is_replaced_as_in_java() -> None:
    request = decode_body(METADATA, MetadataRequest, 0, b"\0\0\0\1\0\3a\xffb")[0]
    assert request.topics
    assert request.topics[0].name == "a\N{REPLACEMENT CHARACTER}b"


def test_bytes_after_the_body_are_ignored() -> None:
    assert decode_body(METADATA, MetadataRequest, 0, bytes(4) + b"more") == (MetadataRequest(), 4)


def test_tagged_fields_with_their_default_are_omitted() -> None:
    partition = PartitionProduceResponse(current_leader=LeaderIdAndEpoch())
    plain = ProduceResponse(responses=[TopicProduceResponse(partition_responses=[partition])])
    leader = LeaderIdAndEpoch(leader_id=1, leader_epoch=2)
    hinted = ProduceResponse(
        responses=[
            TopicProduceResponse(partition_responses=[PartitionProduceResponse(current_leader=leader)])
        ]
    )
    short, long = (joined(encode_body(PRODUCE, 10, response)) for response in (plain, hinted))
    assert len(long) == len(short) + 2 + 9
    assert decode_body(PRODUCE, ProduceResponse, 10, long)[0] == hinted
    assert decode_body(PRODUCE, ProduceResponse, 10, short)[0] == plain


TAGGED = {
    "a known one": (b"\1\1\10" + (5).to_bytes(8, "big"), 5, False),
    "an unknown one": (b"\1\x63\2xy", -1, False),
    "unknown ones before and after": (b"\3\0\1\1\1\10" + (5).to_bytes(8, "big") + b"\x81\1\0", 5, False),
    "two known ones, not in order": (b"\2\3\1\1\1\10" + (5).to_bytes(8, "big"), 5, True),
    "the same one twice: the last counts": (b"\2\3\1\1\3\1\0", -1, False),
}


@pytest.mark.parametrize(("tags", "epoch", "ready"), TAGGED.values(), ids=TAGGED)
def test_tagged_fields_are_decoded_in_any_order(tags: bytes, epoch: int, *, ready: bool) -> None:
    data = b"\0\0\1\0\0\0\0" + tags
    expected = ApiVersionsResponse(finalized_features_epoch=epoch, zk_migration_ready=ready)
    assert decode_body(API_VERSIONS, ApiVersionsResponse, 3, data) == (expected, len(data))


def test_more_than_127_unknown_tags_are_skipped() -> None:
    many = b"\xc8\1" + b"".join(bytes((tag & 0x7F | 0x80, tag >> 7, 1, 0)) for tag in range(200, 400))
    data = b"\0\0\1\0\0\0\0" + many
    assert decode_body(API_VERSIONS, ApiVersionsResponse, 3, data) == (ApiVersionsResponse(), len(data))
    assert decode_body(METADATA, MetadataRequest, 9, b"\1\0\0\0" + many)[1] == 4 + len(many)


def test_known_tag_of_the_wrong_size_is_refused() -> None:
    for size in (7, 9):
        tags = bytes((1, 1, size)) + bytes(9)
        with pytest.raises(BadLength, match="in tagged fields"):
            decode_body(API_VERSIONS, ApiVersionsResponse, 3, b"\0\0\1\0\0\0\0" + tags)


def test_unknown_tag_beyond_the_end_is_refused() -> None:
    for api, message, head in (
        (API_VERSIONS, ApiVersionsResponse, b"\0\0\1\0\0\0\0"),
        (METADATA, MetadataRequest, b"\1\1\0\0"),
    ):
        version = 3 if api is API_VERSIONS else 9
        assert decode_body(api, message, version, head + b"\1\x63\2xy") == (message(), len(head) + 5)
        with pytest.raises(Truncated, match="in tagged fields"):
            decode_body(api, message, version, head + b"\1\x63\3xy")


def test_structs_in_tagged_arrays_are_decoded() -> None:
    feature = FinalizedFeatureKey(name="f", max_version_level=2, min_version_level=1)
    response = ApiVersionsResponse(finalized_features=[feature], finalized_features_epoch=0)
    data = joined(encode_body(API_VERSIONS, 3, response))
    assert decode_body(API_VERSIONS, ApiVersionsResponse, 3, data) == (response, len(data))
