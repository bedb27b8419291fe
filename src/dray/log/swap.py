"""Swap of index entries for the Parquet files that were made from them, in one commit.

The commit removes the old entries and releases their references, adds the new ones, records the files, and
advances the job. Readers see the index before it or after it. Two processes that carry out the same job
conflict on the job's key, and the second one changes nothing.

If a file holds later times than its batches' headers stated, the commit also raises the running maximum of
the entries after it and of the head, so that lookups by time can still bisect. If those are more than the
store accepts in one commit, they are raised before it, from the last one on: at every moment running maxima
only grow with the offset, and what a lookup finds early or late is not further off than before.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dray.ids import MetaDomain, StreamId, TopicRef
from dray.index import (
    FileGcMarker,
    FileRef,
    IndexEntry,
    ParquetFile,
    Swap,
    SwapImpossible,
    decode_entry,
    decode_head,
    encode_entry,
    encode_file,
    encode_head,
    plan_swap,
    raised,
)
from dray.keyspace import (
    entries_after,
    entries_until,
    entry_key,
    file_gc_key,
    file_key,
    head_key,
    key_compacted_key,
    log_domain,
)
from dray.log.references import References
from dray.log.settings import LogSettings
from dray.meta.port import ABSENT, Check, Conflict, Delete, Entry, MetaStore, Put, Version, Write
from dray.meta.rules import fits
from dray.runtime import Clock

_ENTRIES_AT_ONCE = 256

Raise = tuple[list[Check], list[Write], list[IndexEntry]]
"""What to check, what to write for the head, and the entries to put."""


class Swapper:
    """Swaps entries of one domain's streams."""

    def __init__(self, meta: MetaStore, domain: MetaDomain, clock: Clock, settings: LogSettings) -> None:
        self._meta = meta
        self._store_domain = log_domain(domain)
        self._domain = domain
        self._clock = clock
        self._settings = settings
        self._references = References(meta, domain, clock, settings)

    async def swap(
        self, stream: StreamId, files: Sequence[FileRef], topic: TopicRef, step: tuple[Check, Put]
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
            checks, writes = await self._references.released(swap.removed, in_table=False)
            removed = {_key(entry) for entry in swap.removed}
            checks += [
                step[0],
                *(Check(found.key, found.version) for found in stored if found.key in removed),
            ]
            added: list[IndexEntry] = [*swap.added]
            raising: Raise = [], [], []
            if swap.is_raising:
                raising = await self._raised(stream, swap, removed)
                checks += raising[0]
                writes += raising[1]
                added += raising[2]
            writes += [*_index_writes(removed, added), *self._file_writes(stream, swap, topic), step[1]]
            if _leaves_out(swap) or swap.is_raising:
                writes.append(Put(key_compacted_key(stream), b""))
            if raising[0] and not fits(self._meta.limits, checks, writes):
                await self._raise_ahead(raising)
                continue
            result = await self._meta.commit(self._store_domain, checks, writes)
            if not isinstance(result, Conflict):
                return True
            if step[0].key in result.keys:
                return False

    async def _has_changed(self, check: Check) -> bool:
        stored = await self._meta.get(self._store_domain, check.key)
        return check.version != (ABSENT if stored is None else stored.version)

    async def _entries(self, stream: StreamId, files: Sequence[FileRef]) -> list[Entry]:
        """Return every entry that ends in the range of the files."""
        start, _ = entries_after(stream, files[0].start_offset)
        _, end = entries_until(stream, files[-1].end_offset)
        return list(await self._meta.scan(self._store_domain, start, end))

    async def _raised(self, stream: StreamId, swap: Swap, removed: set[str]) -> Raise:
        """Return the change that raises the head and the entries whose running maximum is too low.

        The head is read first: an entry that is appended later either changes it or is raised already.
        """
        latest_ms = max(entry.running_max_timestamp_ms for entry in swap.added)
        checks: list[Check] = []
        writes: list[Write] = []
        stored = await self._meta.get(self._store_domain, head_key(stream))
        if stored is None or (head := decode_head(stored.key, stored.value)).deleted:
            return checks, writes, []
        if head.max_timestamp_ms < latest_ms:
            higher = msgspec.structs.replace(head, max_timestamp_ms=latest_ms)
            checks.append(Check(stored.key, stored.version))
            writes.append(Put(stored.key, encode_head(higher)))
        versions: dict[str, Version] = {}
        kept: list[IndexEntry] = []
        start, end = entries_after(stream, swap.added[0].end_offset)
        while not kept or kept[-1].running_max_timestamp_ms < latest_ms:
            page = await self._meta.scan(self._store_domain, start, end, limit=_ENTRIES_AT_ONCE)
            versions |= {found.key: found.version for found in page}
            kept += [decode_entry(found.key, found.value) for found in page if found.key not in removed]
            if len(page) < _ENTRIES_AT_ONCE:
                break
            start = page[-1].key + "\0"
        later = raised([*swap.added, *kept])
        checks += [Check(key, versions[key]) for key in map(_key, later) if key not in removed]
        return checks, writes, later

    async def _raise_ahead(self, raising: Raise) -> None:
        """Raise the head and the later entries in as many commits as needed; a conflict ends it early."""
        checks, head_writes, later = raising
        unchanged = {check.key: check for check in checks}
        last_first = sorted(later, key=lambda entry: -entry.end_offset)
        entries = [Put(_key(entry), encode_entry(entry)) for entry in last_first]
        writes = [write for write in (*head_writes, *entries) if write.key in unchanged]
        while writes:
            count = 1
            while count < len(writes) and self._fit(unchanged, writes[: count + 1]):
                count += 1
            part, writes = writes[:count], writes[count:]
            part_checks = [unchanged[write.key] for write in part]
            if isinstance(await self._meta.commit(self._store_domain, part_checks, part), Conflict):
                return

    def _fit(self, unchanged: Mapping[str, Check], writes: Sequence[Write]) -> bool:
        return fits(self._meta.limits, [unchanged[write.key] for write in writes], writes)

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


def _index_writes(removed: set[str], new: Iterable[IndexEntry]) -> list[Write]:
    """A file's entry has the key of the last one it replaces, which is therefore not deleted."""
    added = {_key(entry): encode_entry(entry) for entry in new}
    return [
        *(Delete(key) for key in sorted(removed - added.keys())),
        *(Put(key, value) for key, value in added.items()),
    ]


def _leaves_out(swap: Swap) -> bool:
    """Return whether the new entries hold fewer records: readers must not find them only in the end."""
    return sum(new.record_count for new in swap.added) < sum(old.record_count for old in swap.removed)
