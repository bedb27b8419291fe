"""Metrics wrapper of a metadata store: requests and latency by operation and outcome.

A commit that lost a race is a `conflict`, not an error. A watch counts when it is opened and for every batch
of changes; a session and a snapshot count when they are opened. The adapter's own requests, such as session
renewals and lookups of lost commits, are part of the measured request or not counted at all.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Self

from dray.ids import Domain
from dray.meta.port import (
    ChangeBatch,
    Check,
    CommitLimits,
    Conflict,
    Entry,
    MetaError,
    MetaStore,
    Position,
    Session,
    Snapshot,
    Versions,
    Watch,
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
        meta = metrics.package("meta")
        return cls(
            requests=meta.counter(
                "requests",
                "Requests to the metadata store, by operation and outcome (ok, conflict or an error's name).",
                ["operation", "outcome"],
            ),
            seconds=meta.latency("request", "Latency of requests to the metadata store.", ["operation"]),
            watch_batches=meta.counter("watch_batches", "Batches of changes received from watches."),
            watch_gaps=meta.counter(
                "watch_gaps", "Gaps in watches: batches before which changes were missed."
            ),
        )


@dataclass(slots=True)
class _Measured:
    """One running request."""

    outcome: str = "ok"


class _Counted:
    """The batches of a watch. Not a generator: a cancelled wait would end that."""

    def __init__(self, batches: Watch, metrics: MetaMetrics) -> None:
        self._batches = batches
        self._metrics = metrics

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChangeBatch:
        batch = await anext(self._batches)
        self._metrics.watch_batches.inc()
        self._metrics.watch_gaps.inc(batch.gap)
        return batch

    async def sync(self) -> bool:
        return await self._batches.sync()


class MeteredMeta:
    """Wraps a metadata store."""

    def __init__(self, inner: MetaStore, metrics: MetaMetrics, clock: Clock) -> None:
        self._inner = inner
        self._metrics = metrics
        self._clock = clock

    @property
    def limits(self) -> CommitLimits:
        return self._inner.limits

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
    async def watch(self, domain: Domain, prefix: str, after: Position | None = None) -> AsyncIterator[Watch]:
        async with AsyncExitStack() as watching:
            with self._measured("watch"):
                batches = await watching.enter_async_context(self._inner.watch(domain, prefix, after))
            yield _Counted(batches, self._metrics)

    async def session(self, ttl_ms: int) -> Session:
        with self._measured("session"):
            return await self._inner.session(ttl_ms)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        async with AsyncExitStack() as reading:
            with self._measured("snapshot"):
                snapshot = await reading.enter_async_context(self._inner.snapshot())
            yield snapshot

    async def close(self) -> None:
        await self._inner.close()

    @contextmanager
    def _measured(self, operation: str) -> Iterator[_Measured]:
        measured, outcome = _Measured(), "cancelled"
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
