"""Interoperability with aiokafka's record code, an independent implementation."""

from aiokafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatch,
    DefaultRecordBatchBuilder,
)
from hypothesis import given
from hypothesis import strategies as st

from dray.records import Codec, Record, TimestampType, decode_batch, encode_batch, parse_header, with_offsets
from tests.records.builders import some_records
from tests.records.strategies import codecs, record_lists

# Its writer takes -1 for "not set yet" when it looks for the first and the highest timestamp.
records_they_can_write = record_lists(times=st.integers(0, 2**53))


def _read_by_aiokafka(batch: bytes) -> list[Record]:
    theirs = DefaultRecordBatch(batch)
    assert theirs.validate_crc()
    return [
        Record(record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
        for record in theirs
    ]


def _written_by_aiokafka(records: list[Record], codec: Codec) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=0,
        producer_id=31,
        producer_epoch=4,
        base_sequence=15,
        batch_size=1_000_000,
    )
    for record in records:
        builder.append(record.offset, record.timestamp, record.key, record.value, list(record.headers))
    return bytes(builder.build())


@given(record_lists(), codecs)
def test_aiokafka_reads_our_batches(records: list[Record], codec: Codec) -> None:
    assert _read_by_aiokafka(encode_batch(records, codec=codec)) == records


@given(records_they_can_write, codecs)
def test_we_read_batches_of_aiokafka(records: list[Record], codec: Codec) -> None:
    batch = memoryview(_written_by_aiokafka(records, codec))
    header = parse_header(batch)
    assert decode_batch(batch) == records
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (31, 4, 15)
    assert header.record_count == len(records)


@given(records_they_can_write)
def test_uncompressed_the_bytes_are_the_same(records: list[Record]) -> None:
    theirs = _written_by_aiokafka(records, Codec.NONE)
    epoch = parse_header(memoryview(theirs)).leader_epoch
    ours = encode_batch(records, leader_epoch=epoch, producer_id=31, producer_epoch=4, base_sequence=15)
    assert ours == theirs


@given(codecs, st.integers(0, 2**62))
def test_aiokafka_reads_served_batches(codec: Codec, base_offset: int) -> None:
    head, rest = with_offsets(memoryview(encode_batch(some_records(), codec=codec)), base_offset, 7)
    offsets = [record.offset for record in _read_by_aiokafka(head + rest)]
    assert offsets == [base_offset, base_offset + 1, base_offset + 2]


def test_aiokafka_agrees_on_log_append_time() -> None:
    batch = encode_batch(some_records(), timestamp_type=TimestampType.LOG_APPEND, append_time_ms=99)
    assert _read_by_aiokafka(batch) == decode_batch(memoryview(batch))


def test_aiokafka_reads_our_large_batches_of_every_codec() -> None:
    records = some_records(count=400, value_bytes=1000)
    for codec in Codec:
        assert _read_by_aiokafka(encode_batch(records, codec=codec)) == records
