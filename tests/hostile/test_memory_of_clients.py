"""Memory that is in use after a request was answered, and after its client has disconnected: none."""

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from dray.testing import EmbeddedBroker, broker
from dray.wire import ErrorCode
from dray.wire.apis.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from tests.oracle.request_client import RequestClient, request_client

LARGE = 8 << 20
CLIENTS = 12


@pytest.fixture
def uncollected() -> Iterator[EmbeddedBroker]:
    """A broker without garbage collection: memory in reference cycles counts as in use."""
    with broker() as running:
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            yield running
        finally:
            tracemalloc.stop()
            gc.enable()


def send_large_produce(client: RequestClient) -> None:
    """Send a produce request that is refused for its size or its content."""
    data = PartitionProduceData(index=0, records=memoryview(bytes(LARGE)))
    topics = [TopicProduceData(name="t", partition_data=[data])]
    request = ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=topics)
    response = client.send(request, ProduceResponse, version=9)
    assert response.responses[0].partition_responses[0].error_code != ErrorCode.NONE


def test_disconnected_client_leaves_no_memory(uncollected: EmbeddedBroker) -> None:
    for _ in range(CLIENTS):
        with request_client((uncollected.host, uncollected.port)) as client:
            send_large_produce(client)
    with request_client((uncollected.host, uncollected.port)):
        assert tracemalloc.get_traced_memory()[0] < 3 * LARGE


def test_idle_client_uses_no_memory(uncollected: EmbeddedBroker) -> None:
    with ExitStack() as open_:
        for _ in range(CLIENTS):
            send_large_produce(open_.enter_context(request_client((uncollected.host, uncollected.port))))
        assert tracemalloc.get_traced_memory()[0] < 3 * LARGE
