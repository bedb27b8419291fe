"""Files of an abandoned job: deleted after the sweep has aborted the job."""

import pytest

from dray.compaction.job_store import JobLost, JobStore, StoredJob
from dray.ids import FileId
from dray.index import CompactionJob, JobState, file_path
from dray.objects.memory import MemoryObjects
from dray.sweep.files import FileSweep
from tests.log.builders import DOMAIN, ONE, Rig, simulated
from tests.log.compacting import TOPIC

_TTL_S = 100
_PATH = file_path("t", 0, "2026/11/15", ONE, FileId(bytes(16)))


async def _begun(rig: Rig) -> StoredJob:
    """Return a job that has written a file without recording it."""
    now_ms = rig.clock.now_ms()
    job = CompactionJob("j", "c", TOPIC, 0, JobState.CREATED, now_ms, now_ms, 0, 1)
    rig.bucket.put_new(_PATH, [b"rows"])
    return await JobStore(rig.meta, 1).begin(ONE, job, None)


async def _sweep(rig: Rig) -> int:
    objects = MemoryObjects(rig.bucket)
    sweep = FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=_TTL_S * 1000)
    return await sweep.run_strays()


@simulated
async def test_files_of_an_abandoned_job_are_deleted(rig: Rig) -> None:
    begun = await _begun(rig)
    await rig.settle(2 * _TTL_S)
    assert await _sweep(rig) == 1
    assert rig.paths() == []
    with pytest.raises(JobLost):  # before it can record the file
        await JobStore(rig.meta, 1).update(begun, begun.job)


@simulated
async def test_files_of_a_recently_changed_job_are_kept(rig: Rig) -> None:
    begun = await _begun(rig)
    await rig.settle(2 * _TTL_S)
    now_ms = rig.clock.now_ms()
    job = CompactionJob("k", "d", TOPIC, 0, JobState.CREATED, now_ms, now_ms, 0, 1)
    await JobStore(rig.meta, 1).begin(ONE, job, begun)
    assert await _sweep(rig) == 0
    assert rig.paths() == [_PATH]
