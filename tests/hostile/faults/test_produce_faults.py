"""Every fault of a produce request has Kafka's code, at Dray and at Apache Kafka itself.

The groups follow the order in which Kafka looks (what is wrong with the frame, the request, the batch, its
records, its producer); `ORDER` has batches with two faults, of which the first is told. Where Dray answers
otherwise: test_deviations.py. Topics, partitions and acks=0: tests/api/test_produce.py.
"""

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
from tests.hostile.faults.batches import (
    FAR_MS,
    SMALL,
    SOUND,
    counted,
    exactly,
    packed,
    with_leader_epoch,
    with_second_delta,
)
from tests.oracle.batches import TIME_MS, batch, patched, with_payload
from tests.oracle.requests import LATEST, Named, offsets, produce
from tests.oracle.transcripts import Witness

LARGE = batch(b"x" * SMALL)
PLAIN = {"max_message_bytes": str(SMALL)}
ROOMY = {"max_message_bytes": "3000000", "segment_bytes": str(1 << 20)}
COMPACTED = {"cleanup_policy": "compact"}
STAMPED = {"message_timestamp_type": "LogAppendTime"}
RECENT = {"message_timestamp_before_max_ms": "1000"}
MEBIBYTE = batch(bytes(1_200_000))
BAD_CRC: dict[str, Any] = {"crc": 1, "keep_crc": True}


@dataclass(frozen=True)
class Case:
    """A batch, how it is sent, and what is answered."""

    what: str
    records: bytes
    code: E
    version: int = 13
    acks: int = -1
    configs: dict[str, str] = field(default_factory=lambda: PLAIN)


FRAMES = [
    *(
        Case(f"batch length {length}", patched(SOUND, batch_length=length), E.CORRUPT_MESSAGE)
        for length in (-(2**31), -1, 0, 13)
    ),
    *(Case(f"magic {magic}", patched(SOUND, magic=magic), E.CORRUPT_MESSAGE) for magic in (-1, 3, 127)),
    *(Case(f"magic {magic}", patched(SOUND, magic=magic), E.INVALID_RECORD) for magic in (0, 1)),
    *(Case(f"{size} bytes", SOUND[:size], E.INVALID_RECORD) for size in (0, 11, 12, 16, 17, len(SOUND) - 1)),
    Case("more bytes told than came", patched(SOUND, batch_length=len(SOUND) - 11), E.INVALID_RECORD),
    Case("two batches", SOUND + SOUND, E.INVALID_RECORD),
    Case("zstd before version 7", batch(codec=Codec.ZSTD), E.UNSUPPORTED_COMPRESSION_TYPE, version=6),
]
REQUESTS = [
    *(Case(f"acks {acks}", SOUND, E.INVALID_REQUIRED_ACKS, acks=acks) for acks in (2, -2, 32767)),
]
BATCHES = [
    Case("base offset 1", patched(SOUND, base_offset=1), E.INVALID_RECORD),
    Case("base offset -1", patched(SOUND, base_offset=-1), E.INVALID_RECORD),
    Case("a byte too large", exactly(SMALL + 1), E.MESSAGE_TOO_LARGE),
    Case("wrong checksum", patched(SOUND, **BAD_CRC), E.CORRUPT_MESSAGE),
    Case("a bit turned over", SOUND[:-1] + bytes([SOUND[-1] ^ 1]), E.CORRUPT_MESSAGE),
    Case("a header of 60 bytes", patched(SOUND[:60], batch_length=48), E.CORRUPT_MESSAGE),
    Case("larger than a segment", MEBIBYTE, E.RECORD_LIST_TOO_LARGE, configs=ROOMY),
    *(
        Case(f"count {count}", patched(SOUND, record_count=count), E.INVALID_RECORD)
        for count in (-1, 0, 1, 3, 2**31 - 1)
    ),
    *(
        Case(f"last delta {delta}", patched(SOUND, last_offset_delta=delta), E.INVALID_RECORD)
        for delta in (-1, -(2**31), 2**31 - 1)
    ),
    Case("control", batch(control=True), E.INVALID_RECORD),
    Case("a producer without sequence", batch(producer=(5, 0, -1)), E.INVALID_RECORD),
]
RECORDS = [
    Case("a record fewer than counted", counted(SOUND, 3), E.INVALID_RECORD),
    Case("a record more than counted", counted(SOUND, 1), E.INVALID_RECORD),
    Case("no records", with_payload(SOUND, b""), E.INVALID_RECORD),
    Case("a byte behind them", with_payload(SOUND, SOUND[61:] + b"\0"), E.INVALID_RECORD),
    *(
        Case(f"no key, {codec.name}", batch(b"a", key=None, codec=codec), E.INVALID_RECORD, configs=COMPACTED)
        for codec in Codec
    ),
    Case("from the future", batch(time_ms=FAR_MS), E.INVALID_TIMESTAMP),
    Case("too old", batch(), E.INVALID_TIMESTAMP, configs=RECENT),
    Case("stamped by the client", patched(SOUND, attributes=8), E.INVALID_TIMESTAMP, configs=STAMPED),
    Case(
        "stamped with no time",
        patched(batch(time_ms=-1), base_timestamp=-1, max_timestamp=-1, attributes=8),
        E.INVALID_TIMESTAMP,
    ),
]
ORDER = [
    Case("zstd before version 7, two batches", batch(codec=4) * 2, E.UNSUPPORTED_COMPRESSION_TYPE, 6),
    Case("magic 1, two batches", patched(SOUND, magic=1) * 2, E.INVALID_RECORD),
    Case("acks 2, base offset 1", patched(SOUND, base_offset=1), E.INVALID_REQUIRED_ACKS, acks=2),
    Case("acks 2, wrong checksum", patched(SOUND, **BAD_CRC), E.INVALID_REQUIRED_ACKS, acks=2),
    Case("base offset 1, too large", patched(LARGE, base_offset=1), E.INVALID_RECORD),
    Case("base offset 1, wrong checksum", patched(SOUND, base_offset=1, **BAD_CRC), E.INVALID_RECORD),
    Case("too large, wrong checksum", patched(LARGE, **BAD_CRC), E.MESSAGE_TOO_LARGE),
    Case("too large, count 0", patched(LARGE, record_count=0), E.MESSAGE_TOO_LARGE),
    Case("wrong checksum, count 0", patched(SOUND, record_count=0, **BAD_CRC), E.CORRUPT_MESSAGE),
    Case("wrong checksum, control", patched(batch(control=True), **BAD_CRC), E.CORRUPT_MESSAGE),
    Case(
        "wrong checksum, larger than a segment", patched(MEBIBYTE, **BAD_CRC), E.CORRUPT_MESSAGE, 9, -1, ROOMY
    ),
    Case("count 7, larger than a segment", patched(MEBIBYTE, record_count=7), E.INVALID_RECORD, 9, -1, ROOMY),
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
        Case(f"attributes {bits:#x}", patched(SOUND, attributes=bits), E.NONE)
        for bits in (0x40, 0x80, 0x7F00)
    ),
    *(
        Case(f"producer {producer}", batch(producer=producer), E.NONE)
        for producer in ((5, -1, 0), (-2, 0, 0), (-1, 0, 0), (-1, -1, 5), (2**63 - 1, 32767, 2**31 - 1))
    ),
    Case("no time", patched(batch(time_ms=-1), base_timestamp=-1, max_timestamp=-1), E.NONE),
    Case("before all time", batch(time_ms=-5), E.NONE),
    Case("stamped by the client", patched(SOUND, attributes=8), E.NONE),
    *(Case(f"offset delta {delta}", with_second_delta(delta), E.NONE) for delta in (0, 7)),
    Case("a null value", batch(None), E.NONE),
    Case("a null key", batch(b"a", key=None), E.NONE),
    Case("half a batch behind it", SOUND + SOUND[:40], E.NONE),
    *(Case(f"codec {codec.name}", batch(b"a" * 50, codec=codec), E.NONE) for codec in Codec),
    Case("too few replicas, with acks all", SOUND, E.NONE, configs={"min_insync_replicas": "2"}),
    Case("too few replicas, with acks 1", SOUND, E.NONE, acks=1, configs={"min_insync_replicas": "2"}),
]


def told(witness: Witness, topic: Named, case: Case) -> PartitionProduceResponse:
    request = produce(topic, case.records, acks=case.acks)
    came = witness.asker.ask(request, ProduceResponse, case.version)
    assert came.throttle_time_ms == 0, "there are no quotas"
    (one,) = came.responses[0].partition_responses
    return one


def end(witness: Witness, topic: Named) -> int:
    found = witness.asker.ask(offsets(topic.name, LATEST), ListOffsetsResponse)
    return found.topics[0].partitions[0].offset


@pytest.mark.parametrize("case", [*FRAMES, *REQUESTS, *BATCHES, *RECORDS, *ORDER], ids=lambda case: case.what)
def test_the_code_is_kafkas_and_nothing_is_kept(witness: Witness, case: Case) -> None:
    topic = witness.topic("faults", 1, **case.configs)
    one = told(witness, topic, case)
    assert (E(one.error_code), one.base_offset) == (case.code, -1)
    assert end(witness, topic) == 0


@pytest.mark.parametrize("case", NO_FAULTS, ids=lambda case: case.what)
def test_what_is_no_fault_is_taken(witness: Witness, case: Case) -> None:
    topic = witness.topic("no-faults", 1, **case.configs)
    one = told(witness, topic, case)
    assert (E(one.error_code), one.base_offset) == (E.NONE, 0)
    assert end(witness, topic) > 0


def test_wrong_acks_are_told_to_every_partition(witness: Witness) -> None:
    topic = witness.topic("acks", partitions=3)
    parts = [PartitionProduceData(index=number, records=memoryview(SOUND)) for number in (0, 1, 2, 9)]
    named = TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=parts)
    request = ProduceRequest(acks=2, timeout_ms=1000, topic_data=[named])
    came = witness.asker.ask(request, ProduceResponse, 13).responses[0].partition_responses
    assert {one.index: E(one.error_code) for one in came} == {
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
def test_what_a_known_producer_may_send(witness: Witness, what: str, records: bytes, code: E) -> None:
    topic = witness.topic("sequences")
    first = told(witness, topic, Case("first", batch(producer=(700_000, 3, 0)), E.NONE))
    assert (first.error_code, first.base_offset) == (E.NONE, 0)
    one = told(witness, topic, Case(what, records, code))
    assert (E(one.error_code), one.base_offset) == (code, 0 if code == E.NONE else -1)
    assert end(witness, topic) == 1


def test_the_records_that_have_no_key_are_named(witness: Witness) -> None:
    topic = witness.topic("keys", 1, **COMPACTED)
    for codec in Codec:
        one = told(
            witness, topic, Case("no key", packed(batch(b"a", b"b", key=None), codec), E.INVALID_RECORD)
        )
        assert [fault.batch_index for fault in one.record_errors] == [0, 1]


def test_a_time_is_told_only_where_the_broker_stamps(witness: Witness) -> None:
    plain, stamped = witness.topic("plain"), witness.topic("stamped", 1, **STAMPED)
    assert told(witness, plain, Case("", SOUND, E.NONE)).log_append_time_ms == -1
    assert told(witness, stamped, Case("", SOUND, E.NONE)).log_append_time_ms > TIME_MS
