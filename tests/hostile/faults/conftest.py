"""Whoever answers, Dray or Apache Kafka: codes that are spelt out here are put to both."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from dray.testing import EmbeddedBroker, broker
from tests.oracle.asking import asking
from tests.oracle.fixtures import apache_kafka
from tests.oracle.kafka import Kafka
from tests.oracle.transcripts import Witness

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
def witness(request: pytest.FixtureRequest, who: str) -> Iterator[Witness]:
    """A client with topics of its own at one of the two."""
    asked: EmbeddedBroker | Kafka = request.getfixturevalue("embedded" if who == DRAY else "apache_kafka")
    address = (asked.host, asked.port) if isinstance(asked, EmbeddedBroker) else asked.address
    with asking(address, 30) as asker:
        yield Witness(asker, uuid4().hex[:8])
