"""What is seen of the records inside a batch, and what is not."""

from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.records import (
    BatchRules,
    Codec,
    InvalidBatch,
    Record,
    TimestampType,
    ValidBatch,
    encode_batch,
    glance,
    parse_header,
    validate,
)
from dray.records.glance import LOOKED_AT
from tests.records.builders import NOW_MS, some_records, with_fields
from tests.records.strategies import record_lists

RULES = BatchRules()
COMPACTED = BatchRules(compacted=True)


def look(batch: bytes, rules: BatchRules = RULES) -> None:
    glance(validate(memoryview(batch), rules, NOW_MS), rules, NOW_MS)


def made(records: Sequence[Record], codec: Codec = Codec.NONE) -> bytes:
    return encode_batch(records, codec=codec)


def counting(count: int, claimed: int) -> bytes:
    batch = made(some_records(count))
    return bytes(with_fields(batch, record_count=claimed, last_offset_delta=claimed - 1))


@pytest.mark.parametrize("rules", [RULES, COMPACTED], ids=["plain", "compacted"])
@pytest.mark.parametrize("count", [1, 2, LOOKED_AT - 1, LOOKED_AT, LOOKED_AT + 1, 500])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_sound_batches_pass(rules: BatchRules, count: int, codec: Codec) -> None:
    look(made(some_records(count, value_bytes=300), codec), rules)


@pytest.mark.parametrize(
    ("count", "claimed"), [(2, 1), (2, 3), (LOOKED_AT, LOOKED_AT - 1), (1, 1000), (3, 40)]
)
def test_wrong_counts_are_found_in_small_batches(count: int, claimed: int) -> None:
    with pytest.raises(InvalidBatch, match=f"counts {claimed} records"):
        look(counting(count, claimed))


def test_a_large_batch_that_is_one_record_short_passes() -> None:
    """The limit of what is looked at; this test says where it lies."""
    look(counting(LOOKED_AT + 3, LOOKED_AT + 2))
    with pytest.raises(InvalidBatch):
        look(counting(LOOKED_AT + 3, LOOKED_AT + 2), COMPACTED)


@pytest.mark.parametrize(
    "payload", [b"", b"\x00" * 50, b"\xff" * 50, b"\x02" * 50, b"\xfe\xff\xff\xff\x0f" + bytes(40)]
)
def test_rubbish_is_found(payload: bytes) -> None:
    header = parse_header(memoryview(made(some_records(3))))
    for rules in (RULES, COMPACTED):
        with pytest.raises(InvalidBatch):
            glance(ValidBatch(header, (bytes(61), payload), -1), rules, NOW_MS)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_compacted_topic_names_the_records_without_a_key(codec: Codec) -> None:
    records = [Record(index, NOW_MS, None if index in (1, 3) else b"k", b"v") for index in range(5)]
    with pytest.raises(InvalidBatch) as refused:
        look(made(records, codec), COMPACTED)
    assert [fault.index for fault in refused.value.faults] == [1, 3]
    look(made(records, codec))


def test_an_empty_key_is_a_key() -> None:
    look(made([Record(0, NOW_MS, b"", None)]), COMPACTED)


def test_a_batch_whose_timestamps_were_set_is_looked_into_as_well() -> None:
    rules = BatchRules(timestamp_type=TimestampType.LOG_APPEND)
    look(made(some_records(3)), rules)
    with pytest.raises(InvalidBatch):
        look(counting(3, 2), rules)


@given(record_lists())
def test_nothing_sound_is_refused(records: list[Record]) -> None:
    batch = encode_batch(records)
    header = parse_header(memoryview(batch))
    for rules in (RULES, COMPACTED):
        if rules.compacted and any(record.key is None for record in records):
            continue
        glance(ValidBatch(header, (batch,), -1), rules, NOW_MS)


@given(st.binary(max_size=200), st.integers(1, 100), st.sampled_from([RULES, COMPACTED]))
def test_any_bytes_end_in_a_verdict(payload: bytes, count: int, rules: BatchRules) -> None:
    header = parse_header(memoryview(made(some_records(1))))._replace(record_count=count)
    with suppress(InvalidBatch):  # any other error fails the test
        glance(ValidBatch(header, (bytes(61), payload), -1), rules, NOW_MS)
