"""Cache of index entries, possibly stale: a reader notices when an entry's object no longer exists.

Entries of a stream do not change their offsets: they are only replaced by others that cover the same offsets,
or removed from the front. So a cached entry is at worst a pointer to a deleted object; the reader then drops
the stream's entries and looks again. Only key compaction removes records, and only a swap corrects running
maxima of others: the watch on the store then drops the stream's entries. An entry that was in flight from the
store at that moment may be outdated, and is not cached: see `mark`.
"""

import sys
from bisect import bisect_right
from collections import OrderedDict
from operator import attrgetter

from dray.ids import StreamId
from dray.index import IndexEntry, ParquetEntry, covers

_NO_LIMIT = sys.maxsize
_DROPS_KEPT = 10_000
_ENTRY_BYTES = 600
"""About what an entry takes besides its rows."""

_end = attrgetter("end_offset")


class IndexCache:
    """Entries by stream and end offset; the least recently used streams are evicted first."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._streams: OrderedDict[StreamId, list[IndexEntry]] = OrderedDict()
        self._drops = 0
        self._dropped_at: OrderedDict[StreamId, int] = OrderedDict()
        self._dropped_at_least = 0

    def __len__(self) -> int:
        return sum(map(len, self._streams.values()))

    @property
    def size_bytes(self) -> int:
        return self._bytes

    def find(self, stream: StreamId, offset: int) -> IndexEntry | None:
        """Return the cached entry that covers `offset`."""
        entries = self._streams.get(stream)
        if entries is None:
            return None
        self._streams.move_to_end(stream)
        at = bisect_right(entries, offset, key=_end)
        if at == len(entries) or not covers(entries[at], offset):
            return None
        return entries[at]

    def following(
        self, entry: IndexEntry, size_bytes: int = _NO_LIMIT, *, count: int = _NO_LIMIT
    ) -> list[IndexEntry]:
        """Return cached entries that directly follow `entry`, by number or by bytes."""
        entries = self._streams.get(entry.stream, [])
        following: list[IndexEntry] = []
        for at in range(bisect_right(entries, entry.end_offset, key=_end), len(entries)):
            found = entries[at]
            if size_bytes <= 0 or len(following) == count or found.start_offset != entry.end_offset:
                break
            following.append(found)
            size_bytes -= found.ingested_bytes
            entry = found
        return following

    def mark(self) -> int:
        """Return a moment, for `add`: take it before entries are read."""
        return self._drops

    def add(self, entry: IndexEntry, mark: int | None = None) -> None:
        """Keep an entry, unless its stream was dropped since it may have been read."""
        if mark is not None and mark < self._dropped_at.get(entry.stream, self._dropped_at_least):
            return
        entries = self._streams.get(entry.stream)
        if entries is None:
            entries = self._streams[entry.stream] = []
        else:
            self._streams.move_to_end(entry.stream)
        if not entries or entries[-1].end_offset <= entry.start_offset:
            entries.append(entry)
        else:
            self._put_between(entries, entry)
        self._bytes += entry_bytes(entry)
        self._shrink()

    def _put_between(self, entries: list[IndexEntry], entry: IndexEntry) -> None:
        """Put an entry in the place of all that it overlaps."""
        at = bisect_right(entries, entry.start_offset, key=_end)
        overlapping = at
        while overlapping < len(entries) and entries[overlapping].start_offset < entry.end_offset:
            overlapping += 1
        self._remove(entries, at, overlapping)
        entries.insert(at, entry)

    def drop(self, stream: StreamId) -> None:
        entries = self._streams.pop(stream, [])
        self._remove(entries, 0, len(entries))
        self._drops += 1
        self._dropped_at[stream] = self._drops
        self._dropped_at.move_to_end(stream)
        if len(self._dropped_at) > _DROPS_KEPT:
            _, self._dropped_at_least = self._dropped_at.popitem(last=False)

    def drop_all(self) -> None:
        self._streams.clear()
        self._bytes = 0
        self._drops += 1
        self._dropped_at.clear()
        self._dropped_at_least = self._drops

    def _remove(self, entries: list[IndexEntry], start: int, end: int) -> None:
        self._bytes -= sum(map(entry_bytes, entries[start:end]))
        del entries[start:end]

    def _shrink(self) -> None:
        while self._bytes > self._bytes_max:
            stream, entries = next(iter(self._streams.items()))
            self._remove(entries, 0, max(1, len(entries) // 2))
            if not entries:
                del self._streams[stream]


def entry_bytes(entry: IndexEntry) -> int:
    """Return about how much memory an entry takes."""
    packed = entry.packed_groups if isinstance(entry, ParquetEntry) else entry.packed_rows
    return _ENTRY_BYTES + len(packed)
