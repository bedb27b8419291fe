"""Finding entries: by offset among those at hand, by time through the whole index.

By offset the store does the work: the first key of `entries_after(stream, offset)` is the entry with the
smallest end greater than the offset. By time, entries carry the greatest timestamp up to and including
themselves; that grows with the offset, so the first entry that may hold a time is found by halving the range.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dray.index.entry import IndexEntry
from dray.index.parquet import ParquetEntry


def covers(entry: IndexEntry, offset: int) -> bool:
    return entry.start_offset <= offset < entry.end_offset


class Part(NamedTuple):
    """The smallest part of an entry of which the index tells the timestamps: a batch, or a row group."""

    start_offset: int
    last_offset: int
    max_timestamp_ms: int


def parts_of(entry: IndexEntry) -> Iterator[Part]:
    """Return the entry's parts in the order of their offsets."""
    base = entry.start_offset
    for row in entry.groups if isinstance(entry, ParquetEntry) else entry.rows:
        yield Part(base + row.start_delta, base + row.last_delta, row.max_timestamp_ms)


@dataclass(frozen=True, slots=True)
class Probe:
    """Ask for the entry that covers `offset` (or the first one behind it)."""

    offset: int


def first_reaching_time(
    start: int, end: int, at_least_ms: int
) -> Generator[Probe, IndexEntry | None, IndexEntry | None]:
    """Find the first entry of `[start, end)` whose running maximum reaches a time.

    A generator, because only the caller may read: it yields what it wants to see and is sent the entry, or
    None when there is none. About log2(end - start) probes.
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
