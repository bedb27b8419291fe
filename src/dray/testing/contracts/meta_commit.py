"""The contract of metadata stores: reads and commits."""

import asyncio

import pytest

from dray.ids import Domain
from dray.meta.port import (
    ABSENT,
    Check,
    Conflict,
    Delete,
    Entry,
    MetaStore,
    Put,
    Unavailable,
    Version,
    Versions,
)
from dray.testing.contracts.meta_harness import D, MetaHarness, commit, put, value_of


class CommitContract:
    """Commits are atomic, durable, and visible to all clients afterwards."""

    async def test_put_value_is_read_back(self, store: MetaStore) -> None:
        version = await put(store, "/a", b"one")
        assert version > ABSENT
        assert await store.get(D, "/a") == Entry("/a", b"one", version)

    async def test_missing_key_is_none(self, store: MetaStore) -> None:
        assert await store.get(D, "/a") is None

    async def test_put_replaces_value_and_version(self, store: MetaStore) -> None:
        first = await put(store, "/a", b"one")
        second = await put(store, "/a", b"two")
        assert second != first
        assert await store.get(D, "/a") == Entry("/a", b"two", second)

    async def test_deleted_key_is_none(self, store: MetaStore) -> None:
        await put(store, "/a")
        assert await commit(store, [Delete("/a")]) == (ABSENT,)
        assert await store.get(D, "/a") is None

    async def test_deleting_a_missing_key_succeeds(self, store: MetaStore) -> None:
        assert await commit(store, [Delete("/a"), Put("/b", b"")], [Check("/a", ABSENT)])
        assert await store.get(D, "/a") is None

    async def test_version_is_never_assigned_twice_to_a_key(self, store: MetaStore) -> None:
        seen = set()
        for _ in range(5):
            seen.add(await put(store, "/a", b"same"))
            await commit(store, [Delete("/a")])
        assert len(seen) == 5

    async def test_old_version_does_not_match_a_recreated_key(self, store: MetaStore) -> None:
        old = await put(store, "/a", b"same")
        await commit(store, [Delete("/a")])
        await put(store, "/a", b"same")
        assert await store.commit(D, [Check("/a", old)], [Put("/a", b"lost")]) == Conflict(("/a",))
        assert await value_of(store, "/a") == b"same"

    async def test_check_of_the_current_version_holds(self, store: MetaStore) -> None:
        version = await put(store, "/a", b"1")
        await commit(store, [Put("/a", b"2")], [Check("/a", version)])
        assert await value_of(store, "/a") == b"2"

    async def test_absent_check_lets_one_creator_win(self, store: MetaStore) -> None:
        await commit(store, [Put("/a", b"first")], [Check("/a", ABSENT)])
        assert await store.commit(D, [Check("/a", ABSENT)], [Put("/a", b"second")]) == Conflict(("/a",))
        assert await value_of(store, "/a") == b"first"

    async def test_version_check_of_a_missing_key_fails(self, store: MetaStore) -> None:
        assert await store.commit(D, [Check("/a", Version(1))], [Put("/b", b"")]) == Conflict(("/a",))
        assert await store.get(D, "/b") is None

    async def test_failed_check_prevents_every_write(self, store: MetaStore) -> None:
        right = await put(store, "/a", b"1")
        await put(store, "/c", b"1")
        checks = [Check("/a", right), Check("/b", Version(right + 1_000))]
        outcome = await store.commit(D, checks, [Put("/a", b"2"), Put("/b", b"2"), Delete("/c")])
        assert outcome == Conflict(("/b",))
        assert [await value_of(store, key) for key in ("/a", "/b", "/c")] == [b"1", None, b"1"]

    async def test_check_may_name_a_key_that_is_not_written(self, store: MetaStore) -> None:
        guard = await put(store, "/guard")
        await commit(store, [Put("/a", b"1")], [Check("/guard", guard)])
        await put(store, "/guard")
        assert await store.commit(D, [Check("/guard", guard)], [Put("/a", b"2")]) == Conflict(("/guard",))

    async def test_commit_may_have_only_checks(self, store: MetaStore) -> None:
        version = await put(store, "/a")
        assert await store.commit(D, [Check("/a", version), Check("/b", ABSENT)], []) == Versions(())
        assert await store.commit(D, [Check("/a", ABSENT)], []) == Conflict(("/a",))
        assert await store.get(D, "/a") == Entry("/a", b"", version)

    async def test_empty_commit_succeeds(self, store: MetaStore) -> None:
        assert await store.commit(D, [], []) == Versions(())

    async def test_writing_a_key_twice_in_a_commit_is_refused(self, store: MetaStore) -> None:
        with pytest.raises(ValueError, match="/a"):
            await store.commit(D, [], [Put("/a", b"1"), Delete("/a")])
        assert await store.get(D, "/a") is None

    async def test_versions_are_in_the_order_of_the_writes(self, store: MetaStore) -> None:
        await put(store, "/gone")
        versions = await commit(store, [Put("/b", b""), Delete("/gone"), Put("/a", b"")])
        entries = [await store.get(D, key) for key in ("/b", "/a")]
        assert [entry.version for entry in entries if entry] == [versions[0], versions[2]]
        assert versions[1] == ABSENT

    async def test_same_key_in_two_domains_is_two_keys(self, store: MetaStore) -> None:
        other = Domain("other")
        await put(store, "/a", b"here")
        await put(store, "/a", b"there", other)
        await commit(store, [Delete("/a")])
        assert await store.get(D, "/a") is None
        assert await value_of(store, "/a", other) == b"there"
        assert [entry.value for entry in await store.scan(other, "/", "/~")] == [b"there"]

    async def test_values_may_be_empty_binary_and_large(self, store: MetaStore) -> None:
        big = bytes(range(256)) * 4096
        await commit(store, [Put("/empty", b""), Put("/binary", b"\0\xff\0")])
        await put(store, "/big", big)
        assert [await value_of(store, key) for key in ("/empty", "/binary", "/big")] == [
            b"",
            b"\0\xff\0",
            big,
        ]

    async def test_commit_of_sixty_writes(self, store: MetaStore) -> None:
        keys = [f"/many/{n:02}" for n in range(60)]
        await commit(store, [Put(key, key.encode()) for key in keys], [Check(key, ABSENT) for key in keys])
        found = await store.scan(D, "/many/", "/many/~")
        assert [(entry.key, entry.value) for entry in found] == [(key, key.encode()) for key in keys]

    async def test_commit_is_visible_to_other_clients(self, harness: MetaHarness, store: MetaStore) -> None:
        other = await harness.open()
        for n in range(20):
            version = await put(store, "/a", b"%d" % n)
            assert await other.get(D, "/a") == Entry("/a", b"%d" % n, version)
            assert await other.scan(D, "/", "/~") == [Entry("/a", b"%d" % n, version)]

    async def test_concurrent_commits_lose_no_update(self, harness: MetaHarness) -> None:
        """Each commit increments two of three counters; the sums must include both halves of every commit."""
        stores = [await harness.open() for _ in range(3)]
        rounds = [_add(stores[n % 3], f"/n/{n % 3}", f"/n/{(n + 1) % 3}", 5) for n in range(12)]
        async with asyncio.TaskGroup() as group:
            for adding in rounds:
                group.create_task(adding)
        counters = [int(entry.value) for entry in await stores[0].scan(D, "/n/", "/n/~")]
        assert counters == [40, 40, 40]

    async def test_reads_are_atomic_and_monotonic(self, harness: MetaHarness) -> None:
        writer, reader = await harness.open(), await harness.open()
        keys = [f"/p/{n}" for n in range(8)]
        await commit(writer, [Put(key, b"0") for key in keys])
        done = asyncio.Event()

        async def write() -> None:
            for n in range(1, 40):
                await commit(writer, [Put(key, b"%d" % n) for key in keys])
            done.set()

        seen = [0]
        async with asyncio.TaskGroup() as group:
            group.create_task(write())
            while not done.is_set():
                values = {int(entry.value) for entry in await reader.scan(D, "/p/", "/p/~")}
                assert len(values) == 1
                seen.append(values.pop())
                single = await value_of(reader, "/p/3")
                assert single is not None
                seen.append(int(single))
                await asyncio.sleep(0)  # a store may respond without yielding to other tasks
        assert seen == sorted(seen)

    async def test_closed_store_refuses_calls(self, store: MetaStore) -> None:
        await put(store, "/a")
        await store.close()
        with pytest.raises(Unavailable):
            await store.get(D, "/a")
        with pytest.raises(Unavailable):
            await store.scan(D, "/", "/~")
        with pytest.raises(Unavailable):
            await store.commit(D, [], [Put("/a", b"")])
        with pytest.raises(Unavailable):
            await store.session(5_000)
        await store.close()

    async def test_commit_survives_the_close_of_its_client(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        await put(store, "/a", b"kept")
        await store.close()
        assert await value_of(await harness.open(), "/a") == b"kept"


async def _add(store: MetaStore, one: str, other: str, times: int) -> None:
    for _ in range(times):
        while not await _add_once(store, one, other):
            pass


async def _add_once(store: MetaStore, one: str, other: str) -> bool:
    entries = [(key, await store.get(D, key)) for key in (one, other)]
    checks = [Check(key, entry.version if entry else ABSENT) for key, entry in entries]
    writes = [Put(key, b"%d" % (int(entry.value if entry else b"0") + 1)) for key, entry in entries]
    return isinstance(await store.commit(D, checks, writes), Versions)
