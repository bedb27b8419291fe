"""The contract of the in-memory store."""

import pytest

from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.objects.port import AlreadyExists, ObjectStore
from dray.runtime import SystemClock
from dray.testing.contracts.objects import ObjectContract, paths_of


class TestMemory(ObjectContract):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryObjects(MemoryBucket(SystemClock()))


async def test_clients_share_a_bucket() -> None:
    bucket = MemoryBucket(SystemClock())
    one, other = MemoryObjects(bucket), MemoryObjects(bucket)
    await one.put_new("shared", [b"1"])
    assert bytes(await other.get("shared")) == b"1"
    with pytest.raises(AlreadyExists):
        await other.put_new("shared", [b"2"])


async def test_listing_reflects_concurrent_changes() -> None:
    store = MemoryObjects(MemoryBucket(SystemClock()))
    for name in "ac":
        await store.put_new(name, [b""])
    listing = store.list("")
    first = await anext(aiter(listing))
    await store.put_new("b", [b""])
    assert [first.path] + [info.path async for info in listing] == ["a", "b", "c"]
    assert await paths_of(store, "") == ["a", "b", "c"]
