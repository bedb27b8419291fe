"""The pytest plugin that comes with Dray: a broker for tests that ask for one."""

from collections.abc import Iterator

import pytest

from dray.testing.broker import EmbeddedBroker, broker


@pytest.fixture(scope="session")
def dray_broker() -> Iterator[EmbeddedBroker]:
    """A Kafka in memory, shared by the tests of one run; `dray_broker.bootstrap` is its address."""
    with broker() as running:
        yield running
