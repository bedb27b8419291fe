"""Exponential backoff, per key, for work that has failed.

Corrupt data and missing permissions persist until an operator intervenes. Retrying them in every pass would
cost as much as work that succeeds, and repeat the same log line. The state is in memory: a new process tries
everything once.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from dray.runtime import Clock


@dataclass(slots=True)
class _Failure:
    repeats: int
    retry_at: float


class Backoff:
    """Recent failures, and when each key may be retried."""

    def __init__(self, clock: Clock, first_ms: int, max_ms: int) -> None:
        self._clock = clock
        self._first_s = first_ms / 1000
        self._max_s = max_ms / 1000
        self._failures: dict[Hashable, _Failure] = {}

    def is_backing_off(self, key: Hashable) -> bool:
        """Return whether it is too early to retry."""
        failure = self._failures.get(key)
        return failure is not None and self._clock.monotonic() < failure.retry_at

    def failed(self, key: Hashable) -> float:
        """Record a failure; returns the delay until the next retry, in seconds."""
        previous = self._failures.get(key)
        repeats = 0 if previous is None else previous.repeats + 1
        delay_s = min(self._max_s, self._first_s * (1 << min(repeats, 30)))
        self._failures[key] = _Failure(repeats, self._clock.monotonic() + delay_s)
        return delay_s

    def succeeded(self, key: Hashable) -> None:
        """Reset the delay."""
        self._failures.pop(key, None)

    def forget_stale(self) -> None:
        """Drop keys that were not retried long after they could be: what they stand for was deleted."""
        latest = self._clock.monotonic() - self._max_s
        self._failures = {
            key: failure for key, failure in self._failures.items() if failure.retry_at > latest
        }
