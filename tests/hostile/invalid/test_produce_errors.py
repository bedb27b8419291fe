"""Invalid produce requests, with the error codes that Dray and Apache Kafka return.

The groups are in the order in which Kafka validates: frame, request, batch, records, producer. `ORDER` has
batches with two errors, of which the first is returned. Deliberate differences are in test_deviations.py;
topics, partitions and acks=0 in tests/api/test_produce.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from dray.records import Codec
from dray.wire import ErrorCode as E
from dray.wire.apis.list_offsets import ListOffsetsResponse
from dray.wire.apis.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.hostile.invalid.batches import (
    FAR_MS,
    PACKED,
    SMALL,
    VALID,
    counted,
    exactly,
    hiding,
    packed,
    timed,
    with_leader_epoch,
    with_second_delta,
)
from tests.oracle.batches import TIME_MS, batch, patched, with_payload
from tests.oracle.requests import LATEST, Named, offsets, produce
from tests.oracle.transcripts import ResponseRecorder

LARGE = batch(b"x" * SMALL)
LATE_TWO = batch(b"a", b"b", time_ms=FAR_MS)
PLAIN = {"max_message_bytes": str(SMALL)}
ROOMY = {"max_message_bytes": "3000000", "segment_bytes": str(1 << 20)}
COMPACTED = {"cleanup_policy": "compact"}
STAMPED = {"message_timestamp_type": "LogAppendTime"}
RECENT = {"message_timestamp_before_max_ms": "1000"}
MEBIBYTE = batch(bytes(1_200_000))
BAD_CRC: dict[str, Any] = {"crc": 1, "keep_crc": True}


@dataclass(frozen=True)
class Case:
    """A batch, how it is sent, and the expected code."""

    what: str
    records: bytes
    code: E
    version: int = 13
    acks: int = -1
    configs: dict[str, str] = field(default_factory=lambda: PLAIN)


def _invalid_inside() -> Iterator[Case]:
    """Invalid records, in batches that are small enough for Dray to read."""
    for codec in PACKED:
        for what, plain in {
            "a record fewer than counted": counted(VALID, 3),
            "a record more than counted": counted(VALID, 1),
            "rubbish for records": with_payload(VALID, b"\xff" * 40),
            "no records": with_payload(VALID, b""),
            "a byte after them": with_payload(VALID, VALID[61:] + b"\0"),
        }.items():
            yield Case(f"{what}, {codec.name}", packed(plain, codec), E.INVALID_RECORD)
    for any_codec in Codec:
        hidden = packed(hiding(FAR_MS), any_codec)
        yield Case(f"a hidden time, {any_codec.name}", hidden, E.INVALID_TIMESTAMP)


def _wrong_times() -> Iterator[Case]:
    """Headers with another maxTimestamp than that of the records."""
    for codec in Codec:
        for latest in (FAR_MS, 2**63 - 1, TIME_MS + 1, TIME_MS - 1, 0, -1, -(2**63)):
            records = packed(timed(TIME_MS, TIME_MS - 5, max_timestamp=latest), codec)
            yield Case(f"latest time {latest}, {codec.name}", records, E.NONE)


FRAMES = [
    *(
        Case(f"batch length {length}", patched(VALID, batch_length=length), E.CORRUPT_MESSAGE)
        for length in (-(2**31), -1, 0, 13)
    ),
    *(Case(f"magic {magic}", patched(VALID, magic=magic), E.CORRUPT_MESSAGE) for magic in (-1, 3, 127)),
    *(Case(f"magic {magic}", patched(VALID, magic=magic), E.INVALID_RECORD) for magic in (0, 1)),
    *(Case(f"{size} bytes", VALID[:size], E.INVALID_RECORD) for size in (0, 11, 12, 16, 17, len(VALID) - 1)),
    Case("more bytes response than reply", patched(VALID, batch_length=len(VALID) - 11), E.INVALID_RECORD),
    Case("two batches", VALID + VALID, E.INVALID_RECORD),
    Case("zstd before version 7", batch(codec=Codec.ZSTD), E.UNSUPPORTED_COMPRESSION_TYPE, version=6),
]
REQUESTS = [
    *(Case(f"acks {acks}", VALID, E.INVALID_REQUIRED_ACKS, acks=acks) for acks in (2, -2, 32767)),
]
BATCHES = [
    Case("base offset 1", patched(VALID, base_offset=1), E.INVALID_RECORD),
    Case("base offset -1", patched(VALID, base_offset=-1), E.INVALID_RECORD),
    Case("a byte too large", exactly(SMALL + 1), E.MESSAGE_TOO_LARGE),
    Case("wrong checksum", patched(VALID, **BAD_CRC), E.CORRUPT_MESSAGE),
    Case("a bit turned over", VALID[:-1] + bytes([VALID[-1] ^ 1]), E.CORRUPT_MESSAGE),
    Case("a header of 60 bytes", patched(VALID[:60], batch_length=48), E.CORRUPT_MESSAGE),
    Case("larger than a segment", MEBIBYTE, E.RECORD_LIST_TOO_LARGE, configs=ROOMY),
    *(
        Case(f"count {count}", patched(VALID, record_count=count), E.INVALID_RECORD)
        for count in (-1, 0, 1, 3, 2**31 - 1)
    ),
    *(
        Case(f"last delta {delta}", patched(VALID, last_offset_delta=delta), E.INVALID_RECORD)
        for delta in (-1, -(2**31), 2**31 - 1)
    ),
    Case("control", batch(control=True), E.INVALID_RECORD),
    Case("a producer without sequence", batch(producer=(5, 0, -1)), E.INVALID_RECORD),
]
RECORDS = [
    Case("a record fewer than counted", counted(VALID, 3), E.INVALID_RECORD),
    Case("a record more than counted", counted(VALID, 1), E.INVALID_RECORD),
    Case("no records", with_payload(VALID, b""), E.INVALID_RECORD),
    Case("a byte after them", with_payload(VALID, VALID[61:] + b"\0"), E.INVALID_RECORD),
    *(
        Case(f"no key, {codec.name}", batch(b"a", key=None, codec=codec), E.INVALID_RECORD, configs=COMPACTED)
        for codec in Codec
    ),
    *_invalid_inside(),
    Case("from the future", batch(time_ms=FAR_MS), E.INVALID_TIMESTAMP),
    Case("too old", batch(), E.INVALID_TIMESTAMP, configs=RECENT),
    Case("stamped by the client", patched(VALID, attributes=8), E.INVALID_TIMESTAMP, configs=STAMPED),
    Case(
        "stamped with no time",
        patched(batch(time_ms=-1), base_timestamp=-1, max_timestamp=-1, attributes=8),
        E.INVALID_TIMESTAMP,
    ),
]
ORDER = [
    Case("zstd before version 7, two batches", batch(codec=4) * 2, E.UNSUPPORTED_COMPRESSION_TYPE, 6),
    Case("magic 1, two batches", patched(VALID, magic=1) * 2, E.INVALID_RECORD),
    Case("acks 2, base offset 1", patched(VALID, base_offset=1), E.INVALID_REQUIRED_ACKS, acks=2),
    Case("acks 2, wrong checksum", patched(VALID, **BAD_CRC), E.INVALID_REQUIRED_ACKS, acks=2),
    Case("base offset 1, too large", patched(LARGE, base_offset=1), E.INVALID_RECORD),
    Case("base offset 1, wrong checksum", patched(VALID, base_offset=1, **BAD_CRC), E.INVALID_RECORD),
    Case("too large, wrong checksum", patched(LARGE, **BAD_CRC), E.MESSAGE_TOO_LARGE),
    Case("too large, count 0", patched(LARGE, record_count=0), E.MESSAGE_TOO_LARGE),
    Case("wrong checksum, count 0", patched(VALID, record_count=0, **BAD_CRC), E.CORRUPT_MESSAGE),
    Case("wrong checksum, control", patched(batch(control=True), **BAD_CRC), E.CORRUPT_MESSAGE),
    Case(
        "wrong checksum, larger than a segment", patched(MEBIBYTE, **BAD_CRC), E.CORRUPT_MESSAGE, 9, -1, ROOMY
    ),
    Case("count 7, larger than a segment", patched(MEBIBYTE, record_count=7), E.INVALID_RECORD, 9, -1, ROOMY),
    Case("1 counted of 2, from the future", counted(LATE_TWO, 1), E.INVALID_RECORD),
    Case("no key, from the future", batch(key=None, time_ms=FAR_MS), E.INVALID_RECORD, configs=COMPACTED),
    Case("control, from the future", batch(control=True, time_ms=FAR_MS), E.INVALID_RECORD),
    Case("no sequence, from the future", batch(time_ms=FAR_MS, producer=(5, 0, -1)), E.INVALID_RECORD),
    Case(
        "from the future, larger than a segment",
        batch(bytes(1_200_000), time_ms=FAR_MS),
        E.INVALID_TIMESTAMP,
        configs=ROOMY,
    ),
]
NO_FAULTS = [
    Case("exactly as large as allowed", exactly(SMALL), E.NONE),
    *(Case(f"leader epoch {epoch}", with_leader_epoch(epoch), E.NONE) for epoch in (-7, 2**31 - 1)),
    *(
        Case(f"attributes {bits:#x}", patched(VALID, attributes=bits), E.NONE)
        for bits in (0x40, 0x80, 0x7F00)
    ),
    *(
        Case(f"producer {producer}", batch(producer=producer), E.NONE)
        for producer in ((5, -1, 0), (-2, 0, 0), (-1, 0, 0), (-1, -1, 5), (2**63 - 1, 32767, 2**31 - 1))
    ),
    Case("no time", patched(batch(time_ms=-1), base_timestamp=-1, max_timestamp=-1), E.NONE),
    Case("before all time", batch(time_ms=-5), E.NONE),
    *_wrong_times(),
    Case("stamped by the client", patched(VALID, attributes=8), E.NONE),
    *(Case(f"offset delta {delta}", with_second_delta(delta), E.NONE) for delta in (0, 7)),
    Case("a null value", batch(None), E.NONE),
    Case("a null key", batch(b"a", key=None), E.NONE),
    Case("half a batch after it", VALID + VALID[:40], E.NONE),
    *(Case(f"codec {codec.name}", batch(b"a" * 50, codec=codec), E.NONE) for codec in Codec),
    Case("too few replicas, with acks all", VALID, E.NONE, configs={"min_insync_replicas": "2"}),
    Case("too few replicas, with acks 1", VALID, E.NONE, acks=1, configs={"min_insync_replicas": "2"}),
]


def response(recorder: ResponseRecorder, topic: Named, case: Case) -> PartitionProduceResponse:
    request = produce(topic, case.records, acks=case.acks)
    reply = recorder.client.send(request, ProduceResponse, case.version)
    assert reply.throttle_time_ms == 0, "there are no quotas"
    (one,) = reply.responses[0].partition_responses
    return one


def end(recorder: ResponseRecorder, topic: Named) -> int:
    found = recorder.client.send(offsets(topic.name, LATEST), ListOffsetsResponse)
    return found.topics[0].partitions[0].offset


@pytest.mark.parametrize("case", [*FRAMES, *REQUESTS, *BATCHES, *RECORDS, *ORDER], ids=lambda case: case.what)
def test_invalid_batch_has_the_code_of_kafka_and_is_not_stored(
    recorder: ResponseRecorder, case: Case
) -> None:
    topic = recorder.topic("faults", 1, **case.configs)
    one = response(recorder, topic, case)
    assert (E(one.error_code), one.base_offset) == (case.code, -1)
    assert end(recorder, topic) == 0


@pytest.mark.parametrize("case", NO_FAULTS, ids=lambda case: case.what)
def test_unusual_but_valid_batch_is_accepted(recorder: ResponseRecorder, case: Case) -> None:
    topic = recorder.topic("no-faults", 1, **case.configs)
    one = response(recorder, topic, case)
    assert (E(one.error_code), one.base_offset) == (E.NONE, 0)
    assert end(recorder, topic) > 0


def test_invalid_acks_are_an_error_of_every_partition(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("acks", partitions=3)
    parts = [PartitionProduceData(index=number, records=memoryview(VALID)) for number in (0, 1, 2, 9)]
    named = TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=parts)
    request = ProduceRequest(acks=2, timeout_ms=1000, topic_data=[named])
    reply = recorder.client.send(request, ProduceResponse, 13).responses[0].partition_responses
    assert {one.index: E(one.error_code) for one in reply} == {
        **dict.fromkeys((0, 1, 2), E.INVALID_REQUIRED_ACKS),
        9: E.UNKNOWN_TOPIC_OR_PARTITION,
    }


@pytest.mark.parametrize(
    ("what", "records", "code"),
    [
        ("a gap", batch(producer=(700_000, 3, 9)), E.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ("a new epoch in the middle", batch(producer=(700_000, 4, 9)), E.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ("an old epoch", batch(producer=(700_000, 2, 1)), E.INVALID_PRODUCER_EPOCH),
        ("a negative epoch", batch(producer=(700_000, -5, 1)), E.INVALID_PRODUCER_EPOCH),
        ("its number again", batch(b"a", b"b", producer=(700_000, 3, 0)), E.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ("a gap, from the future", batch(time_ms=FAR_MS, producer=(700_000, 3, 9)), E.INVALID_TIMESTAMP),
        ("a gap, fewer records than counted", counted(batch(producer=(700_000, 3, 9)), 3), E.INVALID_RECORD),
        ("had before, from the future", batch(time_ms=FAR_MS, producer=(700_000, 3, 0)), E.INVALID_TIMESTAMP),
        ("had before, in another codec", batch(codec=Codec.LZ4, producer=(700_000, 3, 0)), E.NONE),
    ],
)  # fmt: skip
def test_batches_of_a_known_producer(recorder: ResponseRecorder, what: str, records: bytes, code: E) -> None:
    topic = recorder.topic("sequences")
    first = response(recorder, topic, Case("first", batch(producer=(700_000, 3, 0)), E.NONE))
    assert (first.error_code, first.base_offset) == (E.NONE, 0)
    one = response(recorder, topic, Case(what, records, code))
    assert (E(one.error_code), one.base_offset) == (code, 0 if code == E.NONE else -1)
    assert end(recorder, topic) == 1


def test_records_without_a_key_are_listed(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("keys", 1, **COMPACTED)
    for codec in Codec:
        one = response(
            recorder, topic, Case("no key", packed(batch(b"a", b"b", key=None), codec), E.INVALID_RECORD)
        )
        assert [fault.batch_index for fault in one.record_errors] == [0, 1]


def test_records_with_an_invalid_timestamp_are_listed(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("times")
    for codec in Codec:
        for records in (LATE_TWO, timed(FAR_MS, FAR_MS, max_timestamp=-1)):
            one = response(recorder, topic, Case("", packed(records, codec), E.INVALID_TIMESTAMP))
            assert E(one.error_code) == E.INVALID_TIMESTAMP
            assert [fault.batch_index for fault in one.record_errors] == [0, 1]
        mixed = timed(TIME_MS, FAR_MS, TIME_MS, max_timestamp=TIME_MS)
        one = response(recorder, topic, Case("", packed(mixed, codec), E.INVALID_TIMESTAMP))
        assert [fault.batch_index for fault in one.record_errors] == [1]


def test_append_time_is_returned_only_with_log_append_time(recorder: ResponseRecorder) -> None:
    plain, stamped = recorder.topic("plain"), recorder.topic("stamped", 1, **STAMPED)
    assert response(recorder, plain, Case("", VALID, E.NONE)).log_append_time_ms == -1
    assert response(recorder, stamped, Case("", VALID, E.NONE)).log_append_time_ms > TIME_MS
