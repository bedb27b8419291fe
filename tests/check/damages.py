"""Damage by hand, each kind with what a check must find, and what is left after a repair."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from dray.groups.stored import encode_offset
from dray.groups.types import CommittedOffset
from dray.ids import FileId, LoadId, MetaDomain, StreamId, TopicRef, WalId
from dray.index import (
    CompactionJob,
    FileGcMarker,
    GcMarker,
    JobState,
    StagingMarker,
    StreamHead,
    WalObject,
    decode_object,
    encode_file,
    encode_head,
    encode_job,
    encode_object,
    file_path,
    wal_path,
)
from dray.index.loads import Load, LoadState, encode_load
from dray.index.swap import FileRef
from dray.keyspace import (
    CLUSTER_DOMAIN,
    file_gc_key,
    file_key,
    group_domain,
    group_key,
    head_key,
    job_key,
    load_key,
    log_domain,
    missing_file_key,
    offset_key,
    producers_key,
    reference_check_key,
    staging_key,
    topic_key,
    wal_gc_key,
    wal_object_key,
)
from dray.meta.port import Delete, Put
from tests.check.stores import DAY_MS, OLD_S, Stores, key_of

Damage = Callable[[Stores], Awaitable[None]]
_GARBAGE = b"\xc1 not a value"
_FIRST = MetaDomain(0)
_ID = bytes(range(16))


@dataclass(frozen=True, slots=True)
class Expected:
    """Kinds of findings before and after a repair."""

    found: frozenset[str]
    left: frozenset[str]


def repaired(*found: str) -> Expected:
    return Expected(frozenset(found), frozenset())


def reported(*found: str) -> Expected:
    return Expected(frozenset(found), frozenset(found))


# The chain of entries


async def entry_lost(stores: Stores) -> None:
    await stores.delete_entry((await stores.wal_entries())[1])


async def entries_overlap(stores: Stores) -> None:
    _, _, third, _ = await stores.wal_entries()
    await stores.put_entry(third, start_offset=third.start_offset - 1)


async def entry_empty(stores: Stores) -> None:
    last = (await stores.wal_entries())[-1]
    await stores.put_entry(last, start_offset=last.end_offset)


async def size_wrong(stores: Stores) -> None:
    second = (await stores.wal_entries())[1]
    await stores.put_entry(second, chunk_length=second.chunk_length - 1)


async def time_wrong(stores: Stores) -> None:
    third = (await stores.wal_entries())[2]
    await stores.put_entry(third, running_max_timestamp_ms=third.max_timestamp_ms - 1_000)


# The head


async def head_behind(stores: Stores) -> None:
    third = (await stores.wal_entries())[2]
    await stores.put_head(
        third.stream,
        high_watermark=third.end_offset,
        cumulative_size=third.cumulative_size,
        snapshot_end=0,
        unsnapshotted=3,
    )


async def head_ahead(stores: Stores) -> None:
    stream = await stores.stream("hot")
    await stores.put_head(stream, high_watermark=(await stores.head(stream)).high_watermark + 10)


async def head_starts_after_its_end(stores: Stores) -> None:
    stream = await stores.stream("hot")
    await stores.put_head(stream, log_start=(await stores.head(stream)).high_watermark + 10)


async def head_size_wrong(stores: Stores) -> None:
    await stores.put_head(await stores.stream("hot"), cumulative_size=7)


async def head_counts_wrong_entries(stores: Stores) -> None:
    stream = await stores.stream("hot")
    await stores.put_head(stream, unsnapshotted=(await stores.head(stream)).unsnapshotted + 2)


async def head_lost(stores: Stores) -> None:
    stream = await stores.stream("hot")
    await stores.write(stores.domain(stream), Delete(head_key(stream)))


async def head_of_empty_stream_lost(stores: Stores) -> None:
    stream = await stores.stream("empty")
    await stores.write(stores.domain(stream), Delete(head_key(stream)))


async def snapshot_undecodable(stores: Stores) -> None:
    stream = await stores.stream("hot")
    await stores.write(stores.domain(stream), Put(producers_key(stream), _GARBAGE))


# Objects


async def wal_object_lost(stores: Stores) -> None:
    stores.path((await stores.wal_entries())[1].path).unlink()


async def wal_object_of_deleted_records_lost(stores: Stores) -> None:
    """The entry is expired, and only waits for the sweep."""
    await wal_object_lost(stores)
    await stores.put_head(await stores.stream("hot"), log_start=(await stores.wal_entries())[1].end_offset)


async def wal_object_truncated(stores: Stores) -> None:
    path = stores.path((await stores.wal_entries())[1].path)
    path.write_bytes(path.read_bytes()[:-5])


async def file_lost(stores: Stores) -> None:
    stores.path((await stores.file()).path).unlink()


# Records


async def record_lost(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    key = wal_object_key(stores.number(entry.stream), entry.wal_id)
    await stores.write(stores.domain(entry.stream), Delete(key))


async def record_replaced_by_marker(stores: Stores) -> None:
    await record_lost(stores)
    await marker_beside_record(stores)


async def marker_beside_record(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    marker = GcMarker(entry.path, stores.now_ms + DAY_MS)
    key = wal_gc_key(stores.number(entry.stream), entry.wal_id)
    await stores.write(stores.domain(entry.stream), Put(key, encode_object(marker)))


async def condemned_beside_record(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    marker = StagingMarker(entry.path, stores.now_ms, condemned=True)
    key = staging_key(stores.number(entry.stream), entry.wal_id)
    await stores.write(stores.domain(entry.stream), Put(key, encode_object(marker)))


async def file_record_lost(stores: Stores) -> None:
    entry = await stores.file()
    key = file_key(stores.number(entry.stream), entry.file_id)
    await stores.write(stores.domain(entry.stream), Delete(key))


async def file_marked(stores: Stores) -> None:
    await file_record_lost(stores)
    entry, topic = await stores.file(), (await stores.topic("cold")).ref
    marker = FileGcMarker(entry.path, entry.stream, topic, stores.now_ms + DAY_MS, in_table=True)
    key = file_gc_key(stores.number(entry.stream), entry.file_id)
    await stores.write(stores.domain(entry.stream), Put(key, encode_file(marker)))


async def too_few_references(stores: Stores) -> None:
    await _set_references(stores, 0)


async def too_many_references(stores: Stores) -> None:
    await _set_references(stores, 5)


async def _set_references(stores: Stores, references: int) -> None:
    entry = (await stores.wal_entries())[1]
    key = wal_object_key(stores.number(entry.stream), entry.wal_id)
    stored = await stores.cluster.meta.get(stores.domain(entry.stream), key)
    assert stored is not None
    record = msgspec.structs.replace(decode_object(key, stored.value), references=references)
    await stores.write(stores.domain(entry.stream), Put(key, encode_object(record)))


async def record_without_entry(stores: Stores, domain: MetaDomain = _FIRST) -> None:
    path = wal_path("z", domain, "2026/01/01", WalId(_ID))
    stores.put_object(path, old=True)
    record = WalObject(path, 1, OLD_S * 1000, 11)
    await stores.write(log_domain(domain), Put(wal_object_key(domain, WalId(_ID)), encode_object(record)))


async def too_many_references_beside_a_gap(stores: Stores) -> None:
    await too_many_references(stores)
    await stores.delete_entry((await stores.wal_entries())[2])


async def record_of_an_old_object_lost(stores: Stores) -> None:
    """No key names the object, so the sweep of any broker would delete it as a stray."""
    path = stores.path((await stores.wal_entries())[1].path)
    os.utime(path, (OLD_S, OLD_S))
    await record_lost(stores)


async def record_of_an_old_file_lost(stores: Stores) -> None:
    os.utime(stores.path((await stores.file()).path), (OLD_S, OLD_S))
    await file_record_lost(stores)


async def garbage_beside_a_gap(stores: Stores) -> None:
    """The missing entry may have been that of an object without a key."""
    entry = (await stores.wal_entries())[1]
    await record_of_an_old_object_lost(stores)
    await stores.delete_entry(entry)
    number = stores.number(entry.stream)
    path = wal_path("z", number, "2026/01/01", WalId(_ID))
    marker = encode_object(GcMarker(path, stores.now_ms - DAY_MS))
    await stores.write(stores.domain(entry.stream), Put(wal_gc_key(number, WalId(_ID)), marker))


# Garbage


async def old_wal_object_without_key(stores: Stores) -> None:
    stores.put_object(wal_path("z", MetaDomain(1), "2026/01/01", WalId(_ID)), old=True)


async def old_file_without_key(stores: Stores) -> None:
    stores.put_object(file_path("hot", 0, "2026/01/01", StreamId(1), FileId(_ID)), old=True)


async def old_temporary_object_of_a_job(stores: Stores) -> None:
    path = file_path("hot", 0, "2026/01/01", StreamId(1), FileId(_ID)).replace(".parquet", ".keys")
    stores.put_object(path, old=True)


async def deletion_overdue(stores: Stores) -> None:
    domain = MetaDomain(0)
    path = wal_path("z", domain, "2026/01/01", WalId(_ID))
    stores.put_object(path, old=True)
    marker = GcMarker(path, stores.now_ms - DAY_MS)
    await stores.write(log_domain(domain), Put(wal_gc_key(domain, WalId(_ID)), encode_object(marker)))


async def marker_never_swept(stores: Stores) -> None:
    domain = MetaDomain(2)
    marker = StagingMarker(wal_path("z", domain, "2026/01/01", WalId(_ID)), stores.now_ms - 3 * DAY_MS)
    await stores.write(log_domain(domain), Put(staging_key(domain, WalId(_ID)), encode_object(marker)))


# Topics, jobs, groups, values


async def topic_lost(stores: Stores) -> None:
    await stores.write(CLUSTER_DOMAIN, Delete(topic_key("hot")))


async def stream_left_by_a_creation(stores: Stores) -> None:
    stream = StreamId(99)
    await stores.write(stores.domain(stream), Put(head_key(stream), encode_head(StreamHead())))


async def stream_shared(stores: Stores) -> None:
    hot, empty = await stores.topic("hot"), await stores.topic("empty")
    changed = msgspec.structs.replace(empty, streams=(*empty.streams, hot.streams[0]))
    await stores.write(CLUSTER_DOMAIN, Put(topic_key("empty"), msgspec.msgpack.encode(changed)))


async def job_stuck(stores: Stores) -> None:
    await _put_job(stores, await stores.stream("hot"), JobState.PUBLISHED)


async def job_dangling(stores: Stores) -> None:
    await _put_job(stores, StreamId(99), JobState.DONE)


async def job_file_lost(stores: Stores) -> None:
    file = FileRef(FileId(_ID), "compaction/v1/none.parquet", 10, 5, 0, 0, 2, 2, 0, 0, b"")
    await _put_job(stores, await stores.stream("hot"), JobState.WRITTEN, (file,), age_ms=0)


async def _put_job(
    stores: Stores,
    stream: StreamId,
    state: JobState,
    files: tuple[FileRef, ...] = (),
    age_ms: int = 3 * DAY_MS,
) -> None:
    at_ms = stores.now_ms - age_ms
    job = CompactionJob("j", "c", TopicRef("hot", bytes(16)), 0, state, at_ms, at_ms, 0, 2, files)
    await stores.write(stores.domain(stream), Put(job_key(stream), encode_job(job)))


async def load_unfinished(stores: Stores) -> None:
    await _put_load(stores, LoadState.OPEN, expires_at_ms=stores.now_ms - DAY_MS)


async def load_published_in_part(stores: Stores) -> None:
    await _put_load(stores, LoadState.PUBLISHING, expires_at_ms=stores.now_ms + DAY_MS)


async def _put_load(stores: Stores, state: LoadState, expires_at_ms: int) -> None:
    domain, at_ms = MetaDomain(1), stores.now_ms - 3 * DAY_MS
    load = Load(TopicRef("hot", bytes(16)), (domain,), state, at_ms, at_ms, expires_at_ms)
    await stores.write(log_domain(domain), Put(load_key(domain, LoadId(_ID)), encode_load(load)))


async def rest_undecodable(stores: Stores) -> None:
    domain = MetaDomain(2)
    for key in (
        load_key(domain, LoadId(_ID)),
        missing_file_key(domain, FileId(_ID)),
        reference_check_key(domain),
    ):
        await stores.write(log_domain(domain), Put(key, _GARBAGE))


async def offsets_of_no_topic(stores: Stores) -> None:
    domain = group_domain("g", stores.cluster.domains)
    offset = encode_offset(CommittedOffset(5, -1, "", stores.now_ms, None, bytes(16)))
    keys = [offset_key("g", "gone", 0), offset_key("g", "gone", 1), offset_key("g", "hot", 0)]
    await stores.write(domain, *[Put(key, offset) for key in keys])
    await stores.write(group_domain("-g", 3), Put(offset_key("-g", "gone", 0), offset))


async def group_undecodable(stores: Stores) -> None:
    await stores.write(group_domain("g", stores.cluster.domains), Put(group_key("g"), _GARBAGE))


async def topic_undecodable(stores: Stores) -> None:
    await stores.write(CLUSTER_DOMAIN, Put(topic_key("hot"), _GARBAGE))


async def head_undecodable(stores: Stores) -> None:
    stream = await stores.stream("hot")
    await stores.write(stores.domain(stream), Put(head_key(stream), _GARBAGE))


async def entry_undecodable(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    await stores.write(stores.domain(entry.stream), Put(key_of(entry), _GARBAGE))


async def record_undecodable(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    key = wal_object_key(stores.number(entry.stream), entry.wal_id)
    await stores.write(stores.domain(entry.stream), Put(key, _GARBAGE))


async def job_undecodable(stores: Stores) -> None:
    stream = await stores.stream("hot")
    await stores.write(stores.domain(stream), Put(job_key(stream), _GARBAGE))


DAMAGES: dict[Damage, Expected] = {
    entry_lost: reported("Gap", "Unreferenced"),
    entries_overlap: reported("Overlap"),
    entry_empty: reported("MisplacedEntry", "Gap"),
    size_wrong: reported("SizeMismatch"),
    time_wrong: repaired("TimeMismatch"),
    head_behind: repaired("HeadMismatch"),
    head_ahead: reported("Gap"),
    head_starts_after_its_end: reported("HeadMismatch"),
    head_size_wrong: repaired("HeadMismatch"),
    head_counts_wrong_entries: repaired("HeadMismatch"),
    head_lost: repaired("MissingHead"),
    head_of_empty_stream_lost: reported("MissingHead"),
    snapshot_undecodable: reported("SnapshotDamaged"),
    wal_object_lost: reported("MissingObject"),
    wal_object_of_deleted_records_lost: reported(),
    wal_object_truncated: reported("ShortObject"),
    file_lost: reported("MissingObject"),
    record_lost: repaired("Unprotected"),
    record_replaced_by_marker: repaired("Unprotected"),
    marker_beside_record: repaired("Unprotected"),
    condemned_beside_record: repaired("Unprotected"),
    file_record_lost: repaired("Unprotected"),
    file_marked: repaired("Unprotected"),
    too_few_references: repaired("WrongReferences"),
    too_many_references: repaired("ExcessReferences"),
    record_without_entry: repaired("Unreferenced"),
    too_many_references_beside_a_gap: reported("ExcessReferences", "Gap", "Unreferenced"),
    record_of_an_old_object_lost: repaired("Unprotected"),
    record_of_an_old_file_lost: repaired("Unprotected"),
    garbage_beside_a_gap: reported("Gap", "Stray", "OverdueDeletion"),
    old_wal_object_without_key: repaired("Stray"),
    old_file_without_key: repaired("Stray"),
    old_temporary_object_of_a_job: repaired("Stray"),
    deletion_overdue: repaired("OverdueDeletion"),
    marker_never_swept: repaired("OverdueDeletion"),
    topic_lost: reported("LostTopic"),
    stream_left_by_a_creation: reported("EmptyStream"),
    stream_shared: reported("SharedStream"),
    job_stuck: reported("StuckJob"),
    job_dangling: reported("DanglingJob"),
    job_file_lost: reported("JobFileMissing"),
    load_unfinished: reported("UnfinishedLoad"),
    load_published_in_part: reported("UnfinishedLoad"),
    rest_undecodable: reported("Undecodable"),
    offsets_of_no_topic: reported("OffsetsWithoutTopic"),
    group_undecodable: reported("Undecodable"),
    topic_undecodable: reported("Undecodable"),
    head_undecodable: reported("Undecodable"),
    entry_undecodable: reported("Undecodable", "Gap", "Unreferenced"),
    record_undecodable: reported("Undecodable"),
    job_undecodable: reported("Undecodable"),
}
