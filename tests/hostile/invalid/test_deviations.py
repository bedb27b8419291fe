"""Invalid produce requests that Dray answers differently from Apache Kafka, each with the reason.

A row that no longer holds fails, whichever of the two has changed: it then belongs in
test_produce_errors.py, or nowhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from dray.records import Codec
from dray.wire import ErrorCode as E
from dray.wire.apis.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from tests.hostile.invalid.batches import (
    FAR_MS,
    PACKED,
    VALID,
    counted,
    hiding,
    many,
    packed,
    with_key_length,
    with_second_delta,
)
from tests.hostile.invalid.conftest import DRAY
from tests.oracle.batches import batch, patched, with_payload
from tests.oracle.requests import produce
from tests.oracle.transcripts import ResponseRecorder

NOT_OPENED = "large compressed batches are not opened (dray.records.shallow_validate)"
NOT_READ = "records are stepped over, not read, and only the first of them (dray.records.shallow_validate)"
BY_HEADER = "the times of a large batch are taken from its header (dray.records.shallow_validate)"
STORED_AS_SENT = "a batch is stored as it was sent; Kafka fails to rebuild a compressed one"
CRASHES = "Kafka fails with UNKNOWN_SERVER_ERROR"
ONE_BY_ONE = "partitions are checked one by one, and Kafka checks the request first"
ACKS_FIRST = "acks are looked at before the frame of a batch"

TAKEN = E.NONE
INVALID = E.INVALID_RECORD
LATE = E.INVALID_TIMESTAMP
FELL = E.UNKNOWN_SERVER_ERROR
CORRUPT = E.CORRUPT_MESSAGE
NO_ACKS = E.INVALID_REQUIRED_ACKS

LARGE = many(40)


@dataclass(frozen=True)
class Deviation:
    """A batch, and the responses of both."""

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
        "a record fewer than counted": counted(LARGE, 41),
        "a record more than counted": counted(LARGE, 39),
        "random bytes for records": with_payload(LARGE, b"\xff" * 400),
        "a byte after them": with_payload(LARGE, LARGE[61:] + b"\0"),
    }
    for codec in PACKED:
        for what, plain in inside.items():
            yield Deviation(f"{what}, {codec.name}", packed(plain, codec), INVALID, TAKEN, NOT_OPENED)
        longer = packed(with_key_length(0x7E), codec)
        yield Deviation(f"a key longer than its record, {codec.name}", longer, INVALID, TAKEN, NOT_READ)
        for delta in (0, 7):
            odd = packed(with_second_delta(delta), codec)
            yield Deviation(f"offset delta {delta}, {codec.name}", odd, FELL, TAKEN, STORED_AS_SENT)
        yield Deviation(f"not {codec.name}", patched(VALID, attributes=codec), FELL, INVALID, CRASHES)
        if codec is not Codec.SNAPPY:  # snappy begins with its size, so that too small a one is found
            broken = patched(LARGE, attributes=codec)
            yield Deviation(f"large and not {codec.name}", broken, FELL, TAKEN, NOT_OPENED)


def _hidden_times() -> Iterator[Deviation]:
    """Timestamps beyond the maxTimestamp of the header, after the first records of the batch."""
    for codec in Codec:
        late = packed(hiding(FAR_MS, after=40), codec)
        yield Deviation(f"a hidden time, {codec.name}", late, LATE, TAKEN, BY_HEADER)


DEVIATIONS = [
    *_not_opened(),
    *_hidden_times(),
    Deviation("39 counted of 40", counted(many(40), 39), INVALID, TAKEN, NOT_READ),
    Deviation("41 counted of 40", counted(many(40), 41), INVALID, TAKEN, NOT_READ),
    Deviation("a key longer than its record", with_key_length(0x7E), INVALID, TAKEN, NOT_READ),
    Deviation("a key of -2 bytes", with_key_length(3), INVALID, TAKEN, NOT_READ),
    Deviation("random bytes for records", with_payload(VALID, b"\xff" * 40), FELL, INVALID, CRASHES),
    Deviation("a header of 26 bytes", patched(VALID[:26], batch_length=14), FELL, CORRUPT, CRASHES),
    Deviation("the greatest length", patched(VALID, batch_length=2**31 - 1), FELL, INVALID, CRASHES),
    Deviation("acks 2, two batches", VALID + VALID, INVALID, NO_ACKS, ACKS_FIRST, acks=2),
    Deviation("acks 2, magic 3", patched(VALID, magic=3), CORRUPT, NO_ACKS, ACKS_FIRST, acks=2),
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
def test_invalid_request_gets_the_expected_error_of_each_broker(
    recorder: ResponseRecorder, who: str, case: Deviation
) -> None:
    configs = {"cleanup_policy": "compact"} if case.compacted else {}
    topic = recorder.topic("deviations", 1, **configs)
    response = recorder.client.send(
        produce(topic, case.records, acks=case.acks), ProduceResponse, case.version
    )
    (one,) = response.responses[0].partition_responses
    expected = case.dray if who == DRAY else case.kafka
    assert E(one.error_code) == expected, case.why
    assert one.base_offset == (0 if expected == E.NONE else -1)


def test_kafka_refuses_the_whole_request_for_one_batch(recorder: ResponseRecorder, who: str) -> None:
    """For a transactional batch without a transactional id, or a batch with a broken frame."""
    topic = recorder.topic("several", partitions=3)
    in_transaction = batch(producer=(7, 0, 0), transactional=True)
    for bad, code in (
        (in_transaction, E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (patched(VALID, magic=3), E.CORRUPT_MESSAGE),
    ):
        parts = [
            PartitionProduceData(index=number, records=memoryview(records))
            for number, records in ((0, VALID), (1, bad), (9, VALID))
        ]
        named = TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=parts)
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[named])
        response = recorder.client.send(request, ProduceResponse, 13).responses[0].partition_responses
        one_by_one = {0: E.NONE, 1: code, 9: E.UNKNOWN_TOPIC_OR_PARTITION}
        expected = one_by_one if who == DRAY else dict.fromkeys((0, 1, 9), code)
        assert {one.index: E(one.error_code) for one in response} == expected, ONE_BY_ONE
