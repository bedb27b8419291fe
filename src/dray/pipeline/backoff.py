"""Leaving alone what has failed, for longer each time.

What is corrupt or forbidden stays so until somebody acts; to try it at every turn would cost as much as work
that succeeds, and fill the log with one sentence. Kept in memory: a new process tries everything once.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from dray.runtime import Clock


@dataclass(slots=True)
class _Failure:
    times: int
    again_at: float


class Backoff:
    """What has failed, and when it may be tried again."""

    def __init__(self, clock: Clock, first_ms: int, max_ms: int) -> None:
        self._clock = clock
        self._first_s = first_ms / 1000
        self._max_s = max_ms / 1000
        self._failures: dict[Hashable, _Failure] = {}

    def waits(self, what: Hashable) -> bool:
        """Whether it has failed a short while ago."""
        failure = self._failures.get(what)
        return failure is not None and self._clock.monotonic() < failure.again_at

    def failed(self, what: Hashable) -> float:
        """Note a failure; returns for how many seconds to leave it alone."""
        before = self._failures.get(what)
        times = 0 if before is None else before.times + 1
        pause_s = min(self._max_s, self._first_s * (1 << min(times, 30)))
        self._failures[what] = _Failure(times, self._clock.monotonic() + pause_s)
        return pause_s

    def succeeded(self, what: Hashable) -> None:
        """Forget its failures."""
        self._failures.pop(what, None)

    def forget_old(self) -> None:
        """Forget what could have been tried again long ago and was not: it is no more."""
        latest = self._clock.monotonic() - self._max_s
        self._failures = {
            what: failure for what, failure in self._failures.items() if failure.again_at > latest
        }
