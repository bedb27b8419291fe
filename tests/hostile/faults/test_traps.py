"""What has tripped brokers like this one before, at Dray and at Apache Kafka alike.

Numbered as in the list of facts they come from; test_coverage.py says where the others are held.
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
from tests.hostile.faults.batches import SOUND, many, with_leader_epoch
from tests.oracle.batches import TIME_MS, batch
from tests.oracle.requests import Named, fetch, offsets, part, produce
from tests.oracle.transcripts import Witness

FROM_0 = {
    0: "Produce",
    10: "FindCoordinator",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
}
TELEMETRY = {71, 72}


def put(witness: Witness, topic: Named, records: bytes, partition: int = 0) -> None:
    told = witness.asker.ask(produce(topic, records, partition=partition), ProduceResponse)
    assert told.responses[0].partition_responses[0].error_code == E.NONE


def test_3_what_old_clients_look_for_is_advertised_from_0(witness: Witness) -> None:
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    came = witness.asker.ask(request, ApiVersionsResponse, 4)
    lowest = {one.api_key: one.min_version for one in came.api_keys}
    assert {key: lowest[key] for key in FROM_0} == dict.fromkeys(FROM_0, 0)
    assert not lowest.keys() & TELEMETRY


@pytest.mark.parametrize("version", [4, 7, 12, 13, 17])
def test_5_a_full_fetch_is_answered_for_every_partition_once(witness: Witness, version: int) -> None:
    """With data, without, unknown, out of range, beyond the limit: none is left out.

    There is room for the first only.
    """
    one, other = witness.topic("one", partitions=4), witness.topic("other", partitions=2)
    for number in (0, 1):
        put(witness, one, many(20), number)
    put(witness, other, SOUND)
    asked = {
        one: [part(0), part(0, partition=1), part(0, partition=2), part(99, partition=3), part(partition=7)],
        other: [part(0), part(0, partition=1)],
    }
    topics = [
        FetchTopic(topic=named.name, topic_id=named.topic_id, partitions=parts)
        for named, parts in asked.items()
    ]
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=len(many(20)), topics=topics)
    came = witness.asker.ask(request, FetchResponse, version)
    assert (came.error_code, came.session_id) == (E.NONE, 0)
    found = [
        (
            (topic.topic, topic.topic_id),
            one.partition_index,
            E(one.error_code),
            bool(b"".join(one.records or ())),
        )
        for topic in came.responses
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


def test_11_what_is_set_when_a_batch_is_stored_is_outside_its_checksum(witness: Witness) -> None:
    topic = witness.topic("checksums")
    for sent in (SOUND, with_leader_epoch(77), SOUND):
        put(witness, topic, sent)
    came = witness.asker.ask(fetch(topic, part()), FetchResponse, 12).responses[0].partitions[0]
    whole = memoryview(b"".join(came.records or ()))
    batches = list(iter_batches(whole))
    assert [header.base_offset for header, _ in batches] == [0, 2, 4]
    for header, stored in batches:
        assert header.crc == crc32c(stored[21:])
        assert bytes(stored[16:]) == SOUND[16:], "checksum and all behind it are as they were sent"
        assert bytes(stored[12:16]) == bytes(4), "the leader epoch is the broker's"


def test_12_the_id_of_a_topic_that_was_made_again_is_unknown_to_a_produce(witness: Witness) -> None:
    old = witness.topic("again")
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name=old.name)], timeout_ms=30_000)
    witness.asker.ask(gone, DeleteTopicsResponse)
    new = witness.topic("again")
    assert new.topic_id != old.topic_id
    put(witness, new, SOUND)
    told = witness.asker.ask(produce(old, SOUND), ProduceResponse, 13)
    assert E(told.responses[0].partition_responses[0].error_code) == E.UNKNOWN_TOPIC_ID


def test_12_the_leader_epoch_stays_what_it_is(witness: Witness) -> None:
    topic = witness.topic("epochs", partitions=3)
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)])
    for _ in range(2):
        (told,) = witness.asker.ask(request, MetadataResponse, 12).topics
        assert {one.leader_epoch for one in told.partitions} == {0}
        put(witness, topic, SOUND)


@pytest.mark.parametrize("version", range(3, 14))
def test_9_acks_0_is_taken_without_a_word_and_the_socket_is_kept(witness: Witness, version: int) -> None:
    topic = witness.topic("silent")
    before = witness.asker.connection
    for _ in range(3):
        witness.asker.tell(produce(topic, SOUND, acks=0), version)
    told = witness.asker.ask(produce(topic, SOUND), ProduceResponse, version)
    assert told.responses[0].partition_responses[0].base_offset == 6
    assert witness.asker.connection is before


def test_13_an_epoch_more_from_nowhere_and_what_was_had_before(witness: Witness) -> None:
    topic = witness.topic("bumped")
    told = []
    for epoch, sequence in ((0, 0), (0, 1), (0, 0), (1, 0), (1, 0), (0, 2), (2, 0)):
        came = witness.asker.ask(produce(topic, batch(producer=(990_000, epoch, sequence))), ProduceResponse)
        one = came.responses[0].partition_responses[0]
        told.append((E(one.error_code), one.base_offset))
    assert told == [
        (E.NONE, 0),
        (E.NONE, 1),
        (E.NONE, 0),
        (E.NONE, 2),
        (E.NONE, 2),
        (E.INVALID_PRODUCER_EPOCH, -1),
        (E.NONE, 3),
    ]


@pytest.mark.parametrize("version", [4, 11, 12, 13, 17])
def test_7_an_offset_inside_a_batch_gets_all_of_it_and_the_end_is_no_fault(
    witness: Witness, version: int
) -> None:
    topic = witness.topic("inside")
    put(witness, topic, many(5))
    for offset, code, first in (
        (0, E.NONE, 0),
        (3, E.NONE, 0),
        (5, E.NONE, None),
        (6, E.OFFSET_OUT_OF_RANGE, None),
    ):
        came = (
            witness.asker.ask(fetch(topic, part(offset)), FetchResponse, version).responses[0].partitions[0]
        )
        whole = memoryview(b"".join(came.records or ()))
        found = [header.base_offset for header, _ in iter_batches(whole)]
        assert (E(came.error_code), found) == (code, [] if first is None else [first])


def test_10_a_time_behind_all_records_is_nowhere_and_no_fault(witness: Witness) -> None:
    topic = witness.topic("times")
    put(witness, topic, SOUND)
    for version in (1, 4, 7, 10):
        found = witness.asker.ask(offsets(topic.name, TIME_MS + 10_000_000), ListOffsetsResponse, version)
        (one,) = found.topics[0].partitions
        assert (E(one.error_code), one.offset, one.timestamp) == (E.NONE, -1, -1)
