"""What a topic's table has otherwise than its index, and what of that can be put right. Pure.

Normally the table names the files that the index names. Others may change it: rewrite our files, delete rows,
roll it back to an earlier snapshot. What they did on purpose stays, so only this is put right: files of ours
that the index has since merged into one, when they are all there and hold as many records as that one does.
Then the same rows stand in the table before and after, whatever anybody did, and the old files may go.

Retention and DeleteRecords count for everybody's rows: whoever wrote a file, it goes when the log starts
behind all of it. Another engine's that reaches over the start is told, and goes when the log starts behind it
too; one of ours is written anew.

Where rows are missing nothing tells whether somebody deleted them or rolled back the commit that brought
them: after our next commit both look alike. So they do not come back by themselves; it is told which they
are. Where others' files hold the offsets, the rows are theirs to change.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

import msgspec

from dray.ids import StreamId
from dray.index import parse_file_path
from dray.pipeline.index_files import IndexedFile
from dray.tables.port import LiveFile, TableState

T = TypeVar("T")
_UNDO: Final = "if that was not meant, drop the table, and it is made again from the log"


class Difference(msgspec.Struct, frozen=True, array_like=True):
    """Offsets that the table does not have as the index has them.

    `records` are missing, or there twice, or still there; none if it is only told why something is not done.
    """

    partition: int
    first_offset: int
    last_offset: int
    records: int
    why: str


@dataclass(frozen=True, slots=True)
class Restoration:
    """A file of the index, and those in the table that hold the same rows."""

    file: IndexedFile
    stale: tuple[LiveFile, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found."""

    restorations: tuple[Restoration, ...] = ()
    differences: tuple[Difference, ...] = ()
    outlived: tuple[LiveFile, ...] = ()
    """Others' files that hold nothing that is still in the log."""

    def confirmed_by(self, later: "Comparison") -> "Comparison":
        """Return what a second look has found too; the rest was somebody's work under way."""
        return Comparison(
            tuple(one for one in self.restorations if one in later.restorations),
            _both(self.differences, later.differences),
            _both(self.outlived, later.outlived),
        )


def _both(some: Sequence[T], others: Iterable[T]) -> tuple[T, ...]:
    there = set(others)
    return tuple(one for one in some if one in there)


def outlived(files: Iterable[LiveFile], starts: Mapping[int, int]) -> tuple[LiveFile, ...]:
    """Return others' files that lie before the starts of their partitions' logs, as far as that can be told.

    Not ours: the index may keep one behind its last row, and says itself when it gives it up.
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
    is_cleaned: bool = False,
) -> Comparison:
    """Compare the files of the index with those of the table; partitions with a job under way are skipped.

    `starts` are where the partitions' logs begin; `is_cleaned` says whether the topic is cleaned by key.
    """
    named = {file.entry.path for file in files}
    there = {(one.partition, one.path) for one in state.files}
    strange: dict[int | None, list[LiveFile]] = {}
    for one in state.files:
        if one.path not in named:
            strange.setdefault(one.partition, []).append(one)
    settled = [one for each, some in strange.items() if each not in skipped for one in some]
    restorations: list[Restoration] = []
    differences = [over for one in settled if (over := _over_the_start(one, starts)) is not None]
    for file in files:
        if file.partition in skipped or not file.entry.record_count:
            continue
        candidates = (*strange.get(file.partition, ()), *strange.get(None, ()))
        start, end = file.entry.start_offset, file.entry.end_offset
        others = [one for one in candidates if one.may_hold(file.partition, start, end)]
        found = _of_file(file, others, (file.partition, file.entry.path) in there, is_cleaned)
        if isinstance(found, Restoration):
            restorations.append(found)
        elif found is not None:
            differences.append(found)
    return Comparison(tuple(restorations), tuple(differences), outlived(settled, starts))


def _over_the_start(live: LiveFile, starts: Mapping[int, int]) -> Difference | None:
    partition, first, last = live.partition, live.first_offset, live.last_offset
    if partition is None or first is None or last is None or parse_file_path(live.path) is not None:
        return None
    if live.has_deletes:
        return None  # somebody may have deleted just these
    start = starts.get(partition, 0)
    if not first < start <= last:
        return None
    why = (
        "another engine has rewritten them, and they are deleted from the log since: delete them in the table"
    )
    return Difference(partition, first, start - 1, min(live.records, start - first), why)


def _of_file(
    file: IndexedFile, others: Sequence[LiveFile], is_in_table: bool, is_cleaned: bool
) -> Restoration | Difference | None:
    """Judge one file by the table's files that the index does not name and that lie where it does."""
    stale = tuple(one for one in others if _is_ours(one, file.stream))
    records = file.entry.record_count
    if is_in_table:
        twice = sum(one.records for one in stale)
        return _told(file, min(records, twice), "its records are in the table twice") if stale else None
    if len(stale) < len(others):
        # Others have rewritten it, and theirs are the rows.
        return (
            _told(file, 0, "it is not cleaned by key: another engine has rewritten it")
            if is_cleaned
            else None
        )
    if not stale:
        return _told(
            file, records, f"the table lacks it: somebody deleted its rows or rolled it back; {_UNDO}"
        )
    if _hold_the_same(stale, file):
        return Restoration(file, stale)
    there = min(records, sum(one.records for one in stale))
    return _told(file, records - there, f"the table was rolled back to files that it has replaced; {_UNDO}")


def _told(file: IndexedFile, records: int, why: str) -> Difference:
    return Difference(file.partition, file.entry.start_offset, file.entry.end_offset - 1, records, why)


def _is_ours(live: LiveFile, stream: StreamId) -> bool:
    parsed = parse_file_path(live.path)
    return parsed is not None and parsed[0] == stream


def _hold_the_same(stale: Iterable[LiveFile], file: IndexedFile) -> bool:
    """Whether the files lie one behind the other, from first offset to last, with all the records."""
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
