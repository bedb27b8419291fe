"""Validation of batches: invalid ones are rejected in Kafka's order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.records import (
    BatchRules,
    BatchTooLarge,
    Codec,
    CorruptBatch,
    InvalidBatch,
    InvalidTimestamp,
    RecordError,
    TimestampType,
    UnsupportedCodec,
    decode_batch,
    validate,
)
from dray.records.header import parse_header
from tests.records.builders import NOW_MS, a_batch, crc_holds, stamped_batch, with_fields

RULES = BatchRules()
LOG_APPEND = BatchRules(timestamp_type=TimestampType.LOG_APPEND)
BATCH = a_batch()


def _error(
    records: bytes | memoryview, rules: BatchRules = RULES, now_ms: int = NOW_MS
) -> type[RecordError] | None:
    try:
        validate(memoryview(records), rules, now_ms)
    except RecordError as error:
        return type(error)
    return None


def test_valid_batch_is_accepted_unchanged() -> None:
    view = memoryview(BATCH)
    valid = validate(view, RULES, NOW_MS)
    assert valid.header == parse_header(view)
    assert valid.append_time_ms == -1
    assert memoryview(valid.buffer).obj is BATCH
    assert bytes(valid.buffer) == BATCH


def test_error_names_the_expected_and_the_actual_value() -> None:
    with pytest.raises(RecordError, match="base offset 9 was sent; it must be 0") as caught:
        validate(with_fields(BATCH, base_offset=9), RULES, NOW_MS)
    assert caught.value.message == str(caught.value)
    assert caught.value.faults == ()


@pytest.mark.parametrize("codec", Codec)
def test_every_codec_is_accepted(codec: Codec) -> None:
    assert _error(a_batch(codec=codec)) is None


def test_batch_of_one_record_is_accepted() -> None:
    assert _error(a_batch(1)) is None


def test_idempotent_batches_are_accepted() -> None:
    assert _error(a_batch(producer_id=7, base_sequence=0)) is None


@pytest.mark.parametrize("length", [13, 0, -5, -(2**31)])
def test_length_below_14_is_corrupt(length: int) -> None:
    assert _error(with_fields(BATCH, batch_length=length)) is CorruptBatch


def test_short_length_is_detected_from_the_first_bytes() -> None:
    assert _error(with_fields(BATCH, batch_length=13)[:12]) is CorruptBatch
    assert _error(with_fields(BATCH, batch_length=13)[:11]) is InvalidBatch


def test_length_of_14_fails_a_later_check() -> None:
    assert _error(with_fields(BATCH, batch_length=14, base_offset=1)[:26]) is InvalidBatch
    assert _error(with_fields(BATCH, batch_length=14)[:26]) is CorruptBatch


@pytest.mark.parametrize("magic", [3, 127, -1])
def test_unknown_magic_is_corrupt(magic: int) -> None:
    assert _error(with_fields(BATCH, magic=magic)) is CorruptBatch


@pytest.mark.parametrize("magic", [0, 1])
def test_old_magic_is_invalid(magic: int) -> None:
    assert _error(with_fields(BATCH, magic=magic)) is InvalidBatch


@pytest.mark.parametrize("size", [0, 11, 12, 16, 17, 60, 61, len(BATCH) - 1])
def test_incomplete_batch_is_invalid(size: int) -> None:
    assert _error(BATCH[:size]) is InvalidBatch


def test_two_batches_are_invalid() -> None:
    assert _error(BATCH + BATCH) is InvalidBatch


@pytest.mark.parametrize("tail", [b"?", BATCH[:11], BATCH[:30], BATCH[:-1]])
def test_incomplete_second_batch_is_ignored(tail: bytes) -> None:
    assert bytes(validate(memoryview(BATCH + tail), RULES, NOW_MS).buffer) == BATCH


def test_corrupt_second_batch_is_corrupt() -> None:
    assert _error(BATCH + bytes(with_fields(BATCH, batch_length=3))) is CorruptBatch


def test_zstd_needs_a_newer_produce() -> None:
    old = BatchRules(zstd_allowed=False)
    assert _error(a_batch(codec=Codec.ZSTD), old) is UnsupportedCodec
    assert _error(a_batch(codec=Codec.LZ4), old) is None


def test_base_offset_other_than_0_is_invalid() -> None:
    assert _error(with_fields(BATCH, base_offset=1)) is InvalidBatch


def test_size_limit_counts_the_whole_batch() -> None:
    assert _error(BATCH, BatchRules(max_message_bytes=len(BATCH))) is None
    assert _error(BATCH, BatchRules(max_message_bytes=len(BATCH) - 1)) is BatchTooLarge


def test_batch_shorter_than_its_header_is_corrupt() -> None:
    short = bytearray(BATCH[:60])
    short[8:12] = (60 - 12).to_bytes(4, "big")
    assert _error(bytes(short)) is CorruptBatch


@given(st.integers(17 * 8, len(BATCH) * 8 - 1))
def test_any_flipped_bit_under_the_crc_is_corrupt(bit: int) -> None:
    corrupted = bytearray(BATCH)
    corrupted[bit // 8] ^= 1 << bit % 8
    assert _error(bytes(corrupted)) is CorruptBatch


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codecs_are_unsupported(codec: int) -> None:
    assert _error(with_fields(BATCH, attributes=codec)) is UnsupportedCodec


@pytest.mark.parametrize(
    ("count", "delta", "message"),
    [
        (0, -1, "delta -1 is negative"),
        (3, -1, "delta -1 is negative"),
        (-1, -2, "delta -2 is negative"),
        (0, 0, "record count 0"),
        (-(2**31), 2**31 - 1, "record count -2147483648"),
        (3, 3, "3 records cannot have last offset delta 3"),
        (3, 1, "3 records cannot have last offset delta 1"),
        (2**31 - 1, 2, "2147483647 records cannot"),
    ],
)
def test_counts_that_do_not_agree_are_invalid(count: int, delta: int, message: str) -> None:
    with pytest.raises(InvalidBatch, match=message):
        validate(with_fields(BATCH, record_count=count, last_offset_delta=delta), RULES, NOW_MS)


def test_control_batches_are_invalid() -> None:
    assert _error(with_fields(BATCH, attributes=0x20)) is InvalidBatch


def test_producer_needs_a_sequence() -> None:
    assert _error(with_fields(BATCH, producer_id=0, base_sequence=-1)) is InvalidBatch
    assert _error(with_fields(BATCH, producer_id=0, base_sequence=0)) is None


@pytest.mark.parametrize(
    ("spoils", "error"),
    [
        ({"batch_length": 3, "magic": 9}, CorruptBatch),
        ({"magic": 1, "base_offset": 5}, InvalidBatch),
        ({"base_offset": 5, "crc": 0}, InvalidBatch),
        ({"crc": 0, "record_count": 0}, CorruptBatch),
        ({"attributes": 7, "record_count": 0}, UnsupportedCodec),
        ({"record_count": 0, "max_timestamp": NOW_MS * 2}, InvalidBatch),
    ],
)
def test_first_error_in_kafkas_order_is_returned(spoils: dict[str, int], error: type[RecordError]) -> None:
    assert _error(with_fields(BATCH, **spoils)) is error


def test_size_is_checked_after_the_base_offset_and_before_the_crc() -> None:
    small = BatchRules(max_message_bytes=10)
    assert _error(with_fields(BATCH, crc=0), small) is BatchTooLarge
    assert _error(with_fields(BATCH, base_offset=1), small) is InvalidBatch


def test_log_append_time_is_set_by_the_broker() -> None:
    valid = validate(memoryview(BATCH), LOG_APPEND, NOW_MS + 77)
    batch = bytes(valid.buffer)
    assert valid.append_time_ms == NOW_MS + 77
    assert valid.header == parse_header(memoryview(batch))
    assert crc_holds(batch)
    assert {record.timestamp for record in decode_batch(memoryview(batch))} == {NOW_MS + 77}


def test_log_append_time_ignores_the_producers_clock() -> None:
    assert _error(with_fields(BATCH, max_timestamp=NOW_MS * 3), LOG_APPEND) is None


def test_producer_may_not_set_log_append_time() -> None:
    assert _error(stamped_batch(NOW_MS), LOG_APPEND) is InvalidTimestamp


def test_log_append_time_of_a_producer_is_removed_on_a_create_time_topic() -> None:
    valid = validate(memoryview(stamped_batch(NOW_MS + 2)), RULES, NOW_MS)
    batch = bytes(valid.buffer)
    assert valid.header.timestamp_type is TimestampType.CREATE
    assert valid.append_time_ms == -1
    assert crc_holds(batch)
    assert [record.timestamp for record in decode_batch(memoryview(batch))] == [
        NOW_MS,
        NOW_MS + 1,
        NOW_MS + 2,
    ]


def test_log_append_time_without_a_timestamp_is_rejected() -> None:
    assert _error(stamped_batch(-1)) is InvalidTimestamp
