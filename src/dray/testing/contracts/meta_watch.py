"""The contract of metadata stores: watches."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from dray.ids import Domain
from dray.meta.port import (
    ABSENT,
    Change,
    ChangeBatch,
    Delete,
    MetaStore,
    Position,
    Put,
    Unavailable,
    Version,
    Watch,
)
from dray.testing.contracts.meta_harness import (
    PATIENCE_S,
    D,
    MetaHarness,
    changes_until,
    commit,
    next_batch,
    put,
)


class WatchContract:
    """The first batch is immediate, then every change follows, from now or from a position; else a gap."""

    async def test_first_batch_is_immediate(self, store: MetaStore) -> None:
        await put(store, "/a")
        async with store.watch(D, "/") as batches:
            first = await next_batch(batches)
        assert (first.changes, first.gap) == ((), False)

    async def test_watch_of_an_unused_domain_begins_too(self, store: MetaStore) -> None:
        async with store.watch(Domain("untouched"), "/") as batches:
            assert not (await next_batch(batches)).gap

    async def test_puts_and_deletes_are_reported(self, store: MetaStore) -> None:
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            version = await put(store, "/a")
            assert await changes_until(batches, "/a", version) == {"/a": version}
            await commit(store, [Delete("/a")])
            assert await changes_until(batches, "/a", ABSENT) == {"/a": ABSENT}

    async def test_commits_of_another_client_are_reported(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        other = await harness.open()
        async with other.watch(D, "/") as batches:
            await next_batch(batches)
            version = await put(store, "/a")
            assert await changes_until(batches, "/a", version) == {"/a": version}

    async def test_reported_change_can_be_read(self, harness: MetaHarness, store: MetaStore) -> None:
        other = await harness.open()
        async with other.watch(D, "/") as batches:
            await next_batch(batches)
            for _ in range(10):
                version = await put(store, "/a")
                await changes_until(batches, "/a", version)
                entry = await other.get(D, "/a")
                assert entry is not None
                assert entry.version == version

    async def test_only_keys_with_the_prefix_are_reported(self, store: MetaStore) -> None:
        async with store.watch(D, "/in/") as batches:
            await next_batch(batches)
            await commit(store, [Put(key, b"") for key in ("/out", "/in", "/in/a", "/in/b/c", "/inner")])
            end = await put(store, "/in/end")
            assert (await changes_until(batches, "/in/end", end)).keys() == {"/in/a", "/in/b/c", "/in/end"}

    async def test_only_the_watched_domain_is_reported(self, store: MetaStore) -> None:
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            await put(store, "/a", domain=Domain("other"))
            end = await put(store, "/end")
            assert (await changes_until(batches, "/end", end)).keys() == {"/end"}

    async def test_failed_commit_is_not_reported(self, store: MetaStore) -> None:
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            await store.commit(D, [], [])
            with pytest.raises(ValueError, match="/a"):
                await store.commit(D, [], [Put("/a", b""), Put("/a", b"")])
            end = await put(store, "/end")
            assert (await changes_until(batches, "/end", end)).keys() == {"/end"}

    async def test_watch_resumes_after_a_position(self, store: MetaStore) -> None:
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            before = Change("/before", await put(store, "/before"))
            position = await _position_after(batches, before)
        versions = [await put(store, f"/{n}") for n in range(5)]
        await commit(store, [Delete("/before")])
        end = await put(store, "/end")
        async with store.watch(D, "/", position) as batches:
            found = await changes_until(batches, "/end", end)
        assert found.pop("/end") == end
        assert found == {"/before": ABSENT, **{f"/{n}": version for n, version in enumerate(versions)}}

    async def test_another_client_can_resume_a_watch(self, harness: MetaHarness, store: MetaStore) -> None:
        async with store.watch(D, "/") as batches:
            position = (await next_batch(batches)).position
        version = await put(store, "/a")
        await store.close()
        async with (await harness.open()).watch(D, "/", position) as batches:
            assert await changes_until(batches, "/a", version) == {"/a": version}

    async def test_resumed_watch_without_changes_begins_at_once(self, store: MetaStore) -> None:
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            change = Change("/a", await put(store, "/a"))
            position = await _position_after(batches, change)
        async with store.watch(D, "/", position) as batches:
            first = await next_batch(batches)
            assert (first.changes, first.gap) == ((), False)
            version = await put(store, "/b")
            assert await changes_until(batches, "/b", version) == {"/b": version}

    async def test_watch_from_a_trimmed_position_has_a_gap(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        async with store.watch(D, "/") as batches:
            position = (await next_batch(batches)).position
        await put(store, "/missed")
        await harness.forget_changes()
        async with store.watch(D, "/", position) as batches:
            assert (await next_batch(batches)).gap
            version = await put(store, "/a")
            assert await changes_until(batches, "/a", version) == {"/a": version}

    async def test_watch_misses_no_change_of_concurrent_writers(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        """The watch begins among concurrent writes; the last version of each key must be reported or read."""
        writers = [await harness.open() for _ in range(3)]
        written: dict[str, Version] = {}

        async def write(number: int) -> None:
            for n in range(30):
                key = f"/{number}/{n % 7}"
                written[key] = await put(writers[number], key)

        async with asyncio.TaskGroup() as group:
            following = group.create_task(_follow(store))
            async with asyncio.TaskGroup() as writing:
                for number in range(3):
                    writing.create_task(write(number))
            await put(store, "/end")
        assert following.result() == written

    async def test_two_watches_report_the_same_changes(self, store: MetaStore) -> None:
        async with store.watch(D, "/") as one, store.watch(D, "/") as other:
            await next_batch(one)
            await next_batch(other)
            version = await put(store, "/a")
            for batches in (one, other):
                assert await changes_until(batches, "/a", version) == {"/a": version}

    async def test_sync_ends_when_the_reader_has_handled_all_changes(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        """Also those of another client; changes that are not watched do not matter."""
        clients = (await harness.open(), store)
        handled: set[str] = set()
        async with store.watch(D, "/in/") as watch:
            await next_batch(watch)
            reading = asyncio.create_task(_handle(watch, handled))
            for number in range(30):
                client = clients[number % 2]
                await put(client, f"/in/{number}")
                await put(client, "/in/x", domain=Domain("elsewhere"))
                await put(client, f"/out/{number}")
                async with asyncio.timeout(PATIENCE_S):
                    assert await watch.sync() == harness.syncs
                assert handled >= {f"/in/{one}" for one in range(number + 1)} or not harness.syncs
            reading.cancel()

    async def test_sync_of_a_quiet_watch_ends(self, harness: MetaHarness, store: MetaStore) -> None:
        async with store.watch(D, "/") as watch:
            await next_batch(watch)
            reading = asyncio.create_task(_handle(watch, set()))
            for _ in range(3):
                async with asyncio.timeout(PATIENCE_S):
                    assert await watch.sync() == harness.syncs
            reading.cancel()

    async def test_sync_under_a_stream_of_changes_ends(self, harness: MetaHarness, store: MetaStore) -> None:
        async with store.watch(D, "/") as watch:
            await next_batch(watch)
            reading = asyncio.create_task(_handle(watch, set()))
            writing = asyncio.create_task(_write_forever(store))
            for _ in range(5):
                async with asyncio.timeout(PATIENCE_S):
                    assert await watch.sync() == harness.syncs
            writing.cancel()
            reading.cancel()

    async def test_sync_of_an_ended_watch_returns_false(self, store: MetaStore) -> None:
        async with store.watch(D, "/") as watch:
            await next_batch(watch)
        async with asyncio.timeout(PATIENCE_S):
            assert not await watch.sync()

    async def test_leaving_a_watch_ends_it_for_its_reader(self, store: MetaStore) -> None:
        async with asyncio.TaskGroup() as group:
            async with store.watch(D, "/") as batches:
                await next_batch(batches)
                waiting = group.create_task(_read_to_the_end(batches))
                await put(store, "/a")
            async with asyncio.timeout(5):
                await waiting

    async def test_closing_the_store_ends_its_watches(self, store: MetaStore) -> None:
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(_read_until_unavailable(batches))
                await put(store, "/a")
                await store.close()
                async with asyncio.timeout(5):
                    await waiting


async def _read_to_the_end(batches: AsyncIterator[ChangeBatch]) -> None:
    async for batch in batches:
        assert not batch.gap


async def _read_until_unavailable(batches: AsyncIterator[ChangeBatch]) -> None:
    with pytest.raises(Unavailable):
        await _read_to_the_end(batches)


async def _position_after(batches: AsyncIterator[ChangeBatch], change: Change) -> Position:
    while True:
        batch = await next_batch(batches)
        if change in batch.changes:
            return batch.position


async def _handle(watch: Watch, handled: set[str]) -> None:
    async for batch in watch:
        await asyncio.sleep(0.001)
        handled.update(change.key for change in batch.changes)


async def _write_forever(store: MetaStore) -> None:
    while True:
        await put(store, "/a")
        await asyncio.sleep(0)  # a commit in memory does not wait


async def _follow(store: MetaStore) -> dict[str, Version]:
    """Keep a copy of the domain as a cache does: watch, read, then apply the changes, until the end."""
    known: dict[str, Version] = {}
    async with store.watch(D, "/") as batches:
        await next_batch(batches)
        for number in range(3):
            found = await store.scan(D, f"/{number}/", f"/{number}/~")
            known.update((entry.key, entry.version) for entry in found)
        known.update(await changes_until(batches, "/end"))
    del known["/end"]
    return known
