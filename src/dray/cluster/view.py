"""A directory of the metadata store kept in memory, as it was a moment ago.

The directory is read once and then followed by the watch; a change is read again from the store. While the
watch is broken the view goes on showing what it last knew: what it serves (who is alive, which topics there
are) is better old than absent. Who needs the present asks `refresh` or `refresh_all`.

Reads are made one after the other, so what is remembered last was also read last.
"""

import asyncio
from collections.abc import Callable, ValuesView
from dataclasses import dataclass
from typing import Generic, TypeVar

from dray.meta.port import Change, Domain, Entry, MetaError, MetaStore, Position
from dray.runtime import Clock, Tasks

T = TypeVar("T")
_RETRY_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Directory(Generic[T]):
    """Which keys a view shows, and what they hold."""

    domain: Domain
    prefix: str
    bounds: tuple[str, str]
    decode: Callable[[Entry], T]


class View(Generic[T]):
    """The values of one directory by key."""

    def __init__(self, meta: MetaStore, directory: Directory[T], clock: Clock) -> None:
        self._meta = meta
        self._directory = directory
        self._clock = clock
        self._values: dict[str, T] = {}
        self._reading = asyncio.Lock()
        self._following = asyncio.Event()

    async def start(self, tasks: Tasks) -> None:
        """Begin to follow; returns when the directory has been read."""
        tasks.start(self._follow_for_ever(), name=f"view {self._directory.prefix}")
        await self._following.wait()

    def values(self) -> ValuesView[T]:
        return self._values.values()

    def get(self, key: str) -> T | None:
        return self._values.get(key)

    async def refresh(self, key: str) -> T | None:
        """Read one key now, and show what it holds."""
        async with self._reading:
            entry = await self._meta.get(self._directory.domain, key)
            if entry is None:
                self._values.pop(key, None)
                return None
            value = self._values[key] = self._directory.decode(entry)
            return value

    async def refresh_all(self) -> None:
        """Read the whole directory now."""
        async with self._reading:
            entries = await self._meta.scan(self._directory.domain, *self._directory.bounds)
            self._values = {entry.key: self._directory.decode(entry) for entry in entries}

    async def _follow_for_ever(self) -> None:
        after: Position | None = None
        while True:
            try:
                async with self._meta.watch(self._directory.domain, self._directory.prefix, after) as batches:
                    async for batch in batches:
                        if batch.gap or not self._following.is_set():
                            await self.refresh_all()
                            self._following.set()
                        else:
                            await self._read(batch.changes)
                        after = batch.position
            except MetaError:
                pass  # the store is away; the adapter has told so
            await self._clock.sleep(_RETRY_SECONDS)

    async def _read(self, changes: tuple[Change, ...]) -> None:
        for key in dict.fromkeys(change.key for change in changes):
            await self.refresh(key)
