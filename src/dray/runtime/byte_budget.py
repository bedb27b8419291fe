"""Byte budget: a bound on bytes in flight, with waiters served in order.

The order is strict: a small request never overtakes a waiting one, or large requests would starve. A request
larger than the whole budget is granted when nothing else is held, so it is slow but never stuck. An acquire
that fits does not suspend.
"""

import asyncio
from collections import deque


class ByteBudget:
    """A budget of `limit` bytes; whatever is acquired must be released, in any number of pieces."""

    def __init__(self, limit: int) -> None:
        if limit <= 0:
            raise ValueError(f"expected a limit of at least one byte, got {limit}")
        self._limit = limit
        self._held = 0
        self._waiters: deque[tuple[asyncio.Future[None], int]] = deque()

    @property
    def held(self) -> int:
        return self._held

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    def try_acquire(self, size: int) -> bool:
        """Acquire `size` bytes if that is possible without waiting."""
        if self._waiters or not self._fits(size):
            return False
        self._held += size
        return True

    async def acquire(self, size: int) -> None:
        """Acquire `size` bytes, waiting if needed. After a cancellation nothing is held."""
        if self.try_acquire(size):
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (granted, size)
        self._waiters.append(waiter)
        try:
            await granted
        except asyncio.CancelledError:
            self._abandon(waiter)
            raise

    def release(self, size: int) -> None:
        if not 0 <= size <= self._held:
            raise ValueError(f"{size} bytes were released, but {self._held} are held")
        self._held -= size
        if self._waiters:
            self._grant()

    def _fits(self, size: int) -> bool:
        return self._held + size <= self._limit or self._held == 0

    def _grant(self) -> None:
        while self._waiters:
            granted, size = self._waiters[0]
            if not granted.cancelled():
                if not self._fits(size):
                    return
                self._held += size
                granted.set_result(None)
            self._waiters.popleft()

    def _abandon(self, waiter: tuple[asyncio.Future[None], int]) -> None:
        """Remove a cancelled waiter, or release what it was granted just before the cancellation."""
        granted, size = waiter
        if not granted.cancelled():
            self.release(size)
        elif waiter in self._waiters:
            self._waiters.remove(waiter)
            self._grant()
