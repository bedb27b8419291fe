"""A compactor that makes a table again, brings files back and expires snapshots may die at every step."""

from collections.abc import Mapping

import msgspec
import pytest

from dray.cluster.keys import CLUSTER_DOMAIN
from dray.index import JobState
from dray.objects.memory import MemoryObjects
from dray.pipeline.care import rebuild
from dray.pipeline.job_store import JobStore
from dray.sweep.files import FileSweep
from dray.testing.nodes import Node, NodeCrashed
from dray.testing.virtual_loop import run
from tests.log.builders import DOMAIN, Rig
from tests.log.compacting import records
from tests.pipeline.another_engine import rewrite_data_files
from tests.pipeline.rounds import EAGER
from tests.pipeline.turns import Turns, turns_over

_STEPS_MAX = 400
_SETTINGS = msgspec.structs.replace(EAGER, expire_commits=1, snapshot_age_ms_max=0, merge_files_min=100)


class _Doomed:
    """Crashes a node at its k-th step."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.node: Node | None = None

    def on_step(self, node: Node | None) -> None:
        if node is not None and node is self.node and node.steps == self.at:
            node.crash()


@pytest.mark.slow
def test_a_caring_compactor_may_die_at_every_step() -> None:
    for at in range(1, _STEPS_MAX, 3):
        doomed = _Doomed(at)
        if run(_one_death(doomed), on_step=doomed.on_step):
            assert at > 100
            return
    raise AssertionError("the turn never came to its end")


async def _one_death(doomed: _Doomed) -> bool:
    """One topic's table is dropped, another's file rewritten and deleted, a third is as usual."""
    made = await turns_over(Rig(), "dropped", "rewritten", "usual")
    for _ in range(2):
        await made.turn(settings=_SETTINGS)
        await made.write("dropped")
        await made.write("rewritten")
    await made.turn(settings=_SETTINGS)
    names = ("dropped", "rewritten", "usual")
    before = {name: await records(made.opened, made.stream(name)) for name in names}
    made.catalog.somebody_drops(made.table("dropped"))
    await rewrite_data_files(made, "rewritten", count=2)
    doomed.node = Node("compactor")
    finished = True
    try:
        await doomed.node.run(_turn(made))
    except NodeCrashed:
        finished = False
    await made.rig.settle(20)
    for _ in range(2):
        turns = await made.turn("survivor", settings=_SETTINGS)
        assert [turn.failure for turn in turns] == ["", "", ""]
    await _check(made, before)
    return finished


async def _turn(made: Turns) -> None:
    compactor, _ = made.compactor("dying", settings=_SETTINGS, travelling=True)
    async for _ in compactor.turn():
        pass


async def _check(made: Turns, before: Mapping[str, object]) -> None:
    assert made.ranges("dropped") == [(0, 1), (2, 3), (4, 5)]
    assert made.ranges("rewritten") == [(0, 3), (4, 5)]
    assert made.ranges("usual") == [(0, 1)]
    fresh = await made.rig.open("reader")
    for name, expected in before.items():
        assert await records(fresh, made.stream(name)) == expected
    key = rebuild.rebuild_key(made.found("dropped").topic_id)
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
