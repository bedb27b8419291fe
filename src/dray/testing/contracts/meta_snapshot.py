"""The contract of metadata stores: snapshots."""

import asyncio

from dray.ids import Domain
from dray.meta.port import Delete, Entry, MetaStore, Put, Snapshot
from dray.testing.contracts.meta_harness import D, commit, put


class SnapshotContract:
    """A snapshot reads whole domains, each as it was at one moment."""

    async def test_snapshot_has_all_keys_of_a_domain_and_no_others(self, store: MetaStore) -> None:
        keys = ["a", "/b", "/b/1", "/b/2/x.y", "/é!", "/b/2/~", "/0/1/2/3/4"]
        await commit(store, [Put(key, key.encode()) for key in keys])
        await put(store, "/b", b"other", domain=Domain("other/domain"))
        async with store.snapshot() as snapshot:
            found = await read_all(snapshot, D)
            assert {entry.key: entry.value for entry in found} == {key: key.encode() for key in keys}
            assert [entry.value for entry in await read_all(snapshot, Domain("other/domain"))] == [b"other"]
            assert await read_all(snapshot, Domain("empty")) == []

    async def test_snapshot_has_the_versions_of_its_keys(self, store: MetaStore) -> None:
        await put(store, "/a")
        version = await put(store, "/a", b"again")
        async with store.snapshot() as snapshot:
            assert await read_all(snapshot, D) == [Entry("/a", b"again", version)]

    async def test_snapshot_leaves_out_ephemeral_keys(self, store: MetaStore) -> None:
        session = await store.session(10_000)
        await commit(store, [Put("/lasting", b""), Put("/ephemeral", b"", session.id)])
        async with store.snapshot() as snapshot:
            assert [entry.key for entry in await read_all(snapshot, D)] == ["/lasting"]

    async def test_snapshot_of_many_keys_is_complete(self, store: MetaStore) -> None:
        keys = [f"/many/{n:05}" for n in range(1_300)]
        for start in range(0, len(keys), 100):
            await commit(store, [Put(key, b"v" * 30) for key in keys[start : start + 100]])
        await commit(store, [Delete(keys[7])])
        async with store.snapshot() as snapshot:
            found = [entry.key for entry in await read_all(snapshot, D)]
        assert sorted(found) == keys[:7] + keys[8:]

    async def test_domain_is_read_at_one_moment(self, store: MetaStore) -> None:
        """Every commit sets all keys to one number; a snapshot never mixes two of them."""
        keys = [f"/{'x/' * (n % 3)}{n:03}" for n in range(60)]
        await commit(store, [Put(key, b"0") for key in keys])
        stopped = asyncio.Event()

        async def write() -> int:
            number = 0
            while not stopped.is_set():
                number += 1
                await commit(store, [Put(key, b"%d" % number) for key in keys])
            return number

        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(write())
            seen = set()
            for _ in range(10):
                async with store.snapshot() as snapshot:
                    found = await read_all(snapshot, D)
                assert len(found) == len(keys)
                assert len({entry.value for entry in found}) == 1, "a mixture of two commits"
                seen.add(found[0].value)
            stopped.set()
        assert writing.result() >= max(map(int, seen))

    async def test_later_domain_is_not_older_than_an_earlier_one(self, store: MetaStore) -> None:
        first, second = Domain("first"), Domain("second")
        await put(store, "/n", b"0", domain=first)
        await put(store, "/n", b"0", domain=second)
        stopped = asyncio.Event()

        async def write() -> None:
            number = 0
            while not stopped.is_set():
                number += 1
                await put(store, "/n", b"%d" % number, domain=second)
                await put(store, "/n", b"%d" % number, domain=first)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(write())
            for _ in range(10):
                async with store.snapshot() as snapshot:
                    before = int((await read_all(snapshot, first))[0].value)
                    after = int((await read_all(snapshot, second))[0].value)
                assert after >= before
            stopped.set()

    async def test_position_grows_with_commits(self, store: MetaStore) -> None:
        await put(store, "/a")
        async with store.snapshot() as snapshot:
            before = snapshot.position
        await put(store, "/a")
        async with store.snapshot() as snapshot:
            after = snapshot.position
        assert (before is None) == (after is None)
        assert before is None or after is None or after > before


async def read_all(snapshot: Snapshot, domain: Domain) -> list[Entry]:
    found: list[Entry] = []
    async for page in snapshot.read(domain):
        assert page
        found += page
    return found
