"""Retries: waits without a loop, the rest in virtual time."""

import asyncio
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.runtime import FailedAttempt, RetrySettings, retry
from dray.runtime.retry import ceilings_ms, waits_ms
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.virtual_loop import run, virtual_loop


class _Greatest:
    """Always draws the upper bound."""

    def token(self, size: int) -> bytes:
        raise AssertionError("retry needs no tokens")

    def uniform(self, low: float, high: float) -> float:
        return high


def test_ceilings_grow_to_the_maximum() -> None:
    settings = RetrySettings(first_ms=10, factor=3, max_ms=200)
    assert list(islice(ceilings_ms(settings), 6)) == [10, 30, 90, 200, 200, 200]


@pytest.mark.parametrize(("attempts", "waits"), [(1, 0), (2, 1), (5, 4)])
def test_one_wait_less_than_attempts(attempts: int, waits: int) -> None:
    assert len(list(ceilings_ms(RetrySettings(attempts=attempts)))) == waits


@given(st.integers())
def test_waits_are_drawn_below_their_ceilings(seed: int) -> None:
    settings = RetrySettings(first_ms=10, factor=2, max_ms=100, attempts=20)
    waits = list(waits_ms(settings, SeededEntropy(seed)))
    assert all(0 <= wait <= ceiling for wait, ceiling in zip(waits, ceilings_ms(settings), strict=True))
    assert len(set(waits)) > 10


@pytest.mark.parametrize(
    "wrong",
    [{"first_ms": 0}, {"factor": 0.5}, {"first_ms": 10, "max_ms": 5}, {"budget_ms": -1}, {"attempts": 0}],
)
def test_invalid_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected"):
        RetrySettings(**wrong)


class _Flaky:
    """Fails a number of times, then succeeds."""

    def __init__(self, failures: int, error: Exception | None = None, takes: float = 0.0) -> None:
        self.calls = 0
        self._failures = failures
        self._error = error or ConnectionError("torn")
        self._takes = takes

    async def __call__(self) -> str:
        self.calls += 1
        await asyncio.sleep(self._takes)
        if self.calls <= self._failures:
            raise self._error
        return "done"


async def _retry(operation: _Flaky, settings: RetrySettings, notes: list[FailedAttempt] | None = None) -> str:
    return await retry(
        operation,
        on=(ConnectionError, TimeoutError),
        clock=VirtualClock(virtual_loop()),
        entropy=_Greatest(),
        settings=settings,
        note=None if notes is None else notes.append,
    )


def test_operation_is_retried_until_it_succeeds_and_each_failure_is_noted() -> None:
    async def main() -> None:
        notes: list[FailedAttempt] = []
        error = ConnectionError("torn")
        settings = RetrySettings(first_ms=100, factor=2, max_ms=1000)
        assert await _retry(_Flaky(2, error, takes=0.5), settings, notes) == "done"
        assert notes == [FailedAttempt(1, 500.0, 100, error), FailedAttempt(2, 1100.0, 200, error)]
        assert virtual_loop().time() == pytest.approx(3 * 0.5 + 0.3)

    run(main())


@pytest.mark.parametrize(
    ("settings", "calls", "elapsed"),
    [
        (RetrySettings(first_ms=100, factor=1, max_ms=100, attempts=4), 4, 0.3),
        (RetrySettings(first_ms=100, factor=1, max_ms=100, budget_ms=1000), 11, 1.0),
        (RetrySettings(budget_ms=0), 1, 0.0),
    ],
)
def test_last_error_is_raised_with_a_note(settings: RetrySettings, calls: int, elapsed: float) -> None:
    async def main() -> None:
        operation = _Flaky(1000)
        with pytest.raises(ConnectionError, match="torn") as caught:
            await _retry(operation, settings)
        assert operation.calls == calls
        assert virtual_loop().time() == pytest.approx(elapsed)
        assert caught.value.__notes__ == [f"failed {calls} attempts in {elapsed * 1000:.0f} ms"]

    # Eleven waits of 100 ms must not miss their budget by a rounding error.
    run(main())


def test_other_errors_are_not_retried() -> None:
    async def main() -> None:
        operation = _Flaky(5, ValueError("a fault of ours"))
        with pytest.raises(ValueError, match="a fault of ours"):
            await _retry(operation, RetrySettings())
        assert operation.calls == 1

    run(main())


def test_cancellation_ends_a_wait_at_once() -> None:
    async def main() -> None:
        operation = _Flaky(1000)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.25):
                await _retry(operation, RetrySettings(first_ms=100, max_ms=100))
        assert operation.calls == 3
        assert virtual_loop().time() == 0.25

    run(main())
