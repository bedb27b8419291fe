"""Served batches differ from stored ones in their first 16 bytes and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.records import (
    Codec,
    CorruptBatch,
    decode_batch,
    iter_batches,
    parse_header,
    served,
    served_together,
)
from tests.records.builders import a_batch, crc_holds
from tests.records.strategies import codecs

BASE_OFFSETS = st.integers(0, 2**63 - 10)
EPOCHS = st.integers(-1, 2**31 - 1)


@given(BASE_OFFSETS, EPOCHS, codecs)
def test_a_served_batch_has_its_offsets_and_a_good_crc(base_offset: int, epoch: int, codec: Codec) -> None:
    stored = a_batch(codec=codec)
    head, rest = served(memoryview(stored), base_offset, epoch)
    batch = head + rest
    assert len(head) == 16
    assert rest.obj is stored
    assert crc_holds(batch)
    assert parse_header(memoryview(batch)) == parse_header(memoryview(stored))._replace(
        base_offset=base_offset, leader_epoch=epoch
    )
    offsets = [record.offset for record in decode_batch(memoryview(batch))]
    assert offsets == [base_offset, base_offset + 1, base_offset + 2]


def test_many_batches_of_a_chunk_are_served_as_one_buffer() -> None:
    stored = [a_batch(count) for count in (1, 5, 2)]
    chunk = memoryview(b"----".join([b"", *stored]))
    starts = [4, 8 + len(stored[0]), 12 + len(stored[0]) + len(stored[1])]
    wanted = [(starts[0], len(stored[0]), 1000), (starts[2], len(stored[2]), 1006)]
    together = served_together(chunk, wanted, leader_epoch=3)
    apart = [b"".join(served(chunk[start : start + length], offset, 3)) for start, length, offset in wanted]
    assert together == b"".join(apart)
    headers = [header for header, batch in iter_batches(memoryview(together)) if crc_holds(bytes(batch))]
    assert [(header.base_offset, header.leader_epoch) for header in headers] == [(1000, 3), (1006, 3)]


@pytest.mark.parametrize(("start", "length"), [(1, 0), (0, 1), (500, 0)])
def test_batches_that_do_not_lie_in_the_chunk_are_not_served(start: int, length: int) -> None:
    batch = a_batch()
    with pytest.raises(CorruptBatch, match="lie in the chunk"):
        served_together(memoryview(batch), [(start, len(batch) + length, 0)], 0)


def test_serving_nothing_gives_nothing() -> None:
    assert served_together(memoryview(b"chunk"), [], 0) == b""


def test_what_was_stored_is_untouched() -> None:
    stored = bytearray(a_batch())
    before = bytes(stored)
    served(memoryview(stored), 10, 1)
    served_together(memoryview(stored), [(0, len(stored), 10)], 1)
    assert stored == before
    assert [record.offset for record in decode_batch(memoryview(stored))] == [0, 1, 2]
