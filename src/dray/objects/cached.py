"""Cache wrapper: an LRU cache of ranges, with single-flight reads.

Objects are immutable, so a cached range never becomes stale; the least recently used ranges are evicted. A
range is cached as requested: a part of it is another range.

A read of a range that is in flight joins that read. It runs in a supervised task of its own: if one caller is
cancelled, it continues for the others and for the cache. Its error is raised in all callers and not cached,
except that a range outside the object is the mistake of one caller: the others then repeat their read.

The cache size is the sum of the ranges. A buffer passed to `insert` may keep a larger one alive.
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from typing_extensions import Buffer

from dray.objects.paths import check_path, check_ranges
from dray.objects.port import ByteRange, ObjectError, ObjectInfo, ObjectStore, OutOfRange, Unavailable
from dray.runtime.tasks import SupervisorStopped, Tasks

_Key = tuple[str, ByteRange]
_Outcome = dict[ByteRange, Buffer] | ObjectError


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Counts since the cache was created, by range; `joined` ones waited for a read in flight."""

    hits: int
    joined: int
    misses: int
    held_bytes: int


class RangeCache:
    """Ranges by path, at most `max_bytes`, evicted in LRU order."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[_Key, Buffer] = OrderedDict()
        self._of_path: defaultdict[str, set[ByteRange]] = defaultdict(set)
        self.held_bytes = 0

    def find(self, path: str, wanted: ByteRange) -> Buffer | None:
        buffer = self._held.get((path, wanted))
        if buffer is not None:
            self._held.move_to_end((path, wanted))
        return buffer

    def insert(self, path: str, of: ByteRange, buffer: Buffer) -> None:
        if of.length > self._max_bytes or (path, of) in self._held:
            return
        self._held[path, of] = buffer
        self._of_path[path].add(of)
        self.held_bytes += of.length
        while self.held_bytes > self._max_bytes:
            self._drop(next(iter(self._held)))

    def forget(self, path: str) -> None:
        for of in tuple(self._of_path.get(path, ())):
            self._drop((path, of))

    def _drop(self, key: _Key) -> None:
        path, of = key
        del self._held[key]
        self.held_bytes -= of.length
        self._of_path[path].discard(of)
        if not self._of_path[path]:
            del self._of_path[path]


class Cached:
    """Wraps an object store; only `get_ranges` is cached."""

    def __init__(self, inner: ObjectStore, tasks: Tasks, max_bytes: int) -> None:
        self._inner = inner
        self._tasks = tasks
        self._max_bytes = max_bytes
        self._cache = RangeCache(max_bytes)
        self._reads: dict[_Key, asyncio.Task[_Outcome]] = {}
        self._hits = self._joined = self._misses = 0

    @property
    def stats(self) -> CacheStats:
        return CacheStats(self._hits, self._joined, self._misses, self._cache.held_bytes)

    def insert(self, path: str, of: ByteRange, buffer: Buffer) -> None:
        """Cache a range that was just written; the buffer must never change."""
        if memoryview(buffer).nbytes != of.length:
            raise ValueError(f"{path}: a buffer of {memoryview(buffer).nbytes} bytes is not the range {of}")
        self._cache.insert(path, of, buffer)

    def forget(self, path: str) -> None:
        self._cache.forget(path)

    def keeps(self, size_bytes: int) -> bool:
        """Return whether a range of this size can be cached at all."""
        return size_bytes <= self._max_bytes

    def holds(self, path: str, of: ByteRange) -> bool:
        """Return whether a read of this range causes no request: it is cached or in flight."""
        return self._cache.find(path, of) is not None or (path, of) in self._reads

    def find(self, path: str, of: ByteRange) -> Buffer | None:
        """Return the range if it is cached, without waiting."""
        held = self._cache.find(path, of)
        if held is not None:
            self._hits += 1
        return held

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        check_path(path)
        check_ranges(ranges)
        found, reads = self._split(path, ranges)
        for read, own in reads.items():
            await asyncio.wait([read])
            outcome = self._outcome(read, path)
            if isinstance(outcome, OutOfRange) and not own:
                return await self._inner.get_ranges(path, ranges)
            if isinstance(outcome, ObjectError):
                raise outcome
            found.update(outcome)
        return [found[wanted] for wanted in ranges]

    def _split(
        self, path: str, ranges: Sequence[ByteRange]
    ) -> tuple[dict[ByteRange, Buffer], dict[asyncio.Task[_Outcome], bool]]:
        """Return the cached ranges, and the reads to wait for (True: started by this call)."""
        found: dict[ByteRange, Buffer] = {}
        reads: dict[asyncio.Task[_Outcome], bool] = {}
        missing: list[ByteRange] = []
        for wanted in dict.fromkeys(ranges):
            held = self._cache.find(path, wanted)
            if held is not None:
                found[wanted] = held
            elif (read := self._reads.get((path, wanted))) is not None:
                reads[read] = False
                self._joined += 1
            else:
                missing.append(wanted)
        self._hits += len(found)
        self._misses += len(missing)
        if missing:
            reads[self._start(path, missing)] = True
        return found, reads

    def _start(self, path: str, ranges: Sequence[ByteRange]) -> asyncio.Task[_Outcome]:
        try:
            read = self._tasks.start(self._read(path, ranges), name=f"read {path}")
        except SupervisorStopped as error:
            raise Unavailable(f"read of {path} was not started: the process is stopping") from error
        for wanted in ranges:
            self._reads[path, wanted] = read
        # A callback, because a task that is cancelled before its first step never runs its `finally`.
        read.add_done_callback(lambda _: self._ended(path, ranges))
        return read

    def _ended(self, path: str, ranges: Sequence[ByteRange]) -> None:
        for wanted in ranges:
            del self._reads[path, wanted]

    async def _read(self, path: str, ranges: Sequence[ByteRange]) -> _Outcome:
        """Read and cache; errors belong to the callers, so they are returned."""
        try:
            buffers = await self._inner.get_ranges(path, ranges)
        except ObjectError as error:
            return error
        for of, buffer in zip(ranges, buffers, strict=True):
            self._cache.insert(path, of, buffer)
        return dict(zip(ranges, buffers, strict=True))

    def _outcome(self, read: asyncio.Task[_Outcome], path: str) -> _Outcome:
        if read.cancelled():
            return Unavailable(f"read of {path} was cancelled: the process is stopping")
        return read.result()

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        await self._inner.put_new(path, parts)

    async def get(self, path: str) -> Buffer:
        return await self._inner.get(path)

    async def head(self, path: str) -> ObjectInfo:
        return await self._inner.head(path)

    def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        return self._inner.list(prefix, after)

    async def delete(self, path: str) -> None:
        self.forget(path)
        await self._inner.delete(path)

    async def close(self) -> None:
        await self._inner.close()
