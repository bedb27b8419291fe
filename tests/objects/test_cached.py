"""The cache wrapper: the contract, eviction, and shared reads."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from dray.objects.cached import Cached, CacheStats, RangeCache
from dray.objects.port import ByteRange, NotFound, ObjectStore, OutOfRange, Unavailable
from dray.runtime.tasks import Tasks
from dray.testing.contracts.objects import ObjectContract
from tests.objects.builders import Gated, memory, throttled

A, B, C = ByteRange(0, 4), ByteRange(4, 4), ByteRange(2, 4)


class TestCached(ObjectContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[ObjectStore]:
        tasks = Tasks()
        yield Cached(memory(), tasks, 100_000)
        await tasks.stop()
        assert tasks.failures == 0


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    tasks = Tasks()
    yield tasks
    await tasks.stop()
    assert tasks.failures == 0


@pytest.fixture
def inner() -> Gated:
    inner = Gated()
    inner.bucket.put_new("x", [b"01234567"])
    inner.bucket.put_new("y", [b"abcdefgh"])
    return inner


@pytest.fixture
def cached(inner: Gated, tasks: Tasks) -> Cached:
    return Cached(inner, tasks, 10)


async def settle() -> None:
    """Let every task run until it blocks."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_range_is_read_once(cached: Cached, inner: Gated) -> None:
    inner.gate.set()
    for _ in range(3):
        assert [bytes(got) for got in await cached.get_ranges("x", [A, B])] == [b"0123", b"4567"]
    assert inner.asked == [("x", [A, B])]
    assert cached.stats == CacheStats(hits=4, joined=0, misses=2, held_bytes=8)


async def test_cached_range_is_found_without_waiting(cached: Cached, inner: Gated) -> None:
    assert cached.find("x", A) is None
    inner.gate.set()
    await cached.get_ranges("x", [A])
    found = cached.find("x", A)
    assert found is not None
    assert bytes(found) == b"0123"
    assert cached.find("x", B) is None
    assert inner.asked == [("x", [A])]
    assert cached.stats == CacheStats(hits=1, joined=0, misses=1, held_bytes=4)


async def test_only_missing_ranges_are_read(cached: Cached, inner: Gated) -> None:
    inner.gate.set()
    await cached.get_ranges("x", [A])
    assert [bytes(got) for got in await cached.get_ranges("x", [B, A, B])] == [b"4567", b"0123", b"4567"]
    assert inner.asked == [("x", [A]), ("x", [B])]


async def test_least_recently_used_range_is_evicted_first(cached: Cached, inner: Gated) -> None:
    inner.gate.set()
    await cached.get_ranges("x", [A])
    await cached.get_ranges("x", [B])
    await cached.get_ranges("x", [A])
    await cached.get_ranges("y", [A])
    assert cached.stats.held_bytes == 8
    inner.asked.clear()
    await cached.get_ranges("x", [A])
    await cached.get_ranges("y", [A])
    assert inner.asked == []
    await cached.get_ranges("x", [B])
    assert inner.asked == [("x", [B])]


async def test_range_larger_than_the_cache_is_not_cached(inner: Gated, tasks: Tasks) -> None:
    inner.gate.set()
    small = Cached(inner, tasks, 3)
    assert bytes((await small.get_ranges("x", [A]))[0]) == b"0123"
    assert small.stats.held_bytes == 0


async def test_writer_may_seed_the_cache(cached: Cached, inner: Gated) -> None:
    cached.insert("new", A, memoryview(b"-seed-")[1:5])
    assert bytes((await cached.get_ranges("new", [A]))[0]) == b"seed"
    assert inner.asked == []
    with pytest.raises(ValueError, match="is not the range"):
        cached.insert("new", B, b"five!")


async def test_forgotten_and_deleted_paths_are_read_again(cached: Cached, inner: Gated) -> None:
    inner.gate.set()
    await cached.get_ranges("x", [A])
    await cached.get_ranges("y", [A])
    cached.forget("x")
    assert cached.stats.held_bytes == 4
    await cached.get_ranges("x", [A])
    assert inner.asked == [("x", [A]), ("y", [A]), ("x", [A])]
    await cached.delete("y")
    with pytest.raises(NotFound):
        await cached.get_ranges("y", [A])


async def test_concurrent_readers_share_a_request(cached: Cached, inner: Gated) -> None:
    readers = [asyncio.create_task(cached.get_ranges("x", [A])) for _ in range(5)]
    await settle()
    other = asyncio.create_task(cached.get_ranges("x", [B, A]))
    await settle()
    assert inner.asked == [("x", [A]), ("x", [B])]
    inner.gate.set()
    assert [bytes(got) for reader in readers for got in await reader] == [b"0123"] * 5
    assert [bytes(got) for got in await other] == [b"4567", b"0123"]
    assert cached.stats == CacheStats(hits=0, joined=5, misses=2, held_bytes=8)


async def test_cancelled_reader_does_not_affect_others(cached: Cached, inner: Gated) -> None:
    first = asyncio.create_task(cached.get_ranges("x", [A]))
    await settle()
    second = asyncio.create_task(cached.get_ranges("x", [A]))
    await settle()
    first.cancel()
    await settle()
    assert first.cancelled()
    inner.gate.set()
    assert bytes((await second)[0]) == b"0123"
    assert inner.asked == [("x", [A])]


async def test_read_without_remaining_callers_still_fills_the_cache(cached: Cached, inner: Gated) -> None:
    only = asyncio.create_task(cached.get_ranges("x", [A]))
    await settle()
    only.cancel()
    inner.gate.set()
    await settle()
    assert cached.stats.held_bytes == 4


async def test_error_reaches_all_callers_and_is_not_cached(cached: Cached, inner: Gated) -> None:
    inner.error = throttled()
    readers = [asyncio.create_task(cached.get_ranges("x", [A])) for _ in range(3)]
    await settle()
    inner.gate.set()
    outcomes = await asyncio.gather(*readers, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["throttled"] * 3
    assert len(inner.asked) == 1
    inner.error = None
    assert bytes((await cached.get_ranges("x", [A]))[0]) == b"0123"


async def test_range_outside_the_object_fails_one_caller_only(cached: Cached, inner: Gated) -> None:
    wrong = asyncio.create_task(cached.get_ranges("x", [A, ByteRange(6, 9)]))
    await settle()
    right = asyncio.create_task(cached.get_ranges("x", [A]))
    await settle()
    inner.gate.set()
    with pytest.raises(OutOfRange):
        await wrong
    assert bytes((await right)[0]) == b"0123"


async def test_pending_reads_fail_when_the_process_stops(inner: Gated) -> None:
    tasks = Tasks()
    cached = Cached(inner, tasks, 10)
    reader = asyncio.create_task(cached.get_ranges("x", [A]))
    await settle()
    await tasks.stop()
    with pytest.raises(Unavailable, match="was cancelled"):
        await reader
    with pytest.raises(Unavailable, match="not started"):
        await cached.get_ranges("x", [A])


def test_cache_size_is_accurate() -> None:
    cache = RangeCache(10)
    cache.insert("x", A, b"0123")
    cache.insert("x", A, b"0123")
    cache.insert("x", C, b"2345")
    assert cache.held_bytes == 8
    cache.insert("y", B, b"4567")
    assert cache.find("x", A) is None
    assert cache.held_bytes == 8
    cache.forget("x")
    cache.forget("y")
    cache.forget("never")
    assert cache.held_bytes == 0
