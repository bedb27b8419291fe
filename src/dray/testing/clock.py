"""Clock on virtual time; each node has its own, with its own skew and drift."""

import asyncio
import math
from typing import Final

EPOCH_MS: Final = 1_700_000_000_000
"""Start of the wall clocks of simulations: an arbitrary day in November 2023."""

_ROUNDING_MS: Final = 1e-6


class VirtualClock:
    """A `dray.runtime.Clock` on a loop's time, off by `skew_ms` and running `rate` times as fast."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        epoch_ms: int = EPOCH_MS,
        *,
        skew_ms: int = 0,
        rate: float = 1.0,
    ) -> None:
        self._loop = loop
        self._epoch_ms = epoch_ms
        self._skew_ms = skew_ms
        self._rate = rate

    def now_ms(self) -> int:
        passed_ms = math.floor(self.monotonic() * 1000 + _ROUNDING_MS)
        return self._epoch_ms + self._skew_ms + passed_ms

    def monotonic(self) -> float:
        return self._loop.time() * self._rate

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._rate)

    def set_skew(self, skew_ms: int) -> None:
        """Step the wall clock, as an operator or NTP may do; the monotonic clock is not affected."""
        self._skew_ms = skew_ms
