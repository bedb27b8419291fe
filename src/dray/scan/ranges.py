"""Offset ranges of partitions, the entry ranges of the log that hold them, and byte ranges to read. Pure.

An *entry range* is the part of one index entry that lies in an offset range.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from typing_extensions import Buffer

from dray.ids import StreamId
from dray.index import IndexEntry, ParquetEntry, StreamHead
from dray.objects.port import ByteRange


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of a topic, as of one read of its head."""

    number: int
    stream: StreamId
    head: StreamHead

    @property
    def first_offset(self) -> int:
        return self.head.log_start

    @property
    def end_offset(self) -> int:
        return self.head.high_watermark

    def everything(self) -> "OffsetRange":
        return OffsetRange(self.number, self.stream, self.first_offset, self.end_offset)


class OffsetRange(msgspec.Struct, frozen=True, array_like=True):
    """Records of one partition with `first_offset <= offset < end_offset`."""

    partition: int
    stream: StreamId
    first_offset: int
    end_offset: int


class EntryRange(msgspec.Struct, frozen=True, array_like=True):
    """Records of one index entry with `first_offset <= offset < end_offset`."""

    partition: int
    entry: IndexEntry
    first_offset: int
    end_offset: int

    @property
    def is_whole(self) -> bool:
        entry = self.entry
        return self.first_offset <= entry.start_offset and self.end_offset >= entry.end_offset


Clip = Callable[[OffsetRange, Partition], OffsetRange]
"""Returns the part of a range that the log holds, or raises an error if that is not all of it."""


def clip(wanted: OffsetRange, partition: Partition) -> OffsetRange:
    """Return the part of a range that is in the log: not trimmed, and below the high watermark."""
    low, high = partition.first_offset, partition.end_offset
    first = min(max(wanted.first_offset, low), high)
    return OffsetRange(wanted.partition, wanted.stream, first, max(first, min(wanted.end_offset, high)))


def ranges_of(entry_ranges: Sequence[EntryRange]) -> list[OffsetRange]:
    """Return the offset ranges of entry ranges, with adjacent ones merged."""
    found: list[OffsetRange] = []
    for one in entry_ranges:
        last = found[-1] if found else None
        if last is not None and (last.stream, last.end_offset) == (one.entry.stream, one.first_offset):
            found[-1] = msgspec.structs.replace(last, end_offset=one.end_offset)
        else:
            found.append(OffsetRange(one.partition, one.entry.stream, one.first_offset, one.end_offset))
    return found


def group_offsets(entry: ParquetEntry, number: int) -> tuple[int, int]:
    """Return the first offset that a row group covers, and the first one after it."""
    groups, base = entry.groups, entry.start_offset
    first = base + groups[number].start_delta if number else base
    last = number + 1 == len(groups)
    return first, entry.end_offset if last else base + groups[number + 1].start_delta


class Read(NamedTuple):
    """A byte range of an object to be read."""

    path: str
    at: ByteRange


ReadRanges = Callable[[str, Sequence[ByteRange]], Sequence[Buffer]]
"""Reads byte ranges of an object for code that does not await."""
