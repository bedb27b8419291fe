"""Served batches differ from stored ones in their first 16 bytes and nowhere else."""

from hypothesis import given
from hypothesis import strategies as st

from dray.records import Codec, decode_batch, parse_header, served
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


def test_what_was_stored_is_untouched() -> None:
    stored = bytearray(a_batch())
    before = bytes(stored)
    served(memoryview(stored), 10, 1)
    assert stored == before
    assert [record.offset for record in decode_batch(memoryview(stored))] == [0, 1, 2]
