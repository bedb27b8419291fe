"""Continuous backups in virtual time: when they are made, by whom, and which are kept."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dray.backup.continuous import BackupDeps, BackupSchedule, ContinuousBackup
from dray.backup.metrics import BackupMetrics
from dray.backup.places import FOLDER, ObjectSink, ObjectSource, saved_backups
from dray.backup.reading import read_through
from dray.backup.save import Saver
from dray.cluster import claim
from dray.keyspace import CLUSTER_DOMAIN
from dray.meta.memory import MemoryMetaServer, MemoryMetaStore
from dray.meta.port import Put
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.objects.port import ObjectStore, Unavailable
from dray.observe import Metrics
from dray.runtime import Tasks, Threads
from dray.server.continuous_backups import backup_schedule
from dray.settings import load_settings
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.virtual_loop import run, virtual_loop

SCHEDULE = BackupSchedule(interval_ms=180_000, kept=3)


class InThisThread(Threads):
    """Runs calls at once: virtual time does not wait for threads."""

    async def run(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock(virtual_loop())
        self.entropy = SeededEntropy("backups")
        self.tasks = Tasks()
        server = MemoryMetaServer(self.clock)
        self.meta = MemoryMetaStore(server, self.clock, self.entropy, tasks=self.tasks)
        self.bucket = MemoryBucket(self.clock)
        self.objects = MemoryObjects(self.bucket)
        self.mine = {1: True, 2: False}
        self._metrics: dict[int, Metrics] = {}

    async def start(self, number: int, objects: ObjectStore | None = None) -> None:
        """Start the backups of a broker."""
        self._metrics[number] = Metrics()
        metrics = BackupMetrics.on(self._metrics[number])
        saver = Saver(self.meta, "memory", self.clock, self.entropy, threads=InThisThread("backup", 1))
        deps = BackupDeps(saver, self.meta, objects or self.objects, self.clock, metrics)
        backup = ContinuousBackup(deps, SCHEDULE, is_mine=lambda: self.mine[number])
        self.tasks.every(SCHEDULE.tick_s, backup.step, name="backup", clock=self.clock)

    def metric(self, number: int, name: str) -> float:
        found = self._metrics[number].registry.get_sample_value(f"dray_backup_{name}")
        assert found is not None
        return found

    async def change(self) -> None:
        await self.meta.commit(CLUSTER_DOMAIN, [], [Put("/dray/v1/changed", self.entropy.token(8))])

    async def names(self) -> list[str]:
        return [saved.backup_id for saved in await saved_backups(self.objects)]


def simulated(body: Callable[[World], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def test() -> None:
        async def main() -> None:
            world = World()
            await claim(
                world.meta,
                world.objects,
                cluster_id=None,
                domains=1,
                clock=world.clock,
                entropy=world.entropy,
            )
            await body(world)
            assert world.tasks.failures == 0
            await world.tasks.stop()

        run(main(), seed=0)

    return test


@simulated
async def test_backup_is_made_at_once_and_then_at_the_interval_if_something_changed(world: World) -> None:
    await world.start(1)
    await world.clock.sleep(1)
    assert len(await world.names()) == 1
    await world.clock.sleep(1_000)
    assert len(await world.names()) == 1, "nothing has changed"
    assert world.clock.now_ms() / 1000 - world.metric(1, "last_success_seconds") < 240
    await world.change()
    await world.clock.sleep(230)
    assert len(await world.names()) == 2
    await world.change()
    await world.clock.sleep(20)
    assert len(await world.names()) == 2, "not yet due"
    header, _ = await read_through(ObjectSource(world.objects, (await world.names())[-1]))
    assert world.clock.now_ms() - header.created_at_ms < 400_000


@simulated
async def test_newest_backups_are_kept(world: World) -> None:
    await world.start(1)
    seen: list[str] = []
    for _ in range(7):
        await world.change()
        await world.clock.sleep(230)
        seen += [name for name in await world.names() if name not in seen]
        for name in await world.names():
            await read_through(ObjectSource(world.objects, name))
    assert len(seen) > 5
    assert await world.names() == seen[-3:]


@simulated
async def test_another_broker_takes_over(world: World) -> None:
    await world.start(1)
    await world.start(2)
    await world.change()
    await world.clock.sleep(10)
    assert len(await world.names()) == 1
    assert world.metric(2, "last_success_seconds") == 0
    world.mine = {1: False, 2: True}
    await world.change()
    await world.clock.sleep(100)
    assert len(await world.names()) == 1, "the other broker's backup is recent"
    await world.clock.sleep(150)
    assert len(await world.names()) == 2
    assert world.metric(1, "last_success_seconds") == 0
    assert world.metric(2, "last_success_seconds") > 0


class FailingObjects(MemoryObjects):
    """Refuses puts whose path contains `refused`."""

    refused = "\0"

    async def put_new(self, path: str, parts: Any) -> None:
        if self.refused in path:
            raise Unavailable("the bucket does not answer")
        await super().put_new(path, parts)


@simulated
async def test_failed_backup_is_counted_and_repeated(world: World) -> None:
    objects = FailingObjects(world.bucket)
    objects.refused = "/part-"
    await world.start(1, objects)
    await world.clock.sleep(100)
    assert world.metric(1, "failures_total") >= 2
    assert world.metric(1, "last_success_seconds") == 0
    assert [info async for info in world.objects.list(FOLDER)] == []
    objects.refused = "\0"
    await world.clock.sleep(46)
    assert len(await world.names()) == 1


@simulated
async def test_leftovers_of_a_process_that_died_are_deleted_after_hours(world: World) -> None:
    await ObjectSink(world.objects, "0000-19990101T000000000Z-dead")._put()
    await world.start(1)
    await world.clock.sleep(1)
    incomplete = await saved_backups(world.objects, incomplete=True)
    assert [saved.backup_id for saved in incomplete] == ["0000-19990101T000000000Z-dead"]
    for _ in range(2):
        await world.clock.sleep(4 * 3600)
        await world.change()
        await world.clock.sleep(400)
    assert await saved_backups(world.objects, incomplete=True) == []


@pytest.mark.parametrize(
    ("metadata", "storage", "interval", "expected"),
    [
        ("sqlite:a", "s3://bucket/x", None, 180_000),
        ("sqlite:a", "file:/a", None, None),
        ("etcd://h:1/x", "s3://bucket/x", None, None),
        ("etcd://h:1/x", "s3://bucket/x", "60000", 60_000),
        ("sqlite:a", "file:/a", "60000", 60_000),
        ("sqlite:a", "gs://bucket/x", "0", None),
    ],
)
def test_default_depends_on_the_stores(
    metadata: str, storage: str, interval: str | None, expected: int | None
) -> None:
    pairs = [f"metadata.url={metadata}", f"storage.url={storage}"]
    pairs += [f"metadata.backup_interval_ms={interval}"] if interval else []
    schedule = backup_schedule(load_settings(None, {}, {}, tuple(pairs)).settings)
    assert (schedule.interval_ms if schedule else None) == expected
