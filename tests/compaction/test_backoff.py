"""Backoff: delays double up to the maximum, and keys that are not retried are forgotten."""

from dray.compaction.backoff import Backoff
from dray.runtime import SystemClock


class _Stopwatch(SystemClock):
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_delays_double_up_to_the_maximum() -> None:
    clock = _Stopwatch()
    backoff = Backoff(clock, 1_000, 5_000)
    delays = []
    for _ in range(4):
        delays.append(backoff.failed("a"))
        assert backoff.is_backing_off("a")
        clock.now += delays[-1]
        assert not backoff.is_backing_off("a")
    assert delays == [1, 2, 4, 5]
    backoff.succeeded("a")
    assert backoff.failed("a") == 1


def test_keys_that_are_not_retried_are_forgotten() -> None:
    clock = _Stopwatch()
    backoff = Backoff(clock, 1_000, 5_000)
    assert [backoff.failed("deleted"), backoff.failed("deleted")] == [1, 2]
    clock.now += 6
    backoff.forget_stale()
    assert backoff.failed("deleted") == 4  # its delay was over, but only recently
    clock.now += 10
    backoff.forget_stale()
    assert backoff.failed("deleted") == 1
