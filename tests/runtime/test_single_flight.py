"""Single flight: one run for many callers."""

import asyncio

import pytest

from dray.runtime import FlightCancelled, SingleFlight, Tasks
from dray.testing.virtual_loop import run, virtual_loop


class _Work:
    """Takes a second, then returns how many runs there have been."""

    def __init__(self, error: Exception | None = None) -> None:
        self.runs = 0
        self.error = error

    async def __call__(self) -> int:
        self.runs += 1
        await asyncio.sleep(1)
        if self.error is not None:
            raise self.error
        return self.runs


def test_callers_of_one_key_share_a_run() -> None:
    async def main() -> None:
        flights: SingleFlight[str, int] = SingleFlight(Tasks())
        work, other = _Work(), _Work()
        results = await asyncio.gather(
            *(flights.run("a", work) for _ in range(5)), *(flights.run("b", other) for _ in range(2))
        )
        assert results == [1] * 7
        assert (work.runs, other.runs, len(flights)) == (1, 1, 0)
        assert await flights.run("a", work) == 2, "nothing is remembered"

    run(main())


def test_an_error_goes_to_all_and_is_not_kept() -> None:
    async def main() -> None:
        tasks = Tasks()
        flights: SingleFlight[str, int] = SingleFlight(tasks)
        work = _Work(ValueError("bad"))
        results = await asyncio.gather(*(flights.run("a", work) for _ in range(3)), return_exceptions=True)
        assert results == [work.error] * 3
        assert tasks.failures == 0, "it is the callers' error, not the supervisor's"
        work.error = None
        assert await flights.run("a", work) == 2

    run(main())


def test_a_cancelled_caller_disturbs_nobody() -> None:
    async def main() -> None:
        flights: SingleFlight[str, int] = SingleFlight(Tasks())
        work = _Work()
        first = virtual_loop().create_task(flights.run("a", work))
        await asyncio.sleep(0.25)
        second = virtual_loop().create_task(flights.run("a", work))
        await asyncio.sleep(0.25)
        first.cancel()
        assert await second == 1
        assert first.cancelled()
        assert work.runs == 1

    run(main())


def test_an_error_that_nobody_is_left_to_see_makes_no_noise(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        flights: SingleFlight[str, int] = SingleFlight(Tasks())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await flights.run("a", _Work(ValueError("unseen")))
        await asyncio.sleep(2)
        assert len(flights) == 0

    run(main())
    assert not caplog.records


@pytest.mark.parametrize("after", [0.0, 0.5])
def test_stopping_the_supervisor_lets_nobody_hang(after: float) -> None:
    """Even when the run had not yet begun."""

    async def main() -> None:
        tasks = Tasks()
        flights: SingleFlight[str, int] = SingleFlight(tasks, name="read")
        caller = virtual_loop().create_task(flights.run("a", _Work()))
        await asyncio.sleep(after)
        await tasks.stop()
        with pytest.raises(FlightCancelled, match="read a"):
            await caller
        assert len(flights) == 0

    run(main(), shuffle=False)
