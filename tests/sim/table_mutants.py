"""Mutants of compaction, retention and sweeps, each of which breaks a rule that must be detected."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from dray.compaction import candidates as candidates_module
from dray.compaction import rewrite as rewrite_module
from dray.compaction import rounds as rounds_module
from dray.compaction.engine import TaskFailure
from dray.compaction.job_store import JobLost, JobStore, StoredJob
from dray.compaction.plan import FilePlan, RetentionWindows, plan_wal_files
from dray.compaction.publish import Publisher
from dray.compaction.rewrite import RewriteOutput, RewriteTask, Unconvertible
from dray.compaction.rounds import _Outcome
from dray.compaction.settings import CompactionSettings
from dray.ids import StreamId, TopicRef, WalId
from dray.index import (
    FileGcMarker,
    GcMarker,
    GroupRows,
    IndexEntry,
    JobState,
    Released,
    StreamHead,
    WalEntry,
    WalObject,
    decode_file_gc,
    decode_gc,
    encode_file,
    release,
)
from dray.log import references as references_module
from dray.log.index_cache import IndexCache
from dray.log.references import Change, References
from dray.maintenance.detach import Detacher
from dray.maintenance.stored_values import MarkedFile
from dray.meta.port import Check, Put, Version
from dray.sweep import files as files_module
from dray.sweep import retention as retention_module
from dray.sweep import wal as wal_module
from dray.sweep.plan import retained_from
from dray.testing.memory_tables import MemoryCatalog

Mutate = Callable[[pytest.MonkeyPatch], None]


# The swap


def keep_references_of_compacted_objects(patch: pytest.MonkeyPatch) -> None:
    async def released(self: References, entries: Iterable[IndexEntry], *, in_table: bool) -> Change:
        return await original(self, entries, in_table=in_table) if in_table else ([], [])

    original = References.released
    patch.setattr(References, "released", released)


def release_references_twice(patch: pytest.MonkeyPatch) -> None:
    def twice(
        released: dict[WalId, int], objects: dict[WalId, WalObject], delete_after_ms: int
    ) -> list[Released]:
        return release({wal_id: 2 * count for wal_id, count in released.items()}, objects, delete_after_ms)

    patch.setattr(references_module, "release", twice)


def swap_before_table_commit(patch: pytest.MonkeyPatch) -> None:
    async def publish(self: Publisher, topic: TopicRef, written: Sequence[StoredJob]) -> list[StoredJob]:
        done = [await self._swap(topic, stored) for stored in written]
        await self._commit(topic, [stored for stored in written if stored.job.state is JobState.WRITTEN])
        return done

    patch.setattr(Publisher, "publish", publish)


def compact_entries_without_snapshot(patch: pytest.MonkeyPatch) -> None:
    def plan(
        head: StreamHead,
        entries: Iterable[IndexEntry],
        settings: CompactionSettings,
        now_ms: int,
        windows: RetentionWindows,
        **skipped: Any,
    ) -> list[FilePlan]:
        whole = msgspec.structs.replace(head, snapshot_end=head.high_watermark)
        return plan_wal_files(whole, entries, settings, now_ms, windows, **skipped)

    patch.setattr(candidates_module, "plan_wal_files", plan)
    patch.setattr(candidates_module, "wants_snapshot", lambda *_: False)


def rewrite_trimmed_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rewrite_module, "rows_from", lambda rows, _: rows)


# Unconvertible entries


def drop_unconvertible_records(patch: pytest.MonkeyPatch) -> None:
    """Write a file for the whole range, without the records of damaged objects."""
    patch.setattr(rewrite_module._Conversion, "_fail", lambda *_: None)


def fail_jobs_with_unconvertible_entries(patch: pytest.MonkeyPatch) -> None:
    """Fail the whole job because of one damaged object, instead of skipping it."""

    def of(done: Sequence[tuple[RewriteTask, RewriteOutput | TaskFailure]]) -> _Outcome:
        failed = [
            (task, TaskFailure("damaged") if isinstance(answer, Unconvertible) else answer)
            for task, answer in done
        ]
        return original(failed)

    original = _Outcome.of
    patch.setattr(_Outcome, "of", of)


def do_not_record_skipped_entries(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rounds_module, "with_skipped", lambda *_: ())


# Jobs


def write_jobs_without_version_check(patch: pytest.MonkeyPatch) -> None:
    """Continue a job without checking that no other compactor has."""

    async def put(self: JobStore, stream: StreamId, job: Any, version: Version) -> StoredJob:
        found = await self.load(stream)
        return await original(self, stream, job, Version(0) if found is None else found.version)

    original = JobStore._put
    patch.setattr(JobStore, "_put", put)


def commit_without_looking_for_the_job(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryCatalog, "find_job", lambda *_: None)


# Sweeps


def commit_lost_jobs(patch: pytest.MonkeyPatch) -> None:
    """Commit onto any snapshot, and without confirming that the job is still unfinished."""

    async def confirm(self: JobStore, stored: StoredJob) -> None:
        with suppress(JobLost):
            await original(self, stored)

    original = JobStore.confirm
    patch.setattr(JobStore, "confirm", confirm)
    patch.setattr(MemoryCatalog, "_check_snapshot", lambda *_: None)


def collect_objects_without_grace(patch: pytest.MonkeyPatch) -> None:
    def decode(key: str, value: bytes) -> GcMarker:
        return msgspec.structs.replace(decode_gc(key, value), delete_after_ms=0)

    patch.setattr(wal_module, "decode_gc", decode)


def _decode_markers_with(patch: pytest.MonkeyPatch, **changes: Any) -> None:
    def decode(key: str, value: bytes) -> FileGcMarker:
        return msgspec.structs.replace(decode_file_gc(key, value), **changes)

    patch.setattr(files_module, "decode_file_gc", decode)


def collect_files_without_grace(patch: pytest.MonkeyPatch) -> None:
    _decode_markers_with(patch, delete_after_ms=0)


def collect_files_of_the_table(patch: pytest.MonkeyPatch) -> None:
    _decode_markers_with(patch, in_table=False)


# Retention


def trim_without_marking_files(patch: pytest.MonkeyPatch) -> None:
    async def released(self: References, entries: Iterable[IndexEntry], *, in_table: bool) -> Change:
        kept = [entry for entry in entries if isinstance(entry, WalEntry) or not in_table]
        return await original(self, kept, in_table=in_table)

    original = References.released
    patch.setattr(References, "released", released)


def trim_one_entry_too_many(patch: pytest.MonkeyPatch) -> None:
    def too_far(head: StreamHead, entries: Sequence[IndexEntry], *rest: Any) -> int:
        start = retained_from(head, entries, *rest)
        return next((entry.end_offset for entry in entries if entry.end_offset > start), start)

    patch.setattr(retention_module, "retained_from", too_far)


def release_files_before_the_table(patch: pytest.MonkeyPatch) -> None:
    async def detach(
        self: Detacher, topic: TopicRef, marked: Sequence[MarkedFile], starts: Mapping[int, int]
    ) -> int:
        await self.release(marked)
        return await original(self, topic, marked, starts)

    original = Detacher.detach
    patch.setattr(Detacher, "detach", detach)


def release_files_without_new_grace(patch: pytest.MonkeyPatch) -> None:
    async def release(self: Detacher, marked: Sequence[MarkedFile]) -> None:
        for one in marked:
            free = msgspec.structs.replace(one.marker, in_table=False)
            check = Check(one.stored.key, one.stored.version)
            await self._meta.commit(one.domain, [check], [Put(one.stored.key, encode_file(free))])

    patch.setattr(Detacher, "release", release)


# Readers


def look_up_the_next_row_group(patch: pytest.MonkeyPatch) -> None:
    """Treat the last offset of a row group as the first one of the next."""

    def covering(self: GroupRows, delta: int) -> int:
        return original(self, delta + 1)

    original = GroupRows.covering
    patch.setattr(GroupRows, "covering", covering)


def keep_stale_index_entries(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IndexCache, "drop", lambda *_: None)


@dataclass(frozen=True, slots=True)
class Mutant:
    """The rules of which it breaks at least one, and a seed known to detect it, which is tried first."""

    rules: tuple[str, ...]
    seed: int = 0


MUTANTS: dict[Mutate, Mutant] = {
    keep_references_of_compacted_objects: Mutant(("I5", "audit"), seed=0),
    release_references_twice: Mutant(("I5",), seed=4),
    swap_before_table_commit: Mutant(("T1",), seed=0),
    compact_entries_without_snapshot: Mutant(("sequence", "progress", "I3"), seed=7),
    rewrite_trimmed_records: Mutant(("T2",), seed=0),
    drop_unconvertible_records: Mutant(("T1", "I1"), seed=25),
    fail_jobs_with_unconvertible_entries: Mutant(("audit",), seed=50),
    do_not_record_skipped_entries: Mutant(("audit",), seed=48),
    write_jobs_without_version_check: Mutant(("T1", "T2"), seed=38),
    commit_without_looking_for_the_job: Mutant(("T1",), seed=7),
    commit_lost_jobs: Mutant(("T1",), seed=1225),
    collect_objects_without_grace: Mutant(("I5",), seed=6),
    collect_files_without_grace: Mutant(("I5", "T3"), seed=2),
    collect_files_of_the_table: Mutant(("T3",), seed=15),
    trim_without_marking_files: Mutant(("audit",), seed=0),
    trim_one_entry_too_many: Mutant(("I2",), seed=2),
    release_files_before_the_table: Mutant(("T3", "audit"), seed=0),
    release_files_without_new_grace: Mutant(("T3",), seed=7),
    look_up_the_next_row_group: Mutant(("I1", "I2"), seed=0),
    keep_stale_index_entries: Mutant(("I2",), seed=0),
}
"""All mutants."""
