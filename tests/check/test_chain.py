"""Examination of a stream that changes while it is read."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from dray.check.chain import EntryAt, HeadAt, StreamChain
from dray.check.findings import Finding
from dray.check.stream_findings import Gap
from dray.ids import Domain
from dray.index import IndexEntry, StreamHead
from dray.keyspace import entry_key
from dray.meta.port import Version
from tests.compaction.builders import STREAM, parquet_entry, wal_entry

_DOMAIN = Domain("log-0")


def _head(
    end: int, *, log_start: int = 0, snapshot_end: int | None = None, unsnapshotted: int = 0
) -> StreamHead:
    return StreamHead(
        high_watermark=end,
        log_start=log_start,
        cumulative_size=end * 10,
        max_timestamp_ms=end,
        snapshot_end=end if snapshot_end is None else snapshot_end,
        unsnapshotted=unsnapshotted,
    )


def _entries(*bounds: int) -> list[IndexEntry]:
    """Return adjacent entries between these offsets; each record counts ten bytes."""
    return [wal_entry(start, end, size_bytes=10 * (end - start)) for start, end in pairwise(bounds)]


def _examine(
    entries: Sequence[IndexEntry], before: StreamHead, after: StreamHead | None = None
) -> list[Finding]:
    """Examine entries between two reads of the head."""
    chain = StreamChain(_DOMAIN, STREAM, HeadAt(before, Version(1)))
    for entry in entries:
        key = entry_key(STREAM, entry.end_offset, entry.cumulative_size)
        chain.add(EntryAt(key, Version(1), entry))
    later = HeadAt(before, Version(1)) if after is None else HeadAt(after, Version(2))
    return list(chain.finish(later))


def _offsets(found: Sequence[Finding]) -> list[tuple[str, tuple[int, int] | None]]:
    return [(type(one).__name__, one.offsets) for one in found]


def test_adjacent_entries_from_log_start_to_high_watermark_are_right() -> None:
    assert _examine(_entries(0, 2, 5, 9), _head(9)) == []
    assert _examine([parquet_entry(0, 5, newest_ms=5), *_entries(5, 9)], _head(9)) == []
    assert _examine([], _head(4, log_start=4)) == []
    assert _examine(_entries(2, 5, 9), _head(9, log_start=3)) == []


def test_append_during_the_scan_is_not_a_finding() -> None:
    assert _examine(_entries(0, 2, 5), _head(2), _head(5)) == []
    assert _examine(_entries(0, 2, 5), _head(2), _head(9)) == []


def test_trim_during_the_scan_is_not_a_gap() -> None:
    assert _examine(_entries(5, 9), _head(9), _head(9, log_start=5)) == []
    assert _examine([], _head(9), _head(9, log_start=9)) == []
    assert _examine([*_entries(0, 2), *_entries(5, 9)], _head(9), _head(9, log_start=5)) == []


def test_stream_that_is_deleted_during_the_scan_has_no_findings() -> None:
    assert _examine([], _head(9), msgspec.structs.replace(_head(9), deleted=True)) == []


def test_entries_before_the_log_start_may_have_gaps() -> None:
    assert _examine([*_entries(0, 2), *_entries(4, 9)], _head(9, log_start=6)) == []


def test_every_missing_range_is_a_gap() -> None:
    assert _offsets(_examine(_entries(2, 9), _head(9))) == [("Gap", (0, 1))]
    assert _offsets(_examine([*_entries(0, 2), *_entries(5, 9)], _head(9))) == [("Gap", (2, 4))]
    assert _offsets(_examine(_entries(0, 5), _head(9), _head(12))) == [("Gap", (5, 8))]
    assert _offsets(_examine([], _head(9))) == [("Gap", (0, 8))]
    assert _offsets(_examine([*_entries(0, 4), *_entries(6, 9)], _head(9), _head(9, log_start=5))) == [
        ("Gap", (4, 5))
    ]


def test_gap_is_found_among_any_number_of_other_findings() -> None:
    first = wal_entry(0, 1, size_bytes=10, newest_ms=1_000_000)
    found = _examine([first, *_entries(*range(1, 300)), *_entries(*range(301, 310))], _head(309))
    assert [offsets for kind, offsets in _offsets(found) if kind == "Gap"] == [(299, 300)]
    assert len(found) <= 202


def test_gaps_have_a_limit() -> None:
    every_other = [wal_entry(end - 1, end, size_bytes=10) for end in range(2, 1_000, 2)]
    found = _examine(every_other, _head(998))
    assert len([one for one in found if isinstance(one, Gap)]) == 200


def test_entry_after_the_second_heads_end_contradicts_it() -> None:
    [found] = _examine(_entries(0, 5, 9), _head(5), _head(5, log_start=1))
    assert found.what == "the stream head is wrong: it ends at 5, its entries at 9"


def test_counts_of_the_head_are_not_compared_while_it_changes() -> None:
    wrong = _head(5, unsnapshotted=3)
    [found] = _examine(_entries(0, 5), wrong)
    assert found.what == "the stream head is wrong: 0 entries follow the producer snapshot, it counts 3"
    assert _examine(_entries(0, 5), wrong, _head(5)) == []


def test_head_is_rebuilt_from_entries_alone() -> None:
    chain = StreamChain(_DOMAIN, STREAM, None)
    for entry in (parquet_entry(3, 6, newest_ms=6), *_entries(6, 7, 9)):
        key = entry_key(STREAM, entry.end_offset, entry.cumulative_size)
        chain.add(EntryAt(key, Version(1), entry))
    head = _head(9, log_start=3, snapshot_end=6, unsnapshotted=2)
    assert chain.rebuilt_head() == head
    assert chain.finish(None) == []
