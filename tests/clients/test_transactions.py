"""Transactional producers on a broker without transactions: they fail at once, with the reason."""

import time

import pytest

from tests.clients.conftest import Programs
from tests.clients.process import ClientFailed
from tests.clients.protocol import Record
from tests.clients.registry import CLIENTS
from tests.clients.target import EXTERNAL, needs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(EXTERNAL), reason="another broker may support transactions"),
]
WHY = "Dray does not support transactions yet."
EXPECTED = {
    "java": f"unexpected error: {WHY}",
    "librdkafka": f"FATAL,code=TRANSACTIONAL_ID_AUTHORIZATION_FAILED.*{WHY}",
    "franz-go": "fatal, unrecoverable error.*UNSUPPORTED_VERSION: The version of API is not supported",
}


CASES = [
    pytest.param(name, message, id=name, marks=needs(CLIENTS[name].part))
    for name, message in EXPECTED.items()
]


@pytest.mark.parametrize(("name", "message"), CASES)
def test_transactional_producer_fails_at_once_and_names_the_reason(
    programs: Programs, topic: str, name: str, message: str
) -> None:
    program = programs[name]
    program.create_topic(topic)
    started = time.monotonic()
    with pytest.raises(ClientFailed, match=message):
        program.produce(topic, [Record(value=b"v")], transactional_id="tx")
    assert time.monotonic() - started < 10
