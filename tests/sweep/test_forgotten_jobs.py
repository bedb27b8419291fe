"""Files of a job that nobody went on with: swept, once the job has been ended."""

import pytest

from dray.ids import FileId
from dray.index import CompactionJob, JobState, file_path
from dray.objects.memory import MemoryObjects
from dray.pipeline.job_store import JobLost, JobStore, StoredJob
from dray.sweep.files import FileSweep
from tests.log.builders import DOMAIN, ONE, Rig, simulated
from tests.log.compacting import TOPIC

_TTL_S = 100
_PATH = file_path("t", 0, "2026/11/15", ONE, FileId(bytes(16)))


async def _begun(rig: Rig) -> StoredJob:
    """A job that has written a file and not said so."""
    now_ms = rig.clock.now_ms()
    job = CompactionJob("j", "c", TOPIC, 0, JobState.CREATED, now_ms, now_ms, 0, 1)
    rig.bucket.put_new(_PATH, [b"rows"])
    return await JobStore(rig.meta, 1).begin(ONE, job, None)


async def _sweep(rig: Rig) -> int:
    objects = MemoryObjects(rig.bucket)
    sweep = FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=_TTL_S * 1000)
    return await sweep.run_strays()


@simulated
async def test_a_job_that_nobody_went_on_with_keeps_no_files(rig: Rig) -> None:
    begun = await _begun(rig)
    await rig.settle(2 * _TTL_S)
    assert await _sweep(rig) == 1
    assert rig.paths() == []
    with pytest.raises(JobLost):  # before it can name the file
        await JobStore(rig.meta, 1).change(begun, begun.job)


@simulated
async def test_a_job_that_has_just_changed_keeps_its_files(rig: Rig) -> None:
    begun = await _begun(rig)
    await rig.settle(2 * _TTL_S)
    now_ms = rig.clock.now_ms()
    job = CompactionJob("k", "d", TOPIC, 0, JobState.CREATED, now_ms, now_ms, 0, 1)
    await JobStore(rig.meta, 1).begin(ONE, job, begun)
    assert await _sweep(rig) == 0
    assert rig.paths() == [_PATH]
