"""What a topic's table has otherwise than its index, and what of that can be put right. Pure.

Normally the table names the files that the index names. Others may change it: rewrite our files, delete rows,
roll it back to an earlier snapshot. What they did on purpose stays, so only this is put right: files of ours
that the index has since merged into one, when they are all there and hold as many records as that one does.
Then the same rows stand in the table before and after, whatever anybody did, and the old files may go.

Where rows are missing nothing tells whether somebody deleted them or rolled back the commit that brought
them: after our next commit both look alike. So they do not come back by themselves; it is told which they
are. Where others' files hold the offsets, the rows are theirs to change, and there is nothing to tell.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from dray.ids import StreamId
from dray.index import parse_file_path
from dray.pipeline.index_files import IndexedFile
from dray.tables.port import LiveFile, TableState


class Difference(msgspec.Struct, frozen=True, array_like=True):
    """Offsets that the table does not have as the index has them; `records` are missing or there twice."""

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

    def confirmed_by(self, later: "Comparison") -> "Comparison":
        """Return what a second look has found too; the rest was somebody's work under way."""
        return Comparison(
            tuple(one for one in self.restorations if one in later.restorations),
            tuple(one for one in self.differences if one in later.differences),
        )


def compare(files: Sequence[IndexedFile], state: TableState, skipped: Container[int] = ()) -> Comparison:
    """Compare the files of the index with those of the table; partitions with a job under way are skipped."""
    named = {file.entry.path for file in files}
    there = {(one.partition, one.path) for one in state.files}
    strange: dict[int | None, list[LiveFile]] = {}
    for one in state.files:
        if one.path not in named:
            strange.setdefault(one.partition, []).append(one)
    restorations: list[Restoration] = []
    differences: list[Difference] = []
    for file in files:
        if file.partition in skipped or not file.entry.record_count:
            continue
        candidates = (*strange.get(file.partition, ()), *strange.get(None, ()))
        others = [one for one in candidates if _overlaps(one, file)]
        found = _of_file(file, others, (file.partition, file.entry.path) in there)
        if isinstance(found, Restoration):
            restorations.append(found)
        elif found is not None:
            differences.append(found)
    return Comparison(tuple(restorations), tuple(differences))


def _of_file(
    file: IndexedFile, others: Sequence[LiveFile], is_in_table: bool
) -> Restoration | Difference | None:
    """Judge one file by the table's files that the index does not name and that lie where it does."""
    stale = tuple(one for one in others if _is_ours(one, file.stream))
    records = file.entry.record_count
    if is_in_table:
        twice = sum(one.records for one in stale)
        return _told(file, min(records, twice), "its records are in the table twice") if stale else None
    if len(stale) < len(others):
        return None  # others have rewritten it, and theirs are the rows
    if not stale:
        return _told(file, records, "the table lacks it: somebody deleted its rows or rolled the table back")
    if _hold_the_same(stale, file):
        return Restoration(file, stale)
    there = min(records, sum(one.records for one in stale))
    return _told(file, records - there, "the table was rolled back to files that it has replaced")


def _told(file: IndexedFile, records: int, why: str) -> Difference:
    return Difference(file.partition, file.entry.start_offset, file.entry.end_offset - 1, records, why)


def _overlaps(live: LiveFile, file: IndexedFile) -> bool:
    first = file.entry.start_offset if live.first_offset is None else live.first_offset
    last = file.entry.end_offset if live.last_offset is None else live.last_offset
    return first < file.entry.end_offset and last >= file.entry.start_offset


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
