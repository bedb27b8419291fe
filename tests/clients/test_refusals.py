"""Reports of client libraries that are refused: on Dray the same as on Apache Kafka, and soon.

aiokafka and kafka-python only say that they could not connect. For certificates the alert of TLS, which some
libraries show, has the reason; Kafka's is always a general one.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pytest

from tests.clients.process import ClientFailed, ClientProcess
from tests.clients.protocol import Record
from tests.clients.registry import Client
from tests.clients.secured import DENIED, Secrets, SecuredBroker, secured_dray, secured_kafka
from tests.clients.security import Security
from tests.clients.target import EXTERNAL, every_client, needs

pytestmark = [
    pytest.mark.slow,
    *needs("java"),
    pytest.mark.skipif(bool(EXTERNAL), reason="these tests configure brokers of their own"),
]

Reports = Mapping[str, str]
Login = Callable[[Secrets, str], Security]

TOPIC_AUTHORIZATION_FAILED: Final = 29
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
_CREDENTIALS: Final = "invalid credentials with SASL mechanism SCRAM-SHA-512"
_SARAMA: Final = "kafka: client has run out of available brokers to talk to"
_GO_ALERT: Final = "remote error: tls: (expired|unknown|bad) certificate"

WRONG_PASSWORD: Final[Reports] = {
    "librdkafka": f"_AUTHENTICATION,.*{_CREDENTIALS}",
    "aiokafka": "KafkaConnectionError: Unable to bootstrap",
    "kafka-python": "KafkaTimeoutError: Unable to bootstrap",
    "java": f"SaslAuthenticationException: Authentication failed .*{_CREDENTIALS}",
    "franz-go": "SASL_AUTHENTICATION_FAILED",
    "sarama": f"{_SARAMA}: kafka server: SASL Authentication failed: .*{_CREDENTIALS}",
    "sarama-1.43": f"{_SARAMA}: kafka server: SASL Authentication failed: .*{_CREDENTIALS}",
    "kafka-go": f"SASL Authentication Failed: .*{_CREDENTIALS}",
    "rust-rdkafka": f"Authentication.*{_CREDENTIALS}",
    "kafkajs": f"KafkaJSSASLAuthenticationError: .*{_CREDENTIALS}",
}
REFUSED_CERTIFICATE: Final[Reports] = {
    "librdkafka": "SSL alert number",
    "aiokafka": "KafkaConnectionError: Unable to bootstrap",
    "kafka-python": "KafkaTimeoutError: Unable to bootstrap",
    "java": "SslAuthenticationException",
    "franz-go": _GO_ALERT,
    "sarama": f"{_SARAMA}: {_GO_ALERT}",
    "sarama-1.43": f"{_SARAMA}: {_GO_ALERT}",
    "kafka-go": _GO_ALERT,
    "rust-rdkafka": "SSL alert number",
    "kafkajs": "KafkaJSNumberOfRetriesExceeded: Connection error: .* alert",
}


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, SecuredBroker]]:
    folder = tmp_path_factory.mktemp("refusals")
    with ExitStack() as running:
        yield {
            "Dray": running.enter_context(secured_dray(folder / "dray")),
            "Kafka": running.enter_context(secured_kafka(folder / "kafka")),
        }


def wrong_password(secrets: Secrets, user: str) -> Security:
    return secrets.with_password("SCRAM-SHA-512", user, "guessed")


@every_client
@pytest.mark.parametrize(
    ("login", "reports"),
    [
        pytest.param(wrong_password, WRONG_PASSWORD, id="wrong password"),
        pytest.param(Secrets.expired, REFUSED_CERTIFICATE, id="expired certificate"),
        pytest.param(Secrets.foreign, REFUSED_CERTIFICATE, id="foreign certificate"),
    ],
)
def test_client_reports_that_it_is_not_admitted(
    client: Client, login: Login, reports: Reports, sides: Mapping[str, SecuredBroker], tmp_path: Path
) -> None:
    def connect(program: ClientProcess) -> None:
        if client.name == "franz-go":  # its producer tries again, without end if it is given none
            program.describe_topic(DENIED)
        else:
            program.produce(DENIED, [Record(b"k", b"v")])

    for side, failed in _failures(client, login, connect, sides, tmp_path).items():
        assert re.search(reports[client.name], str(failed)), f"{side}: {failed}"


@every_client
def test_client_reports_a_topic_that_it_may_not_use(
    client: Client, sides: Mapping[str, SecuredBroker], tmp_path: Path
) -> None:
    """Only kafka-go does not say why: it looks for partitions without reading the error of the topic."""

    def login(secrets: Secrets, user: str) -> Security:
        return secrets.with_password("SCRAM-SHA-512", user)

    def produce(program: ClientProcess) -> None:
        program.produce(DENIED, [Record(b"k", b"v")])

    failures = _failures(client, login, produce, sides, tmp_path)
    assert str(failures["Dray"]) == str(failures["Kafka"])
    expected = UNKNOWN_TOPIC_OR_PARTITION if client.name == "kafka-go" else TOPIC_AUTHORIZATION_FAILED
    assert {failed.code for failed in failures.values()} == {expected}


def _failures(
    client: Client,
    login: Login,
    use: Callable[[ClientProcess], None],
    sides: Mapping[str, SecuredBroker],
    folder: Path,
) -> dict[str, ClientFailed]:
    """Return what the library reports on each broker; raises if it reports nothing in time."""

    def failure(side: str) -> ClientFailed:
        broker = sides[side]
        security = login(broker.secrets, client.name)
        with (
            closing(broker.program(client.name, security, folder / side)) as program,
            pytest.raises(ClientFailed) as failed,
        ):
            use(program)
        return failed.value

    with ThreadPoolExecutor(len(sides)) as at_once:
        return dict(zip(sides, at_once.map(failure, sides), strict=True))
