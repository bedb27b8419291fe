"""Audit of an idle cluster: streams, index, tables and bucket must agree to the record.

Everything is in Parquet, except entries of damaged objects, which the job records list as skipped. Each table
has the other readable records and nothing else, and the bucket has the objects of the index and nothing else.
Every job that wrote files is done, no deletion markers are left, and nothing is left of deleted topics.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dray.compaction.skipped import SkippedEnds, skipped_records
from dray.ids import Domain, FileId, MetaDomain, StreamId, meta_domain
from dray.index import (
    FILES_PREFIX,
    IndexEntry,
    JobState,
    ParquetEntry,
    StreamHead,
    WalEntry,
    decode_entry,
    decode_file,
    decode_head,
    decode_job,
)
from dray.keyspace import entries_after, file_gc_range, file_key, head_key, job_key, log_domain
from dray.meta.port import MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import Clock
from dray.sweep import retained_from
from dray.testing.sim.audit import audit
from dray.testing.sim.tables.damage import Damage
from dray.testing.sim.tables.invariants import InvariantChecker, TopicPartition

_SWEEP_DELAY_MS_MAX = 4_000
"""Records that expired more recently may not have been trimmed yet."""


@dataclass(frozen=True, slots=True)
class TableAudit:
    """The state to audit."""

    meta: MetaStore
    objects: ObjectStore
    clock: Clock
    checker: InvariantChecker
    domains: int
    live: Sequence[StreamId]
    deleted: Sequence[StreamId]
    damage: Damage

    async def run(self) -> list[str]:
        """Return the discrepancies."""
        found = await audit(self.meta, self.objects, self.live, self.domains)
        named: list[str] = []
        for stream in self.live:
            head, entries = await self._read(stream)
            named += [entry.path for entry in entries if isinstance(entry, ParquetEntry)]
            tp = self.checker.topic_partitions[stream]
            found += self._check_stream(stream, tp, head, entries)
            found += await self._check_skipped(stream, entries)
        found += await self._check_files(named)
        for stream in (*self.live, *self.deleted):
            found += await self._check_job(stream)
        for stream in self.deleted:
            found += await self._check_deleted(stream)
        return found

    async def _read(self, stream: StreamId) -> tuple[StreamHead, list[IndexEntry]]:
        domain = self._domain(stream)
        head = await self.meta.get(domain, head_key(stream))
        stored = await self.meta.scan(domain, *entries_after(stream, -1))
        entries = [decode_entry(found.key, found.value) for found in stored]
        return StreamHead() if head is None else decode_head(head.key, head.value), entries

    def _check_stream(
        self, stream: StreamId, tp: TopicPartition, head: StreamHead, entries: Sequence[IndexEntry]
    ) -> list[str]:
        found = []
        skipped = [entry for entry in entries if isinstance(entry, WalEntry)]
        if not all(entry.path in self.damage for entry in skipped):
            waiting = [(one.start_offset, one.end_offset) for one in skipped if one.path not in self.damage]
            found.append(f"audit: {stream}: not compacted: {waiting}")
        in_table = self.checker.offsets_in_table(tp)
        outside = {offset for one in skipped for offset in range(one.start_offset, one.end_offset)}
        if in_table != [each for each in range(head.log_start, head.high_watermark) if each not in outside]:
            found.append(f"audit: {stream}: {tp} holds {in_table}, {head}")
        files = {
            file.path for file in self.checker.in_table(tp.table).values() if file.partition == tp.partition
        }
        if files != {entry.path for entry in entries if isinstance(entry, ParquetEntry)}:
            found.append(f"audit: {stream}: {tp} has files {sorted(files)}, the index {entries}")
        due = retained_from(head, entries, tp.policy, self.clock.now_ms() - _SWEEP_DELAY_MS_MAX)
        if due > head.log_start:
            found.append(f"audit: {stream}: retention should have trimmed the log to {due}, {head}")
        return found

    async def _check_skipped(self, stream: StreamId, entries: Sequence[IndexEntry]) -> list[str]:
        """Check that the stream's job lists the entries left in the WAL, and nothing else."""
        stored = await self.meta.get(self._domain(stream), job_key(stream))
        named = () if stored is None else decode_job(stored.key, stored.value).skipped
        left = [entry for entry in entries if isinstance(entry, WalEntry)]
        ends, records = SkippedEnds(named), sum(one.end_offset - one.start_offset for one in left)
        if all(one.end_offset in ends for one in left) and skipped_records(named) == records:
            return []
        return [f"audit: {stream}: {left} are in the WAL, skipped are {named}"]

    async def _check_files(self, named: Sequence[str]) -> list[str]:
        found = []
        recorded: list[str] = []
        for domain in map(MetaDomain, range(self.domains)):
            store_domain, prefix = log_domain(domain), file_key(domain, FileId(b""))
            stored = await self.meta.scan(store_domain, prefix, prefix + "~")
            recorded += [decode_file(one.key, one.value).path for one in stored]
            marks = await self.meta.scan(store_domain, *file_gc_range(domain))
            found += [f"audit: {mark.key} is left" for mark in marks]
        present = [info.path async for info in self.objects.list(FILES_PREFIX)]
        if sorted(recorded) != sorted(named):
            found.append(f"audit: the index names {sorted(named)}, the records name {sorted(recorded)}")
        if sorted(present) != sorted(named):
            found.append(f"audit: the index names {sorted(named)}, the bucket holds {sorted(present)}")
        return found

    async def _check_job(self, stream: StreamId) -> list[str]:
        key = job_key(stream)
        stored = await self.meta.get(self._domain(stream), key)
        job = None if stored is None else decode_job(key, stored.value)
        if job is None or job.state in (JobState.CREATED, JobState.DONE):
            return []  # a job that was only created has written nothing
        return [f"audit: a job is left: {job}"]

    async def _check_deleted(self, stream: StreamId) -> list[str]:
        head, entries = await self._read(stream)
        if head == StreamHead() and not entries:
            return []
        return [f"audit: the deleted {stream} still has {head}, {entries}"]

    def _domain(self, stream: StreamId) -> Domain:
        return log_domain(meta_domain(stream, self.domains))
