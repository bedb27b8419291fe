"""An object store whose reads take their time: what they were sent for may be gone when they arrive."""

from collections.abc import AsyncIterator, Sequence

from typing_extensions import Buffer

from dray.objects.port import ByteRange, ObjectInfo, ObjectStore
from dray.runtime import Clock, Entropy


class SlowReads:
    """Wraps a store; each read of ranges waits up to `seconds_max` before it is sent."""

    def __init__(self, inner: ObjectStore, clock: Clock, entropy: Entropy, seconds_max: float) -> None:
        self._inner = inner
        self._clock = clock
        self._entropy = entropy
        self._seconds_max = seconds_max

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        if self._seconds_max:
            await self._clock.sleep(self._entropy.uniform(0, self._seconds_max))
        return await self._inner.get_ranges(path, ranges)

    async def get(self, path: str) -> Buffer:
        return await self._inner.get(path)

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        await self._inner.put_new(path, parts)

    async def head(self, path: str) -> ObjectInfo:
        return await self._inner.head(path)

    def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        return self._inner.list(prefix, after)

    async def delete(self, path: str) -> None:
        await self._inner.delete(path)

    async def close(self) -> None:
        await self._inner.close()
