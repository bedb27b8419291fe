"""Shallow validation: records that are rejected, headers that are corrected, and what is not read."""

from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.records import (
    BatchRules,
    Codec,
    InvalidBatch,
    InvalidTimestamp,
    Record,
    TimestampType,
    ValidBatch,
    compress,
    decode_batch,
    encode_batch,
    parse_header,
    shallow_validate,
    validate_records,
)
from dray.records.shallow_validate import PACKED_BYTES_READ, RECORDS_READ
from tests.records.builders import NOW_MS, crc_holds, received, some_records, with_fields, with_payload
from tests.records.columns.strategies import batch_of
from tests.records.strategies import codecs, record_lists

RULES = BatchRules()
COMPACTED = BatchRules(compacted=True)
LOG_APPEND = BatchRules(timestamp_type=TimestampType.LOG_APPEND)
FAR_MS = 2 * NOW_MS


def checked(batch: bytes | memoryview, rules: BatchRules = RULES, now_ms: int = NOW_MS) -> ValidBatch:
    return received(batch, rules, now_ms)


def corrupted(payload: bytes, count: int = 3) -> ValidBatch:
    header = parse_header(memoryview(encode_batch(some_records(3))))._replace(record_count=count)
    return ValidBatch(header, (bytes(61), payload), -1)


def made(records: Sequence[Record], codec: Codec = Codec.NONE) -> bytes:
    return encode_batch(records, codec=codec)


def single(payload: bytes, codec: Codec) -> bytes:
    """Return a batch of one record, with these bytes compressed in its place."""
    return bytes(with_payload(made([Record(0, NOW_MS, None, None)], codec), compress(codec, payload)))


def counting(count: int, claimed: int) -> bytes:
    batch = made(some_records(count))
    return bytes(with_fields(batch, record_count=claimed, last_offset_delta=claimed - 1))


def timed(*times: int, codec: Codec = Codec.NONE, **header: int) -> bytes:
    """Return a batch of records with these timestamps and with these header fields overwritten."""
    return bytes(
        with_fields(made([Record(n, at, b"k", b"v") for n, at in enumerate(times)], codec), **header)
    )


@pytest.mark.parametrize("rules", [RULES, COMPACTED], ids=["plain", "compacted"])
@pytest.mark.parametrize("count", [1, 2, RECORDS_READ - 1, RECORDS_READ, RECORDS_READ + 1, 500])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_valid_batches_are_accepted_unchanged(rules: BatchRules, count: int, codec: Codec) -> None:
    batch = memoryview(made(some_records(count, value_bytes=300), codec))
    assert checked(batch, rules).pieces == (batch,)


@pytest.mark.parametrize(
    ("count", "claimed"), [(2, 1), (2, 3), (RECORDS_READ, RECORDS_READ - 1), (1, 1000), (3, 40)]
)
def test_wrong_counts_are_detected_in_small_batches(count: int, claimed: int) -> None:
    with pytest.raises(InvalidBatch, match=f"counts {claimed} records"):
        checked(counting(count, claimed))


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
@pytest.mark.parametrize("claimed", [1, 3])
def test_wrong_counts_are_detected_in_small_compressed_batches(codec: Codec, claimed: int) -> None:
    batch = made(some_records(2), codec)
    with pytest.raises(InvalidBatch, match=f"counts {claimed} records"):
        checked(with_fields(batch, record_count=claimed, last_offset_delta=claimed - 1))


def test_large_batch_that_is_one_record_short_is_accepted() -> None:
    """Documents the limit of shallow validation."""
    checked(counting(RECORDS_READ + 3, RECORDS_READ + 2))
    with pytest.raises(InvalidBatch):
        checked(counting(RECORDS_READ + 3, RECORDS_READ + 2), COMPACTED)


@pytest.mark.parametrize(
    "payload", [b"", b"\x00" * 50, b"\xff" * 50, b"\x02" * 50, b"\xfe\xff\xff\xff\x0f" + bytes(40)]
)
def test_garbage_is_detected(payload: bytes) -> None:
    with pytest.raises(InvalidBatch):
        shallow_validate(corrupted(payload), RULES, NOW_MS)
    for rules in (RULES, COMPACTED):
        with pytest.raises(InvalidBatch):
            validate_records(corrupted(payload), rules, NOW_MS)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("payload", [b"", b"\x00", b"\x0c" + bytes(5), b"\x0e" + bytes(6)])
def test_payload_without_a_whole_record_is_rejected(codec: Codec, payload: bytes) -> None:
    with pytest.raises(InvalidBatch, match="counts 1 records"):
        checked(single(payload, codec))


@pytest.mark.parametrize("codec", list(Codec))
def test_time_of_a_single_record_counts_whatever_the_header_says(codec: Codec) -> None:
    ahead = single(b"\x0e\x00\x90\x4e\x00\x01\x01\x00", codec)  # 5 s after the base
    assert checked(ahead).header.max_timestamp == NOW_MS + 5000
    with pytest.raises(InvalidTimestamp):
        checked(ahead, BatchRules(timestamp_after_max_ms=4999))


@pytest.mark.parametrize("codec", list(Codec))
def test_compacted_topic_rejects_records_without_a_key(codec: Codec) -> None:
    records = [Record(index, NOW_MS, None if index in (1, 3) else b"k", b"v") for index in range(5)]
    with pytest.raises(InvalidBatch) as refused:
        checked(made(records, codec), COMPACTED)
    assert [fault.index for fault in refused.value.faults] == [1, 3]
    checked(made(records, codec))


def test_empty_key_is_a_key() -> None:
    checked(made([Record(0, NOW_MS, b"", None)]), COMPACTED)


def test_batch_with_log_append_time_is_validated_too() -> None:
    checked(made(some_records(3)), LOG_APPEND)
    with pytest.raises(InvalidBatch):
        checked(counting(3, 2), LOG_APPEND)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize(
    "wrong", [-1, 0, 1, NOW_MS - 1, NOW_MS, NOW_MS + 499, NOW_MS + 501, FAR_MS, 2**63 - 1, -(2**63)]
)
def test_wrong_max_timestamp_is_corrected(codec: Codec, wrong: int) -> None:
    stored = checked(timed(NOW_MS, NOW_MS + 500, NOW_MS - 9, codec=codec, max_timestamp=wrong))
    assert stored.header.max_timestamp == NOW_MS + 500
    batch = bytes(stored.buffer)
    assert stored.header == parse_header(memoryview(batch))
    assert crc_holds(batch)
    assert [record.timestamp for record in decode_batch(memoryview(batch))] == [
        NOW_MS,
        NOW_MS + 500,
        NOW_MS - 9,
    ]


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("wrong", [-1, NOW_MS - 1, FAR_MS])
def test_impossible_max_timestamp_is_corrected_in_large_batches(codec: Codec, wrong: int) -> None:
    times = range(NOW_MS, NOW_MS + 300)
    assert checked(timed(*times, codec=codec, max_timestamp=wrong)).header.max_timestamp == NOW_MS + 299


def test_max_timestamp_below_one_of_the_first_records_is_corrected_in_large_batches() -> None:
    times = [NOW_MS, NOW_MS + 700, *[NOW_MS] * 50, NOW_MS + 900]
    assert checked(timed(*times, max_timestamp=NOW_MS + 500)).header.max_timestamp == NOW_MS + 900


@pytest.mark.parametrize(
    ("codec", "count"), [(Codec.NONE, RECORDS_READ + 1), (Codec.ZSTD, RECORDS_READ + 1), (Codec.LZ4, 16)]
)
def test_possible_max_timestamp_is_accepted_in_large_batches(codec: Codec, count: int) -> None:
    """Documents the limit of shallow validation."""
    value = bytes(range(256)) * 8 if count == RECORDS_READ else b"v"
    records = [Record(n, NOW_MS + n, b"k", value) for n in range(count)]
    batch = with_fields(made(records, codec), max_timestamp=NOW_MS + count - 2)
    assert codec is Codec.NONE or count > RECORDS_READ or len(batch) - 61 > PACKED_BYTES_READ
    assert checked(batch).header.max_timestamp == NOW_MS + count - 2


def test_max_timestamp_is_at_least_minus_1_as_in_kafka() -> None:
    for base, times in ((-1, (-1, -1)), (-5, (-5, -7)), (-1, (-1, -9))):
        for wrong in (-1, 0, base):
            batch = timed(*times, base_timestamp=base, max_timestamp=wrong)
            assert checked(batch).header.max_timestamp == -1


def test_no_timestamp_is_always_allowed() -> None:
    rules = BatchRules(timestamp_before_max_ms=0, timestamp_after_max_ms=0)
    assert checked(timed(-1, -1), rules).header.max_timestamp == -1
    assert checked(timed(-1, -1, max_timestamp=0), rules).header.max_timestamp == -1, (
        "as librdkafka writes it"
    )
    assert checked(timed(NOW_MS, -1), rules).header.max_timestamp == NOW_MS
    with pytest.raises(InvalidTimestamp):
        checked(timed(0, 0), rules)


def test_create_time_limits_hold_for_every_record() -> None:
    rules = BatchRules(timestamp_before_max_ms=1000, timestamp_after_max_ms=500)
    batch = timed(NOW_MS, NOW_MS + 2)
    for now_ms in (NOW_MS + 2 - 500, NOW_MS + 1000):
        assert checked(batch, rules, now_ms).buffer == batch
    for now_ms, faults in ((NOW_MS + 1 - 500, [1]), (NOW_MS + 1001, [0]), (NOW_MS + 2000, [0, 1])):
        with pytest.raises(InvalidTimestamp) as refused:
            checked(batch, rules, now_ms)
        assert [fault.index for fault in refused.value.faults] == faults


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("header", [NOW_MS, FAR_MS, -1])
def test_timestamp_out_of_range_is_detected_despite_the_header(codec: Codec, header: int) -> None:
    with pytest.raises(InvalidTimestamp) as refused:
        checked(timed(NOW_MS, FAR_MS, NOW_MS, codec=codec, max_timestamp=header))
    assert [fault.index for fault in refused.value.faults] == [1]


def test_timestamp_that_wraps_at_64_bits_is_out_of_range() -> None:
    payload = bytes.fromhex("1e 00 feffffffffffffffff01 00 01 01 00")
    with pytest.raises(InvalidTimestamp):
        checked(batch_of(payload, 1, 0, times=(NOW_MS, NOW_MS)))


def test_log_append_time_ignores_the_records_timestamps() -> None:
    stored = checked(timed(FAR_MS, -1, max_timestamp=3), LOG_APPEND)
    assert stored.header.max_timestamp == NOW_MS


_times = st.sampled_from([-1, 0, 1, NOW_MS - 2, NOW_MS - 1, NOW_MS, NOW_MS + 1, NOW_MS + 3_600_001, FAR_MS])


@settings(max_examples=400)
@given(
    st.lists(_times, min_size=1, max_size=RECORDS_READ), _times, _times | st.integers(), codecs, st.booleans()
)
def test_small_batches_are_validated_and_corrected_by_their_records(
    times: list[int], base: int, latest: int, codec: Codec, limited: bool
) -> None:
    """The model is what Apache Kafka does with every batch."""
    rules = BatchRules(timestamp_before_max_ms=NOW_MS - 1) if limited else RULES
    shifted = [at - times[0] + base for at in times]
    batch = timed(*times, codec=codec, base_timestamp=base, max_timestamp=_long(latest))
    oldest = NOW_MS - rules.timestamp_before_max_ms
    faults = [n for n, at in enumerate(shifted) if at != -1 and not oldest <= at <= NOW_MS + 3_600_000]
    if len(batch) - 61 > PACKED_BYTES_READ and codec is not Codec.NONE:
        return
    if not faults:
        stored = checked(batch, rules)
        assert stored.header.max_timestamp == max(-1, *shifted)
        assert crc_holds(bytes(stored.buffer))
        return
    with pytest.raises(InvalidTimestamp) as refused:
        checked(batch, rules)
    assert [fault.index for fault in refused.value.faults] == faults


def _long(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


@given(record_lists(), codecs)
def test_no_valid_batch_is_rejected(records: list[Record], codec: Codec) -> None:
    rules = BatchRules(timestamp_after_max_ms=2**62)
    batch = made(records, codec)
    assert bytes(checked(batch, rules).buffer) == batch
    if all(record.key is not None for record in records):
        assert bytes(checked(batch, BatchRules(timestamp_after_max_ms=2**62, compacted=True)).buffer) == batch


@given(st.binary(max_size=200), st.integers(1, 100), st.sampled_from([RULES, COMPACTED]))
def test_any_bytes_are_accepted_or_rejected(payload: bytes, count: int, rules: BatchRules) -> None:
    for judge in (shallow_validate, validate_records):
        with suppress(InvalidBatch, InvalidTimestamp):  # any other error fails the test
            judge(corrupted(payload, count), rules, NOW_MS)
