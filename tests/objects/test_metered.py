"""The metrics wrapper: the contract, and the counters."""

import asyncio

import pytest

from dray.objects.memory import MemoryBucket
from dray.objects.metered import Metered, ObjectMetrics
from dray.objects.port import AlreadyExists, ByteRange, NotFound, ObjectStore
from dray.observe import Metrics
from dray.runtime import SystemClock
from dray.testing.clock import VirtualClock
from dray.testing.contracts.objects import ObjectContract, paths_of
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_objects import FaultyObjects, ObjectFaults
from dray.testing.virtual_loop import run
from tests.objects.builders import memory


class TestMetered(ObjectContract):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return Metered(memory(), ObjectMetrics.on(Metrics()), SystemClock())


async def test_requests_bytes_and_outcomes_are_counted() -> None:
    metrics = Metrics()
    registry = metrics.registry
    store = Metered(memory(), ObjectMetrics.on(metrics), SystemClock())
    await store.put_new("x", [b"01234", b"56789"])
    with pytest.raises(AlreadyExists):
        await store.put_new("x", [b"other"])
    await store.get("x")
    await store.get_ranges("x", [ByteRange(0, 3), ByteRange(1, 2)])
    with pytest.raises(NotFound):
        await store.head("y")
    await paths_of(store, "")
    await store.delete("x")

    def requests(operation: str, outcome: str) -> float | None:
        labels = {"operation": operation, "outcome": outcome}
        return registry.get_sample_value("dray_objects_requests_total", labels)

    assert requests("put", "ok") == 1
    assert requests("put", "AlreadyExists") == 1
    assert requests("get", "ok") == 1
    assert requests("get_ranges", "ok") == 1
    assert requests("head", "NotFound") == 1
    assert requests("list", "ok") == 2
    assert requests("delete", "ok") == 1
    counted = {
        operation: registry.get_sample_value("dray_objects_bytes_total", {"operation": operation})
        for operation in ("put", "get", "get_ranges")
    }
    assert counted == {"put": 10, "get": 10, "get_ranges": 5}


def test_latency_ends_with_the_response() -> None:
    async def main() -> tuple[float | None, float | None, float]:
        loop = asyncio.get_running_loop()
        metrics, clock = Metrics(), VirtualClock(loop)
        registry = metrics.registry
        slow = FaultyObjects(MemoryBucket(clock), SeededEntropy(1), ObjectFaults(travel_max_s=4.0))
        store = Metered(slow, ObjectMetrics.on(metrics), clock)
        await store.put_new("x", [b"1"])
        spent = loop.time()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await store.get("x")
        cancelled = {"operation": "get", "outcome": "cancelled"}
        return (
            registry.get_sample_value("dray_objects_request_seconds_sum", {"operation": "put"}),
            registry.get_sample_value("dray_objects_requests_total", cancelled),
            spent,
        )

    seconds, cancelled, spent = run(main())
    assert seconds == pytest.approx(spent)
    assert spent > 0
    assert cancelled == 1
