"""Garbage collection of Parquet files: released by index and table, and strays that no record names."""

from dray.ids import FileId
from dray.index import CompactionJob, FileGcMarker, JobState, ParquetFile, encode_file, encode_job, file_path
from dray.index.reference_checks import ReferenceChecks, encode_checks
from dray.keyspace import file_gc_key, file_key, job_key, reference_check_key
from dray.meta.port import Put
from dray.sweep.files import FileSweep
from tests.log.builders import DOMAIN, ONE, STORE_DOMAIN, Rig, simulated
from tests.log.compacting import TOPIC
from tests.log.objects import ControlledObjects

FILE = FileId(bytes(16))
PATH = file_path("t", 0, "2026/11/15", ONE, FILE)
TTL_MS = 60_000


def _sweep(rig: Rig) -> FileSweep:
    objects = ControlledObjects(rig.bucket)
    return FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=TTL_MS)


async def _put(rig: Rig, key: str, value: bytes) -> None:
    await rig.meta.commit(STORE_DOMAIN, [], [Put(key, value)])


async def _mark(rig: Rig, *, in_table: bool, grace_ms: int = 0) -> None:
    marker = FileGcMarker(PATH, ONE, TOPIC, rig.clock.now_ms() + grace_ms, in_table)
    await _put(rig, file_gc_key(DOMAIN, FILE), encode_file(marker))


def _job(state: JobState) -> bytes:
    return encode_job(CompactionJob("j", "c", TOPIC, 0, state, 0, 0, 0, 1))


@simulated
async def test_file_released_by_index_and_table_is_deleted_after_its_grace_period(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    await _mark(rig, in_table=False, grace_ms=5_000)
    assert await _sweep(rig).run() == 0
    await rig.settle(6)
    assert await _sweep(rig).run() == 1
    assert rig.paths() == []
    assert await rig.marks() == []


@simulated
async def test_file_still_referenced_by_the_table_is_kept(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    await _mark(rig, in_table=True)
    await rig.settle(100)
    assert await _sweep(rig).run() == 0
    assert rig.paths() == [PATH]
    assert [path async for path in _sweep(rig).waiting()] == [PATH]


@simulated
async def test_released_file_is_kept_until_the_table_was_checked(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    await _mark(rig, in_table=False, grace_ms=5_000)
    await _put(rig, reference_check_key(DOMAIN), encode_checks(ReferenceChecks()))
    assert [path async for path in _sweep(rig).waiting()] == []
    await rig.settle(6)
    assert await _sweep(rig).run() == 0
    assert [path async for path in _sweep(rig).waiting()] == [PATH]
    checks = ReferenceChecks({TOPIC.topic_id.hex(): rig.clock.now_ms()})
    await _put(rig, reference_check_key(DOMAIN), encode_checks(checks))
    assert [path async for path in _sweep(rig).waiting()] == []
    assert await _sweep(rig).run() == 1


@simulated
async def test_stray_is_deleted_after_the_orphan_ttl(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    assert await _sweep(rig).run_strays() == 0
    await rig.settle(61)
    assert await _sweep(rig).run_strays() == 1
    assert rig.paths() == []


@simulated
async def test_file_named_by_a_record_or_an_unfinished_job_is_not_a_stray(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    await rig.settle(61)
    await _put(rig, job_key(ONE), _job(JobState.WRITTEN))
    assert await _sweep(rig).run_strays() == 0
    await _put(rig, job_key(ONE), _job(JobState.DONE))
    await _put(rig, file_key(DOMAIN, FILE), encode_file(ParquetFile(PATH, ONE, TOPIC, 0, 4)))
    assert await _sweep(rig).run_strays() == 0


@simulated
async def test_file_named_by_a_marker_is_not_a_stray(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    await rig.settle(61)
    await _mark(rig, in_table=True)
    assert await _sweep(rig).run_strays() == 0


@simulated
async def test_foreign_objects_are_kept(rig: Rig) -> None:
    rig.bucket.put_new("compaction/v1/notes.txt", [b"mine"])
    rig.bucket.put_new("compaction/v1/no-stream.parquet", [b"mine"])
    await rig.settle(61)
    assert await _sweep(rig).run_strays() == 0
