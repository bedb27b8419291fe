"""Metrics wrapper: requests, bytes and latency by operation.

The latency of a listing is that of one step, because its reader determines the duration of the whole.
`Metered` inside `Retrying` measures every attempt; outside, it measures what callers observe.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from typing_extensions import Buffer

from dray.objects.port import ByteRange, ObjectError, ObjectInfo, ObjectStore
from dray.observe import Counter, Histogram, Metrics
from dray.runtime import Clock


@dataclass(frozen=True, slots=True)
class ObjectMetrics:
    """Instruments of the object store."""

    requests: Counter
    bytes: Counter
    seconds: Histogram

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        objects = metrics.package("objects")
        return cls(
            requests=objects.counter(
                "requests",
                "Requests to the object store, by operation and outcome (ok or the error's name).",
                ["operation", "outcome"],
            ),
            bytes=objects.counter("bytes", "Bytes put to and read from the object store.", ["operation"]),
            seconds=objects.latency("request", "Latency of requests to the object store.", ["operation"]),
        )


class Metered:
    """Wraps an object store."""

    def __init__(self, inner: ObjectStore, metrics: ObjectMetrics, clock: Clock) -> None:
        self._inner = inner
        self._metrics = metrics
        self._clock = clock

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        with self._measured("put"):
            await self._inner.put_new(path, parts)
        self._count_bytes("put", parts)

    async def get(self, path: str) -> Buffer:
        with self._measured("get"):
            whole = await self._inner.get(path)
        self._count_bytes("get", [whole])
        return whole

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        with self._measured("get_ranges"):
            got = await self._inner.get_ranges(path, ranges)
        self._count_bytes("get_ranges", got)
        return got

    async def head(self, path: str) -> ObjectInfo:
        with self._measured("head"):
            return await self._inner.head(path)

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        listing = self._inner.list(prefix, after)
        while True:
            with self._measured("list"):
                info = await anext(listing, None)
            if info is None:
                return
            yield info

    async def delete(self, path: str) -> None:
        with self._measured("delete"):
            await self._inner.delete(path)

    async def close(self) -> None:
        await self._inner.close()

    @contextmanager
    def _measured(self, operation: str) -> Iterator[None]:
        started = self._clock.monotonic()
        outcome = "cancelled"
        try:
            yield
            outcome = "ok"
        except (ObjectError, ValueError) as error:
            outcome = type(error).__name__
            raise
        finally:
            self._metrics.requests.labels(operation, outcome).inc()
            self._metrics.seconds.labels(operation).observe(self._clock.monotonic() - started)

    def _count_bytes(self, operation: str, buffers: Sequence[Buffer]) -> None:
        self._metrics.bytes.labels(operation).inc(sum(memoryview(buffer).nbytes for buffer in buffers))
