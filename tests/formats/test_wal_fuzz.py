"""WAL reader on any bytes: an object or `CorruptWal`, in bounded memory."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.formats import wal_v1
from tests.formats.builders import NAME, sealed, small_object, with_number

WHOLE = small_object()


def _decodes(whole: bytes) -> bool:
    try:
        wal_v1.decode(NAME, whole)
    except wal_v1.CorruptWal:
        return False
    return True


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_corrupt(data: bytes) -> None:
    assert not _decodes(data)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_after_a_valid_header_are_corrupt(data: bytes) -> None:
    assert not _decodes(sealed(WHOLE[:41] + data))


@settings(max_examples=500)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 5), st.integers(0, 255)), min_size=1, max_size=4))
def test_mutations_with_a_valid_crc(mutations: list[tuple[int, int]]) -> None:
    corrupted = bytearray(WHOLE[:-4])
    for at, value in mutations:
        corrupted[at] = value
    whole = sealed(bytes(corrupted))
    if _decodes(whole):
        # Only fields that the format does not validate may differ: ids, times, record counts, the batches.
        lengths = [[len(batch) for _, batch in chunk.batches] for chunk in wal_v1.decode(NAME, whole).chunks]
        assert sum(map(sum, lengths)) == 11


@pytest.mark.parametrize(
    ("at", "code"), [(37, ">I"), (41, ">Q"), (72 + 16, ">I"), (72 + 24, ">I"), (49, ">I")]
)
def test_claimed_sizes_are_not_allocated(at: int, code: str) -> None:
    corrupted = with_number(WHOLE, at, code, 2**31 - 1)
    tracemalloc.start()
    try:
        assert not _decodes(corrupted)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000
