"""Read tasks: how ranges of the log are packed into Spark's tasks.

Large files are split between row groups, so that several tasks can share them. Small ranges are combined,
across partitions if need be, in the order of partitions and offsets. A range counts for the size of its
records as produced, because decoding is most of the work and a file may be much smaller; and for a minimum
size, because every request has a latency.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
from pyspark.sql.datasource import InputPartition

from dray.index import GroupRow, ParquetEntry
from dray.scan.ranges import EntryRange, group_offsets

REQUEST_BYTES: Final = 256 << 10
"""Minimum size that a range counts for."""


_encoder = msgspec.msgpack.Encoder()


class ReadTask(msgspec.Struct, frozen=True, array_like=True):
    """Ranges of a topic, ordered by partition and offset."""

    topic: str
    entry_ranges: tuple[EntryRange, ...]
    fail_on_data_loss: bool


_decoder = msgspec.msgpack.Decoder(ReadTask)


class TaskPartition(InputPartition):
    """A task as Spark sends it from the driver to an executor."""

    def __init__(self, task: ReadTask) -> None:
        super().__init__(_encoder.encode(task))

    def task(self) -> ReadTask:
        return _decoder.decode(self.value)


@dataclass(frozen=True, slots=True)
class TaskSizes:
    """Maximum size of a task, and minimum number of tasks if there is enough to read."""

    bytes_max: int
    tasks_min: int


def packed(entry_ranges: Iterable[EntryRange], sizes: TaskSizes) -> list[tuple[EntryRange, ...]]:
    """Return the ranges that each task reads."""
    pieces = [piece for entry_range in entry_ranges for piece in _pieces(entry_range)]
    total = sum(size for _, size in pieces)
    target = max(1, min(sizes.bytes_max, -(-total // sizes.tasks_min)))
    tasks: list[tuple[EntryRange, ...]] = []
    task: list[EntryRange] = []
    held = 0
    for piece, size in pieces:
        if task and held + size > target:
            tasks.append(tuple(task))
            task, held = [], 0
        _join(task, piece)
        held += size
    return [*tasks, tuple(task)] if task else tasks


def _pieces(entry_range: EntryRange) -> Iterator[tuple[EntryRange, int]]:
    """Split a range as finely as it can be read; yields pieces and the sizes that they count for."""
    entry = entry_range.entry
    if not isinstance(entry, ParquetEntry):
        yield entry_range, max(REQUEST_BYTES, _share(entry.chunk_length, entry_range))
        return
    for number, group in enumerate(entry.groups):
        first, end = group_offsets(entry, number)
        cut = msgspec.structs.replace(
            entry_range,
            first_offset=max(first, entry_range.first_offset),
            end_offset=min(end, entry_range.end_offset),
        )
        if cut.first_offset < cut.end_offset:
            yield cut, max(REQUEST_BYTES, group.length, _produced_bytes(entry, group))


def _produced_bytes(entry: ParquetEntry, group: GroupRow) -> int:
    return entry.ingested_bytes * group.record_count // max(1, entry.record_count)


def _share(size_bytes: int, entry_range: EntryRange) -> int:
    entry = entry_range.entry
    return (
        size_bytes
        * (entry_range.end_offset - entry_range.first_offset)
        // (entry.end_offset - entry.start_offset)
    )


def _join(task: list[EntryRange], piece: EntryRange) -> None:
    """Append a piece; adjacent pieces of the same entry are joined."""
    last = task[-1] if task else None
    if last is not None and last.entry is piece.entry and last.end_offset == piece.first_offset:
        task[-1] = msgspec.structs.replace(last, end_offset=piece.end_offset)
    else:
        task.append(piece)
