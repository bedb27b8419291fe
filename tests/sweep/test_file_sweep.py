"""Parquet files are deleted when index and table have given them up, and strays when nobody names them."""

from dray.ids import FileId
from dray.index import (
    CompactionJob,
    FileGcMarker,
    JobState,
    ParquetFile,
    encode_file,
    encode_job,
    file_gc_key,
    file_key,
    file_path,
    job_key,
)
from dray.index.asked import Asked, asked_key, encode_asked
from dray.meta.port import Put
from dray.sweep.files import FileSweep
from tests.log.builders import DOMAIN, ONE, STORE_DOMAIN, Rig, simulated
from tests.log.compacting import TOPIC
from tests.log.objects import ObedientObjects

FILE = FileId(bytes(16))
PATH = file_path("t", 0, "2026/11/15", ONE, FILE)
TTL_MS = 60_000


def _sweep(rig: Rig) -> FileSweep:
    objects = ObedientObjects(rig.bucket)
    return FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=TTL_MS)


async def _put(rig: Rig, key: str, value: bytes) -> None:
    await rig.meta.commit(STORE_DOMAIN, [], [Put(key, value)])


async def _mark(rig: Rig, *, in_table: bool, grace_ms: int = 0) -> None:
    mark = FileGcMarker(PATH, ONE, TOPIC, rig.clock.now_ms() + grace_ms, in_table)
    await _put(rig, file_gc_key(DOMAIN, FILE), encode_file(mark))


def _job(state: JobState) -> bytes:
    return encode_job(CompactionJob("j", "c", TOPIC, 0, state, 0, 0, 0, 1))


@simulated
async def test_a_file_that_both_gave_up_goes_after_its_grace(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    await _mark(rig, in_table=False, grace_ms=5_000)
    assert await _sweep(rig).run() == 0
    await rig.settle(6)
    assert await _sweep(rig).run() == 1
    assert rig.paths() == []
    assert await rig.marks() == []


@simulated
async def test_a_file_that_the_table_still_names_stays(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    await _mark(rig, in_table=True)
    await rig.settle(100)
    assert await _sweep(rig).run() == 0
    assert rig.paths() == [PATH]
    assert [path async for path in _sweep(rig).waiting()] == [PATH]


@simulated
async def test_a_file_waits_until_the_table_was_asked(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    await _mark(rig, in_table=False, grace_ms=5_000)
    await _put(rig, asked_key(DOMAIN), encode_asked(Asked()))
    assert [path async for path in _sweep(rig).waiting()] == []
    await rig.settle(6)
    assert await _sweep(rig).run() == 0
    assert [path async for path in _sweep(rig).waiting()] == [PATH]
    asked = Asked({TOPIC.topic_id.hex(): rig.clock.now_ms()})
    await _put(rig, asked_key(DOMAIN), encode_asked(asked))
    assert [path async for path in _sweep(rig).waiting()] == []
    assert await _sweep(rig).run() == 1


@simulated
async def test_a_stray_goes_when_it_is_old(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    assert await _sweep(rig).run_strays() == 0
    await rig.settle(61)
    assert await _sweep(rig).run_strays() == 1
    assert rig.paths() == []


@simulated
async def test_what_a_record_a_mark_or_a_running_job_names_is_no_stray(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    await rig.settle(61)
    await _put(rig, job_key(ONE), _job(JobState.WRITTEN))
    assert await _sweep(rig).run_strays() == 0
    await _put(rig, job_key(ONE), _job(JobState.DONE))
    await _put(rig, file_key(DOMAIN, FILE), encode_file(ParquetFile(PATH, ONE, TOPIC, 0, 4)))
    assert await _sweep(rig).run_strays() == 0


@simulated
async def test_a_mark_keeps_a_file_from_being_a_stray(rig: Rig) -> None:
    rig.bucket.put_new(PATH, [b"rows"])
    await rig.settle(61)
    await _mark(rig, in_table=True)
    assert await _sweep(rig).run_strays() == 0


@simulated
async def test_other_objects_are_left_alone(rig: Rig) -> None:
    rig.bucket.put_new("compaction/v1/notes.txt", [b"mine"])
    rig.bucket.put_new("compaction/v1/no-stream.parquet", [b"mine"])
    await rig.settle(61)
    assert await _sweep(rig).run_strays() == 0
