"""A broker whose metadata store was superseded by a restore stops, and says which store to use."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from dray.cluster import ClusterIdentity, StoreNames
from dray.cluster.restores import Generation, announce, generation_path
from dray.objects.local import LocalObjects
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.objects.port import ObjectInfo, ObjectStore, Unavailable
from dray.runtime import SystemClock
from dray.server.broker import Broker
from dray.server.errors import StartupError
from dray.server.serving import serve
from dray.server.stopping import Stop
from dray.server.supersession import Supersession
from dray.settings import load_settings

NAMES = StoreNames("sqlite:old", "s3://bucket")
LATER = Generation(
    cluster_id="c", generation=3, backup_id="b", restored_at_ms=1, metadata="etcd://host:2379/dray"
)


def watch(objects: ObjectStore) -> Supersession:
    return Supersession(objects, ClusterIdentity("c", 1, 0, generation=2), NAMES)


async def test_next_generation_stops_the_process_once() -> None:
    objects = MemoryObjects(MemoryBucket(SystemClock()))
    stops: list[None] = []
    supersession = watch(objects)
    supersession.on_found(lambda: stops.append(None))
    await supersession.check()
    assert (supersession.reason, stops) == (None, [])
    await announce(objects, LATER)
    for _ in range(3):
        await supersession.check()
    assert supersession.reason is not None
    assert "sqlite:old is superseded" in supersession.reason
    assert "restored into etcd://host:2379/dray; use that one" in supersession.reason
    assert stops == [None]
    with pytest.raises(StartupError, match="sqlite:old is superseded"):
        await supersession.require_current()


async def test_generation_that_was_found_during_the_start_stops_the_process() -> None:
    objects = MemoryObjects(MemoryBucket(SystemClock()))
    await announce(objects, LATER)
    stops: list[None] = []
    supersession = watch(objects)
    await supersession.check()
    supersession.on_found(lambda: stops.append(None))
    await supersession.check()
    assert stops == [None]


async def test_generation_of_a_newer_dray_counts_too() -> None:
    objects = MemoryObjects(MemoryBucket(SystemClock()))
    await objects.put_new(generation_path(3), [b"not json"])
    supersession = watch(objects)
    await supersession.check()
    assert supersession.reason is not None


async def test_last_generation_counts_though_an_abandoned_one_before_it_was_deleted() -> None:
    objects = MemoryObjects(MemoryBucket(SystemClock()))
    await announce(objects, msgspec.structs.replace(LATER, generation=5))
    supersession = watch(objects)
    await supersession.check()
    assert supersession.reason is not None
    assert "restored into etcd://host:2379/dray; use that one" in supersession.reason


async def test_generation_that_is_deleted_during_the_check_does_not_count() -> None:
    class Deleting(MemoryObjects):
        async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
            async for info in super().list(prefix, after):
                await self.delete(info.path)
                yield info

    objects = Deleting(MemoryBucket(SystemClock()))
    await announce(objects, LATER)
    supersession = watch(objects)
    await supersession.check()
    assert supersession.reason is None


async def test_object_with_a_similar_name_does_not_count() -> None:
    objects = MemoryObjects(MemoryBucket(SystemClock()))
    await objects.put_new("dray-cluster/generation-4.json", [b""])
    supersession = watch(objects)
    await supersession.check()
    assert supersession.reason is None


async def test_unavailable_object_store_stops_nothing() -> None:
    class Down(MemoryObjects):
        def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
            raise Unavailable(f"no answer for {prefix} after {after}")

    supersession = watch(Down(MemoryBucket(SystemClock())))
    await supersession.check()
    assert supersession.reason is None


async def test_superseded_broker_ends_with_one_line(tmp_path: Path) -> None:
    pairs = (
        f"metadata.url=sqlite:{tmp_path}/metadata.sqlite",
        f"storage.url=file:{tmp_path}/objects",
        "broker.listen=127.0.0.1:0",
        "broker.http=127.0.0.1:0",
    )
    checks: list[asyncio.Task[None]] = []

    async def restore_elsewhere(broker: Broker) -> None:
        objects = await LocalObjects.open(tmp_path / "objects")
        await announce(objects, msgspec.structs.replace(LATER, generation=1))
        await objects.close()
        await broker.supersession.check()

    def ready(broker: Broker) -> None:
        checks.append(asyncio.get_running_loop().create_task(restore_elsewhere(broker)))

    with pytest.raises(StartupError, match=r"^the metadata store .* is superseded: .*generation-00000001"):
        await serve(load_settings(None, {}, {}, pairs).settings, Stop(), ready)
    await checks[0]
