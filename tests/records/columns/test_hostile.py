"""Decoding of any bytes: the oracle's rows or an error that names the batch, in bounded memory."""

import gc
import random
import tracemalloc
from struct import pack_into

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.records import CorruptBatch, InvalidBatch, RecordError, encode_batch
from dray.records.columns import DamagedBatch, OversizedBatch, StoredBatch, UnconvertibleBatch, decode
from dray.records.raw import RawRecord, write_record
from tests.records.builders import a_batch, some_records, with_fields, with_fields_only
from tests.records.columns.oracle import LIMIT_BYTES, Row, rows_in, rows_of
from tests.records.columns.strategies import batch_of, stored_batches

VALID = StoredBatch(0, a_batch(2))


def _decoded(batches: list[StoredBatch]) -> list[Row] | None:
    try:
        return rows_in(decode(0, batches, plain_bytes_max=LIMIT_BYTES))
    except (DamagedBatch, UnconvertibleBatch) as error:
        return None if f"offset {error.base_offset}" in error.message else []


@st.composite
def mutated_payloads(draw: st.DrawFn) -> bytes:
    """The records of a valid batch with bytes changed, removed or added, under a matching header."""
    payload = bytearray()
    for record in draw(_raw_lists):
        write_record(payload, record)
    for _ in range(draw(st.integers(1, 4))):
        if payload:
            payload[draw(st.integers(0, len(payload) - 1))] = draw(
                st.sampled_from(_NASTY) | st.integers(0, 255)
            )
    end = draw(st.integers(0, len(payload))) if draw(st.booleans()) else len(payload)
    return bytes(payload[:end]) + draw(st.binary(max_size=5))


def _view(data: bytes) -> memoryview:
    return memoryview(data)


_NASTY = [0, 1, 2, 0x7E, 0x7F, 0x80, 0xFE, 0xFF]
_views = st.binary(max_size=8).map(_view)
_small = st.none() | _views
_raw_lists = st.lists(
    st.builds(
        RawRecord,
        st.integers(-3, 3),
        st.integers(0, 3),
        _small,
        _small,
        st.lists(st.tuples(_views, _small), max_size=2).map(tuple),
        st.just(0) | st.integers(0, 255),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=600)
@given(mutated_payloads(), st.integers(-2, 6), st.integers(-1, 6))
def test_mutated_records_are_decoded_or_rejected_like_the_oracle(
    payload: bytes, count: int, span: int
) -> None:
    batches = [StoredBatch(40, batch_of(payload, count, span))]
    assert _decoded(batches) == rows_of(0, batches)


@pytest.mark.slow
@settings(max_examples=300)
@given(stored_batches(), st.data())
def test_mutated_batches_are_decoded_or_rejected_like_the_oracle(
    batch: StoredBatch, data: st.DataObject
) -> None:
    corrupted = bytearray(batch.buffer)
    for _ in range(data.draw(st.integers(1, 4))):
        corrupted[data.draw(st.integers(0, len(corrupted) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        corrupted = bytearray(with_fields(bytes(corrupted), batch_length=len(corrupted) - 12))
    batches = [StoredBatch(batch.base_offset, bytes(corrupted))]
    assert _decoded(batches) == rows_of(0, batches)


def test_thousands_of_mutations_agree_with_the_oracle() -> None:
    """Thousands of seeded inputs, mainly to check that the process survives."""
    chance = random.Random(2026)
    payload = encode_batch(some_records(6, value_bytes=9))[61:]
    outcomes = {True: 0, False: 0}
    for _ in range(4000):
        corrupted = bytearray(payload)
        for _ in range(chance.randint(1, 3)):
            corrupted[chance.randrange(len(corrupted))] = chance.choice([*_NASTY, chance.randrange(256)])
        batches = [StoredBatch(0, batch_of(bytes(corrupted), 6, 5))]
        found = _decoded(batches)
        assert found == rows_of(0, batches)
        outcomes[found is None] += 1
    assert min(outcomes.values()) > 200


LONGEST = bytes([0xFE, 0xFF, 0xFF, 0xFF, 0x0F])  # 2^31 - 1 as a varint
FAULTS = [
    (b"\x0e" + bytes(6), 1, "exceeds the batch"),
    (b"\x01" + bytes(8), 1, "negative"),
    (b"\xff\xff\xff\xff\xff\x0f" + bytes(3), 1, "is malformed"),
    (b"\x0c\x00\x00\x00" + LONGEST[:3], 1, "a field exceeds the record"),
    (b"\x14\x00\x00\x00" + LONGEST + bytes(2), 1, "a field exceeds the record"),
    (b"\x16\x00\x00\x00\x01\x01" + LONGEST + b"\x00", 1, "header count"),
    (b"\x0e\x00\x00\x00\x01\x01\x01\x00", 1, "header count"),
    (b"\x10\x00\x00\x00\x01\x01\x02\x01\x01", 1, "header key is null"),
    (b"\x0e\x00\x00\x00\x01\x01\x00\x00", 1, "do not add up to its length"),
    (b"\x0c\x00\x00\x00\x01\x01\x00\x00", 1, "bytes remain"),
    (b"\x0c\x00\x00\x08\x01\x01\x00", 1, "offset delta"),
    (b"\x0c\x00\x00\x01\x01\x01\x00", 1, "offset delta"),
    (b"\x0c\x00\x00\x02\x01\x01\x00" * 2, 2, "record 1: its offset delta"),
    (b"\x1a\x00\x00\x00\x01\x0e\x30\x30\x30\x30\x30\x30\x30\x00", 2, "fewer records than the header counts"),
]


@pytest.mark.parametrize(("payload", "count", "message"), FAULTS)
def test_each_invalid_record_is_reported(payload: bytes, count: int, message: str) -> None:
    batches = [VALID, StoredBatch(900, batch_of(payload, count, 1))]
    with pytest.raises(UnconvertibleBatch, match=message) as caught:
        list(decode(0, batches))
    assert caught.value.base_offset == 900
    assert isinstance(caught.value, InvalidBatch)
    assert rows_of(0, batches) is None


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (a_batch()[:60], "expected a 61-byte batch header"),
        (a_batch()[:-1], "has length"),
        (a_batch() + b"\0", "has length"),
        (bytes(with_fields_only(a_batch(), record_count=2)), "CRC"),
        (with_fields(a_batch(), magic=1), "format 1"),
    ],
)
def test_corruption_is_distinguished_from_invalid_records(buffer: bytes, message: str) -> None:
    with pytest.raises(DamagedBatch, match=message) as caught:
        list(decode(0, [VALID, StoredBatch(12, buffer)]))
    assert caught.value.base_offset == 12
    assert isinstance(caught.value, CorruptBatch)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"attributes": 6}, "codec 6"),
        ({"attributes": 4}, "zstd"),
        ({"record_count": -1}, "counts -1 records"),
        ({"record_count": 2**31 - 1}, "counts 2147483647 records"),
    ],
)
def test_batches_that_cannot_be_decompressed_are_unconvertible(fields: dict[str, int], message: str) -> None:
    with pytest.raises(UnconvertibleBatch, match=message):
        list(decode(0, [StoredBatch(0, with_fields(a_batch(), **fields))]))


def test_chunks_before_the_invalid_batch_are_returned() -> None:
    batches = [VALID, VALID._replace(base_offset=2), StoredBatch(4, batch_of(b"\x0e", 1, 0))]
    seen: list[int] = []
    with pytest.raises(RecordError, match="offset 4"):
        seen.extend(chunk.num_rows for chunk in decode(0, batches, chunk_bytes=1))
    assert seen == [2, 2]


def test_decompression_bomb_is_limited() -> None:
    bomb = encode_batch([some_records(1, value_bytes=8 << 20)[0]], codec=4)
    with pytest.raises(OversizedBatch, match="more than 65536 bytes"):
        list(decode(0, [StoredBatch(0, bomb)], plain_bytes_max=1 << 16))


def test_impossible_counts_allocate_nothing() -> None:
    payload = bytearray(encode_batch(some_records(1))[61:])
    many = [StoredBatch(0, batch_of(bytes(payload), count, count - 1)) for count in (4, 2**31 - 1)]
    gc.collect()  # reference cycles of earlier tests
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        assert [_decoded([batch]) for batch in many] == [None, None]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000
    assert pa.total_allocated_bytes() == before


def test_extreme_lengths_are_only_compared() -> None:
    """A record of the maximum length, which exceeds the buffer."""
    payload = bytearray(LONGEST + bytes(60))
    pack_into(">q", payload, 8, 2**63 - 1)
    assert _decoded([StoredBatch(0, batch_of(bytes(payload), 1, 0))]) is None
