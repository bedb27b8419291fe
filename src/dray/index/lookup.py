"""Finding entries: by offset among those at hand, by time through the whole index.

By offset the store does the work: the first key of `entries_after(stream, offset)` is the entry with the
smallest end greater than the offset. By time, entries carry the greatest timestamp up to and including
themselves; that grows with the offset, so the first entry that may hold a time is found by halving the range.
"""

from collections.abc import Generator
from dataclasses import dataclass

from dray.index.entry import IndexEntry


def covers(entry: IndexEntry, offset: int) -> bool:
    return entry.start_offset <= offset < entry.end_offset


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
