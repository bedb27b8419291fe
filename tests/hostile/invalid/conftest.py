"""Clients of Dray and of Apache Kafka: the expected codes apply to both."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from dray.testing import EmbeddedBroker, broker
from tests.oracle.fixtures import apache_kafka
from tests.oracle.kafka import Kafka
from tests.oracle.request_client import request_client
from tests.oracle.transcripts import ResponseRecorder

__all__ = ["apache_kafka"]

DRAY, KAFKA = "dray", "kafka"


@pytest.fixture(scope="session")
def embedded() -> Iterator[EmbeddedBroker]:
    with broker({"broker.id": "1"}) as running:
        yield running


@pytest.fixture(params=[DRAY, pytest.param(KAFKA, marks=pytest.mark.real("java"))])
def who(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def recorder(request: pytest.FixtureRequest, who: str) -> Iterator[ResponseRecorder]:
    """Recorder of responses of one of the two, with topics of its own."""
    requested: EmbeddedBroker | Kafka = request.getfixturevalue("embedded" if who == DRAY else "apache_kafka")
    address = (requested.host, requested.port) if isinstance(requested, EmbeddedBroker) else requested.address
    with request_client(address, 30) as client:
        yield ResponseRecorder(client, uuid4().hex[:8])
