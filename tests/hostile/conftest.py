"""An embedded broker of its own for hostile clients."""

from collections.abc import Iterator

import pytest

from dray.testing import EmbeddedBroker, broker


@pytest.fixture(scope="module")
def target() -> Iterator[EmbeddedBroker]:
    with broker({"net.socket_request_max_bytes": "2000000", "net.in_flight_bytes_max": "4000000"}) as running:
        yield running
