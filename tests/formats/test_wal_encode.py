"""Layout of encoded WAL objects, byte by byte, and the input that is rejected."""

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import Buffer

from dray.formats import wal_v1
from dray.ids import MetaDomain, StreamId, WalId
from tests.formats.builders import CREATED_AT_MS, DOMAIN, NAME, WAL_ID, draft, encoded, joined, small_object


def test_small_object_has_the_documented_layout() -> None:
    expected = bytes.fromhex(
        "44 52 41 59 57 4f 31  00 01"  # DRAYWO1, version 1
        "10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f"  # WAL id
        "00 00 00 03  00 00 01 8b cf e5 68 00"  # domain, created at
        "00 00 00 02  00 00 00 00 00 00 00 48"  # chunks, where their index is
        "00 00 00 03 6f 6e 65  00 00 00 05 74 68 72 65 65"  # stream 5: one, three
        "00 00 00 03 74 77 6f"  # stream 9: two
        "00 00 00 00 00 00 00 05  00 00 00 00 00 00 00 31  00 00 00 10  00 00 00 04  00 00 00 02"
        "00 00 01 8b cf e5 67 ce  00 00 01 8b cf e5 68 05"
        "00 00 00 00 00 00 00 09  00 00 00 00 00 00 00 41  00 00 00 07  00 00 00 01  00 00 00 01"
        "00 00 01 8b cf e5 67 a6  00 00 01 8b cf e5 68 09"
    )
    assert small_object() == expected + crc32c(expected).to_bytes(4, "big")


def test_batches_are_not_copied() -> None:
    batches: list[Buffer] = [bytearray(b"first"), memoryview(b"second"), b"third"]
    chunk = wal_v1.ChunkDraft(StreamId(1), batches, 3, 0, 0)
    parts = wal_v1.encode(WAL_ID, DOMAIN, CREATED_AT_MS, [chunk]).parts
    assert [id(part) for part in parts[2:7:2]] == [id(batch) for batch in batches]


def test_places_point_at_the_batches() -> None:
    result = encoded(draft(9, b"ninth"), draft(2, b"second", b"2nd", b"zwei"))
    whole = joined(result)
    assert result.size_bytes == len(whole)
    assert [chunk.stream for chunk in result.chunks] == [2, 9]
    found = {}
    for chunk in result.chunks:
        body = whole[chunk.chunk_offset : chunk.chunk_offset + chunk.chunk_length]
        found[chunk.stream] = [body[offset : offset + 3] for offset in chunk.batch_offsets]
    assert found == {2: [b"sec", b"2nd", b"zwe"], 9: [b"nin"]}


def test_drafts_may_come_in_any_order() -> None:
    drafts = [draft(stream, b"%d" % stream) for stream in (7, 1, 2**64 - 1, 0)]
    assert joined(encoded(*drafts)) == joined(encoded(*reversed(drafts)))


def test_invalid_drafts_are_rejected() -> None:
    with pytest.raises(ValueError, match="16 bytes, not 3"):
        wal_v1.encode(WalId(b"abc"), MetaDomain(0), 0, [draft(1, b"x")])
    with pytest.raises(ValueError, match="at least one chunk"):
        encoded()
    with pytest.raises(ValueError, match=f"stream {4:016x} has no batch"):
        encoded(draft(4))
    with pytest.raises(ValueError, match=f"stream {4:016x} has an empty batch"):
        encoded(draft(4, b"x", b""))
    with pytest.raises(ValueError, match=f"stream {4:016x} has more than one chunk"):
        encoded(draft(4, b"x"), draft(5, b"y"), draft(4, b"z"))


def test_chunk_of_4_gib_is_rejected() -> None:
    half_gib = bytes(2**29)  # never touched, so it takes no memory
    with pytest.raises(ValueError, match=f"stream {4:016x} has {8 * (2**29 + 4)} bytes, at most 4294967295"):
        encoded(draft(4, *[half_gib] * 8))


drafts = st.dictionaries(
    st.integers(0, 2**64 - 1),
    st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=5),
    min_size=1,
    max_size=5,
)


@given(
    st.binary(min_size=16, max_size=16), st.integers(0, 2**32 - 1), st.integers(-(2**63), 2**63 - 1), drafts
)
def test_round_trip(wal_id: bytes, domain: int, created_at_ms: int, batches: dict[int, list[bytes]]) -> None:
    chunks = [draft(stream, *of_stream, record_count=stream % 2**32) for stream, of_stream in batches.items()]
    chunks = [
        wal_v1.ChunkDraft(chunk.stream, chunk.batches, chunk.record_count, -1, 2**63 - 1) for chunk in chunks
    ]
    result = wal_v1.encode(WalId(wal_id), MetaDomain(domain), created_at_ms, chunks)
    decoded = wal_v1.decode(NAME, joined(result))
    assert decoded.header[:3] == (wal_id, domain, created_at_ms)
    assert {
        chunk.entry.stream: [bytes(batch) for _, batch in chunk.batches] for chunk in decoded.chunks
    } == batches
    for chunk, placed in zip(decoded.chunks, result.chunks, strict=True):
        assert chunk.entry[:3] == (placed.stream, placed.chunk_offset, placed.chunk_length)
        assert chunk.entry.record_count == placed.stream % 2**32
        assert (chunk.entry.min_timestamp_ms, chunk.entry.max_timestamp_ms) == (-1, 2**63 - 1)
        assert tuple(offset for offset, _ in chunk.batches) == placed.batch_offsets
