"""The index, the heads and the deletion marks as they are at this instant, kept from every commit.

So that a rule can be checked at the very moment in which it might be broken, without asking the store.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from dray.ids import StreamId
from dray.index import (
    STREAMS_PREFIX,
    IndexEntry,
    StreamHead,
    decode_entry,
    decode_file_gc,
    decode_gc,
    decode_head,
    decode_object,
    stream_of_head_key,
)
from dray.meta.port import Delete, Put, Write


@dataclass(slots=True)
class Change:
    """What one commit did to one stream."""

    head_before: StreamHead | None
    head: StreamHead | None
    removed: list[IndexEntry] = field(default_factory=list)
    """Replaced ones too."""
    added: list[IndexEntry] = field(default_factory=list)


class Mirror:
    """Follows the commits."""

    def __init__(self) -> None:
        self.heads: dict[StreamId, StreamHead] = {}
        self.marks: dict[str, int] = {}
        """When each object that was given up may be deleted, in milliseconds."""
        self._entries: defaultdict[StreamId, dict[str, IndexEntry]] = defaultdict(dict)
        self._named: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._marked: dict[str, str] = {}

    def entries(self, stream: StreamId) -> list[IndexEntry]:
        return sorted(self._entries[stream].values(), key=lambda entry: entry.end_offset)

    def times_named(self, path: str) -> int:
        """How many entries of the index point to the object."""
        return len(self._named.get(path, ()))

    def apply(self, writes: Iterable[Write]) -> dict[StreamId, Change]:
        """Take over a commit; returns what it did, by stream."""
        changes: dict[StreamId, Change] = {}
        for write in writes:
            if "/offset-index/" in write.key:
                stream = StreamId(int(write.key[len(STREAMS_PREFIX) :].partition("/")[0], 16))
                self._take_entry(self._change(changes, stream), stream, write)
            elif (of := stream_of_head_key(write.key)) is not None:
                self._take_head(self._change(changes, of), of, write)
            elif "/gc/" in write.key:
                self._take_mark(write)
        return changes

    def miscounted(self, writes: Iterable[Write]) -> list[str]:
        """Say which records of objects do not agree with the index after a commit."""
        found = []
        for write in writes:
            if isinstance(write, Delete):
                continue
            if "/gc/" in write.key and self.times_named(path := self._marked[write.key]):
                found.append(f"{path} is to be deleted, and {self.times_named(path)} entries name it")
            elif "/wal/objects/" in write.key:
                counted = decode_object(write.key, write.value)
                if counted.references != self.times_named(counted.path):
                    found.append(f"{counted} is named {self.times_named(counted.path)} times")
        return found

    def holes(self, stream: StreamId) -> list[str]:
        """Say where readable offsets have no entry, or more than one."""
        head = self.heads[stream]
        entries = [entry for entry in self.entries(stream) if entry.end_offset > head.log_start]
        found = [
            f"an entry ends at {before.end_offset}, the next begins at {after.start_offset}"
            for before, after in pairwise(entries)
            if before.end_offset != after.start_offset
        ]
        start = entries[0].start_offset if entries else head.high_watermark
        end = entries[-1].end_offset if entries else head.log_start
        if start > head.log_start or end != head.high_watermark:
            found.append(f"entries cover {start} to {end}, the head says {head}")
        return found

    def _change(self, changes: dict[StreamId, Change], stream: StreamId) -> Change:
        head = self.heads.get(stream)
        return changes.setdefault(stream, Change(head, head))

    def _take_entry(self, change: Change, stream: StreamId, write: Write) -> None:
        entries = self._entries[stream]
        before = entries.pop(write.key, None)
        if before is not None:
            change.removed.append(before)
            self._named[before.path].pop(write.key, None)
        if isinstance(write, Put):
            entry = entries[write.key] = decode_entry(write.key, write.value)
            change.added.append(entry)
            self._named[entry.path][write.key] = None

    def _take_head(self, change: Change, stream: StreamId, write: Write) -> None:
        if isinstance(write, Delete):
            change.head = None
            self.heads.pop(stream, None)
        else:
            change.head = self.heads[stream] = decode_head(write.key, write.value)

    def _take_mark(self, write: Write) -> None:
        if isinstance(write, Delete):
            self.marks.pop(self._marked.pop(write.key, ""), None)
            return
        decode = decode_file_gc if "/parquet/" in write.key else decode_gc
        mark = decode(write.key, write.value)
        self._marked[write.key] = mark.path
        self.marks[mark.path] = mark.delete_after_ms
