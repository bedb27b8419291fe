"""Watches of Oxia across gaps, holes in the offsets, broken streams and moved leaders."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from dray.ids import Domain
from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.keys import data_key
from dray.meta.oxia.watcher import Watcher
from dray.meta.port import ABSENT, Change, ChangeBatch, Delete, Position, Put, Unavailable, Version
from dray.runtime import RetrySettings
from dray.testing.contracts.meta_harness import D, changes_until, commit, next_batch, put
from dray.testing.oxia_server import NoFaults, OxiaServerSettings, ScriptedFaults
from dray.testing.oxia_server.faults import REFUSED
from tests.meta.oxia_harness import TTL_MS, OxiaHarness, served

TWO_NODES = OxiaServerSettings(shards=1, ports=(0, 0), session_ttl_min_ms=TTL_MS)


async def test_entry_without_notifications_is_not_a_gap() -> None:
    async with served() as harness:
        store = await harness.open()
        await put(store, "/before")
        async with store.watch(D, "/") as batches:
            first = await next_batch(batches)
            for n in range(5):
                harness.server.append_without_notifications(0)
                version = await put(store, f"/{n}")
                assert await changes_until(batches, f"/{n}", version) == {f"/{n}": version}
        harness.server.append_without_notifications(0)
        await put(store, "/end")
        async with store.watch(D, "/", first.position) as batches:
            assert len(await changes_until(batches, "/end")) == 6


async def test_watch_continues_without_a_gap_when_the_leader_moves() -> None:
    async with served(TWO_NODES) as harness:
        store = await harness.open()
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            for n in range(6):
                version = await put(store, f"/{n}")
                harness.server.move_leader(0, n % 2)
                assert await changes_until(batches, f"/{n}", version) == {f"/{n}": version}


async def test_notifications_trimmed_while_the_stream_was_broken_are_a_gap() -> None:
    async with served(TWO_NODES) as harness:
        store, other = await harness.open(), await harness.open()
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            await put(other, "/seen")
            await changes_until(batches, "/seen")
            harness.server.faults = ScriptedFaults("GetNotifications", [REFUSED] * 100_000)
            harness.server.move_leader(0, 1)
            await _streams(harness, 0)
            await put(other, "/missed")
            harness.server.trim_notifications()
            await put(other, "/end")
            harness.server.faults = NoFaults()
            found: list[ChangeBatch] = []
            while not any(batch.gap for batch in found):
                found.append(await next_batch(batches))


async def test_watch_ends_when_the_store_stays_unavailable() -> None:
    async with served(TWO_NODES, retry=RetrySettings(first_ms=5, max_ms=20, budget_ms=300)) as harness:
        store = await harness.open()
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            harness.server.faults = ScriptedFaults("GetNotifications", [REFUSED] * 100_000)
            harness.server.move_leader(0, 1)
            with pytest.raises(Unavailable):
                await next_batch(batches)
        harness.server.faults = ScriptedFaults("GetNotifications", [])
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            version = await put(store, "/again")
            assert await changes_until(batches, "/again", version) == {"/again": version}


async def test_position_of_another_server_is_a_gap() -> None:
    async with served() as harness:
        store = await harness.open()
        async with store.watch(D, "/", Position(1_000)) as batches:
            assert (await next_batch(batches)).gap


async def test_watcher_that_lags_too_far_gets_a_gap() -> None:
    async with served(catch_up_batches_max=10) as harness:
        store = await harness.open()
        async with store.watch(D, "/") as batches:
            position = (await next_batch(batches)).position
        for n in range(10):
            await put(store, f"/{n}")
        async with store.watch(D, "/", position) as batches:
            assert (await next_batch(batches)).gap


async def test_stream_is_shared_by_the_watches_of_a_shard() -> None:
    async with served() as harness:
        store = await harness.open()
        domains = [Domain(f"domain-{n}") for n in range(5)]
        watches = [store.watch(domain, "/") for domain in domains]
        all_batches = [await watch.__aenter__() for watch in watches]
        await _streams(harness, 1)
        for domain, batches in zip(domains, all_batches, strict=True):
            await next_batch(batches)
            version = await put(store, "/a", domain=domain)
            assert await changes_until(batches, "/a", version) == {"/a": version}
        for watch in watches:
            await watch.__aexit__(None, None, None)


async def test_placeholders_are_not_reported() -> None:
    async with served() as harness:
        store = await harness.open()
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            seen = []
            for _ in range(3):
                seen.append((await commit(store, [Put("/a", b"")]))[0])
                await commit(store, [Delete("/a")])
            version = await put(store, "/end")
            found = [change for batch in await _until(batches, "/end") for change in batch.changes]
        assert {change.version for change in found} <= {*seen, ABSENT, version}


def test_range_deletion_of_another_program_is_a_gap() -> None:
    async def main() -> None:
        watcher = Watcher(D, "/")
        watcher.begin(4)
        deleted = api.Notification(type=api.KEY_RANGE_DELETED, key_range_last="z")
        entry = api.NotificationEntry(key="a", value=deleted)
        watcher.add(api.NotificationBatch(offset=5, notifications=[entry]), gap=False)
        assert await anext(watcher) == ChangeBatch(Position(5), (), gap=True)

    asyncio.run(main())


def test_watch_ignores_what_its_feed_receives_from_before_it_began() -> None:
    async def main() -> None:
        watcher = Watcher(D, "/")
        changed = api.Notification(type=api.KEY_MODIFIED, version_id=1)
        entry = api.NotificationEntry(key=data_key(D, "/a"), value=changed)
        watcher.add(api.NotificationBatch(offset=3, notifications=[entry]), gap=True)
        watcher.begin(6)
        for offset in (4, 6):
            watcher.add(api.NotificationBatch(offset=offset, notifications=[entry]), gap=True)
        assert await anext(watcher) == ChangeBatch(Position(6))
        watcher.add(api.NotificationBatch(offset=7, notifications=[entry]), gap=False)
        assert await anext(watcher) == ChangeBatch(Position(7), (Change("/a", Version(2)),))

    asyncio.run(main())


async def _until(batches: AsyncIterator[ChangeBatch], key: str) -> Sequence[ChangeBatch]:
    found: list[ChangeBatch] = []
    while not any(change.key == key for batch in found for change in batch.changes):
        found.append(await next_batch(batches))
    return found


async def _streams(harness: OxiaHarness, expected: int) -> None:
    """Wait until the server has that many streams: it notices the end of one a moment later."""
    for _ in range(5_000):
        if harness.server.notification_streams(0) == expected:
            return
        await asyncio.sleep(0.001)
    raise AssertionError(f"{harness.server.notification_streams(0)} streams of notifications")
