"""Object store that records requests, and holds or fails them on demand."""

import asyncio
from collections.abc import Callable, Sequence

from typing_extensions import Buffer

from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.objects.port import ByteRange

PutFault = Callable[[int], Exception | None]


class ControlledObjects(MemoryObjects):
    """Numbers puts and reads from 0 in the order they begin."""

    def __init__(self, bucket: MemoryBucket) -> None:
        super().__init__(bucket)
        self.puts: list[str] = []
        self.reads: list[tuple[str, ByteRange]] = []
        self.putting = self.reading = 0
        self.putting_max = self.reading_max = 0
        self.put_seconds = 0.0
        self.read_seconds = 0.0
        self.put_fault: PutFault = lambda _: None
        self.read_fault: Exception | None = None
        self.delete_fault: Exception | None = None
        self._gates: dict[int, asyncio.Event] = {}
        self._held = False

    def hold_puts(self) -> None:
        """Hold puts until `let_put` or `let_all`."""
        self._held = True

    def let_put(self, number: int) -> None:
        self._gate(number).set()

    def let_all(self) -> None:
        self._held = False
        for gate in self._gates.values():
            gate.set()

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        number = len(self.puts)
        self.puts.append(path)
        self.putting += 1
        self.putting_max = max(self.putting_max, self.putting)
        try:
            await asyncio.sleep(self.put_seconds)
            if self._held:
                await self._gate(number).wait()
            fault = self.put_fault(number)
            if fault is not None:
                raise fault
            await super().put_new(path, parts)
        finally:
            self.putting -= 1

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        self.reads.extend((path, wanted) for wanted in ranges)
        self.reading += 1
        self.reading_max = max(self.reading_max, self.reading)
        try:
            await asyncio.sleep(self.read_seconds)
            if self.read_fault is not None:
                raise self.read_fault
            return await super().get_ranges(path, ranges)
        finally:
            self.reading -= 1

    async def delete(self, path: str) -> None:
        if self.delete_fault is not None:
            raise self.delete_fault
        await super().delete(path)

    def _gate(self, number: int) -> asyncio.Event:
        return self._gates.setdefault(number, asyncio.Event())
