"""Restores that are refused, interrupted, repeated or overtaken."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from dray.backup.errors import BackupError, BackupMissing, RestoreTakenOver, TargetNotEmpty, WrongBucket
from dray.backup.places import FileSource
from dray.backup.restore import Restorer
from dray.cluster import HalfMissing, RestoreUnfinished, StoreNames
from dray.formats.backup_v1 import CorruptBackup
from dray.ids import Domain
from dray.keyspace import CLUSTER_DOMAIN, CLUSTER_KEY, PRODUCER_IDS_KEY, topic_key
from dray.meta.port import (
    Check,
    CommitLimits,
    CommitTooLarge,
    Conflict,
    Delete,
    MetaStore,
    Put,
    Versions,
    Write,
)
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.objects.port import ObjectInfo
from tests.backup.dying import Died, DyingStore
from tests.backup.worlds import (
    CLOCK,
    ENTROPY,
    Cluster,
    Keys,
    all_keys,
    log_domains,
    memory_store,
    put_all,
    some_keys,
    topic,
    topic_keys,
)

FEW = CommitLimits(checks_max=8, writes_max=3, bytes_max=2_000)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """A cluster with two backups: `one` with some keys, `two` with others."""
    async with memory_store() as source:
        made = Cluster(source)
        await made.claim()
        await put_all(source, some_keys())
        await made.save(tmp_path / "one")
        await put_all(source, topic_keys(topic("later", 9), 3))
        await source.commit(CLUSTER_DOMAIN, [], [Delete(topic_key("orders"))])
        await made.save(tmp_path / "two")
        yield made


def file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def comparable(keys: Keys) -> Keys:
    return {
        place: b"" if "/rebuilds/" in place[1] else value
        for place, value in keys.items()
        if place[1] not in (CLUSTER_KEY, PRODUCER_IDS_KEY)
    }


def dying_restorer(cluster: Cluster, target: MetaStore, at: int, *, after: bool) -> Restorer:
    dying = cast("MetaStore", DyingStore(target, at, after=after, limits=FEW))
    return Restorer(dying, cluster.objects, CLOCK, ENTROPY, StoreNames("target:", "bucket:"))


@pytest.mark.parametrize("after", [False, True], ids=["before a commit", "after a commit"])
async def test_killed_restore_is_refused_by_brokers_and_repeated(
    cluster: Cluster, tmp_path: Path, after: bool
) -> None:
    async with memory_store() as whole:
        await cluster.restore(tmp_path / "two", whole)
        expected = comparable(await all_keys(whole))
    for at in range(1, 200):
        async with memory_store() as target:
            try:
                await dying_restorer(cluster, target, at, after=after).restore(FileSource(tmp_path / "one"))
            except Died:
                if await target.get(CLUSTER_DOMAIN, CLUSTER_KEY) is None:
                    # A store without a single commit is simply empty.
                    unfinished = HalfMissing if at == 1 and not after else RestoreUnfinished
                    with pytest.raises(unfinished, match="dray metadata restore"):
                        await cluster.claim(meta=target)
                    await cluster.restore(tmp_path / "two", target)
                    assert comparable(await all_keys(target)) == expected
                await cluster.claim(meta=target)
            else:
                assert at > 20
                return
    raise AssertionError("the restore never ended")


async def test_restore_dies_while_it_clears_what_an_earlier_one_left(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with memory_store() as target:
        for at in (9, 12, 15, 18, 25):
            with pytest.raises(Died):
                await dying_restorer(cluster, target, at, after=True).restore(FileSource(tmp_path / "one"))
        await cluster.restore(tmp_path / "two", target)
        keys = await all_keys(target)
        assert (CLUSTER_DOMAIN, topic_key("later")) in keys
        assert (CLUSTER_DOMAIN, topic_key("orders")) not in keys


async def test_paused_restore_changes_nothing_once_another_one_has_begun(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The first is paused at several places; meanwhile a second one completes and a broker deletes keys."""
    for page in range(1, 4):
        async with memory_store() as target:
            paused, resumed = asyncio.Event(), asyncio.Event()

            class Pausing(FileSource):
                reads = 0

                async def pieces(self) -> AsyncIterator[bytes]:
                    type(self).reads += 1
                    data = self.path.read_bytes()
                    cut = len(data) * page // 4  # noqa: B023 - used in this round only
                    yield data[:cut]
                    if type(self).reads == 2:  # the second reading writes
                        paused.set()  # noqa: B023
                        await resumed.wait()  # noqa: B023
                    yield data[cut:]

            first = asyncio.create_task(cluster.restorer(target).restore(Pausing(tmp_path / "one")))
            await paused.wait()
            await cluster.restore(tmp_path / "two", target)
            for domain in log_domains():
                deletes = [Delete(key) for where, key in await all_keys(target) if where == domain]
                await target.commit(domain, [], deletes)
            before = await all_keys(target)
            resumed.set()
            with pytest.raises(RestoreTakenOver):
                await first
            assert await all_keys(target) == before


class StallingStore(DyingStore):
    """A store whose process stalls before it makes the commit number `at`."""

    def __init__(self, inner: MetaStore, at: int) -> None:
        super().__init__(inner, 10**6, after=True)
        self._until_stall = at
        self.stalled, self.resumed = asyncio.Event(), asyncio.Event()

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        self._until_stall -= 1
        if self._until_stall == 0:
            self.stalled.set()
            await self.resumed.wait()
        return await super().commit(domain, checks, writes)


@pytest.mark.parametrize("repeated", [False, True], ids=["first attempt", "repeated attempt"])
async def test_restore_that_stalls_before_any_commit_changes_nothing_in_a_live_store(
    cluster: Cluster, tmp_path: Path, repeated: bool
) -> None:
    """Meanwhile another one completes, and brokers change a key of every domain."""
    for at in range(2, 200):
        async with memory_store() as target:
            if repeated:
                with pytest.raises(Died):
                    await dying_restorer(cluster, target, 15, after=True).restore(
                        FileSource(tmp_path / "one")
                    )
            stalling = StallingStore(target, at)
            restorer = cluster.restorer(cast("MetaStore", stalling))
            first = asyncio.create_task(restorer.restore(FileSource(tmp_path / "one")))
            waiting = asyncio.create_task(stalling.stalled.wait())
            await asyncio.wait([first, waiting], return_when=asyncio.FIRST_COMPLETED)
            if first.done():
                waiting.cancel()
                assert at > 10
                return
            generation = (await cluster.restore(tmp_path / "two", target)).generation
            newest = {domain: key for domain, key in await all_keys(target) if key != CLUSTER_KEY}
            await put_all(target, dict.fromkeys(newest.items(), b"acknowledged"))
            before = await all_keys(target)
            stalling.resumed.set()
            with pytest.raises(RestoreTakenOver):
                await first
            assert await all_keys(target) == before
            assert (await cluster.claim(meta=target)).generation == generation
    raise AssertionError("the restore never ended")


async def test_overtaken_restore_announces_no_generation(cluster: Cluster, tmp_path: Path) -> None:
    """It would supersede the store that brokers use already."""
    stalled, resumed = asyncio.Event(), asyncio.Event()

    class Stalling(MemoryObjects):
        async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
            stalled.set()
            await resumed.wait()
            async for info in super().list(prefix, after):
                yield info

    async with memory_store() as target:
        objects = Stalling(cluster.objects.bucket)
        restorer = Restorer(target, objects, CLOCK, ENTROPY, StoreNames("target:", "bucket:"))
        first = asyncio.create_task(restorer.restore(FileSource(tmp_path / "one")))
        await stalled.wait()
        assert (await cluster.restore(tmp_path / "two", target)).generation == 1
        resumed.set()
        with pytest.raises(RestoreTakenOver):
            await first
        assert (await cluster.claim(meta=target)).generation == 1


async def test_damaged_backup_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    whole = (tmp_path / "one").read_bytes()
    for name, data in (("truncated", whole[:-1]), ("flipped", whole[:-40] + b"\0" + whole[-39:])):
        (tmp_path / name).write_bytes(data)
        async with memory_store() as target:
            with pytest.raises(CorruptBackup, match=name):
                await cluster.restore(tmp_path / name, target)
            assert await all_keys(target) == {}


async def test_missing_backup_is_named(cluster: Cluster, tmp_path: Path) -> None:
    async with memory_store() as target:
        with pytest.raises(BackupMissing, match=r"cannot read .*nothing: No such file"):
            await cluster.restore(tmp_path / "nothing", target)


async def test_store_that_holds_a_cluster_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    before = await all_keys(cluster.meta)
    with pytest.raises(TargetNotEmpty, match=r"target: holds a cluster already: restore into an empty one"):
        await cluster.restore(tmp_path / "one", cluster.meta)
    assert await all_keys(cluster.meta) == before


async def test_store_with_other_keys_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    async with memory_store() as target:
        await put_all(target, topic_keys(topic("stray", 1)))
        with pytest.raises(TargetNotEmpty, match=r"no cluster, but other keys, such as /dray/v1/streams/"):
            await cluster.restore(tmp_path / "one", target)


async def test_store_with_live_brokers_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    info = b"\x97\xa2b1\x07\xa1h\x01\xc0\x01\xa1v"
    async with memory_store() as target:
        session = await target.session(10_000)
        await target.commit(CLUSTER_DOMAIN, [], [Put("/dray/v1/brokers/7", info, session.id)])
        with pytest.raises(TargetNotEmpty, match=r"brokers use the metadata store target: \(ids 7\): stop"):
            await cluster.restore(tmp_path / "one", target)


async def test_bucket_of_another_cluster_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    async with memory_store() as target, memory_store() as elsewhere:
        other = Cluster(elsewhere, MemoryObjects(MemoryBucket(CLOCK)))
        with pytest.raises(WrongBucket, match="bucket: holds no cluster: name the object store"):
            await other.restore(tmp_path / "one", target)
        await other.claim()
        with pytest.raises(WrongBucket, match="bucket: holds cluster"):
            await other.restore(tmp_path / "one", target)
        assert await all_keys(target) == {}


async def test_file_of_a_backup_is_not_overwritten(cluster: Cluster, tmp_path: Path) -> None:
    before = (tmp_path / "one").read_bytes()
    with pytest.raises(BackupError, match="one exists already"):
        await cluster.save(tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == before
    assert file_names(tmp_path) == ["one", "two"]


async def test_value_that_the_target_cannot_hold_is_named(cluster: Cluster, tmp_path: Path) -> None:
    await cluster.meta.commit(CLUSTER_DOMAIN, [], [Put("/dray/v1/group-configs/g", b"x" * 5_000)])
    await cluster.save(tmp_path / "large")
    async with memory_store() as target:
        restorer = dying_restorer(cluster, target, 10**6, after=True)
        with pytest.raises(CommitTooLarge, match=r"/dray/v1/group-configs/g .* 5024 bytes"):
            await restorer.restore(FileSource(tmp_path / "large"))
