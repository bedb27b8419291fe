"""How stretches of the log are gathered into Spark's tasks. Pure.

A large file is cut between its row groups, so that several
tasks can share it. Small stretches are gathered, of several partitions if need be, in the order of partitions
and offsets. Each counts for what its records took when they came, because decoding is most of the work and a
file may be much smaller; and for a certain size at least, because a request takes its time however little it
brings.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from dray.index import GroupRow, ParquetEntry
from dray.pipeline.reading.stretches import Stretch, group_offsets

REQUEST_BYTES: Final = 256 << 10
"""What a stretch counts for at least."""


@dataclass(frozen=True, slots=True)
class Portions:
    """How large a task may become, and how many there should be if there is enough to do."""

    bytes_max: int
    tasks_min: int


def gathered(stretches: Iterable[Stretch], portions: Portions) -> list[tuple[Stretch, ...]]:
    """Return what each task reads."""
    pieces = [piece for stretch in stretches for piece in _pieces(stretch)]
    total = sum(size for _, size in pieces)
    target = max(1, min(portions.bytes_max, -(-total // portions.tasks_min)))
    tasks: list[tuple[Stretch, ...]] = []
    task: list[Stretch] = []
    held = 0
    for piece, size in pieces:
        if task and held + size > target:
            tasks.append(tuple(task))
            task, held = [], 0
        _join(task, piece)
        held += size
    return [*tasks, tuple(task)] if task else tasks


def _pieces(stretch: Stretch) -> Iterator[tuple[Stretch, int]]:
    """Cut a stretch as finely as it can be read, with what each piece counts for."""
    entry = stretch.entry
    if not isinstance(entry, ParquetEntry):
        yield stretch, max(REQUEST_BYTES, _share(entry.chunk_length, stretch))
        return
    for number, group in enumerate(entry.groups):
        first, end = group_offsets(entry, number)
        cut = msgspec.structs.replace(
            stretch, first_offset=max(first, stretch.first_offset), end_offset=min(end, stretch.end_offset)
        )
        if cut.first_offset < cut.end_offset:
            yield cut, max(REQUEST_BYTES, group.length, _came_bytes(entry, group))


def _came_bytes(entry: ParquetEntry, group: GroupRow) -> int:
    return entry.came_bytes * group.record_count // max(1, entry.record_count)


def _share(size_bytes: int, stretch: Stretch) -> int:
    entry = stretch.entry
    return size_bytes * (stretch.end_offset - stretch.first_offset) // (entry.end_offset - entry.start_offset)


def _join(task: list[Stretch], piece: Stretch) -> None:
    """Add a piece; one that follows the last in the same entry becomes one with it."""
    last = task[-1] if task else None
    if last is not None and last.entry is piece.entry and last.end_offset == piece.first_offset:
        task[-1] = msgspec.structs.replace(last, end_offset=piece.end_offset)
    else:
        task.append(piece)
