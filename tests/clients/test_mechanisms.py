"""Every client library logs in over TLS with each mechanism that it has, and with a certificate.

Only the user of the library may use the topic, so records that come back show who the broker took it for.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.clients.protocol import Record
from tests.clients.registry import CLIENTS, Client
from tests.clients.secured import SecuredBroker, secured_dray
from tests.clients.security import Mechanism
from tests.clients.target import EXTERNAL, needs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(EXTERNAL), reason="these tests configure a broker of their own"),
]

RECORDS = [Record(b"k%d" % number, b"v%d" % number) for number in range(20)]

every_way = pytest.mark.parametrize(
    ("client", "way"),
    [
        pytest.param(client, way, id=f"{name} {way or 'mTLS'}", marks=needs(client.part))
        for name, client in CLIENTS.items()
        for way in (*client.mechanisms, None)
    ],
)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_dray(tmp_path_factory.mktemp("mechanisms") / "dray") as running:
        yield running


@every_way
def test_client_logs_in_and_uses_its_topic(
    client: Client, way: Mechanism | None, secured: SecuredBroker, topic: str, tmp_path: Path
) -> None:
    secured.create_topic(topic)
    security = secured.secrets.by(way, client.name)
    with closing(secured.program(client.name, security, tmp_path)) as program:
        placed = program.produce(topic, RECORDS)
        read = program.consume(topic, len(RECORDS))
    assert placed == [(0, offset) for offset in range(len(RECORDS))]
    assert [(one.key, one.value) for one in read] == [(one.key, one.value) for one in RECORDS]
