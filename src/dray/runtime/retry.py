"""Trying again, for a limited time, at random distances.

The n-th wait is drawn evenly between nothing and a ceiling that grows with n ("full jitter"), so that many
callers who failed together do not come back together. Only the errors named by the caller are tried again.

The budget bounds when an attempt may still begin. It does not interrupt one that is under way: that is for
the operation's own time limit. Cancellation ends everything at once.
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
    """How long and how often to try. `attempts` counts the first one too; None leaves it to the budget."""

    first_ms: float = 50.0
    factor: float = 2.0
    max_ms: float = 5_000.0
    budget_ms: float = 30_000.0
    attempts: int | None = None

    def __post_init__(self) -> None:
        if self.first_ms <= 0 or self.factor < 1 or self.max_ms < self.first_ms or self.budget_ms < 0:
            raise ValueError(f"expected 0 < first_ms <= max_ms, factor >= 1 and budget_ms >= 0, got {self}")
        if self.attempts is not None and self.attempts < 1:
            raise ValueError(f"expected one attempt at least, got {self.attempts}")


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that failed and will be followed by another one after `wait_ms`."""

    number: int
    elapsed_ms: float
    wait_ms: float
    error: Exception


def ceilings_ms(settings: RetrySettings) -> Iterator[float]:
    """Return the longest wait after each failed attempt; ends when no attempt may follow."""
    waits = None if settings.attempts is None else settings.attempts - 1
    return islice(_growing(settings), waits)


def _growing(settings: RetrySettings) -> Iterator[float]:
    ceiling = settings.first_ms
    while True:
        yield ceiling
        ceiling = min(ceiling * settings.factor, settings.max_ms)


def waits_ms(settings: RetrySettings, entropy: Entropy) -> Iterator[float]:
    """Return the wait after each failed attempt."""
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
    """Return what `operation` returns; when the budget is spent, raise its last error, with a note added."""
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
                error.add_note(f"gave up after {number} attempts in {elapsed_ms:.0f} ms")
                raise
            failed = FailedAttempt(number, elapsed_ms, wait_ms, error)
        if note is not None:
            note(failed)
        await clock.sleep(wait_ms / 1000)
