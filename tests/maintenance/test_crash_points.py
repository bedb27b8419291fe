"""Crash points of table maintenance: rebuild, repair and snapshot expiry survive a crash at every step."""

from collections.abc import Mapping

import msgspec
import pytest

from dray.compaction.job_store import JobStore
from dray.index import JobState
from dray.keyspace import CLUSTER_DOMAIN, rebuild_key
from dray.objects.memory import MemoryObjects
from dray.sweep.files import FileSweep
from dray.testing.nodes import Node, NodeCrashed
from tests.compaction.another_engine import rewrite_data_files
from tests.compaction.crashes import CrashAtStep, crash_at_every_step
from tests.compaction.passes import CompactorRig, compactor_rig
from tests.compaction.rounds import EAGER
from tests.log.builders import DOMAIN, Rig
from tests.log.compacting import records

_STEPS_MAX = 400
_SETTINGS = msgspec.structs.replace(
    EAGER, snapshot_expiry_commits=1, snapshot_age_ms_max=0, merge_files_min=100
)


@pytest.mark.slow
def test_maintenance_completes_after_a_crash_at_any_step() -> None:
    crash_at_every_step(_crash_once, _STEPS_MAX, every=3, steps_min=100)


async def _crash_once(crash: CrashAtStep) -> bool:
    """Drop one topic's table, rewrite and delete another's file, leave a third alone; return whether the
    compactor finished."""
    made = await compactor_rig(Rig(), "dropped", "rewritten", "unchanged")
    for _ in range(2):
        await made.run_pass(settings=_SETTINGS)
        await made.write("dropped")
        await made.write("rewritten")
    await made.run_pass(settings=_SETTINGS)
    names = ("dropped", "rewritten", "unchanged")
    before = {name: await records(made.opened, made.stream(name)) for name in names}
    made.catalog.external_drop(made.table("dropped"))
    await rewrite_data_files(made, "rewritten", count=2)
    crash.node = Node("compactor")
    finished = True
    try:
        await crash.node.run(_run_pass(made))
    except NodeCrashed:
        finished = False
    await made.rig.settle(20)
    for _ in range(2):
        results = await made.run_pass("survivor", settings=_SETTINGS)
        assert [result.failure for result in results] == ["", "", ""]
    await _check(made, before)
    return finished


async def _run_pass(made: CompactorRig) -> None:
    compactor, _ = made.compactor("dying", settings=_SETTINGS, slow_stores=True)
    async for _ in compactor.run_pass():
        pass


async def _check(made: CompactorRig, before: Mapping[str, object]) -> None:
    assert made.ranges("dropped") == [(0, 1), (2, 3), (4, 5)]
    assert made.ranges("rewritten") == [(0, 3), (4, 5)]
    assert made.ranges("unchanged") == [(0, 1)]
    fresh = await made.rig.open("reader")
    for name, expected in before.items():
        assert await records(fresh, made.stream(name)) == expected
    key = rebuild_key(made.found("dropped").topic_id)
    assert await made.rig.meta.get(CLUSTER_DOMAIN, key) is None
    for name in before:
        stored = await JobStore(made.rig.meta, 1).load(made.stream(name))
        assert stored is not None
        assert stored.job.state is JobState.DONE
    await made.rig.settle(10)
    objects = MemoryObjects(made.rig.bucket)
    sweep = FileSweep(made.rig.meta, objects, DOMAIN, domains=1, clock=made.rig.clock, orphan_ttl_ms=1)
    await sweep.run()
    await sweep.run_strays()
    indexed = {file.path for name in before for file in await made.files(name)}
    assert {path for path in made.rig.paths() if path.startswith("compaction/")} == indexed
