"""Faulty object store: faults follow settings and seed, and requests outlive their callers."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest

from dray.objects.memory import MemoryBucket
from dray.objects.port import ByteRange, NotFound, ObjectError, Unavailable
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_objects import FaultyObjects, ObjectFaults
from dray.testing.virtual_loop import run


def faulty(bucket: MemoryBucket, seed: int = 1, **chances: float) -> FaultyObjects:
    return FaultyObjects(bucket, SeededEntropy(seed), ObjectFaults(**chances))


def simulate(main: Callable[[MemoryBucket], Awaitable[None]]) -> None:
    async def world() -> None:
        await main(MemoryBucket(VirtualClock(asyncio.get_running_loop())))

    run(world())


def test_lost_request_is_never_executed() -> None:
    async def main(bucket: MemoryBucket) -> None:
        with pytest.raises(Unavailable, match="lost_request"):
            await faulty(bucket, lost_request=1.0).put_new("x", [b"1"])
        await asyncio.sleep(1_000)
        with pytest.raises(NotFound):
            bucket.get("x")

    simulate(main)


def test_request_with_a_lost_answer_is_executed() -> None:
    async def main(bucket: MemoryBucket) -> None:
        with pytest.raises(Unavailable, match="lost_answer"):
            await faulty(bucket, lost_answer=1.0, travel_max_s=5.0).put_new("x", [b"1"])
        assert bucket.get("x") == b"1"

    simulate(main)


def test_late_put_is_executed_after_its_error() -> None:
    async def main(bucket: MemoryBucket) -> None:
        with pytest.raises(Unavailable, match="late"):
            await faulty(bucket, late=1.0, late_max_s=60.0, travel_max_s=5.0).put_new("x", [b"1"])
        with pytest.raises(NotFound):
            bucket.get("x")
        await asyncio.sleep(60)
        assert bucket.get("x") == b"1"

    simulate(main)


def test_late_put_does_not_overwrite() -> None:
    async def main(bucket: MemoryBucket) -> None:
        with pytest.raises(Unavailable):
            await faulty(bucket, late=1.0, late_max_s=60.0).put_new("x", [b"late"])
        bucket.put_new("x", [b"in time"])
        await asyncio.sleep(60)
        assert bucket.get("x") == b"in time"

    simulate(main)


def test_only_reads_are_torn() -> None:
    async def main(bucket: MemoryBucket) -> None:
        store = faulty(bucket, torn=1.0)
        await store.put_new("x", [b"1"])
        assert (await store.head("x")).size_bytes == 1
        with pytest.raises(Unavailable, match="torn"):
            await store.get("x")
        with pytest.raises(Unavailable, match="torn"):
            await store.get_ranges("x", [ByteRange(0, 1)])

    simulate(main)


def test_cancelled_caller_does_not_stop_its_request() -> None:
    async def main(bucket: MemoryBucket) -> None:
        put = asyncio.create_task(faulty(bucket, travel_max_s=10.0).put_new("x", [b"1"]))
        await asyncio.sleep(0)
        put.cancel()
        with pytest.raises(asyncio.CancelledError):
            await put
        with pytest.raises(NotFound):
            bucket.get("x")
        await asyncio.sleep(20)
        assert bucket.get("x") == b"1"

    simulate(main)


def test_bucket_does_not_run_in_the_context_of_the_caller() -> None:
    caller: ContextVar[str] = ContextVar("caller", default="none")
    seen = []

    class ContextRecorder(MemoryBucket):
        def get(self, path: str) -> bytes:
            seen.append(caller.get())
            return super().get(path)

    async def main(bucket: MemoryBucket) -> None:
        caller.set("client")
        bucket = ContextRecorder(VirtualClock(asyncio.get_running_loop()))
        bucket.put_new("x", [b"1"])
        await faulty(bucket).get("x")
        assert seen == ["none"]

    simulate(main)


async def history(seed: int) -> list[str]:
    """Return the results of many callers of one faulty store, with their times."""
    loop = asyncio.get_running_loop()
    bucket = MemoryBucket(VirtualClock(loop))
    store = faulty(bucket, seed, lost_request=0.1, lost_answer=0.1, late=0.2, torn=0.2, travel_max_s=1.0)
    results: list[str] = []

    async def caller(number: int) -> None:
        for call in range(20):
            path = f"object/{call % 5}"
            try:
                await (store.get(path) if (number + call) % 3 else store.put_new(path, [b"%d" % number]))
                results.append(f"{loop.time():.6f} {number} {path} ok")
            except ObjectError as error:
                results.append(f"{loop.time():.6f} {number} {error}")

    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(caller(number))
    await asyncio.sleep(100)
    return results + [f"{info.path} {bucket.get(info.path)!r}" for info in bucket.page("", "", 99)]


def test_same_seed_gives_the_same_history() -> None:
    first = run(history(7), seed=1)
    assert run(history(7), seed=1) == first
    assert run(history(8), seed=1) != first
    for kind in ("lost_request", "lost_answer", "late", "torn", " ok", "exists already", "no object"):
        assert any(kind in line for line in first), kind


def test_list_of_more_than_one_page() -> None:
    async def main(bucket: MemoryBucket) -> None:
        names = [f"{n:05}" for n in range(2_000)]
        for name in names:
            bucket.put_new(name, [b""])
        assert [info.path async for info in faulty(bucket).list("")] == names
        assert [info.path async for info in faulty(bucket).list("", names[1_500])] == names[1_501:]

    simulate(main)
