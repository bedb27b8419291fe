"""An object store in memory, for tests and simulation.

`MemoryBucket` is the bucket itself, with synchronous calls. `MemoryObjects` is a client of it that implements
the port; several clients may share one bucket. The faulty store of the test kit uses the bucket directly,
because a request in flight must not depend on the task that sent it.
"""

from bisect import bisect_right, insort
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from typing_extensions import Buffer

from dray.objects.paths import check_inside, check_path, check_prefix, check_ranges
from dray.objects.port import AlreadyExists, ByteRange, NotFound, ObjectInfo
from dray.runtime import Clock


@dataclass(frozen=True, slots=True)
class _Stored:
    data: bytes
    modified_ms: int


class MemoryBucket:
    """The shared state of all clients of one store."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._objects: dict[str, _Stored] = {}
        self._paths: list[str] = []

    def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        check_path(path)
        if path in self._objects:
            raise AlreadyExists(f"{path} exists already")
        self._objects[path] = _Stored(b"".join(parts), self._clock.now_ms())
        insort(self._paths, path)

    def get(self, path: str) -> bytes:
        return self._stored(path).data

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        check_ranges(ranges)
        data = self._stored(path).data
        check_inside(path, ranges, len(data))
        view = memoryview(data)
        return [view[wanted.start : wanted.end] for wanted in ranges]

    def head(self, path: str) -> ObjectInfo:
        stored = self._stored(path)
        return ObjectInfo(path, len(stored.data), stored.modified_ms)

    def page(self, prefix: str, after: str, limit: int) -> list[ObjectInfo]:
        """Return the next objects of a listing; fewer than `limit` only at its end."""
        check_prefix(prefix)
        start = bisect_right(self._paths, after)
        if after < prefix:
            start = bisect_right(self._paths, prefix) - (prefix in self._objects)
        paths = self._paths[start : start + limit]
        return [self.head(path) for path in paths if path.startswith(prefix)]

    def delete(self, path: str) -> None:
        check_path(path)
        if self._objects.pop(path, None) is not None:
            self._paths.remove(path)

    def _stored(self, path: str) -> _Stored:
        check_path(path)
        try:
            return self._objects[path]
        except KeyError:
            raise NotFound(f"there is no object {path}") from None


class MemoryObjects:
    """A client of a bucket in memory."""

    def __init__(self, bucket: MemoryBucket) -> None:
        self.bucket = bucket

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        self.bucket.put_new(path, parts)

    async def get(self, path: str) -> Buffer:
        return self.bucket.get(path)

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        return self.bucket.get_ranges(path, ranges)

    async def head(self, path: str) -> ObjectInfo:
        return self.bucket.head(path)

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        # One object at a time, so that a listing reflects concurrent changes, like a real one.
        while page := self.bucket.page(prefix, after, 1):
            yield page[0]
            after = page[0].path

    async def delete(self, path: str) -> None:
        self.bucket.delete(path)

    async def close(self) -> None:
        """Do nothing: there are no resources."""
