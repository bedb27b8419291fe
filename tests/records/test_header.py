"""Batch headers: parsed in place, and consecutive batches split only at batch boundaries."""

import pytest

from dray.records import (
    BatchHeader,
    CorruptBatch,
    TimestampType,
    claimed_bytes,
    is_intact,
    iter_batches,
    parse_header,
)
from dray.records.header import checksummed
from tests.records.builders import FIELDS, a_batch, crc_holds, with_fields, with_fields_only


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_is_read_from_its_own_bytes(name: str) -> None:
    batch = a_batch()
    before, after = (
        parse_header(memoryview(batch)),
        parse_header(with_fields_only(batch, **{name: 77})),
    )
    assert getattr(after, name) == 77
    assert after == before._replace(**{name: 77})


def test_header_is_read_at_a_position() -> None:
    batch = a_batch()
    assert parse_header(memoryview(b"?????" + batch), 5) == parse_header(memoryview(batch))


@pytest.mark.parametrize("size", [0, 12, 60])
def test_short_bytes_are_corrupt(size: int) -> None:
    with pytest.raises(CorruptBatch, match=f"at byte 0, found {size} bytes"):
        parse_header(memoryview(a_batch()[:size]))


def _header(**fields: int) -> BatchHeader:
    return parse_header(memoryview(a_batch()))._replace(**fields)


def test_attribute_bits_are_parsed() -> None:
    plain = _header(attributes=0)
    assert (plain.codec, plain.is_transactional, plain.is_control) == (0, False, False)
    assert plain.timestamp_type is TimestampType.CREATE
    loaded = _header(attributes=0b111_100)
    assert (loaded.codec, loaded.is_transactional, loaded.is_control) == (4, True, True)
    assert loaded.timestamp_type is TimestampType.LOG_APPEND
    assert _header(attributes=0b010_000).is_transactional
    assert _header(attributes=0b100_000).is_control


def test_sizes_and_offsets_follow_from_the_header() -> None:
    batch = a_batch(count=5)
    header = with_fields(batch, base_offset=100)
    assert parse_header(header).size_bytes == len(batch)
    assert parse_header(header).last_offset == 104


def test_batch_has_a_producer_from_id_0_on() -> None:
    assert not _header(producer_id=-1).has_producer
    assert _header(producer_id=0).has_producer


@pytest.mark.parametrize("size", [61, 12])
def test_claimed_size_is_read_from_the_first_bytes(size: int) -> None:
    batch = a_batch()
    assert claimed_bytes(memoryview(batch)[:size]) == len(batch)
    assert claimed_bytes(with_fields_only(batch, batch_length=7)) == 19


def test_every_flipped_byte_after_the_leader_epoch_is_noticed() -> None:
    batch = a_batch()
    assert is_intact(memoryview(batch))
    for at in (*range(8, 12), *range(16, len(batch))):
        assert not is_intact(memoryview(batch[:at] + bytes([batch[at] ^ 1]) + batch[at + 1 :])), at
    assert not any(is_intact(memoryview(batch[:size])) for size in range(len(batch)))


def test_checksum_covers_the_bytes_after_it() -> None:
    batch = memoryview(a_batch())
    valid = parse_header(batch)
    assert checksummed(valid._replace(crc=5), batch[61:]) == (valid, bytes(batch[:61]))
    other, head = checksummed(valid, b"other records")
    assert crc_holds(head + b"other records")
    assert parse_header(memoryview(head)) == other == valid._replace(crc=other.crc)


BATCHES = [a_batch(1), a_batch(4), a_batch(2)]
RUN = memoryview(b"".join(BATCHES))
ENDS = [len(BATCHES[0]), len(BATCHES[0]) + len(BATCHES[1]), len(RUN)]


def test_batches_are_returned_whole_and_in_order() -> None:
    found = list(iter_batches(RUN))
    assert [bytes(batch) for _, batch in found] == BATCHES
    assert [header.record_count for header, _ in found] == [1, 4, 2]


def test_batches_are_views() -> None:
    (_, batch), *_ = iter_batches(RUN)
    assert batch.obj is RUN.obj


def test_batch_emptied_by_compaction_is_only_a_header() -> None:
    empty = bytes(with_fields(BATCHES[0][:61], batch_length=61 - 12, record_count=0))
    for partial_tail in (False, True):
        found = [bytes(batch) for _, batch in iter_batches(memoryview(empty * 2), partial_tail=partial_tail)]
        assert found == [empty, empty]


def test_complete_last_batch_is_not_a_partial_tail() -> None:
    assert list(iter_batches(RUN, partial_tail=True)) == list(iter_batches(RUN))


def test_no_bytes_give_no_batches() -> None:
    assert list(iter_batches(memoryview(b""))) == []


@pytest.mark.parametrize("cut", [1, 20, 61, len(BATCHES[2]) - 1])
def test_partial_tail_is_corrupt_unless_allowed(cut: int) -> None:
    torn = RUN[: ENDS[1] + cut]
    with pytest.raises(CorruptBatch):
        list(iter_batches(torn))
    assert [bytes(batch) for _, batch in iter_batches(torn, partial_tail=True)] == BATCHES[:2]


@pytest.mark.parametrize("length", [-1, 0, 48, 10_000, 2**31 - 1, -(2**31)])
def test_wrong_lengths_are_corrupt(length: int) -> None:
    lying = with_fields(BATCHES[0], batch_length=length)
    with pytest.raises(CorruptBatch):
        list(iter_batches(lying))
