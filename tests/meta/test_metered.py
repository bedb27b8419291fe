"""The metrics wrapper: the contract, and the counters."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import pytest

from dray.meta.memory import DirectLink, MemoryMetaServer, MemoryMetaStore
from dray.meta.metered import MetaMetrics, MeteredMeta
from dray.meta.port import ABSENT, Check, Conflict, MetaStore, Put, Unavailable, Version
from dray.observe import Metrics
from dray.runtime import SystemClock, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.contracts.meta import MetaContract
from dray.testing.contracts.meta_harness import D, changes_until, next_batch, put
from dray.testing.entropy import SeededEntropy
from dray.testing.virtual_loop import run, virtual_loop
from tests.meta.memory_harness import MemoryHarness

T = TypeVar("T")


class MeteredHarness(MemoryHarness):
    async def open(self) -> MetaStore:
        return MeteredMeta(await super().open(), MetaMetrics.on(Metrics()), SystemClock())


class TestMetered(MetaContract):
    @pytest.fixture
    async def harness(self) -> AsyncIterator[MeteredHarness]:
        harness = MeteredHarness(DirectLink())
        yield harness
        await harness.close()


class _SlowLink:
    async def call(self, request: Callable[[], T]) -> T:
        await asyncio.sleep(0.25)
        return request()


class _Counted:
    """A metered store and its metrics."""

    def __init__(self, link: DirectLink | _SlowLink | None = None) -> None:
        clock = VirtualClock(virtual_loop())
        self.metrics = Metrics()
        self.server = MemoryMetaServer(clock)
        inner = MemoryMetaStore(self.server, clock, SeededEntropy("metered"), tasks=Tasks(), link=link)
        self.store = MeteredMeta(inner, MetaMetrics.on(self.metrics), clock)

    def requests(self, operation: str, outcome: str) -> float | None:
        labels = {"operation": operation, "outcome": outcome}
        return self.metrics.registry.get_sample_value("dray_meta_requests_total", labels)

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"dray_meta_{name}", labels)


def test_requests_are_counted_by_operation_and_outcome() -> None:
    async def main() -> None:
        counted = _Counted()
        store = counted.store
        await put(store, "/a")
        assert isinstance(await store.commit(D, [Check("/a", ABSENT)], [Put("/a", b"")]), Conflict)
        with pytest.raises(ValueError, match="/b"):
            await store.commit(D, [Check("/b", Version(1))], [Put("/b", b""), Put("/b", b"")])
        await store.get(D, "/a")
        await store.get(D, "/nothing")
        await store.scan(D, "/", "/~")
        await (await store.session(1000)).close()
        await store.close()
        with pytest.raises(Unavailable):
            await store.get(D, "/a")
        assert counted.requests("commit", "ok") == 1
        assert counted.requests("commit", "conflict") == 1
        assert counted.requests("commit", "ValueError") == 1
        assert counted.requests("get", "ok") == 2
        assert counted.requests("get", "Unavailable") == 1
        assert counted.requests("scan", "ok") == 1
        assert counted.requests("session", "ok") == 1

    run(main())


def test_watch_batches_and_gaps_are_counted() -> None:
    async def main() -> None:
        counted = _Counted()
        async with counted.store.watch(D, "/") as batches:
            position = (await next_batch(batches)).position
            await put(counted.store, "/a")
            await changes_until(batches, "/a")
        assert (counted.requests("watch", "ok"), counted.value("watch_batches_total")) == (1, 2)
        assert counted.value("watch_gaps_total") == 0
        counted.server.forget_changes()
        async with counted.store.watch(D, "/", position) as batches:
            assert (await next_batch(batches)).gap
        assert counted.value("watch_gaps_total") == 1

    run(main())


def test_watch_survives_a_cancelled_wait() -> None:
    async def main() -> None:
        store = _Counted().store
        async with store.watch(D, "/") as batches:
            await next_batch(batches)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await anext(batches)
            version = await put(store, "/a")
            assert await changes_until(batches, "/a") == {"/a": version}

    run(main())


def test_latency_ends_with_the_response_or_the_cancellation() -> None:
    async def main() -> None:
        counted = _Counted(_SlowLink())
        await counted.store.get(D, "/a")
        assert counted.value("request_seconds_sum", operation="get") == pytest.approx(0.25)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await counted.store.get(D, "/a")
        assert counted.requests("get", "cancelled") == 1
        assert counted.value("request_seconds_sum", operation="get") == pytest.approx(0.35)

    run(main())
