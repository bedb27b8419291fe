"""Every check of the WAL reader, each with an object that fails only that check."""

import pytest

from dray.formats import wal_v1
from dray.formats.wal_v1 import CorruptWal, UnknownWalVersion
from tests.formats.builders import CREATED_AT_MS, DOMAIN, NAME, WAL_ID, sealed, small_object, with_number

WHOLE = small_object()
INDEX_AT = 72
SECOND_ENTRY_AT = INDEX_AT + 44


def _fault(whole: bytes) -> CorruptWal:
    with pytest.raises(CorruptWal) as caught:
        wal_v1.decode(NAME, whole)
    assert str(caught.value).startswith(f"WAL object {NAME} is corrupt at byte {caught.value.position}: ")
    return caught.value


def test_valid_object_is_decoded() -> None:
    decoded = wal_v1.decode(NAME, WHOLE)
    assert decoded.header == (WAL_ID, DOMAIN, CREATED_AT_MS, 2, INDEX_AT)
    first, second = decoded.chunks
    assert first.entry == (5, 49, 16, 4, 2, CREATED_AT_MS - 50, CREATED_AT_MS + 5)
    assert second.entry == (9, 65, 7, 1, 1, CREATED_AT_MS - 90, CREATED_AT_MS + 9)
    assert [(offset, bytes(batch)) for offset, batch in first.batches] == [(4, b"one"), (11, b"three")]
    assert [(offset, bytes(batch)) for offset, batch in second.batches] == [(4, b"two")]


def test_batches_are_views_of_what_was_read() -> None:
    decoded = wal_v1.decode(NAME, WHOLE)
    assert all(batch.obj is WHOLE for chunk in decoded.chunks for _, batch in chunk.batches)


def test_object_is_read_by_ranges() -> None:
    header = wal_v1.read_header(NAME, WHOLE[:49])
    assert header.size_bytes == len(WHOLE)
    index = WHOLE[header.chunk_index_offset : header.chunk_index_offset + header.chunk_index_length]
    entries = wal_v1.read_chunk_index(NAME, header, index)
    assert [entry.stream for entry in entries] == [5, 9]
    chunk = WHOLE[entries[1].chunk_offset : entries[1].chunk_end]
    assert [bytes(batch) for _, batch in wal_v1.iter_batches(NAME, entries[1], chunk)] == [b"two"]


def test_ranges_of_the_wrong_length_are_rejected() -> None:
    header = wal_v1.read_header(NAME, WHOLE)
    with pytest.raises(CorruptWal, match="88 bytes of index, not 87"):
        wal_v1.read_chunk_index(NAME, header, WHOLE[INDEX_AT:-5])
    entry = wal_v1.decode(NAME, WHOLE).chunks[0].entry
    with pytest.raises(CorruptWal, match="15 bytes of a chunk of 16"):
        list(wal_v1.iter_batches(NAME, entry, WHOLE[49:64]))


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_object_truncated_anywhere_is_corrupt(length: int) -> None:
    fault = _fault(WHOLE[:length])
    assert fault.position == length


def test_object_with_trailing_bytes_is_corrupt() -> None:
    assert "by its header must have" in _fault(WHOLE + b"?").cause


def test_every_flipped_bit_is_found() -> None:
    for bit in range(len(WHOLE) * 8):
        corrupted = bytearray(WHOLE)
        corrupted[bit // 8] ^= 1 << bit % 8
        _fault(bytes(corrupted))


def test_verify_detects_corruption_without_reading_the_batches() -> None:
    assert wal_v1.verify(NAME, WHOLE) == wal_v1.read_header(NAME, WHOLE)
    with pytest.raises(CorruptWal, match="CRC") as caught:
        wal_v1.verify(NAME, WHOLE.replace(b"three", b"threE"))
    assert caught.value.position == len(WHOLE) - 4


def test_unknown_magic_is_rejected() -> None:
    fault = _fault(sealed(b"DRAYWO2" + WHOLE[7:-4]))
    assert (fault.position, type(fault)) == (0, CorruptWal)
    assert "DRAYWO2" in fault.cause


@pytest.mark.parametrize("version", [0, 2, 65535])
def test_unknown_version_is_rejected(version: int) -> None:
    fault = _fault(with_number(WHOLE, 7, ">H", version))
    assert isinstance(fault, UnknownWalVersion)
    assert fault.cause == f"unknown version {version}: written by a newer Dray, or damaged"


def test_object_without_chunks_is_corrupt() -> None:
    empty = WHOLE[:37] + (0).to_bytes(4, "big") + (49).to_bytes(8, "big")
    assert _fault(sealed(empty)).cause == "it has no chunks"


def test_index_inside_the_header_is_corrupt() -> None:
    assert "in the header" in _fault(with_number(WHOLE, 41, ">Q", 48)).cause


@pytest.mark.parametrize("count", [1, 3, 2**32 - 1])
def test_impossible_chunk_counts_are_corrupt(count: int) -> None:
    assert "by its header must have" in _fault(with_number(WHOLE, 37, ">I", count)).cause


@pytest.mark.parametrize("offset", [71, 73, 2**64 - 1])
def test_impossible_index_offsets_are_corrupt(offset: int) -> None:
    assert "by its header must have" in _fault(with_number(WHOLE, 41, ">Q", offset)).cause


@pytest.mark.parametrize("stream", [5, 4, 0])
def test_unsorted_index_is_corrupt(stream: int) -> None:
    fault = _fault(with_number(WHOLE, SECOND_ENTRY_AT, ">Q", stream))
    assert (fault.position, fault.cause) == (
        SECOND_ENTRY_AT,
        f"stream {stream:016x} comes after stream {5:016x}",
    )


@pytest.mark.parametrize("offset", [0, 64, 66, 2**64 - 1])
def test_chunks_that_overlap_or_leave_a_gap_are_corrupt(offset: int) -> None:
    fault = _fault(with_number(WHOLE, SECOND_ENTRY_AT + 8, ">Q", offset))
    assert (fault.position, fault.cause) == (
        SECOND_ENTRY_AT,
        f"stream {9:016x}'s chunk is at {offset}, not at 65",
    )


def test_first_chunk_that_does_not_follow_the_header_is_corrupt() -> None:
    assert "not at 49" in _fault(with_number(WHOLE, INDEX_AT + 8, ">Q", 50)).cause


@pytest.mark.parametrize("length", [6, 8, 2**32 - 1])
def test_last_chunk_that_does_not_end_at_the_index_is_corrupt(length: int) -> None:
    fault = _fault(with_number(WHOLE, SECOND_ENTRY_AT + 16, ">I", length))
    assert fault.cause == f"the chunks end at {65 + length}, the index starts at 72"


@pytest.mark.parametrize("count", [0, 5, 2**32 - 1])
def test_impossible_batch_counts_are_corrupt(count: int) -> None:
    assert (
        f"batches of stream {5:016x} in 16 bytes"
        in _fault(with_number(WHOLE, INDEX_AT + 24, ">I", count)).cause
    )


def test_bytes_left_after_the_last_batch_are_corrupt() -> None:
    fault = _fault(with_number(WHOLE, INDEX_AT + 24, ">I", 1))
    assert (fault.position, fault.cause) == (56, f"9 bytes remain after the 1 batches of stream {5:016x}")


def test_more_batches_than_the_chunk_holds_are_corrupt() -> None:
    fault = _fault(with_number(WHOLE, INDEX_AT + 24, ">I", 3))
    assert (fault.position, fault.cause) == (65, f"stream {5:016x}'s chunk ends in a batch length")


@pytest.mark.parametrize("length", [0, 13, 2**32 - 1])
def test_batches_that_exceed_their_chunk_are_corrupt(length: int) -> None:
    fault = _fault(with_number(WHOLE, 49, ">I", length))
    assert (fault.position, fault.cause) == (
        49,
        f"a batch of stream {5:016x} has length {length}; expected 1 to 12",
    )
