"""Examination of a stream that changes while it is read."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest

from dray.check.chain import EntryAt, HeadAt, StreamChain
from dray.check.findings import Finding
from dray.check.repair_plan import RepairContext, plan_repair
from dray.check.stream_findings import Gap, HeadMismatch, TimeMismatch
from dray.ids import Domain
from dray.index import IndexEntry, StreamHead
from dray.keyspace import entry_key
from dray.log import LogSettings
from dray.meta.port import CommitLimits, Version
from tests.compaction.builders import STREAM, parquet_entry, wal_entry

_DOMAIN = Domain("log-0")
_CONTEXT = RepairContext(0, LogSettings(), CommitLimits(100, 100, 1_000_000))


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


def _with_a_wrong_time(entries: list[IndexEntry]) -> list[IndexEntry]:
    """Let the last entry claim an earlier time than it has."""
    *rest, last = entries
    return [*rest, msgspec.structs.replace(last, running_max_timestamp_ms=-5)]


def test_wrong_time_is_repairable_in_a_chain_without_contradictions() -> None:
    [found] = [one for one in _examine(_with_a_wrong_time(_entries(0, 2, 5)), _head(5)) if _is_time(one)]
    assert isinstance(found, TimeMismatch)
    assert not found.held


@pytest.mark.parametrize("contradiction", ["gap", "overlap"])
def test_contradiction_holds_back_the_repairs_of_its_stream(contradiction: str) -> None:
    start = {"gap": 6, "overlap": 3}[contradiction]
    last = wal_entry(start, 9, size_bytes=10 * (9 - start))
    found = _examine(_with_a_wrong_time([*_entries(0, 2, 5), last]), _head(9))
    assert contradiction in {one.name for one in found}
    [time] = [one for one in found if isinstance(one, TimeMismatch)]
    assert time.held
    assert "contradict" in time.remedy
    assert plan_repair(time, _CONTEXT) is None


@pytest.mark.parametrize("start", [6, 3])
def test_head_is_not_rebuilt_from_entries_that_contradict_each_other(start: int) -> None:
    entries = [*_entries(0, 2, 5), wal_entry(start, 9, size_bytes=10 * (9 - start))]
    [head] = [one for one in _examine(entries, _head(7)) if isinstance(one, HeadMismatch)]
    assert head.rebuilt is None
    assert plan_repair(head, _CONTEXT) is None
    [head] = [one for one in _examine(_entries(0, 2, 5, 9), _head(7)) if isinstance(one, HeadMismatch)]
    assert head.rebuilt is not None


def _is_time(one: Finding) -> bool:
    return isinstance(one, TimeMismatch)
