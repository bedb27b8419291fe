"""Offset assignment, batch rows, lookup by time, trimming and stored values."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.ids import MetaDomain
from dray.index import (
    BatchDraft,
    BatchRow,
    BatchRows,
    CorruptValue,
    GcMarker,
    IndexEntry,
    StagingMarker,
    StreamHead,
    WalEntry,
    WalObject,
    assign,
    decode_entry,
    decode_gc,
    decode_head,
    decode_object,
    decode_staging,
    encode_entry,
    encode_head,
    encode_object,
    first_reaching_time,
    pack_row,
    parse_wal_path,
    references_of,
    release,
    wal_path,
)
from tests.index.builders import STREAM, chunk, draft, wal

drafts = st.builds(
    BatchDraft,
    position=st.integers(0, 2**32 - 1),
    length=st.integers(61, 2**32 - 1),
    offset_count=st.integers(1, 1_000),
    min_timestamp_ms=st.integers(-1, 2**62),
    max_timestamp_ms=st.integers(-1, 2**62),
    producer_id=st.integers(-1, 2**63 - 1),
    producer_epoch=st.integers(-1, 2**15 - 1),
    base_sequence=st.integers(-1, 2**31 - 1),
)


def _log(counts_and_times: list[list[tuple[int, int]]]) -> tuple[StreamHead, list[WalEntry]]:
    head, entries = StreamHead(), []
    for number, batches in enumerate(counts_and_times):
        head, entry = assign(head, chunk(number), [draft(count, time_ms=at) for count, at in batches], 5)
        entries.append(entry)
    return head, entries


@given(st.lists(st.lists(drafts, min_size=1, max_size=4), min_size=1, max_size=6))
def test_offsets_are_dense_and_rows_describe_the_batches(objects: list[list[BatchDraft]]) -> None:
    head, expected = StreamHead(), 0
    for number, batches in enumerate(objects):
        before = head
        head, entry = assign(before, chunk(number), batches, 5)
        assert entry.start_offset == before.high_watermark == expected
        for row, batch in zip(entry.rows, batches, strict=True):
            assert entry.start_offset + row.start_delta == expected
            expected += batch.offset_count
            assert entry.start_offset + row.last_delta == expected - 1
            assert (row.position, row.length, *row[4:]) == (batch.position, batch.length, *batch[3:])
        assert entry.end_offset == head.high_watermark == expected
        assert entry.cumulative_size == head.cumulative_size == before.cumulative_size + 100
        assert entry.running_max_timestamp_ms == max(
            before.max_timestamp_ms, *(batch.max_timestamp_ms for batch in batches)
        )


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(-1, 2_500))
def test_reaching_starts_at_the_row_that_contains_an_offset(counts: list[int], delta: int) -> None:
    _, (entry,) = _log([[(count, 0) for count in counts]])
    rows = entry.rows
    assert list(rows.reaching(delta)) == [row for row in rows if row.last_delta >= delta]


def test_packed_rows_are_read_back() -> None:
    row = BatchRow(0, 4, 4, 100, 1, 2, 3, 4, 5)
    rows = BatchRows(pack_row(row) * 3)
    assert len(rows) == 3
    assert list(rows) == [row] * 3
    assert rows[2] == row
    with pytest.raises(IndexError):
        rows[3]


@given(
    st.lists(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 30)), min_size=1, max_size=3), max_size=12),
    st.integers(0, 35),
)
def test_first_entry_that_reaches_a_time_is_found_in_few_probes(
    log: list[list[tuple[int, int]]], time_ms: int
) -> None:
    head, entries = _log(log)
    search = first_reaching_time(0, head.high_watermark, time_ms)
    probes = 0
    found: IndexEntry | None = None
    try:
        probe = next(search)
        while True:
            probes += 1
            probe = search.send(next(e for e in entries if e.start_offset <= probe.offset < e.end_offset))
    except StopIteration as end:
        found = end.value
    assert found == next((entry for entry in entries if entry.max_timestamp_ms >= time_ms), None)
    assert probes <= head.high_watermark.bit_length() + 1


def test_stored_values_are_read_back() -> None:
    head, entries = _log([[(2, 10), (3, 20)], [(1, 5)]])
    assert decode_head("k", encode_head(head)) == head
    assert [decode_entry("k", encode_entry(entry)) for entry in entries] == entries
    assert all(one.end_offset == other.start_offset for one, other in pairwise(entries))
    staging = StagingMarker("p", 1, condemned=True)
    stored = WalObject("p", 3, 1, 100)
    marker = GcMarker("p", 9)
    assert decode_staging("k", encode_object(staging)) == staging
    assert decode_object("k", encode_object(stored)) == stored
    assert decode_gc("k", encode_object(marker)) == marker


@pytest.mark.parametrize("decode", [decode_head, decode_entry, decode_staging, decode_object, decode_gc])
@given(garbage=st.binary(max_size=40))
def test_garbage_raises_corrupt_value_with_the_key(decode: object, garbage: bytes) -> None:
    assert callable(decode)
    with pytest.raises(CorruptValue, match="/some/key"):
        decode("/some/key", b"\xc1" + garbage)


def test_value_of_another_kind_raises_corrupt_value() -> None:
    with pytest.raises(CorruptValue, match=r"at /k, found GcMarker"):
        decode_object("/k", encode_object(GcMarker("p", 1)))
    with pytest.raises(CorruptValue):
        decode_head("/k", encode_entry(_log([[(1, 1)]])[1][0]))


def test_stored_values_keep_their_encoding() -> None:
    """Values of older processes must stay readable: fields are added at the end, other changes need a tag."""
    head, entry = assign(StreamHead(), chunk(1), [draft(2, time_ms=10)], 5)
    assert encode_head(head).hex() == "98a268310200640a0000c2"
    body = (
        "a277310700026405020a0a0ac41000000000000000000000000000000001a877616c2f312e776f3164c42e"
        "00000000000000010000000400000046000000000000000a000000000000000affffffffffffffffffffffffffff"
    )
    assert encode_entry(entry).hex() == f"dc0010{body}cd012c"
    before_sizes = bytes.fromhex(f"9f{body}")
    assert decode_entry("k", before_sizes) == msgspec.structs.replace(entry, wal_bytes=0)
    assert encode_object(StagingMarker("p", 1)).hex() == "94a27331a17001c2"
    assert encode_object(WalObject("p", 3, 1, 100)).hex() == "95a26f31a170030164"
    assert encode_object(GcMarker("p", 9)).hex() == "93a26731a17009"


def test_releasing_the_last_reference_leaves_a_deletion_marker() -> None:
    _, entries = _log([[(1, 1)], [(1, 1)]])
    released = references_of([entries[0], entries[1], entries[1]])
    assert released == {wal(0): 1, wal(1): 2}
    objects = {wal(0): WalObject("a", 3, 1, 10), wal(1): WalObject("b", 2, 1, 10)}
    after = {one.wal_id: one.after for one in release(released, objects, delete_after_ms=99)}
    assert after == {wal(0): WalObject("a", 2, 1, 10), wal(1): GcMarker("b", 99)}


def test_parse_wal_path_inverts_wal_path() -> None:
    path = wal_path("eu-1", MetaDomain(3), "2026/01/31", wal(9))
    assert path == f"wal/v1/zone=eu-1/domain=3/date=2026/01/31/{wal(9).hex()}.wo"
    assert parse_wal_path(path) == (3, wal(9))
    for other in ("wal/v1/x.wo", path + "x", path.replace("domain=3", "domain=x"), "a/b/c/d/e/f/g/h.wo"):
        assert parse_wal_path(other) is None


def test_entries_keep_their_stream() -> None:
    assert _log([[(1, 1)]])[1][0].stream == STREAM
