"""Putting Parquet files where other entries stood: what is removed, what is added, what came too late. Pure.

Between the writing of the files and the swap the beginning of a stream may have been given up. Then some of
the entries that a file was made from are gone, or all of them. A file of which an entry is left takes that
entry's place; one of which none is left is not wanted any more.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from dray.ids import FileId, StreamId
from dray.index.entry import IndexEntry
from dray.index.parquet import ParquetEntry


class FilePlace(msgspec.Struct, frozen=True, array_like=True):
    """A Parquet file that has been written, and the offsets it stands for.

    It may begin inside the first entry that it was made from, where the log began then.
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
    """Their deltas count from `start_offset`."""


@dataclass(slots=True)
class Swap:
    """What the commit of a swap does to the index."""

    removed: list[IndexEntry] = field(default_factory=list)
    added: list[ParquetEntry] = field(default_factory=list)
    unwanted: list[FilePlace] = field(default_factory=list)


class SwapImpossible(Exception):
    """The index holds something in the files' range that they were not made from."""


def plan_swap(stream: StreamId, files: Sequence[FilePlace], entries: Sequence[IndexEntry]) -> Swap:
    """Plan the swap of `files`, in order; `entries` are all that end in their range.

    What lies between two files is left as it is.
    """
    swap = Swap()
    new = {file.file_id for file in files}
    for entry in entries:
        if isinstance(entry, ParquetEntry) and entry.file_id in new:
            raise SwapImpossible(f"stream {stream:016x}: {entry.path} is in the index already")
    at = 0
    for number, file in enumerate(files):
        if number:
            at = _end_behind(entries, file.start_offset, at)
        mine = entries[at : _end_behind(entries, file.end_offset, at)]
        at += len(mine)
        if mine:
            _check(stream, file, mine)
            swap.removed += mine
            swap.added.append(_entry(stream, file, mine))
        else:
            swap.unwanted.append(file)
    if at < len(entries):
        end = entries[at].end_offset
        raise SwapImpossible(f"stream {stream:016x}: an entry ends at {end}, behind the files")
    return swap


def _end_behind(entries: Sequence[IndexEntry], offset: int, at: int) -> int:
    """Return the place of the first entry that ends behind an offset, looked for from a place on."""
    return bisect_right(entries, offset, at, key=lambda entry: entry.end_offset)


def _check(stream: StreamId, file: FilePlace, entries: Sequence[IndexEntry]) -> None:
    """Raise unless the entries are a whole rear part of the file's range, one after the other."""
    at = file.end_offset
    for entry in reversed(entries):
        if entry.end_offset != at:
            raise SwapImpossible(
                f"stream {stream:016x}: no entry ends at {at}, where {file.path} expects one"
            )
        at = entry.start_offset
    if entries[0].end_offset <= file.start_offset:
        raise SwapImpossible(f"stream {stream:016x}: an entry begins at {at}, before {file.path}")


def _entry(stream: StreamId, file: FilePlace, replaced: Sequence[IndexEntry]) -> ParquetEntry:
    last = replaced[-1]
    return ParquetEntry(
        stream=stream,
        start_offset=file.start_offset,
        end_offset=file.end_offset,
        cumulative_size=last.cumulative_size,
        came_bytes=_came_bytes(file, replaced),
        created_at_ms=last.created_at_ms,
        record_count=file.record_count,
        min_timestamp_ms=file.min_timestamp_ms,
        max_timestamp_ms=file.max_timestamp_ms,
        running_max_timestamp_ms=last.running_max_timestamp_ms,
        file_id=file.file_id,
        path=file.path,
        size_bytes=file.size_bytes,
        footer_bytes=file.footer_bytes,
        footer_crc=file.footer_crc,
        packed_groups=file.packed_groups,
    )


def _came_bytes(file: FilePlace, replaced: Sequence[IndexEntry]) -> int:
    """What the file's records took when they came: where some were left out, the others' share."""
    records = sum(entry.record_count for entry in replaced)
    came_bytes = sum(entry.came_bytes for entry in replaced)
    return came_bytes * file.record_count // records if file.record_count < records else came_bytes
