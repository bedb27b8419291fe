"""Served batches, which differ from stored ones in their first 16 bytes only, and empty batches."""

from hypothesis import given
from hypothesis import strategies as st

from dray.records import EMPTY_BATCH_SPAN_MAX, Codec, decode_batch, empty_batch, parse_header, with_offsets
from tests.records.builders import a_batch, crc_holds
from tests.records.strategies import codecs

BASE_OFFSETS = st.integers(0, 2**63 - 10)
EPOCHS = st.integers(-1, 2**31 - 1)


@given(BASE_OFFSETS, EPOCHS, codecs)
def test_served_batch_has_its_offsets_and_a_valid_crc(base_offset: int, epoch: int, codec: Codec) -> None:
    stored = a_batch(codec=codec)
    head, rest = with_offsets(memoryview(stored), base_offset, epoch)
    batch = head + rest
    assert len(head) == 16
    assert rest.obj is stored
    assert crc_holds(batch)
    assert parse_header(memoryview(batch)) == parse_header(memoryview(stored))._replace(
        base_offset=base_offset, leader_epoch=epoch
    )
    offsets = [record.offset for record in decode_batch(memoryview(batch))]
    assert offsets == [base_offset, base_offset + 1, base_offset + 2]


def test_stored_batch_is_not_modified() -> None:
    stored = bytearray(a_batch())
    before = bytes(stored)
    with_offsets(memoryview(stored), 10, 1)
    assert stored == before
    assert [record.offset for record in decode_batch(memoryview(stored))] == [0, 1, 2]


@given(BASE_OFFSETS, st.integers(0, 2**31 - 1), EPOCHS)
def test_empty_batch_covers_its_offsets_and_has_no_records(base: int, span: int, epoch: int) -> None:
    batch = empty_batch(base, base + span, epoch)
    header = parse_header(memoryview(batch))
    assert (header.base_offset, header.last_offset_delta, header.leader_epoch) == (base, span, epoch)
    assert header.last_offset_delta < EMPTY_BATCH_SPAN_MAX
    assert crc_holds(batch)
    assert decode_batch(memoryview(batch)) == []
