"""Golden batches of other clients and of Dray. See golden/README.md."""

from pathlib import Path

import pytest

from dray.records import (
    BatchRules,
    Codec,
    Record,
    TimestampType,
    decode_batch,
    encode_batch,
    has_doubtful_times,
    parse_header,
    validate,
    validate_records,
)

GOLDEN = Path(__file__).parent / "golden"
RECORDS = [
    Record(0, 1_700_000_000_000, b"order-1", b"one apple " * 20, (("trace", b"\x00\x01"), ("trace", None))),
    Record(1, 1_700_000_000_005, None, b""),
    Record(2, 1_699_999_999_990, "schlüssel".encode(), None, (("naïve", b"yes"),)),
]

SARAMA_RECORDS = [
    Record(n, 1_700_000_001_000 + 1000 * n, b"key-%d" % (n + 1), b"value-%d" % (n + 1)) for n in range(2)
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
def test_batches_of_other_clients_are_decoded(name: str, codec: Codec) -> None:
    batch = memoryview(_golden(name))
    header = parse_header(batch)
    assert decode_batch(batch) == RECORDS
    assert header.codec == codec
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4711, 2, 17)
    assert (header.base_timestamp, header.max_timestamp) == (1_700_000_000_000, 1_700_000_000_005)


@pytest.mark.parametrize("codec", list(Codec))
def test_sarama_1_43_leaves_max_timestamp_at_minus_1_and_it_is_corrected(codec: Codec) -> None:
    batch = memoryview(_golden(f"sarama-1.43-{codec.name.lower()}"))
    assert decode_batch(batch) == SARAMA_RECORDS
    rules, now_ms = BatchRules(), SARAMA_RECORDS[-1].timestamp
    received = validate(batch, rules, now_ms)
    assert (received.header.codec, received.header.max_timestamp) == (codec, -1)
    assert has_doubtful_times(received.header, rules, now_ms)
    stored = validate_records(received, rules, now_ms)
    assert stored.header.max_timestamp == now_ms
    assert decode_batch(memoryview(stored.buffer)) == SARAMA_RECORDS


def test_without_compression_the_encoded_bytes_are_equal() -> None:
    ours = encode_batch(RECORDS, leader_epoch=0, producer_id=4711, producer_epoch=2, base_sequence=17)
    assert ours == _golden("kafka-python-none")


def test_batch_with_log_append_time_round_trips() -> None:
    golden = _golden("log-append-time")
    records = decode_batch(memoryview(golden))
    assert {record.timestamp for record in records} == {1_700_000_009_999}
    assert [record.value for record in records] == [record.value for record in RECORDS]
    stamp = TimestampType.LOG_APPEND
    assert encode_batch(RECORDS, timestamp_type=stamp, append_time_ms=1_700_000_009_999) == golden


def test_commit_marker_is_decoded() -> None:
    batch = memoryview(_golden("commit-marker"))
    header = parse_header(batch)
    assert (header.is_control, header.is_transactional, header.leader_epoch) == (True, True, 5)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4711, 2, -1)
    assert decode_batch(batch) == [
        Record(41, 1_700_000_000_100, b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00\x07")
    ]
