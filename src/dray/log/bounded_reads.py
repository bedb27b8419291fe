"""Reads of objects, of which no more than so many bytes are on their way at a time."""

from collections.abc import Sequence

from typing_extensions import Buffer

from dray.objects.cached import Cached
from dray.objects.port import ByteRange
from dray.runtime import ByteBudget


class BoundedReads:
    """Reads through a cache; what is held, or on its way already, takes no more room."""

    def __init__(self, cached: Cached, budget: ByteBudget) -> None:
        self._cached = cached
        self._budget = budget

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        missing = sum(wanted.length for wanted in ranges if not self._cached.holds(path, wanted))
        if not missing:
            return await self._cached.get_ranges(path, ranges)
        await self._budget.acquire(missing)
        try:
            return await self._cached.get_ranges(path, ranges)
        finally:
            self._budget.release(missing)
