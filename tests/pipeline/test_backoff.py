"""What failed is left alone for longer each time, and forgotten when nobody tries it any more."""

from dray.pipeline.backoff import Backoff
from dray.runtime import SystemClock


class _Watch(SystemClock):
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_pauses_grow_up_to_the_longest() -> None:
    clock = _Watch()
    backoff = Backoff(clock, 1_000, 5_000)
    pauses = []
    for _ in range(4):
        pauses.append(backoff.failed("a"))
        assert backoff.waits("a")
        clock.now += pauses[-1]
        assert not backoff.waits("a")
    assert pauses == [1, 2, 4, 5]
    backoff.succeeded("a")
    assert backoff.failed("a") == 1


def test_what_nobody_tries_again_is_forgotten() -> None:
    clock = _Watch()
    backoff = Backoff(clock, 1_000, 5_000)
    assert [backoff.failed("gone"), backoff.failed("gone")] == [1, 2]
    clock.now += 6
    backoff.forget_old()
    assert backoff.failed("gone") == 4  # its pause was over, but not for long
    clock.now += 10
    backoff.forget_old()
    assert backoff.failed("gone") == 1
