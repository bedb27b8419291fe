"""Members of a real etcd cluster that are killed, paused and restarted."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dray.meta.etcd import EtcdMetaSettings
from dray.meta.port import MetaError, MetaStore, Put, Unavailable, Version, Versions
from dray.testing.contracts.meta_harness import D, changes_until, next_batch, put, value_of
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import opened

pytestmark = [pytest.mark.real("etcd"), pytest.mark.slow]

SETTINGS = EtcdMetaSettings(wait_ms=20_000, history_ms=0)
FAILOVER_S = 5.0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EtcdCluster]:
    """Three members with etcd's own timing of elections."""
    with EtcdCluster(tmp_path, size=3) as cluster:
        yield cluster


class Writer:
    """Commits one key after the other, and remembers what was acknowledged and how long each took."""

    def __init__(self, store: MetaStore, name: str) -> None:
        self.store = store
        self.name = name
        self.acknowledged: dict[str, Version] = {}
        self.slowest_s = 0.0
        self._committed = asyncio.Event()

    async def run(self) -> None:
        number = 0
        while True:
            number += 1
            key, began = f"/log/{self.name}-{number:06}", time.monotonic()
            outcome = await self.store.commit(D, [], [Put(key, b"")])
            self.slowest_s = max(self.slowest_s, time.monotonic() - began)
            assert isinstance(outcome, Versions)
            self.acknowledged[key] = outcome.of[0]
            self._committed.set()

    async def until(self, more: int) -> None:
        """Wait for more commits."""
        goal = len(self.acknowledged) + more
        async with asyncio.timeout(30):
            while len(self.acknowledged) < goal:
                self._committed.clear()
                await self._committed.wait()


@asynccontextmanager
async def writing(store: MetaStore, name: str) -> AsyncIterator[Writer]:
    writer = Writer(store, name)
    task = asyncio.create_task(writer.run())
    try:
        await writer.until(5)
        yield writer
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


async def present(store: MetaStore) -> dict[str, Version]:
    return {entry.key: entry.version for entry in await store.scan(D, "/log/", "/log/~")}


async def test_killed_leader_delays_commits_by_less_than_five_seconds(cluster: EtcdCluster) -> None:
    """The client's endpoint is the leader in some rounds, and a follower in others."""
    acknowledged: dict[str, Version] = {}
    async with opened(cluster.addresses, SETTINGS) as store:
        for number in range(4):
            leader = cluster.leader()
            async with writing(store, f"{number}") as writer:
                leader.kill()
                await writer.until(20)
            assert writer.slowest_s < FAILOVER_S
            acknowledged |= writer.acknowledged
            cluster.start()
        found = await present(store)
        assert acknowledged.items() <= found.items()
        assert len(found) <= len(acknowledged) + 4  # the last commit of each writer was cancelled


async def test_silent_endpoint_delays_reads_and_commits_by_less_than_one_attempt(
    cluster: EtcdCluster,
) -> None:
    """Another member is asked as well; the commit is looked up there."""
    leader = cluster.leader()
    silent = next(member for member in cluster.members if member is not leader)
    addresses = [silent.address, *(one for one in cluster.addresses if one != silent.address)]
    for request in ("read", "commit"):
        async with opened(addresses, replace(SETTINGS, attempt_ms=15_000)) as store:
            version = await put(store, "/x")
            silent.pause()
            began = time.monotonic()
            if request == "read":
                assert await value_of(store, "/x") == b""
            else:
                assert await put(store, "/x") > version
            assert time.monotonic() - began < FAILOVER_S
            silent.resume()


@pytest.mark.parametrize("whom", ["leader", "follower", "endpoint"])
async def test_paused_member_delays_commits_and_watches_by_less_than_five_seconds(
    cluster: EtcdCluster, whom: str
) -> None:
    leader = cluster.leader()
    follower = next(member for member in cluster.members if member is not leader)
    paused = follower if whom == "follower" else leader
    first = paused if whom == "endpoint" else next(m for m in cluster.members if m is not paused)
    addresses = [first.address, *(one for one in cluster.addresses if one != first.address)]
    async with opened(addresses, SETTINGS) as store, store.watch(D, "/seen") as batches:
        await next_batch(batches)
        async with writing(store, "a") as writer:
            paused.pause()
            began = time.monotonic()
            version = await put(store, "/seen")
            assert await changes_until(batches, "/seen") == {"/seen": version}
            assert time.monotonic() - began < FAILOVER_S + 2
            await writer.until(20)
            paused.resume()
            await writer.until(20)
        assert writer.slowest_s < FAILOVER_S
        assert writer.acknowledged.items() <= (await present(store)).items()


async def test_paused_endpoint_is_noticed_by_an_idle_watch(cluster: EtcdCluster) -> None:
    """Another client writes, so that only the watch itself can notice that its member is paused."""
    follower = next(member for member in cluster.members if member is not cluster.leader())
    others = [one for one in cluster.addresses if one != follower.address]
    watching = opened([follower.address, *others], SETTINGS)
    async with watching as watcher, opened(others, SETTINGS, watcher._endpoints._access) as writer:
        async with watcher.watch(D, "/") as batches:
            await next_batch(batches)
            follower.pause()
            began = time.monotonic()
            version = await put(writer, "/a")
            assert await changes_until(batches, "/a") == {"/a": version}
            assert time.monotonic() - began < 8
        follower.resume()


async def test_restart_of_all_members_loses_nothing(cluster: EtcdCluster) -> None:
    async with opened(cluster.addresses, SETTINGS) as store, store.watch(D, "/log/") as batches:
        await next_batch(batches)
        async with writing(store, "a") as writer:
            await asyncio.sleep(0.5)
            for member in cluster.members:
                member.kill()
            cluster.start()
            await writer.until(20)
        last = await put(store, "/log/end")
        assert await changes_until(batches, "/log/end") == {**await present(store), "/log/end": last}
        assert writer.acknowledged.items() <= (await present(store)).items()


async def test_member_without_quorum_serves_again_after_the_others_return(cluster: EtcdCluster) -> None:
    """It refuses at once while it has no leader; commits and watches wait, and none is lost."""
    alone, *others = cluster.members
    async with opened([alone.address], SETTINGS) as store, store.watch(D, "/log/") as batches:
        await next_batch(batches)
        async with writing(store, "a") as writer:
            for member in others:
                member.pause()
            await asyncio.sleep(6)
            for member in others:
                member.resume()
            await writer.until(20)
        end = await put(store, "/log/end")
        assert await changes_until(batches, "/log/end") == {**await present(store), "/log/end": end}
        assert writer.acknowledged.items() <= (await present(store)).items()


async def test_session_survives_a_paused_follower(cluster: EtcdCluster) -> None:
    follower = next(member for member in cluster.members if member is not cluster.leader())
    others = [one for one in cluster.addresses if one != follower.address]
    async with opened([follower.address, *others], SETTINGS) as store:
        session = await store.session(5_000)
        await store.commit(D, [], [Put("/mine", b"1", session.id)])
        follower.pause()
        await asyncio.sleep(8)
        assert session.alive
        assert await value_of(store, "/mine") == b"1"
        follower.resume()


async def test_unreachable_cluster_ends_watches_and_commits(cluster: EtcdCluster) -> None:
    async with opened(cluster.addresses, EtcdMetaSettings(wait_ms=2_000, history_ms=0)) as store:
        await put(store, "/a")
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            for member in cluster.members:
                member.kill()
            with pytest.raises(Unavailable, match="interrupted"):
                await next_batch(batches)
        with pytest.raises(Unavailable):
            await store.get(D, "/a")
        with pytest.raises(MetaError):
            await store.commit(D, [], [Put("/a", b"")])
        async with asyncio.timeout(3):
            await store.close()
