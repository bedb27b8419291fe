"""Time as an input: no other code reads the system clock.

`SystemClock` is the real one. Simulations run on a virtual clock, so everything that needs the time is given
a `Clock`.
"""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Wall clock, monotonic clock and sleep."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, as Kafka timestamps count them; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed point; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The clocks of this machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
