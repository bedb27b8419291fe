"""Rates over the last seconds, sampled as Kafka does, and the throttle times that follow from them.

Values are summed in samples of a second. A sample is opened by the first value that comes a second after the
last one was opened, so after a pause there are none of the pause. A sample is emptied when the last value in
it is 11 seconds old, or reused in a ring.

The rate is the sum of all samples divided by the time since the oldest was opened, but at least ten seconds
and what has passed of the current second: so the first value of a client may be ten times its limit.

If a rate R is above its limit L, then without further values it is L after a pause of (R - L) / L times the
window. That is the throttle time.
"""

from typing import Final

WINDOW_MS: Final = 1_000
"""Kafka: `quota.window.size.seconds`."""
WINDOWS: Final = 11
"""Kafka: `quota.window.num`."""
FULL_WINDOWS: Final = WINDOWS - 1
THROTTLE_MS_MAX: Final = 2**31 - 1


class _Sample:
    """The sum of the values of a second."""

    __slots__ = ("last_ms", "start_ms", "total")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.total = 0.0


class RateWindow:
    """The rate of one client, or of several that share a limit."""

    __slots__ = ("_at_most", "_current", "_samples")

    def __init__(self) -> None:
        self._samples: list[_Sample] = []
        self._current = 0
        self._at_most = 0.0
        """The sum of all samples, and of some that are too old; summed again with each sample."""

    def record(self, value: float, now_ms: int) -> None:
        """Count a value; a negative one takes back what was counted."""
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        elif now_ms - self._samples[self._current].start_ms >= WINDOW_MS:
            self._advance(now_ms)
        sample = self._samples[self._current]
        sample.total += value
        sample.last_ms = now_ms
        self._at_most += value

    def rate(self, now_ms: int) -> float:
        """Return the rate per second."""
        self._empty_old_samples(now_ms)
        return self._total() * 1000 / self._window_ms(now_ms)

    def throttle_ms(self, limit: float, now_ms: int, *, most_ms: int = THROTTLE_MS_MAX) -> int:
        """Return how long the client has to pause until its rate is within the limit; 0 if it is.

        Kafka bounds this by a window for requests and for new connections, and not for bytes.
        """
        if self._at_most * 1000 <= limit * FULL_WINDOWS * WINDOW_MS:
            return 0  # no window is shorter
        self._empty_old_samples(now_ms)
        window_ms = self._window_ms(now_ms)
        rate = self._total() * 1000 / window_ms
        if rate <= limit:
            return 0
        return min(int((rate - limit) / limit * window_ms + 0.5), most_ms)

    def is_empty(self, now_ms: int) -> bool:
        """Return whether nothing that was counted matters any more."""
        return all(now_ms - sample.last_ms >= WINDOWS * WINDOW_MS for sample in self._samples)

    def _advance(self, now_ms: int) -> None:
        """Open the next sample of the ring; one more than there are windows, for the oldest in part."""
        self._current = (self._current + 1) % (WINDOWS + 1)
        if self._current == len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        self._at_most = self._total()

    def _empty_old_samples(self, now_ms: int) -> None:
        for sample in self._samples:
            if now_ms - sample.last_ms >= WINDOWS * WINDOW_MS:
                sample.reset(now_ms)

    def _total(self) -> float:
        return sum([sample.total for sample in self._samples])

    def _window_ms(self, now_ms: int) -> int:
        """Return the time to which the samples belong, as if there were samples of all windows."""
        oldest_ms = min([sample.start_ms for sample in self._samples], default=now_ms)
        elapsed_ms = now_ms - oldest_ms
        missing = max(FULL_WINDOWS - elapsed_ms // WINDOW_MS, 0)
        return max(elapsed_ms + missing * WINDOW_MS, 1)
