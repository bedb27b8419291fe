"""Sweep of bulk loads: loads in progress are kept, abandoned ones are completed or aborted."""

from typing import Any

from dray.ids import MetaDomain
from dray.keyspace import loads_range, wal_object_range
from dray.log import NotStored
from dray.log.load_records import store_domain
from dray.meta.memory import MemoryMetaStore
from dray.runtime import Tasks
from dray.sweep.loads import UNFINISHED_MS, LoadSweep
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.nodes import Node, NodeCrashed
from dray.testing.virtual_loop import run
from tests.log.builders import ONE, THREE, TWO, OpenLog, Rig, simulated
from tests.log.loading import KEEP_MS, Loader
from tests.sweep.builders import TTL_MS, swept

DOMAINS = 3
_USED = [MetaDomain(0), MetaDomain(1)]
"""Of three domains, ONE and THREE are in the first and TWO in the second."""
_SLOW = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)


async def sweep_loads(loader: Loader) -> None:
    for domain in _USED:
        await LoadSweep(loader.deps, domain).run()


async def records_left(rig: Rig) -> int:
    found = [await rig.meta.scan(store_domain(domain), *loads_range(domain)) for domain in _USED]
    return sum(map(len, found))


@simulated
async def test_load_in_progress_outlives_the_orphan_ttl(rig: Rig) -> None:
    opened = await rig.open()
    loader = Loader(rig, opened.objects)
    await loader.begin((ONE,))
    early = loader.put("early", ONE)
    assert KEEP_MS > 50 * TTL_MS
    await rig.settle(50 * TTL_MS / 1000)
    assert await swept(rig, opened) == (0, 0, 0)
    await sweep_loads(loader)
    await loader.commit(early, loader.put("late", ONE))
    assert await opened.tags(ONE) == [(0, 2, "early"), (2, 2, "late")]
    await rig.settle(10 * TTL_MS / 1000)
    assert await swept(rig, opened) == (0, 0, 0)
    assert len(rig.paths()) == 2


@simulated
async def test_expired_load_is_deleted_as_a_whole(rig: Rig) -> None:
    opened = await rig.open(domains=DOMAINS)
    loader = Loader(rig, opened.objects, domains=DOMAINS)
    await loader.begin()
    stored = [loader.put("x", ONE, THREE), loader.put("y", TWO)]
    await rig.settle(KEEP_MS / 1000 - 1)
    await sweep_loads(loader)
    assert len(rig.paths()) == 2
    await rig.settle(1)
    await sweep_loads(loader)
    assert (rig.paths(), await records_left(rig)) == ([], 0)
    try:
        await loader.commit(*stored)
    except NotStored:
        assert await opened.tags(ONE) == await opened.tags(TWO) == []
    else:
        raise AssertionError("a swept load was committed")


@simulated
async def test_uncommitted_object_of_a_committed_load_is_a_stray(rig: Rig) -> None:
    """A task that ran twice, and a put that lands after the commit."""
    opened = await rig.open(tail_cache_bytes_max=0)
    loader = Loader(rig, opened.objects)
    await loader.begin((ONE,))
    counted, _ = loader.put("counted", ONE), loader.put("twice", ONE)
    await loader.commit(counted)
    loader.put("late", ONE)
    assert await swept(rig, opened) == (0, 0, 0)
    await rig.settle(TTL_MS / 1000)
    assert await swept(rig, opened) == (0, 0, 2)
    assert rig.paths() == [counted.path]
    assert await opened.tags(ONE) == [(0, 2, "counted")]


@simulated
async def test_put_that_lands_after_its_load_was_swept_is_a_stray(rig: Rig) -> None:
    opened = await rig.open()
    loader = Loader(rig, opened.objects)
    await loader.begin((ONE,))
    await loader.abort()
    loader.put("zombie", ONE)
    await rig.settle(TTL_MS / 1000)
    assert await swept(rig, opened) == (0, 0, 1)
    assert rig.paths() == []


@simulated
async def test_record_of_a_committed_load_expires_and_its_objects_are_kept(rig: Rig) -> None:
    opened = await rig.open(domains=DOMAINS, tail_cache_bytes_max=0)
    loader = Loader(rig, opened.objects, domains=DOMAINS)
    await loader.begin()
    await loader.commit(loader.put("x", ONE), loader.put("y", TWO))
    await sweep_loads(loader)
    assert await records_left(rig) == 2
    await rig.settle(KEEP_MS / 1000)
    await sweep_loads(loader)
    assert await records_left(rig) == 0
    assert await opened.tags(TWO) == [(0, 2, "y")]


class _CrashAtStep:
    """Crashes a node at its k-th step."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.node: Node | None = None

    def on_step(self, node: Node | None) -> None:
        if node is not None and node is self.node and node.steps == self.at:
            node.crash()


def _slow(rig: Rig, opened: OpenLog) -> Loader:
    """Return a loader whose every request takes a while, so that it can crash before and after each."""
    link = FaultyLink(SeededEntropy("link"), _SLOW)
    meta = MemoryMetaStore(rig.server, rig.clock, SeededEntropy("ids"), tasks=Tasks(), link=link)
    return Loader(rig, opened.objects, meta=meta, domains=DOMAINS)


async def _crash_once(crash: _CrashAtStep) -> tuple[bool, bool]:
    """Return whether the driver finished, and whether the load became visible."""
    rig = Rig()
    opened = await rig.open(domains=DOMAINS, tail_cache_bytes_max=0)
    loader, sweeper = _slow(rig, opened), Loader(rig, opened.objects, domains=DOMAINS)
    crash.node = Node("driver")

    async def drive() -> None:
        await loader.begin()
        await loader.commit(loader.put("x", ONE, THREE), loader.put("y", TWO))

    finished = True
    try:
        await crash.node.run(drive())
    except NodeCrashed:
        finished = False
    await rig.settle(UNFINISHED_MS / 1000)
    await sweep_loads(sweeper)
    await rig.settle()
    lengths = {(await opened.log.head(stream)).high_watermark for stream in (ONE, TWO, THREE)}
    assert lengths in ({0}, {2}), "the load is partly visible"
    await _check_nothing_left(rig, sweeper)
    return finished, lengths == {2}


async def _check_nothing_left(rig: Rig, sweeper: Loader) -> None:
    """After the load has expired, check that only referenced objects and no records are left."""
    await rig.settle(KEEP_MS / 1000)
    await sweep_loads(sweeper)
    await sweep_loads(sweeper)
    named = 0
    for domain in _USED:
        named += len(await rig.meta.scan(store_domain(domain), *wal_object_range(domain)))
    assert (len(rig.paths()), await records_left(rig)) == (named, 0)


def test_load_is_atomic_whatever_step_the_driver_crashes_at() -> None:
    seen: list[tuple[bool, bool]] = []
    for at in range(1, 200):
        crash = _CrashAtStep(at)
        seen.append(run(_crash_once(crash), on_step=crash.on_step))
        if seen[-1][0]:
            break
    assert seen[-1] == (True, True)
    unfinished: list[Any] = [visible for finished, visible in seen if not finished]
    assert len(unfinished) > 20
    assert unfinished == sorted(unfinished), "after one crash point makes the load visible, all later ones do"
    assert unfinished.count(True) > 5, (
        "some loads were completed for a driver that crashed after the decision"
    )
