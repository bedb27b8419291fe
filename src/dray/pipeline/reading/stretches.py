"""What is wanted of a topic, and the stretches of the log that hold it. Pure.

A *stretch* is what is wanted of one index entry.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from dray.ids import StreamId
from dray.index import IndexEntry, ParquetEntry, StreamHead


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of the topic as it was when it was looked at."""

    number: int
    stream: StreamId
    head: StreamHead

    @property
    def first_offset(self) -> int:
        return self.head.log_start

    @property
    def end_offset(self) -> int:
        return self.head.high_watermark

    def everything(self) -> "Wanted":
        return Wanted(self.number, self.stream, self.first_offset, self.end_offset)


class Wanted(msgspec.Struct, frozen=True, array_like=True):
    """The records of one partition that are to be read."""

    partition: int
    stream: StreamId
    first_offset: int
    end_offset: int


class Stretch(msgspec.Struct, frozen=True, array_like=True):
    """The records of one index entry with `first_offset <= offset < end_offset`."""

    partition: int
    entry: IndexEntry
    first_offset: int
    end_offset: int

    @property
    def is_whole(self) -> bool:
        entry = self.entry
        return self.first_offset <= entry.start_offset and self.end_offset >= entry.end_offset


Cut = Callable[[Wanted, Partition], Wanted]
"""Returns what the log holds of a range; may raise instead."""


def left_of(asked: Wanted, partition: Partition) -> Wanted:
    """Return what the log still holds of a range, or already."""
    low, high = partition.first_offset, partition.end_offset
    first = min(max(asked.first_offset, low), high)
    return Wanted(asked.partition, asked.stream, first, max(first, min(asked.end_offset, high)))


def ranges_of(stretches: Sequence[Stretch]) -> list[Wanted]:
    """Return the ranges that stretches stand for; those that follow each other become one."""
    found: list[Wanted] = []
    for one in stretches:
        last = found[-1] if found else None
        if last is not None and (last.stream, last.end_offset) == (one.entry.stream, one.first_offset):
            found[-1] = msgspec.structs.replace(last, end_offset=one.end_offset)
        else:
            found.append(Wanted(one.partition, one.entry.stream, one.first_offset, one.end_offset))
    return found


def group_offsets(entry: ParquetEntry, number: int) -> tuple[int, int]:
    """Return the first offset that a row group covers, and the first one behind it."""
    groups, base = entry.groups, entry.start_offset
    first = base + groups[number].start_delta if number else base
    last = number + 1 == len(groups)
    return first, entry.end_offset if last else base + groups[number + 1].start_delta
