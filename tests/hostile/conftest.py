"""A broker of their own for those who would bring it down."""

from collections.abc import Iterator

import pytest

from dray.testing import EmbeddedBroker, broker


@pytest.fixture(scope="module")
def target() -> Iterator[EmbeddedBroker]:
    with broker({"net.request_bytes_max": "2000000", "net.in_flight_bytes_max": "4000000"}) as running:
        yield running
