"""Hot paths of the codec: the records of requests and responses are never copied."""

import struct
import tracemalloc

import pytest

from dray.wire import (
    RequestHeader,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from dray.wire.apis.fetch import FETCH, FetchableTopicResponse, FetchResponse, PartitionData
from dray.wire.apis.produce import PRODUCE, PartitionProduceData, ProduceRequest, TopicProduceData
from tests.wire.kio_bridge import joined

MIB = 1024 * 1024


def produce_frame(version: int, *records: bytes) -> bytes:
    partitions = [
        PartitionProduceData(index=index, records=memoryview(each)) for index, each in enumerate(records)
    ]
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=partitions)])
    return joined(encode_request(PRODUCE, RequestHeader(0, version, 1, "c"), request))[4:]


@pytest.mark.parametrize("version", [3, 12])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_produced_records_are_views_into_the_frame(kind: type, version: int) -> None:
    frame = kind(produce_frame(version, b"a" * 500, b"", b"b" * 20_000))
    _, request = decode_request(frame)
    assert isinstance(request, ProduceRequest)
    views = [partition.records for partition in request.topic_data[0].partition_data]
    assert [bytes(view or b"") for view in views] == [b"a" * 500, b"", b"b" * 20_000]
    owner = frame.obj if isinstance(frame, memoryview) else frame
    assert all(view is not None and view.obj is owner for view in views)


def test_decoding_a_produce_request_copies_no_records() -> None:
    frame = produce_frame(9, bytes(8 * MIB))
    decode_request(frame)
    tracemalloc.start()
    decode_request(frame)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 1024


def fetch_response(parts: list[list[bytes]]) -> FetchResponse:
    partitions = [
        PartitionData(partition_index=index, records=list(each)) for index, each in enumerate(parts)
    ]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


@pytest.mark.parametrize("version", [4, 12])
def test_fetched_buffers_are_returned_as_they_are_and_in_order(version: int) -> None:
    parts = [[b"one" * 10, b"two" * 50], [b"three" * 4000], []]
    buffers = encode_response(FETCH, version, 9, fetch_response(parts))
    ours = [buffer for buffer in buffers if isinstance(buffer, bytes)]
    assert [id(buffer) for buffer in ours] == [id(part) for each in parts for part in each]
    whole = joined(buffers)
    assert struct.unpack_from(">ii", whole) == (len(whole) - 4, 9)
    _, read = decode_response(FETCH, version, whole[4:])
    assert isinstance(read, FetchResponse)
    records = [partition.records for partition in read.responses[0].partitions]
    assert [joined(each or []) for each in records] == [b"".join(each) for each in parts]


def test_encoding_a_fetch_response_copies_no_records() -> None:
    response = fetch_response([[bytes(MIB)] * 8, [bytes(MIB)] * 8])
    encode_response(FETCH, 12, 1, response)
    tracemalloc.start()
    buffers = encode_response(FETCH, 12, 1, response)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 1024
    assert len(joined(buffers)) > 16 * MIB


def test_null_records_and_empty_records_are_distinguished() -> None:
    for records, last in ((None, b"\0"), ([], b"\1")):
        response = FetchResponse(
            responses=[FetchableTopicResponse(partitions=[PartitionData(records=records)])]
        )
        data = joined(encode_response(FETCH, 12, 1, response))
        assert data[-4:] == last + b"\0\0\0"
        _, read = decode_response(FETCH, 12, data[4:])
        assert read == response
