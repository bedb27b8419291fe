"""A store that counts what is asked of it: requests and seconds by operation, and how they ended.

A commit that lost to another is `conflict`, not an error. Of a watch its opening is counted, and every batch
of changes that it told; of a session its opening. What an adapter does by itself (renewing sessions, looking
up lost commits) is inside of what is measured, or not seen at all.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Self

from dray.meta.port import (
    ChangeBatch,
    Check,
    Conflict,
    Domain,
    Entry,
    MetaError,
    MetaStore,
    Position,
    Session,
    Versions,
    Write,
)
from dray.observe import Counter, Histogram, Metrics
from dray.runtime import Clock


@dataclass(frozen=True, slots=True)
class MetaMetrics:
    """Instruments of the metadata store."""

    requests: Counter
    seconds: Histogram
    watch_batches: Counter
    watch_gaps: Counter

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        meta = metrics.room("meta")
        return cls(
            requests=meta.counter(
                "requests",
                "Requests to the metadata store, by operation and outcome (ok, conflict or an error's name).",
                ["operation", "outcome"],
            ),
            seconds=meta.latency("request", "Time until the metadata store answered.", ["operation"]),
            watch_batches=meta.counter("watch_batches", "Batches of changes that watches told."),
            watch_gaps=meta.counter("watch_gaps", "Times that a watch had missed changes."),
        )


@dataclass(slots=True)
class _Measured:
    """One request under way."""

    outcome: str = "ok"


class _Counted:
    """What a watch tells. No generator: one that was cancelled while it waited would be at its end."""

    def __init__(self, batches: AsyncIterator[ChangeBatch], metrics: MetaMetrics) -> None:
        self._batches = batches
        self._metrics = metrics

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChangeBatch:
        batch = await anext(self._batches)
        self._metrics.watch_batches.inc()
        self._metrics.watch_gaps.inc(batch.gap)
        return batch


class MeteredMeta:
    """Wraps a store."""

    def __init__(self, inner: MetaStore, metrics: MetaMetrics, clock: Clock) -> None:
        self._inner = inner
        self._metrics = metrics
        self._clock = clock

    async def get(self, domain: Domain, key: str) -> Entry | None:
        with self._measured("get"):
            return await self._inner.get(domain, key)

    async def scan(
        self, domain: Domain, start: str, end: str, *, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        with self._measured("scan"):
            return await self._inner.scan(domain, start, end, limit=limit, reverse=reverse)

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        with self._measured("commit") as measured:
            result = await self._inner.commit(domain, checks, writes)
            if isinstance(result, Conflict):
                measured.outcome = "conflict"
        return result

    @asynccontextmanager
    async def watch(
        self, domain: Domain, prefix: str, after: Position | None = None
    ) -> AsyncIterator[AsyncIterator[ChangeBatch]]:
        async with AsyncExitStack() as watching:
            with self._measured("watch"):
                batches = await watching.enter_async_context(self._inner.watch(domain, prefix, after))
            yield _Counted(batches, self._metrics)

    async def session(self, ttl_ms: int) -> Session:
        with self._measured("session"):
            return await self._inner.session(ttl_ms)

    async def close(self) -> None:
        await self._inner.close()

    @contextmanager
    def _measured(self, operation: str) -> Iterator[_Measured]:
        measured, outcome = _Measured(), "broken_off"
        started = self._clock.monotonic()
        try:
            yield measured
            outcome = measured.outcome
        except (MetaError, ValueError) as error:
            outcome = type(error).__name__
            raise
        finally:
            self._metrics.requests.labels(operation, outcome).inc()
            self._metrics.seconds.labels(operation).observe(self._clock.monotonic() - started)
