"""A broker for the commands that talk to one."""

from collections.abc import Iterator

import pytest

from dray.testing import broker
from dray.testing.broker import EmbeddedBroker


@pytest.fixture(scope="session")
def kafka() -> Iterator[EmbeddedBroker]:
    """A Kafka in memory, shared; tests make topics of their own."""
    with broker() as running:
        yield running
