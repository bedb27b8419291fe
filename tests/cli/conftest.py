"""Fixture with a broker, for commands that connect to one."""

from collections.abc import Iterator

import pytest

from dray.testing import broker
from dray.testing.broker import EmbeddedBroker


@pytest.fixture(scope="session")
def kafka() -> Iterator[EmbeddedBroker]:
    """An in-memory broker shared by all tests; each test creates its own topics."""
    with broker() as running:
        yield running
