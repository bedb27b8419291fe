"""Timestamps set by the broker, which change the header and the CRC, but not the payload."""

from hypothesis import given
from hypothesis import strategies as st

from dray.records import Codec, TimestampType, create_time, decode_batch, log_append_time, parse_header
from tests.records.builders import NOW_MS, a_batch, crc_holds, stamped_batch
from tests.records.strategies import codecs


@given(st.integers(0, 2**62), codecs)
def test_log_append_time_changes_the_header_only(now_ms: int, codec: Codec) -> None:
    stored = a_batch(codec=codec, producer_id=9, base_sequence=4)
    before = parse_header(memoryview(stored))
    stamped = log_append_time(memoryview(stored), before, now_ms)
    batch = stamped.head + stamped.payload
    assert stamped.payload.obj is stored
    assert crc_holds(batch)
    assert stamped.header == before._replace(
        attributes=before.attributes | 8, max_timestamp=now_ms, crc=stamped.header.crc
    )
    assert {record.timestamp for record in decode_batch(memoryview(batch))} == {now_ms}


def test_create_time_restores_the_records_own_timestamps() -> None:
    stored = memoryview(stamped_batch(5))
    stamped = create_time(stored, parse_header(stored), NOW_MS + 2)
    batch = stamped.head + stamped.payload
    assert crc_holds(batch)
    assert stamped.header.timestamp_type is TimestampType.CREATE
    assert stamped.header.max_timestamp == NOW_MS + 2
    assert [record.timestamp for record in decode_batch(memoryview(batch))] == [
        NOW_MS,
        NOW_MS + 1,
        NOW_MS + 2,
    ]
