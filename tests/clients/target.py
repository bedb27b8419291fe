"""Target broker of the client tests, and the parts that a test requires.

`TESTS_BOOTSTRAP=host:port` names a running broker: for example Apache Kafka, which must pass all tests
that Dray passes. Its group session timeouts must be as short as `GROUPS` in `tests.clients.conftest`. Without
it the tests start a Dray process.
"""

import os
from typing import Final

import pytest

from tests.clients.registry import CLIENTS

EXTERNAL: Final = os.environ.get("TESTS_BOOTSTRAP", "")


def needs(*parts: str | None) -> list[pytest.MarkDecorator]:
    """Return the mark of a test that uses the broker and these other parts, each named once."""
    named = {part for part in parts if part}
    return [pytest.mark.real(*sorted(named))] if named else []


every_client: Final = pytest.mark.parametrize(
    "client", [pytest.param(client, id=name, marks=needs(client.part)) for name, client in CLIENTS.items()]
)
