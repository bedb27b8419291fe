"""Deviating batches: what is stored of them, and where lookups by timestamp find their records.

Each deviation is produced to its own partition in every codec, between two valid batches, on a topic with
create time and on one with log-append time.
"""

from collections.abc import Iterator, Sequence

from dray.records import TimestampType, decode_batch, iter_batches
from dray.wire.apis.fetch import FetchResponse
from dray.wire.apis.list_offsets import ListOffsetsResponse
from dray.wire.apis.produce import PartitionProduceResponse, ProduceResponse
from tests.oracle.batches import batch
from tests.oracle.requests import LATEST, Named, fetch, offsets, part, produce
from tests.oracle.transcripts import ResponseRecorder
from tests.records.deviations import (
    COUNTS,
    FRAMINGS,
    LARGE,
    LENGTHS,
    OFFSET_DELTAS,
    SINGLES,
    SMALL,
    TIME_MS,
    TIMESTAMPS,
    Deviation,
)

NEWEST = -3
BEFORE, AFTER = batch(b"before", time_ms=TIME_MS - 100_000), batch(b"after", time_ms=TIME_MS + 200_000)
LOOKUPS = (-500, -1, 0, 1, 500, 1000, 2000, 2001, 5000)
"""Milliseconds after the first of the deviating records."""


def offset_deltas(recorder: ResponseRecorder) -> None:
    _record(recorder, "offset-deltas", OFFSET_DELTAS)


def offset_deltas_in_another_codec(recorder: ResponseRecorder) -> None:
    """Kafka rebuilds an uncompressed batch for a topic with a codec, and numbers its records."""
    topic = recorder.topic("offset-deltas-zstd", len(OFFSET_DELTAS), compression_type="zstd")
    for partition, deviation in enumerate(OFFSET_DELTAS):
        sent = _sent(recorder, topic, partition, deviation.batch())
        answer = recorder.client.send(fetch(topic, part(partition=partition)), FetchResponse, 17)
        stored = memoryview(b"".join(answer.responses[0].partitions[0].records or ()))
        recorder.note(f"{deviation}", error_code=sent.error_code, records=decode_batch(stored))


def timestamps(recorder: ResponseRecorder) -> None:
    _record(recorder, "timestamps", TIMESTAMPS)


def counts(recorder: ResponseRecorder) -> None:
    _record(recorder, "counts", COUNTS)


def lengths(recorder: ResponseRecorder) -> None:
    _record(recorder, "lengths", LENGTHS)


def singles(recorder: ResponseRecorder) -> None:
    _record(recorder, "singles", SINGLES)


def framings(recorder: ResponseRecorder) -> None:
    _record(recorder, "framings", FRAMINGS)


def _record(recorder: ResponseRecorder, name: str, deviations: Sequence[Deviation]) -> None:
    for kind in ("CreateTime", "LogAppendTime"):
        for size, before in (("small", SMALL), ("large", LARGE)):
            cases = [(deviation, codec) for deviation in deviations for codec in deviation.codecs]
            named = f"{name}-{kind.lower()}-{size}"
            topic = recorder.topic(named, len(cases), message_timestamp_type=kind)
            for partition, (deviation, codec) in enumerate(cases):
                facts = dict(_facts(recorder, topic, partition, deviation.batch(codec, before)))
                recorder.note(f"{size}, {deviation}, {codec.name}, {kind}", **facts)


def _facts(
    recorder: ResponseRecorder, topic: Named, partition: int, records: bytes
) -> Iterator[tuple[str, object]]:
    _sent(recorder, topic, partition, BEFORE)
    sent = _sent(recorder, topic, partition, records)
    yield "error_code", sent.error_code
    yield "base_offset", sent.base_offset
    yield "record_errors", [fault.batch_index for fault in sent.record_errors]
    if sent.error_code:
        return
    _sent(recorder, topic, partition, AFTER)
    yield "end", _found(recorder, topic, partition, LATEST)[0]
    answer = recorder.client.send(fetch(topic, part(partition=partition)), FetchResponse, 17)
    stored = memoryview(b"".join(answer.responses[0].partitions[0].records or ()))
    header, whole = list(iter_batches(stored))[1]
    yield "payload_as_sent", bytes(whole[61:]) == records[61:]
    yield "header", header._replace(crc=0, max_timestamp=0, leader_epoch=0)
    if header.timestamp_type is TimestampType.LOG_APPEND:
        yield "is_stamped", header.max_timestamp > TIME_MS + 5000
        yield "found", {0: _found(recorder, topic, partition, 0)[0]}
        return
    yield "max_timestamp", header.max_timestamp
    yield "found", {at: _found(recorder, topic, partition, TIME_MS + at) for at in LOOKUPS}
    yield "newest", _found(recorder, topic, partition, NEWEST)


def _sent(
    recorder: ResponseRecorder, topic: Named, partition: int, records: bytes
) -> PartitionProduceResponse:
    came = recorder.client.send(produce(topic, records, partition=partition), ProduceResponse)
    return came.responses[0].partition_responses[0]


def _found(recorder: ResponseRecorder, topic: Named, partition: int, time_ms: int) -> tuple[int, int]:
    asked = offsets(topic.name, time_ms, partition=partition)
    one = recorder.client.send(asked, ListOffsetsResponse).topics[0].partitions[0]
    return one.offset, one.timestamp


SCENARIOS = (offset_deltas, offset_deltas_in_another_codec, timestamps, counts, lengths, singles, framings)
