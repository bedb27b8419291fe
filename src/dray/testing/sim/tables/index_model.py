"""Model of the index, the stream heads and the deletion markers, updated with every commit.

With it a rule is checked at the very moment it might be broken, without reading the store.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from dray.check.chain import EntryAt, HeadAt, StreamChain
from dray.ids import Domain, StreamId
from dray.index import (
    IndexEntry,
    StreamHead,
    WalEntry,
    decode_entry,
    decode_file_gc,
    decode_gc,
    decode_head,
    decode_object,
)
from dray.keyspace import STREAMS_PREFIX, stream_of_head_key
from dray.meta.port import Delete, Put, Version, Write

_ANY_VERSION: Final = Version(1)
_ANY_DOMAIN: Final = Domain("log")


@dataclass(slots=True)
class Change:
    """Changes of one stream by one commit."""

    head_before: StreamHead | None
    head: StreamHead | None
    removed: list[IndexEntry] = field(default_factory=list)
    """Including replaced entries."""
    added: list[IndexEntry] = field(default_factory=list)


class IndexModel:
    """The state after all commits so far."""

    def __init__(self) -> None:
        self.heads: dict[StreamId, StreamHead] = {}
        self.delete_after_ms: dict[str, int] = {}
        """The time from which each object with a deletion marker may be deleted, by path."""
        self._entries: defaultdict[StreamId, dict[str, IndexEntry]] = defaultdict(dict)
        self._references: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._marked: dict[str, str] = {}

    def entries(self, stream: StreamId) -> list[IndexEntry]:
        return sorted(self._entries[stream].values(), key=lambda entry: entry.end_offset)

    def wal_paths(self) -> set[str]:
        """Return the paths of the WAL objects that the index references."""
        every = (entry for entries in self._entries.values() for entry in entries.values())
        return {entry.path for entry in every if isinstance(entry, WalEntry)}

    def references(self, path: str) -> int:
        """Return the number of index entries that reference the object."""
        return len(self._references.get(path, ()))

    def apply(self, writes: Iterable[Write]) -> dict[StreamId, Change]:
        """Apply a commit; return its changes by stream."""
        changes: dict[StreamId, Change] = {}
        for write in writes:
            if "/offset-index/" in write.key:
                stream = StreamId(int(write.key[len(STREAMS_PREFIX) :].partition("/")[0], 16))
                self._apply_entry(self._change(changes, stream), stream, write)
            elif (of := stream_of_head_key(write.key)) is not None:
                self._apply_head(self._change(changes, of), of, write)
            elif "/gc/" in write.key:
                self._apply_marker(write)
        return changes

    def miscounted(self, writes: Iterable[Write]) -> list[str]:
        """Describe the object records of a commit that disagree with the index."""
        found = []
        for write in writes:
            if isinstance(write, Delete):
                continue
            if "/gc/" in write.key and (count := self.references(self._marked[write.key])):
                found.append(f"{self._marked[write.key]} is to be deleted, but {count} entries reference it")
            elif "/wal/objects/" in write.key:
                counted = decode_object(write.key, write.value)
                if counted.references != (count := self.references(counted.path)):
                    found.append(f"{counted} has {count} references in the index")
        return found

    def holes(self, stream: StreamId) -> list[str]:
        """Describe what is wrong with the entries of a stream, such as readable offsets without one."""
        head = HeadAt(self.heads[stream], _ANY_VERSION)
        chain = StreamChain(_ANY_DOMAIN, stream, head)
        for key, entry in sorted(self._entries[stream].items()):
            chain.add(EntryAt(key, _ANY_VERSION, entry))
        return [f"{one.what}, the head is {head.head}: {one}" for one in chain.finish(head)]

    def _change(self, changes: dict[StreamId, Change], stream: StreamId) -> Change:
        head = self.heads.get(stream)
        return changes.setdefault(stream, Change(head, head))

    def _apply_entry(self, change: Change, stream: StreamId, write: Write) -> None:
        entries = self._entries[stream]
        before = entries.pop(write.key, None)
        if before is not None:
            change.removed.append(before)
            self._references[before.path].pop(write.key, None)
        if isinstance(write, Put):
            entry = entries[write.key] = decode_entry(write.key, write.value)
            change.added.append(entry)
            self._references[entry.path][write.key] = None

    def _apply_head(self, change: Change, stream: StreamId, write: Write) -> None:
        if isinstance(write, Delete):
            change.head = None
            self.heads.pop(stream, None)
        else:
            change.head = self.heads[stream] = decode_head(write.key, write.value)

    def _apply_marker(self, write: Write) -> None:
        if isinstance(write, Delete):
            self.delete_after_ms.pop(self._marked.pop(write.key, ""), None)
            return
        decode = decode_file_gc if "/parquet/" in write.key else decode_gc
        marker = decode(write.key, write.value)
        self._marked[write.key] = marker.path
        self.delete_after_ms[marker.path] = marker.delete_after_ms
