"""A client connected to an embedded broker, and topics for it."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from dray.testing import EmbeddedBroker, broker
from tests.oracle.request_client import RequestClient, request_client
from tests.oracle.requests import Named
from tests.oracle.transcripts import ResponseRecorder

MakeTopic = Callable[..., Named]


@pytest.fixture(scope="session")
def embedded() -> Iterator[EmbeddedBroker]:
    with broker() as running:
        yield running


@pytest.fixture
def client(embedded: EmbeddedBroker) -> Iterator[RequestClient]:
    with request_client((embedded.host, embedded.port)) as client:
        yield client


@pytest.fixture
def make_topic(client: RequestClient) -> MakeTopic:
    """Return a function that creates a topic of its own; `_` in the names of configs stands for a dot."""
    return ResponseRecorder(client, uuid4().hex[:8]).topic


@pytest.fixture
def topic(make_topic: MakeTopic) -> Named:
    return make_topic("t")
