"""Known traps for brokers like this one, tested at Dray and at Apache Kafka.

`TRAPS` in test_coverage.py lists every trap with its tests, also those in other files.
"""

import pytest

from dray.records import crc32c, iter_batches
from dray.wire import ErrorCode as E
from dray.wire.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from dray.wire.apis.fetch import FetchRequest, FetchResponse, FetchTopic
from dray.wire.apis.list_offsets import ListOffsetsResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from dray.wire.apis.produce import ProduceResponse
from tests.hostile.invalid.batches import VALID, many, with_leader_epoch
from tests.oracle.batches import TIME_MS, batch
from tests.oracle.requests import Named, fetch, offsets, part, produce
from tests.oracle.transcripts import ResponseRecorder

FROM_0 = {
    0: "Produce",
    10: "FindCoordinator",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
}
TELEMETRY = {71, 72}


def put(recorder: ResponseRecorder, topic: Named, records: bytes, partition: int = 0) -> None:
    response = recorder.client.send(produce(topic, records, partition=partition), ProduceResponse)
    assert response.responses[0].partition_responses[0].error_code == E.NONE


def test_versions_that_old_clients_look_for_are_advertised_from_0(recorder: ResponseRecorder) -> None:
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    reply = recorder.client.send(request, ApiVersionsResponse, 4)
    lowest = {one.api_key: one.min_version for one in reply.api_keys}
    assert {key: lowest[key] for key in FROM_0} == dict.fromkeys(FROM_0, 0)
    assert not lowest.keys() & TELEMETRY


@pytest.mark.parametrize("version", [4, 7, 12, 13, 17])
def test_full_fetch_is_answered_for_every_partition_once(recorder: ResponseRecorder, version: int) -> None:
    """With data, without, unknown, out of range, beyond the limit: none is omitted.

    The limit admits only the first one.
    """
    one, other = recorder.topic("one", partitions=4), recorder.topic("other", partitions=2)
    for number in (0, 1):
        put(recorder, one, many(20), number)
    put(recorder, other, VALID)
    requested = {
        one: [part(0), part(0, partition=1), part(0, partition=2), part(99, partition=3), part(partition=7)],
        other: [part(0), part(0, partition=1)],
    }
    topics = [
        FetchTopic(topic=named.name, topic_id=named.topic_id, partitions=parts)
        for named, parts in requested.items()
    ]
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=len(many(20)), topics=topics)
    reply = recorder.client.send(request, FetchResponse, version)
    assert (reply.error_code, reply.session_id) == (E.NONE, 0)
    found = [
        (
            (topic.topic, topic.topic_id),
            one.partition_index,
            E(one.error_code),
            bool(b"".join(one.records or ())),
        )
        for topic in reply.responses
        for one in topic.partitions
    ]
    keys = [(named.name, bytes(16)) if version < 13 else ("", named.topic_id) for named in (one, other)]
    assert sorted(found) == sorted(
        [
            (keys[0], 0, E.NONE, True),
            (keys[0], 1, E.NONE, False),
            (keys[0], 2, E.NONE, False),
            (keys[0], 3, E.OFFSET_OUT_OF_RANGE, False),
            (keys[0], 7, E.UNKNOWN_TOPIC_OR_PARTITION, False),
            (keys[1], 0, E.NONE, False),
            (keys[1], 1, E.NONE, False),
        ]
    )


def test_fields_that_the_broker_sets_are_outside_the_checksum(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("checksums")
    for sent in (VALID, with_leader_epoch(77), VALID):
        put(recorder, topic, sent)
    reply = recorder.client.send(fetch(topic, part()), FetchResponse, 12).responses[0].partitions[0]
    whole = memoryview(b"".join(reply.records or ()))
    batches = list(iter_batches(whole))
    assert [header.base_offset for header, _ in batches] == [0, 2, 4]
    for header, stored in batches:
        assert header.crc == crc32c(stored[21:])
        assert bytes(stored[16:]) == VALID[16:], "the checksum and the bytes after it are as they were sent"
        assert bytes(stored[12:16]) == bytes(4), "the leader epoch is the broker's"


def test_produce_by_the_id_of_a_recreated_topic_is_unknown_topic_id(recorder: ResponseRecorder) -> None:
    old = recorder.topic("again")
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name=old.name)], timeout_ms=30_000)
    recorder.client.send(gone, DeleteTopicsResponse)
    new = recorder.topic("again")
    assert new.topic_id != old.topic_id
    put(recorder, new, VALID)
    response = recorder.client.send(produce(old, VALID), ProduceResponse, 13)
    assert E(response.responses[0].partition_responses[0].error_code) == E.UNKNOWN_TOPIC_ID


def test_leader_epoch_never_changes(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("epochs", partitions=3)
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)])
    for _ in range(2):
        (response,) = recorder.client.send(request, MetadataResponse, 12).topics
        assert {one.leader_epoch for one in response.partitions} == {0}
        put(recorder, topic, VALID)


@pytest.mark.parametrize("version", range(3, 14))
def test_acks_0_has_no_response_and_keeps_the_connection(recorder: ResponseRecorder, version: int) -> None:
    topic = recorder.topic("silent")
    before = recorder.client.connection
    for _ in range(3):
        recorder.client.send_without_response(produce(topic, VALID, acks=0), version)
    response = recorder.client.send(produce(topic, VALID), ProduceResponse, version)
    assert response.responses[0].partition_responses[0].base_offset == 6
    assert recorder.client.connection is before


def test_bumped_epoch_and_batches_of_the_previous_one(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("bumped")
    response = []
    for epoch, sequence in ((0, 0), (0, 1), (0, 0), (1, 0), (1, 0), (0, 2), (2, 0)):
        reply = recorder.client.send(
            produce(topic, batch(producer=(990_000, epoch, sequence))), ProduceResponse
        )
        one = reply.responses[0].partition_responses[0]
        response.append((E(one.error_code), one.base_offset))
    assert response == [
        (E.NONE, 0),
        (E.NONE, 1),
        (E.NONE, 0),
        (E.NONE, 2),
        (E.NONE, 2),
        (E.INVALID_PRODUCER_EPOCH, -1),
        (E.NONE, 3),
    ]


@pytest.mark.parametrize("version", [4, 11, 12, 13, 17])
def test_offset_inside_a_batch_returns_all_of_it_and_the_end_returns_nothing(
    recorder: ResponseRecorder, version: int
) -> None:
    topic = recorder.topic("inside")
    put(recorder, topic, many(5))
    for offset, code, first in (
        (0, E.NONE, 0),
        (3, E.NONE, 0),
        (5, E.NONE, None),
        (6, E.OFFSET_OUT_OF_RANGE, None),
    ):
        reply = (
            recorder.client.send(fetch(topic, part(offset)), FetchResponse, version)
            .responses[0]
            .partitions[0]
        )
        whole = memoryview(b"".join(reply.records or ()))
        found = [header.base_offset for header, _ in iter_batches(whole)]
        assert (E(reply.error_code), found) == (code, [] if first is None else [first])


def test_timestamp_after_all_records_has_no_offset_and_no_error(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("times")
    put(recorder, topic, VALID)
    for version in (1, 4, 7, 10):
        found = recorder.client.send(offsets(topic.name, TIME_MS + 10_000_000), ListOffsetsResponse, version)
        (one,) = found.topics[0].partitions
        assert (E(one.error_code), one.offset, one.timestamp) == (E.NONE, -1, -1)
