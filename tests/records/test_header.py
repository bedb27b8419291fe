"""A header is read where it lies, field by field."""

import pytest

from dray.records import (
    SEQUENCE_MAX,
    BatchHeader,
    CorruptBatch,
    TimestampType,
    claimed_bytes,
    parse_header,
    sequence_after,
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
    with pytest.raises(CorruptBatch, match=f"there are {size} at byte 0"):
        parse_header(memoryview(a_batch()[:size]))


def _header(**fields: int) -> BatchHeader:
    return parse_header(memoryview(a_batch()))._replace(**fields)


def test_attribute_bits() -> None:
    plain = _header(attributes=0)
    assert (plain.codec, plain.is_transactional, plain.is_control) == (0, False, False)
    assert plain.timestamp_type is TimestampType.CREATE
    loaded = _header(attributes=0b111_100)
    assert (loaded.codec, loaded.is_transactional, loaded.is_control) == (4, True, True)
    assert loaded.timestamp_type is TimestampType.LOG_APPEND
    assert _header(attributes=0b010_000).is_transactional
    assert _header(attributes=0b100_000).is_control


def test_sizes_and_offsets() -> None:
    batch = a_batch(count=5)
    header = with_fields(batch, base_offset=100)
    assert parse_header(header).size_bytes == len(batch)
    assert parse_header(header).last_offset == 104


def test_a_producer_is_there_from_id_0_on() -> None:
    assert not _header(producer_id=-1).has_producer
    assert _header(producer_id=0).has_producer


@pytest.mark.parametrize(
    ("base", "steps", "last"),
    [
        (0, 0, 0),
        (10, 4, 14),
        (SEQUENCE_MAX, 0, SEQUENCE_MAX),
        (SEQUENCE_MAX, 1, 0),
        (SEQUENCE_MAX - 1, 4, 2),
    ],
)
def test_sequences_wrap_to_zero(base: int, steps: int, last: int) -> None:
    assert sequence_after(base, steps) == last


@pytest.mark.parametrize("size", [61, 12])
def test_what_a_batch_claims_is_read_from_its_first_bytes(size: int) -> None:
    batch = a_batch()
    assert claimed_bytes(memoryview(batch)[:size]) == len(batch)
    assert claimed_bytes(with_fields_only(batch, batch_length=7)) == 19


def test_a_header_is_given_the_checksum_of_what_follows_it() -> None:
    batch = memoryview(a_batch())
    sound = parse_header(batch)
    assert checksummed(sound._replace(crc=5), batch[61:]) == (sound, bytes(batch[:61]))
    other, head = checksummed(sound, b"other records")
    assert crc_holds(head + b"other records")
    assert parse_header(memoryview(head)) == other == sound._replace(crc=other.crc)
