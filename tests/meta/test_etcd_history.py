"""The history of etcd: its compaction by the clients, and watches that were cut off from it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dray.meta.etcd import EtcdAccess, EtcdMetaSettings, EtcdMetaStore
from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import COMPACT
from dray.meta.etcd.history import HistoryCompactor
from dray.meta.port import ChangeBatch, Delete, Position, Unavailable
from dray.runtime import SystemClock
from dray.testing.contracts.meta_harness import D, changes_until, commit, next_batch, put
from tests.meta.cutting_proxy import CuttingProxy
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import fresh_prefix, opened

pytestmark = pytest.mark.real("etcd")


def compactor(store: EtcdMetaStore) -> HistoryCompactor:
    return HistoryCompactor(store._endpoints, store._reads._layout, SystemClock(), 600_000)


async def position(store: EtcdMetaStore) -> Position:
    async with store.watch(D, "/") as batches:
        return (await next_batch(batches)).position


async def has_gap(store: EtcdMetaStore, after: Position) -> bool:
    async with store.watch(D, "/", after) as batches:
        return (await next_batch(batches)).gap


async def test_only_what_is_older_than_an_interval_is_compacted(etcd: EtcdCluster) -> None:
    async with opened(etcd.addresses) as store:
        mine = compactor(store)
        ancient = await position(store)
        await put(store, "/a")
        await mine.step()
        old = await position(store)
        await put(store, "/b")
        assert not await has_gap(store, ancient)
        await mine.step()
        await put(store, "/c")
        assert await has_gap(store, ancient)
        assert not await has_gap(store, old)


async def test_of_several_clients_one_compacts_per_interval(etcd: EtcdCluster) -> None:
    """The interval of a client begins again whenever another one has won."""
    async with opened(etcd.addresses) as store:
        one, other = compactor(store), compactor(store)
        await one.step()
        await other.step()
        ancient = await position(store)
        await put(store, "/a")
        await one.step()
        await other.step()
        assert not await has_gap(store, ancient)
        await one.step()
        assert await has_gap(store, ancient)


async def test_store_compacts_while_it_is_open(etcd: EtcdCluster) -> None:
    async with opened(etcd.addresses, EtcdMetaSettings(history_ms=100)) as store:
        ancient = await position(store)
        async with asyncio.timeout(10):
            while not await has_gap(store, ancient):
                await put(store, "/a")


@asynccontextmanager
async def cut_off(etcd: EtcdCluster) -> AsyncIterator[tuple[CuttingProxy, EtcdMetaStore, EtcdMetaStore]]:
    """Open one store through a proxy that a test can block, and one of the same prefix without it."""
    prefix = fresh_prefix()
    settings = EtcdMetaSettings(wait_ms=3_000, history_ms=0)
    async with CuttingProxy(etcd.addresses[0], 1, chunks=(10, 10), late_s=(0, 0)) as proxy:
        proxy.harmless = True
        access = EtcdAccess((proxy.address,), prefix)
        direct = EtcdAccess(etcd.addresses, prefix)
        async with opened((), settings, access) as store, opened((), settings, direct) as other:
            yield proxy, store, other


async def test_interrupted_watch_resumes_without_a_gap(etcd: EtcdCluster) -> None:
    async with cut_off(etcd) as (proxy, store, other), store.watch(D, "/") as batches:
        await next_batch(batches)
        await put(other, "/a")
        await changes_until(batches, "/a")
        proxy.block()
        version = await put(other, "/b")
        await commit(other, [Delete("/a")])
        proxy.unblock()
        await put(other, "/end")
        found = await changes_until(batches, "/end")
        assert (found["/b"], found["/a"]) == (version, 0)


async def test_interrupted_watch_has_a_gap_if_its_position_was_compacted(etcd: EtcdCluster) -> None:
    async with cut_off(etcd) as (proxy, store, other), store.watch(D, "/") as batches:
        await next_batch(batches)
        proxy.block()
        await put(other, "/missed")
        revision = await other._reads.revision()
        await other._endpoints.call(COMPACT, api.CompactionRequest(revision=revision))
        proxy.unblock()
        assert (await next_batch(batches)).gap
        version = await put(other, "/a")
        assert await changes_until(batches, "/a") == {"/a": version}


async def test_quiet_watch_advances_with_the_store(etcd: EtcdCluster) -> None:
    """Otherwise every quiet domain would have a gap after an interruption."""
    settings = EtcdMetaSettings(probe_ms=50, history_ms=0)
    async with opened(etcd.addresses, settings) as store, store.watch(D, "/quiet") as batches:
        await next_batch(batches)
        began = await store._reads.revision()
        await put(store, "/noise")
        feed = store._feeds._feeds[D]
        async with asyncio.timeout(10):
            while feed.position <= began:
                await put(store, "/noise")
        later = await store._reads.revision()
        async with asyncio.timeout(10):
            while feed.position < later:
                await store.get(D, "/noise")


async def test_watch_ends_if_the_store_stays_unreachable(etcd: EtcdCluster) -> None:
    async with cut_off(etcd) as (proxy, store, _), store.watch(D, "/") as batches:
        await next_batch(batches)
        proxy.block()
        with pytest.raises(Unavailable, match="interrupted"):
            await next_batch(batches)
        proxy.unblock()


async def test_many_watches_of_a_domain_share_one_stream(etcd: EtcdCluster) -> None:
    async with opened(etcd.addresses) as store:
        watches = [store.watch(D, f"/{n}/") for n in range(5)]
        batches = [await watch.__aenter__() for watch in watches]
        for one in batches:
            await next_batch(one)
        assert len(store._feeds._feeds) == 1
        assert len(store._feeds._feeds[D].watchers) == 5
        version = await put(store, "/3/a")
        assert await changes_until(batches[3], "/3/a") == {"/3/a": version}
        for watch in watches:
            await watch.__aexit__(None, None, None)
        assert not store._feeds._feeds


async def test_watcher_that_lags_too_far_has_a_gap(etcd: EtcdCluster) -> None:
    async with opened(etcd.addresses, EtcdMetaSettings(catch_up_commits_max=5, history_ms=0)) as store:
        old = await position(store)
        for n in range(5):
            await put(store, f"/{n}")
        assert not await has_gap(store, old)
        await put(store, "/5")
        assert await has_gap(store, old)


async def test_position_of_another_cluster_is_a_gap(etcd: EtcdCluster) -> None:
    async with opened(etcd.addresses) as store:
        assert await has_gap(store, Position(await position(store) + 1_000_000))


async def test_slow_watcher_gets_the_last_change_of_each_key(etcd: EtcdCluster) -> None:
    async with opened(etcd.addresses) as store, store.watch(D, "/") as batches:
        await next_batch(batches)
        versions = [await put(store, "/a") for _ in range(20)]
        async with store.watch(D, "/") as other:
            await next_batch(other)
            end = await put(store, "/end")
            await changes_until(other, "/end")
        batch: ChangeBatch = await next_batch(batches)
        assert {change.key: change.version for change in batch.changes} == {"/a": versions[-1], "/end": end}
