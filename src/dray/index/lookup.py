"""Lookup of index entries by offset and by time.

By offset, the store does the work: the first key of `entries_after(stream, offset)` is the entry with the
smallest end greater than the offset. By time, each entry carries the greatest timestamp of itself and all
entries before it; that never decreases, so the first entry that reaches a time is found by bisection.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dray.index.entry import IndexEntry, ParquetEntry


def covers(entry: IndexEntry, offset: int) -> bool:
    return entry.start_offset <= offset < entry.end_offset


class TimestampedRange(NamedTuple):
    """The smallest part of an entry whose timestamps are in the index: a batch or a row group."""

    start_offset: int
    last_offset: int
    max_timestamp_ms: int


def parts_of(entry: IndexEntry) -> Iterator[TimestampedRange]:
    """Return the entry's parts in offset order."""
    base = entry.start_offset
    for row in entry.groups if isinstance(entry, ParquetEntry) else entry.rows:
        yield TimestampedRange(base + row.start_delta, base + row.last_delta, row.max_timestamp_ms)


@dataclass(frozen=True, slots=True)
class Probe:
    """Request for the entry that covers `offset`, or the first one after it."""

    offset: int


def first_reaching_time(
    start: int, end: int, at_least_ms: int
) -> Generator[Probe, IndexEntry | None, IndexEntry | None]:
    """Find the first entry of `[start, end)` whose running maximum reaches a time.

    A generator, because only the caller can read: it yields a probe and is sent the entry found, or None. It
    takes about log2(end - start) probes.
    """
    found: IndexEntry | None = None
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        entry = yield Probe(middle)
        if entry is None or entry.start_offset >= high:
            high = middle
        elif entry.running_max_timestamp_ms >= at_least_ms:
            found = entry
            high = min(entry.start_offset, middle)
        else:
            low = entry.end_offset
    return found
