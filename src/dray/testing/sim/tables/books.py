"""The books after everything has come to rest: stream, index, table and bucket agree to the record.

Everything is in Parquet then; the table has the readable records and no others; the bucket has what the index
names and nothing else; every job that wrote something is done, every mark is gone, and of deleted topics
nothing is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dray.ids import FileId, MetaDomain, StreamId, meta_domain
from dray.index import (
    FILES_PREFIX,
    IndexEntry,
    JobState,
    ParquetEntry,
    StreamHead,
    decode_entry,
    decode_file,
    decode_head,
    decode_job,
    domain_name,
    entries_after,
    file_gc_range,
    file_key,
    head_key,
    job_key,
)
from dray.meta.port import Domain, MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import Clock
from dray.sweep import retained_from
from dray.testing.sim.audit import audit
from dray.testing.sim.tables.onlooker import Onlooker, Place


@dataclass(frozen=True, slots=True)
class Books:
    """What is audited."""

    meta: MetaStore
    objects: ObjectStore
    clock: Clock
    onlooker: Onlooker
    domains: int
    live: Sequence[StreamId]
    deleted: Sequence[StreamId]

    async def audit(self) -> list[str]:
        """Return what does not add up."""
        found = await audit(self.meta, self.objects, self.live, self.domains)
        named: list[str] = []
        for stream in self.live:
            head, entries = await self._read(stream)
            named += [entry.path for entry in entries if isinstance(entry, ParquetEntry)]
            place = self.onlooker.places[stream]
            found += self._check_stream(stream, place, head, entries)
        found += await self._check_files(named)
        for stream in (*self.live, *self.deleted):
            found += await self._check_job(stream)
        for stream in self.deleted:
            found += await self._check_gone(stream)
        return found

    async def _read(self, stream: StreamId) -> tuple[StreamHead, list[IndexEntry]]:
        domain = self._domain(stream)
        head = await self.meta.get(domain, head_key(stream))
        stored = await self.meta.scan(domain, *entries_after(stream, -1))
        entries = [decode_entry(found.key, found.value) for found in stored]
        return StreamHead() if head is None else decode_head(head.key, head.value), entries

    def _check_stream(
        self, stream: StreamId, place: Place, head: StreamHead, entries: Sequence[IndexEntry]
    ) -> list[str]:
        found = []
        if not all(isinstance(entry, ParquetEntry) for entry in entries):
            found.append(f"books: {stream}: not everything is compacted: {entries}")
        in_table = self.onlooker.offsets_in_table(place)
        if in_table != list(range(head.log_start, head.high_watermark)):
            found.append(f"books: {stream}: {place} holds {in_table}, {head}")
        files = {
            file.path
            for file in self.onlooker.in_table(place.table).values()
            if file.partition == place.partition
        }
        if files != {entry.path for entry in entries}:
            found.append(f"books: {stream}: {place} names {sorted(files)}, the index {entries}")
        due = retained_from(head, entries, place.policy, self.clock.now_ms() - _SWEEP_MS)
        if due > head.log_start:
            found.append(f"books: {stream}: retention should have given up what is before {due}, {head}")
        return found

    async def _check_files(self, named: Sequence[str]) -> list[str]:
        found = []
        recorded: list[str] = []
        for domain in map(MetaDomain, range(self.domains)):
            store_domain, prefix = Domain(domain_name(domain)), file_key(domain, FileId(b""))
            stored = await self.meta.scan(store_domain, prefix, prefix + "~")
            recorded += [decode_file(one.key, one.value).path for one in stored]
            marks = await self.meta.scan(store_domain, *file_gc_range(domain))
            found += [f"books: {mark.key} is left" for mark in marks]
        present = [info.path async for info in self.objects.list(FILES_PREFIX)]
        if sorted(recorded) != sorted(named):
            found.append(f"books: the index names {sorted(named)}, there are records of {sorted(recorded)}")
        if sorted(present) != sorted(named):
            found.append(f"books: the index names {sorted(named)}, the bucket holds {sorted(present)}")
        return found

    async def _check_job(self, stream: StreamId) -> list[str]:
        key = job_key(stream)
        stored = await self.meta.get(self._domain(stream), key)
        job = None if stored is None else decode_job(key, stored.value)
        if job is None or job.state in (JobState.CREATED, JobState.DONE):
            return []  # one that has only been begun has done nothing
        return [f"books: a job is left: {job}"]

    async def _check_gone(self, stream: StreamId) -> list[str]:
        head, entries = await self._read(stream)
        if head == StreamHead() and not entries:
            return []
        return [f"books: of the deleted {stream} there is left {head}, {entries}"]

    def _domain(self, stream: StreamId) -> Domain:
        return Domain(domain_name(meta_domain(stream, self.domains)))


_SWEEP_MS = 4_000
"""What became due later may not have been swept yet."""
