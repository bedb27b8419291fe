"""A `Clock` over virtual time. Give each node its own, with its own errors."""

import asyncio
import math
from typing import Final

EPOCH_MS: Final = 1_700_000_000_000
"""Where the wall clocks of simulations begin: an arbitrary day in November 2023."""

_ROUNDING_MS: Final = 1e-6


class VirtualClock:
    """A `dray.runtime.Clock` over a loop's time, wrong by `skew_ms` and running `rate` times as fast."""

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

    def set_wrong_by(self, skew_ms: int) -> None:
        """Let the wall clock jump, as when somebody sets it; the monotonic one goes on undisturbed."""
        self._skew_ms = skew_ms
