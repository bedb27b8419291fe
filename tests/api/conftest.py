"""A client over a real socket to the broker inside the process, and topics for it."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from dray.testing import EmbeddedBroker, broker
from tests.oracle.asking import Asker, asking
from tests.oracle.requests import Named
from tests.oracle.transcripts import Witness

MakeTopic = Callable[..., Named]


@pytest.fixture(scope="session")
def embedded() -> Iterator[EmbeddedBroker]:
    with broker() as running:
        yield running


@pytest.fixture
def asker(embedded: EmbeddedBroker) -> Iterator[Asker]:
    with asking((embedded.host, embedded.port)) as client:
        yield client


@pytest.fixture
def make_topic(asker: Asker) -> MakeTopic:
    """Make a topic that no other test has; `_` in the names of configs stands for a dot."""
    return Witness(asker, uuid4().hex[:8]).topic


@pytest.fixture
def topic(make_topic: MakeTopic) -> Named:
    return make_topic("t")
