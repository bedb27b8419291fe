"""Retries with exponential backoff, full jitter and a time budget.

The n-th wait is drawn uniformly between zero and a ceiling that grows with n, so that callers that failed
together do not retry together. Only the errors that the caller names are retried.

The budget limits when an attempt may begin. It does not interrupt a running attempt; the operation's own
timeout does that. Cancellation ends everything at once.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from dray.runtime.clock import Clock
from dray.runtime.entropy import Entropy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """Backoff and limits. `attempts` includes the first one; None leaves the number to the budget."""

    first_ms: float = 50.0
    factor: float = 2.0
    max_ms: float = 5_000.0
    budget_ms: float = 30_000.0
    attempts: int | None = None

    def __post_init__(self) -> None:
        if self.first_ms <= 0 or self.factor < 1 or self.max_ms < self.first_ms or self.budget_ms < 0:
            raise ValueError(f"expected 0 < first_ms <= max_ms, factor >= 1 and budget_ms >= 0, got {self}")
        if self.attempts is not None and self.attempts < 1:
            raise ValueError(f"expected at least one attempt, got {self.attempts}")


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A failed attempt that is followed by another one after `wait_ms`."""

    number: int
    elapsed_ms: float
    wait_ms: float
    error: Exception


def ceilings_ms(settings: RetrySettings) -> Iterator[float]:
    """Yield the longest possible wait after each failed attempt; ends when no attempt may follow."""
    waits = None if settings.attempts is None else settings.attempts - 1
    return islice(_growing(settings), waits)


def _growing(settings: RetrySettings) -> Iterator[float]:
    ceiling = settings.first_ms
    while True:
        yield ceiling
        ceiling = min(ceiling * settings.factor, settings.max_ms)


def waits_ms(settings: RetrySettings, entropy: Entropy) -> Iterator[float]:
    """Yield the wait after each failed attempt."""
    return (entropy.uniform(0.0, ceiling) for ceiling in ceilings_ms(settings))


async def retry(
    operation: Callable[[], Awaitable[T]],
    *,
    on: tuple[type[Exception], ...],
    clock: Clock,
    entropy: Entropy,
    settings: RetrySettings,
    note: Callable[[FailedAttempt], None] | None = None,
) -> T:
    """Return what `operation` returns; once the budget is exhausted, raise its last error with a note."""
    began = clock.monotonic()
    waits = waits_ms(settings, entropy)
    number = 0
    while True:
        number += 1
        try:
            return await operation()
        except on as error:
            elapsed_ms = (clock.monotonic() - began) * 1000
            wait_ms = next(waits, None)
            if wait_ms is None or elapsed_ms + wait_ms > settings.budget_ms:
                error.add_note(f"failed {number} attempts in {elapsed_ms:.0f} ms")
                raise
            failed = FailedAttempt(number, elapsed_ms, wait_ms, error)
        if note is not None:
            note(failed)
        await clock.sleep(wait_ms / 1000)
