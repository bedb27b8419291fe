"""Stores for tests of the wrappers: failing ones, and ones that wait."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from typing_extensions import Buffer

from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.objects.port import ByteRange, ObjectError, ObjectInfo, Unavailable
from dray.runtime import SystemClock


def memory() -> MemoryObjects:
    return MemoryObjects(MemoryBucket(SystemClock()))


class Failing(MemoryObjects):
    """Raises the given errors in turn, then works; with `happens`, requests succeed before they raise."""

    def __init__(self, errors: Sequence[ObjectError | None], *, happens: bool = False) -> None:
        super().__init__(MemoryBucket(SystemClock()))
        self._errors = list(errors)
        self._happens = happens
        self.calls = 0

    def _next(self) -> ObjectError | None:
        self.calls += 1
        return self._errors.pop(0) if self._errors else None

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        error = self._next()
        if error is None or self._happens:
            await super().put_new(path, parts)
        if error is not None:
            raise error

    async def get(self, path: str) -> Buffer:
        if (error := self._next()) is not None:
            raise error
        return await super().get(path)

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        """Raise before each object for which an error is due."""
        async for info in super().list(prefix, after):
            if (error := self._next()) is not None:
                raise error
            yield info


class Gated(MemoryObjects):
    """Range reads wait for the gate, and are counted."""

    def __init__(self) -> None:
        super().__init__(MemoryBucket(SystemClock()))
        self.gate = asyncio.Event()
        self.asked: list[tuple[str, list[ByteRange]]] = []
        self.error: ObjectError | None = None

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        self.asked.append((path, list(ranges)))
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return await super().get_ranges(path, ranges)


def throttled() -> Unavailable:
    return Unavailable("throttled")
