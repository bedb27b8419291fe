"""The retrying wrapper: the contract over a store with faults, and its own promises."""

import asyncio

import pytest

from dray.objects.faulty import FaultSettings, Faulty
from dray.objects.memory import MemoryBucket
from dray.objects.port import AlreadyExists, NotFound, ObjectStore, Unavailable
from dray.objects.retrying import ObjectRetries, Retrying
from dray.runtime import RetrySettings, SeededEntropy, SystemClock
from dray.testing.clock import VirtualClock
from dray.testing.contracts.objects import ObjectContract, paths_of
from dray.testing.virtual_loop import run
from tests.objects.builders import Failing, throttled

NO_WAIT = ObjectRetries(RetrySettings(first_ms=0.001, max_ms=0.001, budget_ms=60_000, attempts=50))


class TestRetryingOverFaults(ObjectContract):
    """Every operation fails one way or another in half of all attempts, and yet the contract holds."""

    listed = 60
    same_bytes_are_ours = True

    @pytest.fixture(params=[1, 2, 3])
    def store(self, request: pytest.FixtureRequest) -> ObjectStore:
        faults = FaultSettings(lost_request=0.15, lost_answer=0.2, late=0.0, torn=0.15)
        bucket = MemoryBucket(SystemClock())
        faulty = Faulty(bucket, SeededEntropy(f"faults {request.param}"), faults)
        return Retrying(faulty, SystemClock(), SeededEntropy("waits"), NO_WAIT)


class Waits:
    """A clock that notes how long it was asked to sleep, and lets that time pass at once."""

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


async def test_waits_grow_and_are_drawn_by_chance(waits: Waits) -> None:
    store = Failing([throttled() for _ in range(7)])
    settings = ObjectRetries(RetrySettings(first_ms=100, max_ms=1_000, attempts=8))
    await Retrying(store, waits, SeededEntropy(1), settings).put_new("x", [b"1"])
    assert store.calls == 8
    for slept, ceiling in zip(waits.slept, [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0], strict=True):
        assert 0 <= slept <= ceiling
    assert len(set(waits.slept)) == 7


async def test_attempts_are_bounded_and_told(waits: Waits) -> None:
    store = Failing([throttled() for _ in range(99)])
    settings = ObjectRetries(RetrySettings(attempts=3))
    with pytest.raises(Unavailable, match=r"read of x failed 3 times in \d\.\d s, last with: throttled"):
        await Retrying(store, waits, SeededEntropy(1), settings).get("x")
    assert store.calls == 3


async def test_the_time_is_bounded(waits: Waits) -> None:
    store = Failing([throttled() for _ in range(99)])
    settings = ObjectRetries(RetrySettings(first_ms=4_000, budget_ms=10_000, attempts=99))
    with pytest.raises(Unavailable, match=r"failed [2-9] times"):
        await Retrying(store, waits, SeededEntropy(1), settings).get("x")
    assert sum(waits.slept) <= 10.0


async def test_other_errors_are_not_tried_again(waits: Waits) -> None:
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
async def test_a_put_whose_answer_was_lost_is_ours(waits: Waits, parts: list[bytes]) -> None:
    store = Failing([throttled()], happens=True)
    await Retrying(store, waits, SeededEntropy(1)).put_new("x", parts)
    assert bytes(await store.get("x")) == b"".join(parts)


@pytest.mark.parametrize("theirs", [b"their bytes", b"our byteZ", b"", b"our bytes and more"])
async def test_a_put_that_another_won_meanwhile_is_not_ours(waits: Waits, theirs: bytes) -> None:
    store = Failing([throttled()])
    store.bucket.put_new("x", [theirs])
    with pytest.raises(AlreadyExists):
        await Retrying(store, waits, SeededEntropy(1)).put_new("x", [b"our ", b"bytes"])
    assert bytes(store.bucket.get("x")) == theirs


async def test_reading_back_may_fail_too(waits: Waits) -> None:
    store = Failing([throttled(), None, throttled()], happens=True)
    await Retrying(store, waits, SeededEntropy(1)).put_new("x", [b"1"])
    assert store.calls == 4  # put, put, read back in vain, read back


async def test_a_listing_that_breaks_off_goes_on_where_it_was(waits: Waits) -> None:
    errors = [None, throttled(), None, None, throttled(), throttled(), None]
    store = Failing(errors)
    names = ["a", "b", "c", "d", "e"]
    for name in names:
        store.bucket.put_new(name, [b""])
    settings = ObjectRetries(RetrySettings(attempts=3))
    assert await paths_of(Retrying(store, waits, SeededEntropy(1), settings), "") == names


async def test_a_listing_that_gets_nowhere_is_given_up(waits: Waits) -> None:
    store = Failing([None, *(throttled() for _ in range(9))])
    store.bucket.put_new("a", [b""])
    store.bucket.put_new("b", [b""])
    with pytest.raises(Unavailable, match="list of  failed 3 times"):
        await paths_of(Retrying(store, waits, SeededEntropy(1), ObjectRetries(RetrySettings(attempts=3))), "")


def test_an_attempt_has_its_time() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        clock = VirtualClock(loop)
        slow = Faulty(MemoryBucket(clock), SeededEntropy(1), FaultSettings(travel_max_s=1_000.0))
        settings = ObjectRetries(RetrySettings(attempts=2), attempt_ms=3_000)
        with pytest.raises(
            Unavailable, match=r"failed 2 times in 6\.\d s, last with: .*no answer within 3 s"
        ):
            await Retrying(slow, clock, SeededEntropy(1), settings).get("x")
        return loop.time()

    assert 6.0 < run(main()) < 7.0


def test_puts_that_happen_late_never_break_a_put() -> None:
    """Attempts given up earlier reach the bucket amid later ones; the object is ours all the same."""

    async def main() -> None:
        clock = VirtualClock(asyncio.get_running_loop())
        bucket = MemoryBucket(clock)
        faults = FaultSettings(lost_request=0.2, lost_answer=0.2, late=0.3, travel_max_s=0.5, late_max_s=2.0)
        settings = ObjectRetries(RetrySettings(budget_ms=600_000, attempts=50), attempt_ms=800)
        store = Retrying(Faulty(bucket, SeededEntropy(5), faults), clock, SeededEntropy(6), settings)
        for number in range(100):
            await store.put_new(f"object/{number}", [b"%d" % number, b"!"])
            assert bucket.get(f"object/{number}") == b"%d!" % number

    run(main())
