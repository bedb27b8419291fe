"""Putting Parquet files in the places of the entries they were made from, in one commit.

The commit removes the old entries, adds the new ones, gives up the old ones' references, records the files,
and takes the job that asked for it one step on. Readers see the index before it or after it. Two that carry
out the same job collide on the job's key, and the second one changes nothing.
"""

from collections.abc import Iterable, Sequence

from dray.ids import MetaDomain, StreamId, TopicRef
from dray.index import (
    FileGcMarker,
    FilePlace,
    IndexEntry,
    ParquetEntry,
    ParquetFile,
    Swap,
    SwapImpossible,
    cleaned_key,
    decode_entry,
    encode_entry,
    encode_file,
    entries_after,
    entries_until,
    entry_key,
    file_gc_key,
    file_key,
    plan_swap,
)
from dray.log.references import References
from dray.log.settings import LogSettings
from dray.meta.port import ABSENT, Check, Conflict, Delete, Domain, Entry, MetaStore, Put, Write
from dray.runtime import Clock


class Swapper:
    """Swaps entries of one domain's streams."""

    def __init__(
        self, meta: MetaStore, store_domain: Domain, domain: MetaDomain, clock: Clock, settings: LogSettings
    ) -> None:
        self._meta = meta
        self._store_domain = store_domain
        self._domain = domain
        self._clock = clock
        self._settings = settings
        self._references = References(meta, store_domain, domain, clock, settings)

    async def swap(
        self, stream: StreamId, files: Sequence[FilePlace], topic: TopicRef, step: tuple[Check, Put]
    ) -> bool:
        """Put the files, in the order of their offsets, into the index of `stream`; `step` is the job's.

        False means that the job's key has changed and nothing was done. Raises `SwapImpossible` if the index
        holds what the files were not made from.
        """
        while True:
            stored = await self._entries(stream, files)
            try:
                swap = plan_swap(stream, files, [decode_entry(found.key, found.value) for found in stored])
            except SwapImpossible:
                if await self._has_changed(step[0]):
                    return False
                raise
            checks, writes = await self._references.given_up(swap.removed, in_table=False)
            removed = {_key(entry) for entry in swap.removed}
            checks += [
                step[0],
                *(Check(found.key, found.version) for found in stored if found.key in removed),
            ]
            writes += [*_index_writes(removed, swap.added), *self._file_writes(stream, swap, topic), step[1]]
            if _leaves_out(swap):
                writes.append(Put(cleaned_key(stream), b""))
            result = await self._meta.commit(self._store_domain, checks, writes)
            if not isinstance(result, Conflict):
                return True
            if step[0].key in result.keys:
                return False

    async def _has_changed(self, check: Check) -> bool:
        stored = await self._meta.get(self._store_domain, check.key)
        return check.version != (ABSENT if stored is None else stored.version)

    async def _entries(self, stream: StreamId, files: Sequence[FilePlace]) -> list[Entry]:
        """Return every entry that ends in the range of the files."""
        start, _ = entries_after(stream, files[0].start_offset)
        _, end = entries_until(stream, files[-1].end_offset)
        return list(await self._meta.scan(self._store_domain, start, end))

    def _file_writes(self, stream: StreamId, swap: Swap, topic: TopicRef) -> list[Write]:
        now_ms = self._clock.now_ms()
        delete_after_ms = now_ms + self._settings.file_gc_grace_ms
        writes: list[Write] = []
        for entry in swap.added:
            record = ParquetFile(entry.path, stream, topic, now_ms, entry.size_bytes)
            writes.append(Put(file_key(self._domain, entry.file_id), encode_file(record)))
        for file in swap.unwanted:
            marker = FileGcMarker(file.path, stream, topic, delete_after_ms, in_table=True)
            writes.append(Put(file_gc_key(self._domain, file.file_id), encode_file(marker)))
        return writes


def _key(entry: IndexEntry) -> str:
    return entry_key(entry.stream, entry.end_offset, entry.cumulative_size)


def _index_writes(removed: set[str], files: Iterable[ParquetEntry]) -> list[Write]:
    """A file's entry has the key of the last one it replaces, which is therefore not deleted."""
    added = {_key(entry): encode_entry(entry) for entry in files}
    return [
        *(Delete(key) for key in sorted(removed - added.keys())),
        *(Put(key, value) for key, value in added.items()),
    ]


def _leaves_out(swap: Swap) -> bool:
    """Whether the new entries hold fewer records: then it is not enough that readers find them in the end."""
    return sum(new.record_count for new in swap.added) < sum(old.record_count for old in swap.removed)
