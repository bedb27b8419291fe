"""The byte budget: order, bounds, cancellation."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.runtime import ByteBudget
from dray.testing.virtual_loop import run, virtual_loop


def test_try_acquire_needs_no_event_loop() -> None:
    budget = ByteBudget(10)
    assert budget.try_acquire(4)
    assert budget.try_acquire(6)
    assert not budget.try_acquire(1)
    budget.release(6)
    assert budget.try_acquire(1)
    assert budget.held == 5


def test_invalid_sizes_are_refused() -> None:
    budget = ByteBudget(10)
    with pytest.raises(ValueError, match="1 bytes were released, but 0 are held"):
        budget.release(1)
    with pytest.raises(ValueError, match="at least one byte"):
        ByteBudget(0)


def test_waiters_are_served_in_order_and_never_overtaken() -> None:
    async def main() -> list[str]:
        budget, served = ByteBudget(10), list[str]()

        async def wants(name: str, size: int) -> None:
            await budget.acquire(size)
            served.append(name)

        assert budget.try_acquire(8)
        async with asyncio.TaskGroup() as group:
            group.create_task(wants("large", 9))
            await asyncio.sleep(1)
            group.create_task(wants("small", 1))
            await asyncio.sleep(1)
            assert not budget.try_acquire(1), "it would fit, but others came first"
            assert (served, budget.waiting) == ([], 2)
            budget.release(4)
            await asyncio.sleep(1)
            assert served == []
            budget.release(4)
        assert budget.held == 10
        return served

    assert run(main(), shuffle=False) == ["large", "small"]


def test_request_larger_than_the_budget_is_granted_alone() -> None:
    async def main() -> None:
        budget = ByteBudget(10)
        await budget.acquire(100)
        assert not budget.try_acquire(1)
        budget.release(100)
        await budget.acquire(1)
        async with asyncio.TaskGroup() as group:
            group.create_task(budget.acquire(50))
            await asyncio.sleep(1)
            assert budget.held == 1
            budget.release(1)
        assert budget.held == 50

    run(main())


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("release_first", [True, False])
def test_cancelled_waiter_holds_nothing_and_unblocks_the_next(*, seed: int, release_first: bool) -> None:
    """It may be granted just before or after the cancellation, before it runs again."""

    async def main() -> None:
        budget = ByteBudget(10)
        assert budget.try_acquire(10)
        loop = virtual_loop()
        first = loop.create_task(budget.acquire(10))
        await asyncio.sleep(1)
        second = loop.create_task(budget.acquire(3))
        await asyncio.sleep(1)
        if release_first:
            budget.release(10)
            first.cancel()
        else:
            first.cancel()
            budget.release(10)
        await asyncio.wait((first, second))
        assert (first.cancelled(), second.cancelled()) == (True, False)
        assert (budget.held, budget.waiting) == (3, 0)

    run(main(), seed=seed)


def test_cancelling_the_first_waiter_grants_smaller_ones_at_once() -> None:
    async def main() -> None:
        budget = ByteBudget(10)
        assert budget.try_acquire(5)
        first = virtual_loop().create_task(budget.acquire(9))
        await asyncio.sleep(1)
        second = virtual_loop().create_task(budget.acquire(5))
        await asyncio.sleep(1)
        first.cancel()
        await second
        assert budget.held == 10

    run(main())


requests = st.lists(
    st.tuples(
        st.integers(0, 15),
        st.sampled_from((0.0, 0.5, 1.0, 2.0)),
        st.one_of(st.none(), st.sampled_from((0.0, 0.5, 1.0))),
    ),
    max_size=12,
)


@given(seed=st.integers(0, 2**32), work=requests)
def test_bound_holds_under_any_load_and_all_bytes_are_released(
    seed: int, work: list[tuple[int, float, float | None]]
) -> None:
    limit = 10

    async def main() -> tuple[int, int]:
        budget, holding = ByteBudget(limit), list[int]()

        async def request(size: int, holds: float, patience: float | None) -> None:
            try:
                async with asyncio.timeout(patience):
                    await budget.acquire(size)
            except TimeoutError:
                return
            holding.append(size)
            assert sum(holding) <= limit or len([one for one in holding if one]) == 1
            await asyncio.sleep(holds)
            holding.remove(size)
            budget.release(size)

        await asyncio.gather(*(request(*one) for one in work))
        return budget.held, budget.waiting

    assert run(main(), seed=seed) == (0, 0)
