"""In-memory view of a directory in the metadata store, slightly stale.

The directory is read once and then followed by a watch; a changed key is read again from the store. While the
watch is broken the view keeps its last state: for live brokers and topics, stale data is better than none. A
caller that needs the current state calls `refresh` or `refresh_all`.

Reads are serialized, so the value stored last was also read last.
"""

import asyncio
from collections.abc import Callable, ValuesView
from dataclasses import dataclass
from typing import Generic, TypeVar

from dray.ids import Domain
from dray.index import CorruptValue
from dray.meta.port import ChangeBatch, Entry, MetaStore
from dray.meta.reading import follow
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

T = TypeVar("T")
_log = get_logger("cluster")


@dataclass(frozen=True, slots=True)
class Directory(Generic[T]):
    """The keys of a view, and how their values are decoded."""

    domain: Domain
    prefix: str
    bounds: tuple[str, str]
    decode: Callable[[Entry], T]


class View(Generic[T]):
    """The values of one directory, by key."""

    def __init__(
        self,
        meta: MetaStore,
        directory: Directory[T],
        clock: Clock,
        changed: Callable[[], None] | None = None,
    ) -> None:
        self._meta = meta
        self._directory = directory
        self._clock = clock
        self._changed = changed or _nothing_to_do
        self._values: dict[str, T] = {}
        self._reading = asyncio.Lock()
        self._following = asyncio.Event()
        self.version = 0
        """A number that changes with every change of the view."""

    async def start(self, tasks: Tasks) -> None:
        """Start to follow the directory; returns once it has been read."""
        directory = self._directory
        following = follow(
            self._meta, directory.domain, directory.prefix, self._clock, take=self._take, lost=_nothing_to_do
        )
        tasks.start(following, name=f"view {directory.prefix}")
        await self._following.wait()

    def values(self) -> ValuesView[T]:
        return self._values.values()

    def get(self, key: str) -> T | None:
        return self._values.get(key)

    async def refresh(self, key: str) -> T | None:
        """Read one key now, and update the view."""
        async with self._reading:
            entry = await self._meta.get(self._directory.domain, key)
            value = None if entry is None else self._decoded(entry)
            differs = value != self._values.get(key)
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
            if differs:
                self._count_change()
            return value

    async def refresh_all(self) -> None:
        """Read the whole directory now, and update the view."""
        async with self._reading:
            entries = await self._meta.scan(self._directory.domain, *self._directory.bounds)
            shown = ((entry.key, self._decoded(entry)) for entry in entries)
            self._values = {key: value for key, value in shown if value is not None}
            self._count_change()

    async def _take(self, batch: ChangeBatch, missed: bool) -> None:
        if missed:
            await self.refresh_all()
            self._following.set()
            return
        for key in dict.fromkeys(change.key for change in batch.changes):
            await self.refresh(key)

    def _count_change(self) -> None:
        self.version += 1
        self._changed()

    def _decoded(self, entry: Entry) -> T | None:
        """Decode a value; a corrupt one must not hide the others."""
        try:
            return self._directory.decode(entry)
        except CorruptValue as error:
            _log.error("corrupt_value_skipped", error=str(error))
            return None


def _nothing_to_do() -> None:
    """Keep the last state while the watch is broken; ignore changes that only readers are interested in."""
