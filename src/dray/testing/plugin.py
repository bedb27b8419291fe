"""Pytest plugin of Dray, with a fixture for tests that need a broker."""

from collections.abc import Iterator

import pytest

from dray.testing.broker import EmbeddedBroker, broker


@pytest.fixture(scope="session")
def dray_broker() -> Iterator[EmbeddedBroker]:
    """An in-memory broker shared by all tests of the run; `dray_broker.bootstrap` is its address."""
    with broker() as running:
        yield running
