"""Which broker the clients are tried on, and what a test needs of the machine.

`DRAY_TEST_BOOTSTRAP=host:port` names a broker that runs already: one of Apache Kafka, for example, which must
pass everything that Dray is asked. Its sessions of groups have to be as short as `GROUPS` in
`tests.clients.conftest` says. Without it the tests start a process of Dray's.
"""

import os
from typing import Final

import pytest

from tests.clients.registry import CLIENTS

EXTERNAL: Final = os.environ.get("DRAY_TEST_BOOTSTRAP", "")


def needs(*parts: str | None) -> list[pytest.MarkDecorator]:
    """The mark of a test that talks to the broker and uses these parts besides: each is named once."""
    named = {part for part in parts if part}
    return [pytest.mark.real(*sorted(named))] if named else []


every_client: Final = pytest.mark.parametrize(
    "client", [pytest.param(client, id=name, marks=needs(client.part)) for name, client in CLIENTS.items()]
)
