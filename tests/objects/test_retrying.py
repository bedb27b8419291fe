"""The retry wrapper: the contract over a faulty store, and its guarantees."""

import asyncio

import pytest

from dray.objects.memory import MemoryBucket
from dray.objects.port import AlreadyExists, ByteRange, NotFound, ObjectStore, Unavailable
from dray.objects.retrying import ObjectRetries, Retrying
from dray.runtime import RetrySettings, SystemClock
from dray.testing.clock import VirtualClock
from dray.testing.contracts.objects import ObjectContract, paths_of
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_objects import FaultyObjects, ObjectFaults
from dray.testing.virtual_loop import run
from tests.objects.builders import Failing, throttled

NO_WAIT = ObjectRetries(RetrySettings(first_ms=0.001, max_ms=0.001, budget_ms=60_000, attempts=50))


class TestRetryingOverFaults(ObjectContract):
    """Half of all attempts fail in some way, and yet the contract holds."""

    listed = 60
    same_bytes_are_ours = True

    @pytest.fixture(params=[1, 2, 3])
    def store(self, request: pytest.FixtureRequest) -> ObjectStore:
        faults = ObjectFaults(lost_request=0.15, lost_answer=0.2, late=0.0, torn=0.15)
        bucket = MemoryBucket(SystemClock())
        faulty = FaultyObjects(bucket, SeededEntropy(f"faults {request.param}"), faults)
        return Retrying(faulty, SystemClock(), SeededEntropy("waits"), NO_WAIT)


class Waits:
    """A clock that records sleeps and returns from them immediately."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.now = 0.0

    def now_ms(self) -> int:
        return int(self.now * 1000)

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def waits() -> Waits:
    return Waits()


async def test_waits_grow_with_jitter(waits: Waits) -> None:
    store = Failing([throttled() for _ in range(7)])
    settings = ObjectRetries(RetrySettings(first_ms=100, max_ms=1_000, attempts=8))
    await Retrying(store, waits, SeededEntropy(1), settings).put_new("x", [b"1"])
    assert store.calls == 8
    for slept, ceiling in zip(waits.slept, [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0], strict=True):
        assert 0 <= slept <= ceiling
    assert len(set(waits.slept)) == 7


async def test_attempts_are_bounded_and_reported(waits: Waits) -> None:
    store = Failing([throttled() for _ in range(99)])
    settings = ObjectRetries(RetrySettings(attempts=3))
    with pytest.raises(Unavailable, match=r"read of x failed 3 times in \d\.\d s, last with: throttled"):
        await Retrying(store, waits, SeededEntropy(1), settings).get("x")
    assert store.calls == 3


async def test_total_time_is_bounded(waits: Waits) -> None:
    store = Failing([throttled() for _ in range(99)])
    settings = ObjectRetries(RetrySettings(first_ms=4_000, budget_ms=10_000, attempts=99))
    with pytest.raises(Unavailable, match=r"failed [2-9] times"):
        await Retrying(store, waits, SeededEntropy(1), settings).get("x")
    assert sum(waits.slept) <= 10.0


async def test_other_errors_are_not_retried(waits: Waits) -> None:
    store = Failing([])
    retrying = Retrying(store, waits, SeededEntropy(1))
    with pytest.raises(NotFound):
        await retrying.get("x")
    await retrying.put_new("x", [b"1"])
    with pytest.raises(AlreadyExists):
        await retrying.put_new("x", [b"1"])
    assert store.calls == 3
    assert waits.slept == []


@pytest.mark.parametrize("parts", [[b"the", b" bytes"], [], [memoryview(b"-bytes-")[1:6]]])
async def test_put_whose_response_was_lost_succeeds(waits: Waits, parts: list[bytes]) -> None:
    store = Failing([throttled()], happens=True)
    await Retrying(store, waits, SeededEntropy(1)).put_new("x", parts)
    assert bytes(await store.get("x")) == b"".join(parts)


@pytest.mark.parametrize("theirs", [b"their bytes", b"our byteZ", b"", b"our bytes and more"])
async def test_put_that_another_writer_won_fails(waits: Waits, theirs: bytes) -> None:
    store = Failing([throttled()])
    store.bucket.put_new("x", [theirs])
    with pytest.raises(AlreadyExists):
        await Retrying(store, waits, SeededEntropy(1)).put_new("x", [b"our ", b"bytes"])
    assert bytes(store.bucket.get("x")) == theirs


async def test_failed_read_back_is_retried(waits: Waits) -> None:
    store = Failing([throttled(), None, throttled()], happens=True)
    await Retrying(store, waits, SeededEntropy(1)).put_new("x", [b"1"])
    assert store.calls == 4  # put, put, failed read-back, read-back


async def test_broken_listing_resumes_after_the_last_object(waits: Waits) -> None:
    errors = [None, throttled(), None, None, throttled(), throttled(), None]
    store = Failing(errors)
    names = ["a", "b", "c", "d", "e"]
    for name in names:
        store.bucket.put_new(name, [b""])
    settings = ObjectRetries(RetrySettings(attempts=3))
    assert await paths_of(Retrying(store, waits, SeededEntropy(1), settings), "") == names


async def test_listing_without_progress_fails(waits: Waits) -> None:
    store = Failing([None, *(throttled() for _ in range(9))])
    store.bucket.put_new("a", [b""])
    store.bucket.put_new("b", [b""])
    with pytest.raises(Unavailable, match="list of  failed 3 times"):
        await paths_of(Retrying(store, waits, SeededEntropy(1), ObjectRetries(RetrySettings(attempts=3))), "")


def test_attempt_has_a_timeout() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        clock = VirtualClock(loop)
        slow = FaultyObjects(MemoryBucket(clock), SeededEntropy(1), ObjectFaults(travel_max_s=1_000.0))
        settings = ObjectRetries(RetrySettings(attempts=2), attempt_ms=3_000)
        with pytest.raises(
            Unavailable, match=r"failed 2 times in 6\.\d s, last with: .*no response within 3 s"
        ):
            await Retrying(slow, clock, SeededEntropy(1), settings).get("x")
        return loop.time()

    assert 6.0 < run(main()) < 7.0


def test_timeout_of_an_attempt_grows_with_its_bytes() -> None:
    async def main() -> None:
        clock = VirtualClock(asyncio.get_running_loop())
        slow = FaultyObjects(MemoryBucket(clock), SeededEntropy(1), ObjectFaults(travel_max_s=1_000.0))
        settings = ObjectRetries(RetrySettings(attempts=1), attempt_ms=3_000, bytes_per_s_min=1_000)
        store = Retrying(slow, clock, SeededEntropy(1), settings)
        with pytest.raises(Unavailable, match=r"put of x failed.*no response within 8 s"):
            await store.put_new("x", [bytes(2_000), bytes(3_000)])
        with pytest.raises(Unavailable, match=r"read of x failed.*no response within 13 s"):
            await store.get_ranges("x", [ByteRange(0, 4_000), ByteRange(9_000, 6_000)])

    run(main())


def test_late_puts_of_earlier_attempts_do_not_fail_a_put() -> None:
    """Timed-out attempts reach the bucket during later ones; the put succeeds nevertheless."""

    async def main() -> None:
        clock = VirtualClock(asyncio.get_running_loop())
        bucket = MemoryBucket(clock)
        faults = ObjectFaults(lost_request=0.2, lost_answer=0.2, late=0.3, travel_max_s=0.5, late_max_s=2.0)
        settings = ObjectRetries(RetrySettings(budget_ms=600_000, attempts=50), attempt_ms=800)
        store = Retrying(FaultyObjects(bucket, SeededEntropy(5), faults), clock, SeededEntropy(6), settings)
        for number in range(100):
            await store.put_new(f"object/{number}", [b"%d" % number, b"!"])
            assert bucket.get(f"object/{number}") == b"%d!" % number

    run(main())
