"""Comparison of a topic's table with its index, and which differences can be repaired. Pure.

Normally the table references exactly the files of the index. Other engines may change it: rewrite our files,
delete rows, roll the table back to an earlier snapshot. Intended changes stay, so only one difference is
repaired: files of ours that the index has since merged into one, if they are all in the table and together
hold as many records as the merged file. The table then has the same rows before and after, whatever another
engine did, and the old files can be deleted.

Retention and DeleteRecords apply to all rows: a file is removed when the log starts after all its offsets,
whichever engine wrote it. If the log starts inside a file, it is rewritten if it is ours; another engine's
file is reported, and removed once the log starts after it.

Where rows are missing, a deletion cannot be distinguished from a rollback: after our next commit both look
alike. Missing rows are therefore not restored, but their offsets are reported. Rows in files of other engines
are theirs to change.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

import msgspec

from dray.compaction.index_files import IndexedFile
from dray.ids import StreamId
from dray.index import parse_file_path
from dray.tables.port import LiveFile, TableState

T = TypeVar("T")
_UNDO: Final = "if that was unintended, drop the table, and it is rebuilt from the log"


class Difference(msgspec.Struct, frozen=True, array_like=True, tag="a1"):
    """A range of offsets in which the table differs from the index.

    `records` is how many are missing, duplicated or not deleted; 0 if `reason` explains a pending action.
    """

    partition: int
    first_offset: int
    last_offset: int
    records: int
    reason: str


@dataclass(frozen=True, slots=True)
class Restoration:
    """A file of the index, and the files in the table that hold the same rows."""

    file: IndexedFile
    stale: tuple[LiveFile, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison."""

    restorations: tuple[Restoration, ...] = ()
    differences: tuple[Difference, ...] = ()
    expired: tuple[LiveFile, ...] = ()
    """Files of other engines whose offsets have all left the log."""

    def confirmed_by(self, later: "Comparison") -> "Comparison":
        """Return what a second comparison has found too; the rest was a change in progress."""
        return Comparison(
            tuple(one for one in self.restorations if one in later.restorations),
            _both(self.differences, later.differences),
            _both(self.expired, later.expired),
        )


def _both(some: Sequence[T], others: Iterable[T]) -> tuple[T, ...]:
    common = set(others)
    return tuple(one for one in some if one in common)


def expired_files(files: Iterable[LiveFile], starts: Mapping[int, int]) -> tuple[LiveFile, ...]:
    """Return the files of other engines that end before the log start offset of their partition.

    Not ours: the range of an index entry may extend beyond the file's last row, and the index itself decides
    when to release it. Files without known offsets are left out.
    """
    return tuple(
        one
        for one in files
        if one.partition is not None
        and one.last_offset is not None
        and one.last_offset < starts.get(one.partition, 0)
        and parse_file_path(one.path) is None
    )


def compare(
    files: Sequence[IndexedFile],
    state: TableState,
    starts: Mapping[int, int],
    skipped: Container[int] = (),
    *,
    is_compacted: bool = False,
) -> Comparison:
    """Compare the files of the index with those of the table, except for the partitions in `skipped`.

    `starts` are the log start offsets of the partitions; `is_compacted` says whether the topic is compacted
    by key.
    """
    indexed = {file.entry.path for file in files}
    live = {(one.partition, one.path) for one in state.files}
    unindexed: dict[int | None, list[LiveFile]] = {}
    for one in state.files:
        if one.path not in indexed:
            unindexed.setdefault(one.partition, []).append(one)
    settled = [one for each, some in unindexed.items() if each not in skipped for one in some]
    restorations: list[Restoration] = []
    differences = [over for one in settled if (over := _partly_expired(one, starts)) is not None]
    for file in files:
        if file.partition in skipped or not file.entry.record_count:
            continue
        candidates = (*unindexed.get(file.partition, ()), *unindexed.get(None, ()))
        start, end = file.entry.start_offset, file.entry.end_offset
        others = [one for one in candidates if one.may_hold(file.partition, start, end)]
        found = _compare_file(file, others, (file.partition, file.entry.path) in live, is_compacted)
        if isinstance(found, Restoration):
            restorations.append(found)
        elif found is not None:
            differences.append(found)
    return Comparison(tuple(restorations), tuple(differences), expired_files(settled, starts))


def _partly_expired(live: LiveFile, starts: Mapping[int, int]) -> Difference | None:
    """Return the expired rows of another engine's file that also holds live rows, or None."""
    partition, first, last = live.partition, live.first_offset, live.last_offset
    if partition is None or first is None or last is None or parse_file_path(live.path) is not None:
        return None
    if live.has_deletes:
        return None  # exactly the expired rows may be deleted already
    start = starts.get(partition, 0)
    if not first < start <= last:
        return None
    reason = "another engine has rewritten them, and the log has deleted them since: delete them in the table"
    return Difference(partition, first, start - 1, min(live.records, start - first), reason)


def _compare_file(
    file: IndexedFile, others: Sequence[LiveFile], is_in_table: bool, is_compacted: bool
) -> Restoration | Difference | None:
    """Compare one file of the index with the table's unindexed files that overlap its offsets."""
    stale = tuple(one for one in others if _is_ours(one, file.stream))
    records = file.entry.record_count
    if is_in_table:
        twice = sum(one.records for one in stale)
        return _difference(file, min(records, twice), "its records are in the table twice") if stale else None
    if len(stale) < len(others):
        # Another engine has rewritten it, and its rows are authoritative.
        reason = "it is not compacted by key: another engine has rewritten it"
        return _difference(file, 0, reason) if is_compacted else None
    if not stale:
        reason = f"it is not in the table: its rows were deleted or the table was rolled back; {_UNDO}"
        return _difference(file, records, reason)
    if _are_equivalent(stale, file):
        return Restoration(file, stale)
    found = min(records, sum(one.records for one in stale))
    reason = f"the table was rolled back to files that it has replaced; {_UNDO}"
    return _difference(file, records - found, reason)


def _difference(file: IndexedFile, records: int, reason: str) -> Difference:
    return Difference(file.partition, file.entry.start_offset, file.entry.end_offset - 1, records, reason)


def _is_ours(live: LiveFile, stream: StreamId) -> bool:
    parsed = parse_file_path(live.path)
    return parsed is not None and parsed[0] == stream


def _are_equivalent(stale: Iterable[LiveFile], file: IndexedFile) -> bool:
    """Return whether the files are contiguous, cover the offsets of `file`, and have as many records."""
    ranges: list[tuple[int, int]] = []
    records = 0
    for one in stale:
        if one.has_deletes or one.first_offset is None or one.last_offset is None:
            return False
        ranges.append((one.first_offset, one.last_offset))
        records += one.records
    ranges.sort()
    entry = file.entry
    return (
        records == entry.record_count
        and (ranges[0][0], ranges[-1][1]) == (entry.start_offset, entry.end_offset - 1)
        and all(before[1] + 1 == after[0] for before, after in pairwise(ranges))
    )
