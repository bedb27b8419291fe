"""A store that counts what is asked of it: requests, bytes and seconds by operation.

The latency of a listing is that of one step, as its reader decides how long the whole takes. Put
`Metered` inside `Retrying` to see every attempt, outside to see what callers see.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Histogram
from typing_extensions import Buffer

from dray.objects.port import ByteRange, ObjectError, ObjectInfo, ObjectStore
from dray.runtime import Clock

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ObjectMetrics:
    """The metrics of one registry; shared by all stores of a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "dray_object_requests",
            "Requests to the object store, by operation and outcome (ok or the error's name)",
            ["operation", "outcome"],
            registry=registry,
        )
        self.bytes = Counter(
            "dray_object_bytes",
            "Bytes put to and read from the object store",
            ["operation"],
            registry=registry,
        )
        self.seconds = Histogram(
            "dray_object_request_seconds",
            "Seconds until the object store answered",
            ["operation"],
            buckets=_SECONDS,
            registry=registry,
        )


class Metered:
    """Wraps a store."""

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
        outcome = "broken_off"
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
