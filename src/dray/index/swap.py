"""Plan of a swap, which replaces index entries by the Parquet files made from them. Pure.

The start of a stream may be trimmed after the files were written and before the swap, so that some or all of
the entries that a file was made from no longer exist. A file replaces the entries that are left; if none are,
the file is unwanted.

A file may hold later times than the headers of its batches stated, which are not verified in large batches.
Then it raises the running maximum, and that of the entries after it is raised too. This is rare.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import msgspec

from dray.ids import FileId, StreamId
from dray.index.entry import NO_TIMESTAMP, IndexEntry, ParquetEntry


class FileRef(msgspec.Struct, frozen=True, array_like=True):
    """A written Parquet file and the offsets it covers.

    It may begin inside the first entry that it was made from, at the log start of that time.
    """

    file_id: FileId
    path: str
    size_bytes: int
    footer_bytes: int
    footer_crc: int
    start_offset: int
    end_offset: int
    record_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int
    packed_groups: bytes
    """Their deltas are relative to `start_offset`."""


@dataclass(slots=True)
class Swap:
    """Changes of the index by the commit of a swap."""

    removed: list[IndexEntry] = field(default_factory=list)
    added: list[ParquetEntry] = field(default_factory=list)
    unwanted: list[FileRef] = field(default_factory=list)
    is_raising: bool = False
    """Whether a file raises the running maximum, so that entries after it are to be raised too."""


class SwapImpossible(Exception):
    """The index has entries in the range of the files that they were not made from."""


def plan_swap(stream: StreamId, files: Sequence[FileRef], entries: Sequence[IndexEntry]) -> Swap:
    """Plan the swap of `files`, in order; `entries` are all that end in their range.

    Entries between two files are kept.
    """
    swap = Swap()
    new = {file.file_id for file in files}
    for entry in entries:
        if isinstance(entry, ParquetEntry) and entry.file_id in new:
            raise SwapImpossible(f"stream {stream:016x}: {entry.path} is in the index already")
    at = 0
    for number, file in enumerate(files):
        if number:
            at = _first_ending_after(entries, file.start_offset, at)
        mine = entries[at : _first_ending_after(entries, file.end_offset, at)]
        at += len(mine)
        if mine:
            _check(stream, file, mine)
            swap.removed += mine
            added = _entry(stream, file, mine)
            swap.added.append(added)
            swap.is_raising |= added.running_max_timestamp_ms > mine[-1].running_max_timestamp_ms
        else:
            swap.unwanted.append(file)
    if at < len(entries):
        end = entries[at].end_offset
        raise SwapImpossible(f"stream {stream:016x}: an entry ends at {end}, after the last file")
    return swap


def raised(entries: Iterable[IndexEntry]) -> list[IndexEntry]:
    """Return the entries whose running maximum is below an earlier one's, corrected."""
    found: list[IndexEntry] = []
    latest_ms = NO_TIMESTAMP
    for entry in sorted(entries, key=attrgetter("end_offset")):
        latest_ms = max(latest_ms, entry.running_max_timestamp_ms)
        if entry.running_max_timestamp_ms < latest_ms:
            found.append(msgspec.structs.replace(entry, running_max_timestamp_ms=latest_ms))
    return found


def _first_ending_after(entries: Sequence[IndexEntry], offset: int, at: int) -> int:
    """Return the position of the first entry that ends after an offset, at or after position `at`."""
    return bisect_right(entries, offset, at, key=lambda entry: entry.end_offset)


def _check(stream: StreamId, file: FileRef, entries: Sequence[IndexEntry]) -> None:
    """Raise unless the entries are contiguous and cover the rear of the file's range."""
    at = file.end_offset
    for entry in reversed(entries):
        if entry.end_offset != at:
            raise SwapImpossible(
                f"stream {stream:016x}: no entry ends at {at}, where {file.path} expects one"
            )
        at = entry.start_offset
    if entries[0].end_offset <= file.start_offset:
        raise SwapImpossible(f"stream {stream:016x}: an entry begins at {at}, before {file.path}")


def _entry(stream: StreamId, file: FileRef, replaced: Sequence[IndexEntry]) -> ParquetEntry:
    last = replaced[-1]
    return ParquetEntry(
        stream=stream,
        start_offset=file.start_offset,
        end_offset=file.end_offset,
        cumulative_size=last.cumulative_size,
        ingested_bytes=_ingested_bytes(file, replaced),
        created_at_ms=last.created_at_ms,
        record_count=file.record_count,
        min_timestamp_ms=file.min_timestamp_ms,
        max_timestamp_ms=file.max_timestamp_ms,
        running_max_timestamp_ms=max(last.running_max_timestamp_ms, file.max_timestamp_ms),
        file_id=file.file_id,
        path=file.path,
        size_bytes=file.size_bytes,
        footer_bytes=file.footer_bytes,
        footer_crc=file.footer_crc,
        packed_groups=file.packed_groups,
    )


def _ingested_bytes(file: FileRef, replaced: Sequence[IndexEntry]) -> int:
    """Size of the file's records when they were produced, in proportion if the file has only some of them."""
    records = sum(entry.record_count for entry in replaced)
    size_bytes = sum(entry.ingested_bytes for entry in replaced)
    return size_bytes * file.record_count // records if file.record_count < records else size_bytes
