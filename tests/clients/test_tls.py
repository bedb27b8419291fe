"""Real clients over TLS: with and without certificates, refused, and while certificates are replaced."""

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dray.testing.ports import free_port
from tests.brokers import running_brokers
from tests.cli.invoking import invoke
from tests.clients.certificates import serial_number
from tests.clients.librdkafka.settings import Settings, connection
from tests.clients.process import ClientFailed, ClientProcess
from tests.clients.protocol import Record
from tests.clients.registry import CLIENTS
from tests.clients.security import Security, with_certificate
from tests.clients.target import EXTERNAL, needs
from tests.clients.topics import new_name
from tests.net.authority import Authority, Issued

pytestmark = [
    pytest.mark.skipif(bool(EXTERNAL), reason="the broker must be started with certificates of this test"),
    *needs("java"),
]
clients = pytest.mark.parametrize("name", ["librdkafka", "java"])
RECORDS = [Record(key=b"k%d" % number, value=b"v%d" % number) for number in range(100)]
ROTATIONS = 5
RELOAD_MS = 100


@dataclass(frozen=True, slots=True)
class Secured:
    """A broker with three listeners, and the certificates of its clients."""

    folder: Path
    authority: Authority
    ports: dict[str, int]

    def bootstrap(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def security(self, certificate: Issued | None = None) -> Security:
        if certificate is None:
            return Security(ca_file=str(self.authority.file))
        return with_certificate(self.authority.file, certificate)

    def program(self, name: str, listener: str, security: Security) -> ClientProcess:
        file = security.written(self.folder / f"{name}.json")
        command = [*CLIENTS[name].command(self.bootstrap(listener)), str(file)]
        return ClientProcess(command, self.folder / f"{name}.log")

    def librdkafka(self) -> Settings:
        return connection(self.bootstrap("SSL"), self.security())

    def serial(self) -> int:
        """Return the serial number of the certificate that a new connection gets."""
        return serial_number(self.bootstrap("SSL"), self.authority.file)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder)
    issued = authority.issue("broker", password="of the key")
    password = folder / "password"
    password.write_text("of the key\n")
    ports = {name: free_port() for name in ("PLAINTEXT", "SSL", "MUTUAL")}
    settings = {
        "broker.listener_protocols": "MUTUAL:SSL",
        "tls.certificate_file": str(issued.certificate),
        "tls.key_file": str(issued.key),
        "tls.key_password": f"file:{password}",
        "tls.client_ca_file": str(authority.file),
        "tls.client_auth": "none,MUTUAL:required",
        "tls.reload_interval_ms": str(RELOAD_MS),
    }
    listen = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    options = ["--listen", listen]
    for key, value in settings.items():
        options += ["--set", f"{key}={value}"]
    with running_brokers(1, folder / "data", options):
        yield Secured(folder, authority, ports)


@clients
@pytest.mark.parametrize("listener", ["SSL", "MUTUAL"])
def test_records_round_trip_over_tls(name: str, listener: str, secured: Secured) -> None:
    """Clients connect to the addresses in Metadata: one of another listener would fail."""
    certificate = secured.authority.issue("client") if listener == "MUTUAL" else None
    topic = new_name()
    with closing(secured.program(name, listener, secured.security(certificate))) as client:
        client.create_topic(topic)
        placed = client.produce(topic, RECORDS, codec="lz4", idempotent=True)
        assert [offset for _, offset in placed] == list(range(len(RECORDS)))
        read = client.consume(topic, len(RECORDS))
    assert [(one.key, one.value) for one in read] == [(one.key, one.value) for one in RECORDS]


def test_java_reports_why_it_is_refused_without_a_certificate(secured: Secured) -> None:
    with (
        closing(secured.program("java", "MUTUAL", secured.security())) as client,
        pytest.raises(ClientFailed, match="SslAuthenticationException"),
    ):
        client.create_topic(new_name())


def test_commands_take_the_properties_file_of_kafkas_tools(secured: Secured) -> None:
    security = secured.security(secured.authority.issue("commands"))
    properties = security.properties(secured.folder / "commands.properties")
    flags = ["--bootstrap", secured.bootstrap("MUTUAL"), "--command-config", str(properties)]
    topic = new_name()
    assert invoke("topics", "create", topic, *flags).code == 0
    assert invoke("produce", topic, "--quiet", *flags, stdin=b"hello\n").code == 0
    assert invoke("consume", topic, "--no-follow", *flags).out == b"hello\n"
    assert invoke("groups", "list", *flags).code == 0
    without = invoke("topics", "list", "--bootstrap", secured.bootstrap("MUTUAL"), "--timeout", "5")
    assert without.code == 1
    assert "cannot reach a broker" in without.err


def test_command_names_the_key_that_it_cannot_use(secured: Secured, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    for text, expected in (
        ("ssl.truststore.location=/t.jks", "ssl.truststore.type=JKS cannot be read"),
        ("none.such=1", 'No such configuration property: "none.such"'),
        (
            "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=/none.pem",
            "ssl.ca.location",
        ),
    ):
        properties.write_text(text)
        bootstrap = secured.bootstrap("SSL")
        result = invoke("topics", "list", "--bootstrap", bootstrap, "--command-config", str(properties))
        assert result.code == 2
        assert result.err.startswith(f"dray: {properties}: ")
        assert expected in result.err


def test_certificates_are_replaced_under_load_without_a_failed_request(secured: Secured) -> None:
    """An idempotent producer has requests in flight, and new connections are made, all the time."""
    topic = new_name()
    common = secured.librdkafka()
    admin = AdminClient(common)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    failures: list[str] = []
    delivered = 0

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        nonlocal delivered
        if error is None:
            delivered += 1
        else:
            failures.append(str(error))

    def on_error(error: KafkaError) -> None:
        failures.append(str(error))

    rotated, serials = threading.Event(), [secured.serial()]

    def rotate() -> None:
        for _ in range(ROTATIONS):
            wanted = secured.authority.issue("broker", password="of the key").content.serial_number
            while serials[-1] != wanted and not failures:
                serials.append(secured.serial())
                connected = Consumer({**common, "group.id": "x", "error_cb": on_error})
                connected.list_topics(topic, 30)
                connected.close()
        rotated.set()

    rotating = threading.Thread(target=rotate, daemon=True)
    producer = Producer({**common, "enable.idempotence": True, "linger.ms": 1, "error_cb": on_error})
    rotating.start()
    sent = 0
    while not (rotated.is_set() or failures):
        producer.produce(topic, b"%d" % sent, on_delivery=on_delivery)
        sent += 1
        producer.poll(0 if sent % 10 else 0.001)
    rotating.join(60)
    assert producer.flush(30) == 0
    assert failures == []
    assert len(set(serials)) == ROTATIONS + 1
    assert delivered == sent > 0
    consumer = Consumer({**common, "group.id": "y"})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), 30) == (0, sent)
    consumer.close()
