"""Locations in errors: the message, the byte and the field, without bookkeeping in compiled code."""

import struct

import pytest

from dray.wire import EncodeError, Truncated, UnexpectedNull, decode_body, encode_body
from dray.wire.apis.api_versions import API_VERSIONS, ApiVersionsResponse, SupportedFeatureKey
from dray.wire.apis.fetch import FETCH, FetchableTopicResponse, FetchResponse, PartitionData
from dray.wire.apis.metadata import METADATA, MetadataRequest, MetadataResponse
from dray.wire.apis.produce import PRODUCE, ProduceRequest


# Index and length are read together, from byte 37 on.
@pytest.mark.parametrize(("left", "field"), [(0, "index"), (3, "index"), (4, "records"), (6, "records")])
def test_truncated_bytes_are_reported_with_byte_and_field(left: int, field: str) -> None:
    head = struct.pack(">hhii", -1, -1, 1000, 1) + struct.pack(">h1si", 1, b"t", 2)
    partition = struct.pack(">ii10s", 0, 10, b"0123456789")
    whole = head + partition * 2
    assert len(decode_body(PRODUCE, ProduceRequest, 3, whole)[0].topic_data[0].partition_data) == 2
    with pytest.raises(Truncated) as caught:
        decode_body(PRODUCE, ProduceRequest, 3, whole[: 37 + left])
    assert str(caught.value) == (
        f"ProduceRequest v3: the bytes end too early at byte 37, in topic_data[0].partition_data[1].{field}"
    )


def test_string_beyond_the_end_is_reported_with_byte_and_field() -> None:
    with pytest.raises(
        Truncated, match=r"^ProduceRequest v3: the bytes end too early at byte 2, in transactional_id$"
    ):
        decode_body(PRODUCE, ProduceRequest, 3, struct.pack(">h", 9) + b"12345678")


def test_unexpected_null_is_reported_with_byte_and_field() -> None:
    with pytest.raises(
        UnexpectedNull, match=r"^MetadataRequest v1: null is not allowed at byte 6, in topics\[0\].name$"
    ):
        decode_body(METADATA, MetadataRequest, 1, struct.pack(">ih", 1, -1))


def test_truncated_tagged_field_is_reported_with_byte_and_field() -> None:
    data = struct.pack(">hBiB", 0, 1, 0, 1) + b"\x00\x08\x02\x0bfeatur"
    with pytest.raises(Truncated, match=r"^ApiVersionsResponse v3: .* in supported_features\[0\].name$"):
        decode_body(API_VERSIONS, ApiVersionsResponse, 3, data)


@pytest.mark.parametrize(
    ("response", "version", "message"),
    [
        (
            FetchResponse(session_id=1),
            6,
            "FetchResponse v6: session_id: is set, but version 6 has no such field",
        ),
        (
            FetchResponse(
                responses=[FetchableTopicResponse(partitions=[PartitionData(preferred_read_replica=3)])]
            ),
            10,
            "FetchResponse v10: responses[].partitions[].preferred_read_replica: is set, but version 10 has",
        ),
        (FetchResponse(throttle_time_ms=2**31), 4, "FetchResponse v4: throttle_time_ms or responses: "),
        (
            FetchResponse(responses=[FetchableTopicResponse(topic="t" * 40_000)]),
            12,
            "FetchResponse v12: responses[].topic: a string of 40000 bytes is longer than 32767",
        ),
        (
            FetchResponse(responses=[FetchableTopicResponse(topic_id=b"short")]),
            13,
            "FetchResponse v13: responses[].topic_id: a UUID has 16 bytes",
        ),
        (
            FetchResponse(responses=[FetchableTopicResponse(topic="\ud800")]),
            12,
            "FetchResponse v12: responses[].topic: 'utf-8' codec",
        ),
    ],
)
def test_value_that_cannot_be_encoded_is_reported_with_its_field(
    response: FetchResponse, version: int, message: str
) -> None:
    with pytest.raises(EncodeError) as caught:
        encode_body(FETCH, version, response)
    assert str(caught.value).startswith(message)


def test_null_is_an_encode_error_in_versions_without_it() -> None:
    with pytest.raises(EncodeError, match=r"MetadataRequest v0: topics: "):
        encode_body(METADATA, 0, MetadataRequest(topics=None))
    assert encode_body(METADATA, 1, MetadataRequest(topics=None)) == [b"\xff\xff\xff\xff"]


def test_wrong_type_is_an_encode_error() -> None:
    wrong = ApiVersionsResponse(supported_features=[SupportedFeatureKey(name=None)])  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match=r"supported_features\[\]\.name"):
        encode_body(API_VERSIONS, 3, wrong)
    with pytest.raises(EncodeError, match="MetadataResponse v0: brokers"):
        encode_body(METADATA, 0, MetadataResponse(brokers=None))  # type: ignore[arg-type]
