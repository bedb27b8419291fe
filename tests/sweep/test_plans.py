"""Sweep plans: planning deletions changes nothing until they are carried out."""

from dray.ids import FileId, WalId
from dray.index import (
    CompactionJob,
    JobState,
    StagingMarker,
    decode_job,
    encode_job,
    encode_object,
    file_path,
    wal_path,
)
from dray.keyspace import job_key, staging_key
from dray.meta.port import Put
from dray.sweep.files import FileSweep
from dray.sweep.plan import Reason
from tests.log.builders import DOMAIN, ONE, STORE_DOMAIN, Rig, simulated
from tests.log.compacting import TOPIC
from tests.log.objects import ControlledObjects
from tests.sweep.builders import sweep_of

FILE = FileId(bytes(16))
PATH = file_path("t", 0, "2026/11/15", ONE, FILE)
TTL_MS = 60_000


async def _job_state(rig: Rig) -> JobState:
    stored = await rig.meta.get(STORE_DOMAIN, job_key(ONE))
    assert stored is not None
    return decode_job(stored.key, stored.value).state


@simulated
async def test_deletion_not_planning_aborts_an_abandoned_job(rig: Rig) -> None:
    sweep = FileSweep(
        rig.meta, ControlledObjects(rig.bucket), DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=TTL_MS
    )
    rig.bucket.put_new(PATH, [b"rows"])
    job = CompactionJob("j", "c", TOPIC, 0, JobState.CREATED, 0, rig.clock.now_ms(), 0, 1)
    await rig.meta.commit(STORE_DOMAIN, [], [Put(job_key(ONE), encode_job(job))])
    await rig.settle(61)
    planned = [pending async for pending in sweep.plan_strays()]
    assert [(pending.path, pending.reason) for pending in planned] == [(PATH, Reason.STRAY)]
    assert await _job_state(rig) is JobState.CREATED
    assert rig.paths() == [PATH]
    assert await planned[0].delete()
    assert await _job_state(rig) is JobState.DONE
    assert rig.paths() == []


@simulated
async def test_job_that_continues_after_planning_keeps_its_file(rig: Rig) -> None:
    sweep = FileSweep(
        rig.meta, ControlledObjects(rig.bucket), DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=TTL_MS
    )
    rig.bucket.put_new(PATH, [b"rows"])
    await rig.settle(61)
    [pending] = [one async for one in sweep.plan_strays()]
    job = CompactionJob("j", "c", TOPIC, 0, JobState.WRITTEN, 0, rig.clock.now_ms(), 0, 1)
    await rig.meta.commit(STORE_DOMAIN, [], [Put(job_key(ONE), encode_job(job))])
    assert not await pending.delete()
    assert rig.paths() == [PATH]


@simulated
async def test_deletion_not_planning_condemns_an_orphan(rig: Rig) -> None:
    opened = await rig.open()
    key = staging_key(DOMAIN, WalId(bytes(16)))
    path = wal_path("z", DOMAIN, "2026/11/15", WalId(bytes(16)))
    rig.bucket.put_new(path, [b"batches"])
    marker = encode_object(StagingMarker(path, rig.clock.now_ms()))
    await rig.meta.commit(STORE_DOMAIN, [], [Put(key, marker)])
    await rig.settle(20)
    [pending] = [one async for one in sweep_of(rig, opened).plan()]
    assert (pending.path, pending.reason) == (path, Reason.ORPHAN)
    stored = await rig.meta.get(STORE_DOMAIN, key)
    assert stored is not None
    assert stored.value == marker
    assert await pending.delete()
    assert await rig.meta.get(STORE_DOMAIN, key) is None
    assert path not in rig.paths()
