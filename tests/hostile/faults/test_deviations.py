"""Faults of a produce request that Dray answers otherwise than Apache Kafka, each with its reason.

A row that no longer holds fails, at whichever of the two has changed: then it belongs in
test_produce_faults.py, or nowhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from dray.records import Codec
from dray.wire import ErrorCode as E
from dray.wire.apis.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from tests.hostile.faults.batches import (
    FAR_MS,
    PACKED,
    SOUND,
    counted,
    hiding,
    many,
    packed,
    with_key_length,
    with_second_delta,
)
from tests.hostile.faults.conftest import DRAY
from tests.oracle.batches import batch, patched, with_payload
from tests.oracle.requests import produce
from tests.oracle.transcripts import Witness

NOT_OPENED = "compressed records are not opened (dray.records.glance)"
NOT_READ = "records are stepped over, not read, and only the first of them (dray.records.glance)"
BY_HEADER = "timestamps are judged by the batch's header"
HEADER_FIRST = "the header's timestamp is judged before the records are looked at"
FALLS_OVER = "Kafka falls over"
ONE_BY_ONE = "partitions are judged one by one, and Kafka judges the request first"
ACKS_FIRST = "acks are looked at before the frame of a batch"

TAKEN = E.NONE
INVALID = E.INVALID_RECORD
LATE = E.INVALID_TIMESTAMP
FELL = E.UNKNOWN_SERVER_ERROR
CORRUPT = E.CORRUPT_MESSAGE
NO_ACKS = E.INVALID_REQUIRED_ACKS

LATE_TWO = batch(b"a", b"b", time_ms=FAR_MS)
LATE_KEYLESS = batch(key=None, time_ms=FAR_MS)


@dataclass(frozen=True)
class Deviation:
    """A batch, and what the two answer."""

    what: str
    records: bytes
    kafka: E
    dray: E
    why: str
    acks: int = -1
    version: int = 13
    compacted: bool = False


def _not_opened() -> Iterator[Deviation]:
    inside = {
        "a record fewer than counted": counted(SOUND, 3),
        "a record more than counted": counted(SOUND, 1),
        "rubbish for records": with_payload(SOUND, b"\xff" * 40),
        "no records": with_payload(SOUND, b""),
        "a byte behind them": with_payload(SOUND, SOUND[61:] + b"\0"),
        "a key longer than its record": with_key_length(0x7E),
    }
    for codec in PACKED:
        for what, plain in inside.items():
            if codec is Codec.ZSTD and what == "no records":
                continue  # its frame says that there is nothing in it: test_counts.py
            yield Deviation(f"{what}, {codec.name}", packed(plain, codec), INVALID, TAKEN, NOT_OPENED)
        for delta in (0, 7):
            odd = packed(with_second_delta(delta), codec)
            yield Deviation(f"offset delta {delta}, {codec.name}", odd, FELL, TAKEN, NOT_OPENED)
        yield Deviation(f"not {codec.name}", patched(SOUND, attributes=codec), FELL, TAKEN, NOT_OPENED)


DEVIATIONS = [
    *_not_opened(),
    Deviation("39 counted of 40", counted(many(40), 39), INVALID, TAKEN, NOT_READ),
    Deviation("41 counted of 40", counted(many(40), 41), INVALID, TAKEN, NOT_READ),
    Deviation("a key longer than its record", with_key_length(0x7E), INVALID, TAKEN, NOT_READ),
    Deviation("a key of -2 bytes", with_key_length(3), INVALID, TAKEN, NOT_READ),
    *(
        Deviation(f"a hidden time, {codec.name}", packed(hiding(FAR_MS), codec), LATE, TAKEN, BY_HEADER)
        for codec in Codec
    ),
    *(
        Deviation(
            f"a time that no record has, {codec.name}",
            packed(hiding(0, behind=FAR_MS), codec),
            TAKEN,
            LATE,
            BY_HEADER,
        )
        for codec in (Codec.NONE, Codec.LZ4)
    ),
    Deviation("late, 1 counted of 2", counted(LATE_TWO, 1), INVALID, LATE, HEADER_FIRST),
    Deviation("late, no key", LATE_KEYLESS, INVALID, LATE, HEADER_FIRST, compacted=True),
    Deviation("rubbish for records", with_payload(SOUND, b"\xff" * 40), FELL, INVALID, FALLS_OVER),
    Deviation("a header of 26 bytes", patched(SOUND[:26], batch_length=14), FELL, CORRUPT, FALLS_OVER),
    Deviation("the greatest length", patched(SOUND, batch_length=2**31 - 1), FELL, INVALID, FALLS_OVER),
    Deviation("acks 2, two batches", SOUND + SOUND, INVALID, NO_ACKS, ACKS_FIRST, acks=2),
    Deviation("acks 2, magic 3", patched(SOUND, magic=3), CORRUPT, NO_ACKS, ACKS_FIRST, acks=2),
    Deviation(
        "acks 2, zstd before version 7",
        batch(codec=Codec.ZSTD),
        E.UNSUPPORTED_COMPRESSION_TYPE,
        NO_ACKS,
        ACKS_FIRST,
        acks=2,
        version=6,
    ),
]


@pytest.mark.parametrize("case", DEVIATIONS, ids=lambda case: case.what)
def test_what_is_answered_otherwise(witness: Witness, who: str, case: Deviation) -> None:
    configs = {"cleanup_policy": "compact"} if case.compacted else {}
    topic = witness.topic("deviations", 1, **configs)
    came = witness.asker.ask(produce(topic, case.records, acks=case.acks), ProduceResponse, case.version)
    (one,) = came.responses[0].partition_responses
    expected = case.dray if who == DRAY else case.kafka
    assert E(one.error_code) == expected, case.why
    assert one.base_offset == (0 if expected == E.NONE else -1)


def test_kafka_names_the_records_whose_time_is_wrong(witness: Witness, who: str) -> None:
    topic = witness.topic("times")
    came = witness.asker.ask(produce(topic, batch(b"a", b"b", time_ms=FAR_MS)), ProduceResponse, 13)
    (one,) = came.responses[0].partition_responses
    assert E(one.error_code) == E.INVALID_TIMESTAMP
    named = [fault.batch_index for fault in one.record_errors]
    assert named == ([] if who == DRAY else [0, 1]), BY_HEADER


def test_kafka_refuses_a_whole_request_for_one_batch(witness: Witness, who: str) -> None:
    """For one that belongs to a transaction without a name, or that has a broken frame."""
    topic = witness.topic("several", partitions=3)
    in_transaction = batch(producer=(7, 0, 0), transactional=True)
    for bad, code in (
        (in_transaction, E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (patched(SOUND, magic=3), E.CORRUPT_MESSAGE),
    ):
        parts = [
            PartitionProduceData(index=number, records=memoryview(records))
            for number, records in ((0, SOUND), (1, bad), (9, SOUND))
        ]
        named = TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=parts)
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[named])
        came = witness.asker.ask(request, ProduceResponse, 13).responses[0].partition_responses
        one_by_one = {0: E.NONE, 1: code, 9: E.UNKNOWN_TOPIC_OR_PARTITION}
        expected = one_by_one if who == DRAY else dict.fromkeys((0, 1, 9), code)
        assert {one.index: E(one.error_code) for one in came} == expected, ONE_BY_ONE
