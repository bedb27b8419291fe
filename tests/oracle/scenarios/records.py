"""DeleteRecords, ListOffsets, OffsetForLeaderEpoch and DescribeProducers: log metadata."""

from dray.wire.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from dray.wire.apis.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from dray.wire.apis.list_offsets import ListOffsetsResponse
from dray.wire.apis.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from dray.wire.apis.produce import ProduceResponse
from tests.oracle.batches import TIME_MS, batch
from tests.oracle.requests import Named, offsets, produce
from tests.oracle.transcripts import ResponseRecorder


def delete(name: str, *cuts: tuple[int, int]) -> DeleteRecordsRequest:
    parts = [DeleteRecordsPartition(partition_index=partition, offset=offset) for partition, offset in cuts]
    return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=name, partitions=parts)], timeout_ms=5000)


def trim(recorder: ResponseRecorder, topic: Named, offset: int) -> None:
    """Delete the records before `offset`, without recording it."""
    done = recorder.client.send(delete(topic.name, (0, offset)), DeleteRecordsResponse)
    assert done.topics[0].partitions[0].error_code == 0


def filled(recorder: ResponseRecorder, name: str) -> Named:
    topic = recorder.topic(name)
    for start in (0, 1000, 500):
        records = batch(b"a", b"b", time_ms=TIME_MS + start)
        recorder.client.send(produce(topic, records), ProduceResponse)
    return topic


def special_times(recorder: ResponseRecorder) -> None:
    full, empty = filled(recorder, "special"), recorder.topic("special-empty")
    for version in range(1, 12):
        for timestamp in (-1, -2, -3, -4, -5, -6, -7, -100):
            for topic, what in ((full, "full"), (empty, "empty")):
                label = f"time {timestamp} of a {what} log"
                recorder.send(offsets(topic.name, timestamp), ListOffsetsResponse, version, label)


def by_time(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "by-time")
    for version in (1, 4, 7, 11):
        for after in (-5, 0, 1, 2, 499, 500, 999, 1000, 1001, 1002, 10**9):
            request = offsets(topic.name, TIME_MS + after)
            recorder.send(request, ListOffsetsResponse, version, f"{after} ms after")
        recorder.send(offsets(topic.name, 0), ListOffsetsResponse, version, "the beginning of time")


def faulty_questions(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "faulty")
    for version in (1, 4, 6, 11):
        for label, request in {
            "unknown topic": offsets(recorder.named("offsets-stranger"), -1),
            "unknown partition": offsets(topic.name, -1, partition=4),
            "negative partition": offsets(topic.name, -1, partition=-1),
            "a partition twice": offsets(topic.name, -1, -2),
            "committed only": offsets(topic.name, -1, isolation_level=1 if version > 1 else 0),
        }.items():
            recorder.send(request, ListOffsetsResponse, version, label)
    for epoch in (-1, 0, 1, -2):
        recorder.send(offsets(topic.name, -1, epoch=epoch), ListOffsetsResponse, 6, f"epoch {epoch}")


def deleting(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "deleting")
    for version in (0, 1, 2):
        for offset in (1, 1, 0, 3, 99, -2):
            request = delete(topic.name, (0, offset))
            recorder.send(request, DeleteRecordsResponse, version, f"up to {offset}")
        recorder.send(delete(topic.name, (5, 0)), DeleteRecordsResponse, version, "unknown partition")
        stranger = recorder.named("delete-stranger")
        recorder.send(delete(stranger, (0, 0)), DeleteRecordsResponse, version, "unknown topic")
    recorder.send(delete(topic.name, (0, -1)), DeleteRecordsResponse, 2, "everything")
    recorder.send(offsets(topic.name, -2), ListOffsetsResponse, 6, "earliest of an emptied log")
    recorder.send(offsets(topic.name, -3), ListOffsetsResponse, 7, "newest of an emptied log")
    recorder.send(offsets(topic.name, TIME_MS), ListOffsetsResponse, 7, "a time of an emptied log")


def leader_epochs(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "leader-epochs")
    for version in (2, 3, 4):
        for current in (-1, 0, 1):
            for asked in (-1, 0, 1, 5):
                part = OffsetForLeaderPartition(partition=0, current_leader_epoch=current, leader_epoch=asked)
                named = OffsetForLeaderTopic(topic=topic.name, partitions=[part])
                request = OffsetForLeaderEpochRequest(topics=[named])
                label = f"epoch {asked}, current {current}"
                recorder.send(request, OffsetForLeaderEpochResponse, version, label)
        part = OffsetForLeaderPartition(partition=4, leader_epoch=0)
        named = OffsetForLeaderTopic(topic=topic.name, partitions=[part])
        recorder.send(
            OffsetForLeaderEpochRequest(topics=[named]),
            OffsetForLeaderEpochResponse,
            version,
            "unknown partition",
        )


def producers(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("producers")
    for sequence in (0, 1):
        records = batch(producer=(800_001, 2, sequence))
        recorder.client.send(produce(topic, records), ProduceResponse)
    for label, name, partition in (
        ("one producer", topic.name, 0),
        ("unknown partition", topic.name, 4),
        ("unknown topic", recorder.named("producers-stranger"), 0),
        ("a name that cannot be", "a/b", 0),
    ):
        asked = TopicRequest(name=name, partition_indexes=[partition])
        recorder.send(DescribeProducersRequest(topics=[asked]), DescribeProducersResponse, 0, label)


SCENARIOS = (special_times, by_time, faulty_questions, deleting, leader_epochs, producers)
