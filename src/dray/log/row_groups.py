"""Cache of row groups of Parquet files, encoded as the record batches that a fetch sends.

A group is read by its range, decoded and encoded again as a whole, once for all readers that need it at the
time or soon after. The encoder (`parquet`) is passed in: it needs libraries that a broker loads with the
first Parquet file.
"""

from asyncio import Task, wait
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from typing_extensions import Buffer

from dray.index import BatchRow, GroupRow, ParquetEntry
from dray.objects.port import ByteRange, ObjectError, Unavailable
from dray.runtime import SupervisorStopped, Tasks


class Rows(Protocol):
    """The batches of an offset range, in order."""

    def reaching(self, delta: int) -> Iterator[BatchRow]:
        """Return the rows from the first whose last offset is not before `delta`."""
        ...


class Opened(NamedTuple):
    """An offset range `[start_offset, end_offset)` with its batches in memory.

    It has every record of the range; offsets may lack one, also at the end.
    """

    start_offset: int
    """Row deltas count from here."""
    end_offset: int
    rows: Rows
    batch_of: Callable[[BatchRow], memoryview]
    unverified: bool = False
    """The batches are as the store returned them, and may be damaged."""


class GroupUnreadable(Exception):
    """The bytes of a group cannot be turned into batches."""


class GroupBytes(NamedTuple):
    """What is needed to decode one group: the end of the file, and the group's own bytes."""

    tail: Buffer
    tail_crc: int
    number: int
    position: int
    data: Buffer


class EncodedBatch(NamedTuple):
    """One batch of an encoded group."""

    batch: memoryview
    base_offset: int
    last_offset: int
    max_timestamp_ms: int


EncodedGroup = Sequence[EncodedBatch]
"""A group's records as batches. Some share a buffer, but not all: pending responses keep buffers alive."""
Encode = Callable[[GroupBytes], Awaitable[EncodedGroup]]
"""Raises `GroupUnreadable`."""
ReadRanges = Callable[[str, Sequence[ByteRange]], Awaitable[list[Buffer]]]

_OPENING_AHEAD_MAX = 8
"""Prefetched groups of all readers together."""

_Key = tuple[str, int]


class _Group(NamedTuple):
    """A group in memory."""

    opened: Opened
    size_bytes: int


_Outcome = _Group | GroupUnreadable | ObjectError


class RowGroups:
    """Opens row groups; keeps at most `max_bytes` of encoded ones, least recently used out first."""

    def __init__(self, encode: Encode, read: ReadRanges, tasks: Tasks, max_bytes: int) -> None:
        self._encode = encode
        self._read = read
        self._tasks = tasks
        self._max_bytes = max_bytes
        self._held_bytes = 0
        self._held: OrderedDict[_Key, _Group] = OrderedDict()
        self._opening: dict[_Key, Task[_Outcome]] = {}

    def cached(self, entry: ParquetEntry, offset: int) -> Opened | None:
        """Return the group that holds `offset` if it is in memory, and prefetch the one after it."""
        groups = entry.groups
        if not groups:
            return Opened(entry.start_offset, entry.end_offset, _Rows(()), _no_batch)
        number = groups.covering(offset - entry.start_offset)
        held = self._held.get((entry.path, number))
        if held is None:
            return None
        self._held.move_to_end((entry.path, number))
        self._prefetch_next(entry, number)
        return held.opened

    async def open(self, entry: ParquetEntry, offset: int) -> Opened:
        """Return the group that holds `offset`; raises `GroupUnreadable` or what the store raises."""
        cached = self.cached(entry, offset)
        if cached is not None:
            return cached
        number = entry.groups.covering(offset - entry.start_offset)
        opening = self._opening.get((entry.path, number)) or self._start(entry, number)
        self._prefetch_next(entry, number)
        await wait([opening])
        if opening.cancelled():
            raise Unavailable(f"read of {entry.path} was aborted: the process is stopping")
        outcome = opening.result()
        if not isinstance(outcome, _Group):
            raise outcome
        return outcome.opened

    def prefetch(self, entry: ParquetEntry, offset: int) -> None:
        """Start to open the group that holds `offset`: it will be needed next."""
        if entry.groups:
            self._prefetch_group(entry, entry.groups.covering(offset - entry.start_offset))

    def _prefetch_next(self, entry: ParquetEntry, number: int) -> None:
        if number + 1 < len(entry.groups):
            self._prefetch_group(entry, number + 1)

    def _prefetch_group(self, entry: ParquetEntry, number: int) -> None:
        key = (entry.path, number)
        if key not in self._held and key not in self._opening and len(self._opening) < _OPENING_AHEAD_MAX:
            with suppress(Unavailable):  # who really needs it will meet the error and report it
                self._start(entry, number)

    def _start(self, entry: ParquetEntry, number: int) -> "Task[_Outcome]":
        key = (entry.path, number)
        try:
            task = self._tasks.start(self._run(entry, number), name=f"open {entry.path} {number}")
        except SupervisorStopped as error:
            raise Unavailable(f"read of {entry.path} was not begun: the process is stopping") from error
        self._opening[key] = task
        task.add_done_callback(lambda _: self._opening.pop(key))
        return task

    async def _run(self, entry: ParquetEntry, number: int) -> _Outcome:
        """Read and encode one group; errors are for the waiting readers, so they are returned."""
        group = entry.groups[number]
        try:
            tail, data = await self._read(entry.path, [tail_range(entry), group_range(group)])
            encoded = await self._encode(GroupBytes(tail, entry.footer_crc, number, group.position, data))
        except (GroupUnreadable, ObjectError) as error:
            return error
        opened = _Group(_opened(entry, number, encoded), sum(len(one.batch) for one in encoded))
        self._keep((entry.path, number), opened)
        return opened

    def _keep(self, key: _Key, group: _Group) -> None:
        self._held[key] = group
        self._held_bytes += group.size_bytes
        while self._held_bytes > self._max_bytes:
            _, evicted = self._held.popitem(last=False)
            self._held_bytes -= evicted.size_bytes


async def no_parquet(_: GroupBytes) -> EncodedGroup:
    """Stand in where Parquet cannot be decoded."""
    raise GroupUnreadable("this process cannot read Parquet files")


def tail_range(entry: ParquetEntry) -> ByteRange:
    return ByteRange(entry.size_bytes - entry.footer_bytes, entry.footer_bytes)


def group_range(group: GroupRow) -> ByteRange:
    return ByteRange(group.position, group.length)


class _Rows:
    """The batches of a group as rows: deltas count from the entry's start, positions are their numbers."""

    def __init__(self, rows: Sequence[BatchRow]) -> None:
        self._rows = rows

    def reaching(self, delta: int) -> Iterator[BatchRow]:
        return (row for row in self._rows if row.last_delta >= delta)


def _opened(entry: ParquetEntry, number: int, encoded: EncodedGroup) -> Opened:
    groups, base = entry.groups, entry.start_offset
    group = groups[number]
    end = base + groups[number + 1].start_delta if number + 1 < len(groups) else entry.end_offset
    rows = [
        BatchRow(
            start_delta=one.base_offset - base,
            last_delta=one.last_offset - base,
            position=at,
            length=len(one.batch),
            min_timestamp_ms=group.min_timestamp_ms,
            max_timestamp_ms=one.max_timestamp_ms,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
        )
        for at, one in enumerate(encoded)
    ]
    return Opened(base, end, _Rows(rows), lambda row: encoded[row.position].batch)


def _no_batch(row: BatchRow) -> memoryview:
    raise LookupError(row)
