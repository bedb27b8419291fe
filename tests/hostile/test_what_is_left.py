"""What a client leaves behind when its request has been answered, and when it is gone: nothing."""

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from dray.testing import EmbeddedBroker, broker
from dray.wire import ErrorCode
from dray.wire.apis.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from tests.oracle.asking import Asker, asking

LARGE = 8 << 20
CLIENTS = 12


@pytest.fixture
def uncollected() -> Iterator[EmbeddedBroker]:
    """A broker without the collector of cycles: what only that would find counts as left."""
    with broker() as running:
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            yield running
        finally:
            tracemalloc.stop()
            gc.enable()


def ask_something_large(client: Asker) -> None:
    """A produce that is refused for its size, or its rubbish."""
    data = PartitionProduceData(index=0, records=memoryview(bytes(LARGE)))
    topics = [TopicProduceData(name="t", partition_data=[data])]
    request = ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=topics)
    answer = client.ask(request, ProduceResponse, version=9)
    assert answer.responses[0].partition_responses[0].error_code != ErrorCode.NONE


def test_a_client_that_is_gone_leaves_nothing(uncollected: EmbeddedBroker) -> None:
    for _ in range(CLIENTS):
        with asking((uncollected.host, uncollected.port)) as client:
            ask_something_large(client)
    with asking((uncollected.host, uncollected.port)):
        assert tracemalloc.get_traced_memory()[0] < 3 * LARGE


def test_a_client_that_is_quiet_holds_nothing(uncollected: EmbeddedBroker) -> None:
    with ExitStack() as open_:
        for _ in range(CLIENTS):
            ask_something_large(open_.enter_context(asking((uncollected.host, uncollected.port))))
        assert tracemalloc.get_traced_memory()[0] < 3 * LARGE
