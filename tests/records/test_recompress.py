"""Recompression: the records are kept, the header is updated, and the size is bounded."""

from dataclasses import replace
from hashlib import sha256

import pytest

from dray.records import (
    HEADER_BYTES,
    BatchRules,
    BatchTooLarge,
    Codec,
    Compression,
    InvalidBatch,
    Record,
    TimestampType,
    ValidBatch,
    compress,
    decode_batch,
    decompress,
    encode_batch,
    parse_header,
    recompressed,
    validate,
)
from dray.records.shallow_validate import PLAIN_BYTES_MAX
from tests.records.builders import NOW_MS, a_batch
from tests.records.deviations import LARGE, OFFSET_DELTAS, SMALL, THREE, TIME_MS, Deviation

PLENTY = 1 << 20
RULES = BatchRules()
WORDS = [sha256(b"%d" % number).digest()[:9] for number in range(500)]
WORDY = encode_batch(
    [Record(number, NOW_MS, None, WORDS[number * number % 499] * 3) for number in range(3000)]
)


def valid(codec: Codec, rules: BatchRules = RULES) -> ValidBatch:
    batch = a_batch(5, codec=codec, producer_id=9, base_sequence=3)
    return validate(memoryview(batch), rules, NOW_MS)


@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("target", list(Codec))
def test_records_stay_the_same(source: Codec, target: Codec) -> None:
    before = valid(source)
    after = recompressed(before, Compression(target), PLENTY)
    whole = memoryview(after.buffer)
    assert decode_batch(whole) == decode_batch(memoryview(before.buffer)), "it also checks length and CRC"
    assert parse_header(whole) == after.header
    assert after.header.codec == target
    kept = {"batch_length", "crc", "attributes"}
    for name in set(after.header._fields) - kept:
        assert getattr(after.header, name) == getattr(before.header, name)


@pytest.mark.parametrize("deviation", OFFSET_DELTAS, ids=str)
def test_records_get_the_offsets_of_their_order_as_in_kafka(deviation: Deviation) -> None:
    for before in (SMALL, LARGE):
        received = validate(memoryview(deviation.batch(Codec.LZ4, before)), RULES, TIME_MS + 60_000)
        after = recompressed(received, Compression(Codec.GZIP), PLENTY)
        values = [record.value for record in decode_batch(memoryview(received.buffer))]
        read = decode_batch(memoryview(after.buffer))
        assert [(record.offset, record.value) for record in read] == list(enumerate(values))
        assert [record.timestamp for record in read[before:]] == [TIME_MS + ms for ms in (0, 1000, 2000)]


def test_unreadable_records_with_other_offsets_stay_as_they_are() -> None:
    records = [replace(one, offset_delta=7, left_over=b"zz") for one in THREE]
    batch = Deviation("", records).batch()
    after = recompressed(
        validate(memoryview(batch), RULES, TIME_MS + 60_000), Compression(Codec.ZSTD), PLENTY
    )
    assert decompress(Codec.ZSTD, after.payload, PLENTY) == batch[HEADER_BYTES:]


@pytest.mark.parametrize("level", [None, 9])
def test_batch_already_in_the_codec_is_unchanged(level: int | None) -> None:
    batch = valid(Codec.ZSTD)
    assert recompressed(batch, Compression(Codec.ZSTD, level), 1) is batch


@pytest.mark.parametrize(
    ("codec", "levels"),
    [(Codec.GZIP, (1, 6)), (Codec.LZ4, (9, 1, 4)), (Codec.ZSTD, (-50, 1, 19))],
)
def test_higher_level_compresses_better(codec: Codec, levels: tuple[int, ...]) -> None:
    before = validate(memoryview(WORDY), RULES, NOW_MS)
    packed = [recompressed(before, Compression(codec, level), PLENTY) for level in levels]
    sizes = [batch.header.size_bytes for batch in packed]
    assert sizes == sorted(set(sizes), reverse=True)
    for batch in packed:
        assert decode_batch(memoryview(batch.buffer)) == decode_batch(memoryview(WORDY))


@pytest.mark.parametrize(
    ("codec", "usual"), [(Codec.GZIP, 6), (Codec.GZIP, -1), (Codec.LZ4, 9), (Codec.ZSTD, 3)]
)
def test_default_level_is_used_without_one(codec: Codec, usual: int) -> None:
    before = validate(memoryview(WORDY), RULES, NOW_MS)
    plainly = recompressed(before, Compression(codec), PLENTY)
    assert plainly == recompressed(before, Compression(codec, usual), PLENTY)


def test_log_append_time_is_kept() -> None:
    rules = BatchRules(timestamp_type=TimestampType.LOG_APPEND)
    after = recompressed(valid(Codec.NONE, rules), Compression(Codec.LZ4), PLENTY)
    assert (after.append_time_ms, after.header.max_timestamp) == (NOW_MS, NOW_MS)
    assert after.header.timestamp_type is TimestampType.LOG_APPEND


def test_batch_that_becomes_too_large_is_rejected() -> None:
    batch = valid(Codec.ZSTD)
    plain = recompressed(batch, Compression(Codec.NONE), PLENTY).header.size_bytes
    assert recompressed(batch, Compression(Codec.NONE), plain).header.size_bytes == plain
    with pytest.raises(BatchTooLarge, match=str(plain)):
        recompressed(batch, Compression(Codec.NONE), plain - 1)


def _with_payload(codec: Codec, payload: bytes) -> ValidBatch:
    header = valid(codec).header
    return ValidBatch(header, (bytes(61), payload), -1)


def test_corrupt_bytes_are_rejected() -> None:
    with pytest.raises(InvalidBatch, match="gzip"):
        recompressed(_with_payload(Codec.GZIP, b"no gzip"), Compression(Codec.ZSTD), PLENTY)


def test_decompression_bomb_is_limited() -> None:
    bomb = compress(Codec.ZSTD, bytes(PLAIN_BYTES_MAX + 1))
    assert len(bomb) < 10_000
    with pytest.raises(BatchTooLarge, match="once decompressed"):
        recompressed(_with_payload(Codec.ZSTD, bomb), Compression(Codec.LZ4), PLENTY)
