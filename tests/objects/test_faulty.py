"""The faulty store does what its settings say, by seed, and outlives its callers."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest

from dray.objects.faulty import FaultSettings, Faulty
from dray.objects.memory import MemoryBucket
from dray.objects.port import ByteRange, NotFound, ObjectError, Unavailable
from dray.runtime import SeededEntropy
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run


def faulty(bucket: MemoryBucket, seed: int = 1, **chances: float) -> Faulty:
    return Faulty(bucket, SeededEntropy(seed), FaultSettings(**chances))


def simulate(main: Callable[[MemoryBucket], Awaitable[None]]) -> None:
    async def world() -> None:
        await main(MemoryBucket(VirtualClock(asyncio.get_running_loop())))

    run(world())


def test_a_lost_request_never_happens() -> None:
    async def main(bucket: MemoryBucket) -> None:
        with pytest.raises(Unavailable, match="lost_request"):
            await faulty(bucket, lost_request=1.0).put_new("x", [b"1"])
        await asyncio.sleep(1_000)
        with pytest.raises(NotFound):
            bucket.get("x")

    simulate(main)


def test_a_lost_answer_is_of_a_request_that_happened() -> None:
    async def main(bucket: MemoryBucket) -> None:
        with pytest.raises(Unavailable, match="lost_answer"):
            await faulty(bucket, lost_answer=1.0, travel_max_s=5.0).put_new("x", [b"1"])
        assert bucket.get("x") == b"1"

    simulate(main)


def test_a_late_put_happens_after_it_was_reported_failed() -> None:
    async def main(bucket: MemoryBucket) -> None:
        with pytest.raises(Unavailable, match="late"):
            await faulty(bucket, late=1.0, late_max_s=60.0, travel_max_s=5.0).put_new("x", [b"1"])
        with pytest.raises(NotFound):
            bucket.get("x")
        await asyncio.sleep(60)
        assert bucket.get("x") == b"1"

    simulate(main)


def test_a_late_put_does_not_overwrite() -> None:
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


def test_a_caller_that_dies_does_not_stop_its_request() -> None:
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


def test_the_bucket_knows_nothing_of_the_caller() -> None:
    caller: ContextVar[str] = ContextVar("caller", default="nobody")
    seen = []

    class Curious(MemoryBucket):
        def get(self, path: str) -> bytes:
            seen.append(caller.get())
            return super().get(path)

    async def main(bucket: MemoryBucket) -> None:
        caller.set("somebody")
        bucket = Curious(VirtualClock(asyncio.get_running_loop()))
        bucket.put_new("x", [b"1"])
        await faulty(bucket).get("x")
        assert seen == ["nobody"]

    simulate(main)


async def history(seed: int) -> list[str]:
    """What many callers of one faulty store see, and when."""
    loop = asyncio.get_running_loop()
    bucket = MemoryBucket(VirtualClock(loop))
    store = faulty(bucket, seed, lost_request=0.1, lost_answer=0.1, late=0.2, torn=0.2, travel_max_s=1.0)
    told: list[str] = []

    async def caller(number: int) -> None:
        for call in range(20):
            path = f"object/{call % 5}"
            try:
                await (store.get(path) if (number + call) % 3 else store.put_new(path, [b"%d" % number]))
                told.append(f"{loop.time():.6f} {number} {path} ok")
            except ObjectError as error:
                told.append(f"{loop.time():.6f} {number} {error}")

    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(caller(number))
    await asyncio.sleep(100)
    return told + [f"{info.path} {bucket.get(info.path)!r}" for info in bucket.page("", "", 99)]


def test_one_seed_gives_one_history() -> None:
    first = run(history(7), seed=1)
    assert run(history(7), seed=1) == first
    assert run(history(8), seed=1) != first
    for kind in ("lost_request", "lost_answer", "late", "torn", " ok", "exists already", "no object"):
        assert any(kind in line for line in first), kind


def test_a_listing_comes_page_by_page() -> None:
    async def main(bucket: MemoryBucket) -> None:
        names = [f"{n:05}" for n in range(2_000)]
        for name in names:
            bucket.put_new(name, [b""])
        assert [info.path async for info in faulty(bucket).list("")] == names
        assert [info.path async for info in faulty(bucket).list("", names[1_500])] == names[1_501:]

    simulate(main)
