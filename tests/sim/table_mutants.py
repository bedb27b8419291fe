"""Compaction, retention and sweeps that break one rule each: what the simulation of tables must find."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

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
from dray.meta.port import Check, Put, Version
from dray.pipeline import next_spans as next_spans_module
from dray.pipeline import rewrite as rewrite_module
from dray.pipeline.care.detach import Detacher, Marked
from dray.pipeline.job_store import JobLost, JobStore, StoredJob
from dray.pipeline.plan import Grain, Span, wal_spans
from dray.pipeline.publish import Publisher
from dray.pipeline.settings import CompactionSettings
from dray.sweep import files as files_module
from dray.sweep import retention as retention_module
from dray.sweep import wal as wal_module
from dray.sweep.plan import retained_from
from dray.tables.memory import MemoryCatalog

Mutate = Callable[[pytest.MonkeyPatch], None]


# The swap


def keep_references_of_compacted_objects(patch: pytest.MonkeyPatch) -> None:
    async def given_up(self: References, entries: Iterable[IndexEntry], *, in_table: bool) -> Change:
        return await original(self, entries, in_table=in_table) if in_table else ([], [])

    original = References.given_up
    patch.setattr(References, "given_up", given_up)


def give_up_references_twice(patch: pytest.MonkeyPatch) -> None:
    def twice(
        gone: dict[WalId, int], objects: dict[WalId, WalObject], delete_after_ms: int
    ) -> list[Released]:
        return release({wal_id: 2 * count for wal_id, count in gone.items()}, objects, delete_after_ms)

    patch.setattr(references_module, "release", twice)


def put_files_into_the_index_first(patch: pytest.MonkeyPatch) -> None:
    async def publish(self: Publisher, topic: TopicRef, written: Sequence[StoredJob]) -> list[StoredJob]:
        done = [await self._swap(topic, stored) for stored in written]
        await self._commit(topic, [stored for stored in written if stored.job.state is JobState.WRITTEN])
        return done

    patch.setattr(Publisher, "publish", publish)


def compact_what_has_no_snapshot(patch: pytest.MonkeyPatch) -> None:
    def spans(
        head: StreamHead,
        entries: Iterable[IndexEntry],
        settings: CompactionSettings,
        now_ms: int,
        grain: Grain,
    ) -> list[Span]:
        whole = msgspec.structs.replace(head, snapshot_end=head.high_watermark)
        return wal_spans(whole, entries, settings, now_ms, grain)

    patch.setattr(next_spans_module, "wal_spans", spans)
    patch.setattr(next_spans_module, "wants_snapshot", lambda *_: False)


def rewrite_what_was_trimmed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rewrite_module, "since", lambda rows, _: rows)


# Jobs


def take_the_lease_for_the_truth(patch: pytest.MonkeyPatch) -> None:
    """Go on with a job without making sure that nobody else has."""

    async def put(self: JobStore, stream: StreamId, job: Any, version: Version) -> StoredJob:
        found = await self.load(stream)
        return await original(self, stream, job, Version(0) if found is None else found.version)

    original = JobStore._put
    patch.setattr(JobStore, "_put", put)


def commit_again_without_looking(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryCatalog, "find_job", lambda *_: None)


# Sweeps


def commit_what_others_have_done(patch: pytest.MonkeyPatch) -> None:
    """Commit wherever the table is, and without making sure that the job is still to be done."""

    async def confirm(self: JobStore, stored: StoredJob) -> None:
        with suppress(JobLost):
            await original(self, stored)

    original = JobStore.confirm
    patch.setattr(JobStore, "confirm", confirm)
    patch.setattr(MemoryCatalog, "_check_place", lambda *_: None)


def collect_objects_without_grace(patch: pytest.MonkeyPatch) -> None:
    def decode(key: str, value: bytes) -> GcMarker:
        return msgspec.structs.replace(decode_gc(key, value), delete_after_ms=0)

    patch.setattr(wal_module, "decode_gc", decode)


def _read_marks(patch: pytest.MonkeyPatch, **otherwise: Any) -> None:
    def decode(key: str, value: bytes) -> FileGcMarker:
        return msgspec.structs.replace(decode_file_gc(key, value), **otherwise)

    patch.setattr(files_module, "decode_file_gc", decode)


def collect_files_without_grace(patch: pytest.MonkeyPatch) -> None:
    _read_marks(patch, delete_after_ms=0)


def collect_files_of_the_table(patch: pytest.MonkeyPatch) -> None:
    _read_marks(patch, in_table=False)


# Retention


def trim_and_forget_the_files(patch: pytest.MonkeyPatch) -> None:
    async def given_up(self: References, entries: Iterable[IndexEntry], *, in_table: bool) -> Change:
        kept = [entry for entry in entries if isinstance(entry, WalEntry) or not in_table]
        return await original(self, kept, in_table=in_table)

    original = References.given_up
    patch.setattr(References, "given_up", given_up)


def trim_one_entry_too_many(patch: pytest.MonkeyPatch) -> None:
    def too_far(head: StreamHead, entries: Sequence[IndexEntry], *rest: Any) -> int:
        start = retained_from(head, entries, *rest)
        return next((entry.end_offset for entry in entries if entry.end_offset > start), start)

    patch.setattr(retention_module, "retained_from", too_far)


def let_go_before_the_table(patch: pytest.MonkeyPatch) -> None:
    async def detach(
        self: Detacher, topic: TopicRef, marked: Sequence[Marked], starts: Mapping[int, int]
    ) -> int:
        await self.let_go(marked)
        return await original(self, topic, marked, starts)

    original = Detacher.detach
    patch.setattr(Detacher, "detach", detach)


def let_go_without_new_grace(patch: pytest.MonkeyPatch) -> None:
    async def let_go(self: Detacher, marked: Sequence[Marked]) -> None:
        for one in marked:
            free = msgspec.structs.replace(one.marker, in_table=False)
            check = Check(one.stored.key, one.stored.version)
            await self._meta.commit(one.domain, [check], [Put(one.stored.key, encode_file(free))])

    patch.setattr(Detacher, "let_go", let_go)


# Readers


def find_the_group_behind(patch: pytest.MonkeyPatch) -> None:
    """Take the last offset of a row group for the first of the next one."""

    def covering(self: GroupRows, delta: int) -> int:
        return original(self, delta + 1)

    original = GroupRows.covering
    patch.setattr(GroupRows, "covering", covering)


def do_not_look_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IndexCache, "drop", lambda *_: None)


@dataclass(frozen=True, slots=True)
class Mutant:
    """The rules of which it breaks at least one, and a seed that is known to show it: that is tried first."""

    rules: tuple[str, ...]
    seed: int = 0


MUTANTS: dict[Mutate, Mutant] = {
    keep_references_of_compacted_objects: Mutant(("I5", "books"), seed=1),
    give_up_references_twice: Mutant(("I5",), seed=5),
    put_files_into_the_index_first: Mutant(("T1",), seed=0),
    compact_what_has_no_snapshot: Mutant(("sequence", "progress", "I3"), seed=4),
    rewrite_what_was_trimmed: Mutant(("T2",), seed=0),
    take_the_lease_for_the_truth: Mutant(("T1", "T2"), seed=23),
    commit_again_without_looking: Mutant(("T1",), seed=6),
    commit_what_others_have_done: Mutant(("T1",), seed=288),
    collect_objects_without_grace: Mutant(("I5",), seed=6),
    collect_files_without_grace: Mutant(("I5", "T3"), seed=2),
    collect_files_of_the_table: Mutant(("T3",), seed=55),
    trim_and_forget_the_files: Mutant(("books",), seed=0),
    trim_one_entry_too_many: Mutant(("I2",), seed=2),
    let_go_before_the_table: Mutant(("T3", "books"), seed=1),
    let_go_without_new_grace: Mutant(("T3",), seed=7),
    find_the_group_behind: Mutant(("I1", "I2"), seed=0),
    do_not_look_again: Mutant(("I2",), seed=2),
}
"""What the simulation must find."""
