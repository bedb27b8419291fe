"""Batches of other clients, and of ours, as files that never change. See golden/README.md."""

from pathlib import Path

import pytest

from dray.records import Codec, Record, TimestampType, decode_batch, encode_batch, parse_header

GOLDEN = Path(__file__).parent / "golden"
RECORDS = [
    Record(0, 1_700_000_000_000, b"order-1", b"one apple " * 20, (("trace", b"\x00\x01"), ("trace", None))),
    Record(1, 1_700_000_000_005, None, b""),
    Record(2, 1_699_999_999_990, "schlüssel".encode(), None, (("naïve", b"yes"),)),
]


def _golden(name: str) -> bytes:
    return (GOLDEN / f"{name}.batch").read_bytes()


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("kafka-python-none", Codec.NONE),
        ("kafka-python-gzip", Codec.GZIP),
        ("kafka-python-snappy", Codec.SNAPPY),
        ("kafka-python-lz4", Codec.LZ4),
        ("kafka-python-zstd", Codec.ZSTD),
        ("snappy-raw", Codec.SNAPPY),
    ],
)
def test_what_other_clients_wrote_is_read(name: str, codec: Codec) -> None:
    batch = memoryview(_golden(name))
    header = parse_header(batch)
    assert decode_batch(batch) == RECORDS
    assert header.codec == codec
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4711, 2, 17)
    assert (header.base_timestamp, header.max_timestamp) == (1_700_000_000_000, 1_700_000_000_005)


def test_without_compression_we_write_the_same_bytes() -> None:
    ours = encode_batch(RECORDS, leader_epoch=0, producer_id=4711, producer_epoch=2, base_sequence=17)
    assert ours == _golden("kafka-python-none")


def test_log_append_time() -> None:
    golden = _golden("log-append-time")
    records = decode_batch(memoryview(golden))
    assert {record.timestamp for record in records} == {1_700_000_009_999}
    assert [record.value for record in records] == [record.value for record in RECORDS]
    stamp = TimestampType.LOG_APPEND
    assert encode_batch(RECORDS, timestamp_type=stamp, append_time_ms=1_700_000_009_999) == golden


def test_commit_marker() -> None:
    batch = memoryview(_golden("commit-marker"))
    header = parse_header(batch)
    assert (header.is_control, header.is_transactional, header.leader_epoch) == (True, True, 5)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4711, 2, -1)
    assert decode_batch(batch) == [
        Record(41, 1_700_000_000_100, b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00\x07")
    ]
