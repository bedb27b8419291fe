"""Time as an input.

`SystemClock` is the real one. Under the test kit's virtual event loop the same class would do for sleeping,
but not for reading the wall clock; that is why everything is handed a `Clock`.
"""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the rest of Dray knows of time."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, as Kafka timestamps count them; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds from some fixed point; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
