"""Listeners of a broker from its settings: what is refused at the start, and what clients are given."""

import asyncio
import http.client
import ssl
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

from dray.net.endpoints import Protocol
from dray.net.tls import ClientAuth
from dray.runtime import SystemClock
from dray.server.broker import running_broker
from dray.server.errors import ConfigurationError, StartupError
from dray.server.listeners import check_listeners, listeners_of
from dray.server.serving import address_line
from dray.server.stores import process_context
from dray.settings import DraySettings, SettingsError, load_settings
from dray.testing import broker
from tests.cli.invoking import invoke
from tests.net.authority import Authority, Issued


def settings(*pairs: str) -> DraySettings:
    return load_settings(None, {}, {}, pairs).settings


def certified(issued: Issued, *pairs: str) -> DraySettings:
    files = (f"tls.certificate_file={issued.certificate}", f"tls.key_file={issued.key}")
    return settings(*files, *pairs)


@pytest.fixture
def issued(tmp_path: Path) -> Issued:
    return Authority(tmp_path).issue("broker")


@pytest.mark.parametrize(
    "listen", ["10.0.0.1:9092", "kafka.example:9092", "SSL://127.0.0.1:1,PLAINTEXT://10.0.0.1:9092"]
)
def test_listener_without_tls_that_others_can_reach_must_be_wanted(listen: str, issued: Issued) -> None:
    pair = f"broker.listen={listen}"
    with pytest.raises(
        ConfigurationError, match=r"^listener PLAINTEXT at .*9092 would let any client .*--insec"
    ):
        check_listeners(certified(issued, pair))
    assert check_listeners(certified(issued, pair, "broker.insecure=true"))


def test_wildcard_address_counts_as_one_that_others_can_reach() -> None:
    pairs = ("broker.listen=0.0.0.0:9092", "broker.advertise=127.0.0.1:9092")
    with pytest.raises(ConfigurationError, match=r"use SSL://0\.0\.0\.0:9092, or allow it with --insecure"):
        check_listeners(settings(*pairs))


@pytest.mark.parametrize("listen", ["127.0.0.1:9092", "[::1]:9092", "localhost:9092"])
def test_listener_on_loopback_needs_no_flag(listen: str) -> None:
    assert check_listeners(settings(f"broker.listen={listen}"))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (
            ["broker.listen=SSL://127.0.0.1:1"],
            "listener SSL uses SSL and there is no certificate; set tls.certi",
        ),
        (
            ["broker.listen=SASL_PLAINTEXT://127.0.0.1:1", "sasl.enabled_mechanisms=GSSAPI"],
            "sasl.enabled_mechanisms names GSSAPI; there are PLAIN, SCRAM-SHA-256",
        ),
        (
            ["broker.listen=SASL_PLAINTEXT://127.0.0.1:1", "sasl.enabled_mechanisms=OAUTHBEARER"],
            "sasl.enabled_mechanisms names OAUTHBEARER and nothing says whose tokens are valid",
        ),
        (
            ["broker.http=https://127.0.0.1:1"],
            "broker.http is https://127.0.0.1:1 and there is no certificate",
        ),
        (
            ["tls.client_auth=IN:required"],
            "tls.client_auth names IN, which is not a listener of broker.listen",
        ),
        (
            ["net.connections_per_listener_max=IN:5"],
            "net.connections_per_listener_max names IN, which is not",
        ),
        (
            ["broker.listen=SSL://127.0.0.1:1", "tls.certificate_file=/x", "tls.client_auth=required"],
            "listener SSL: tls.client_auth is required, and nothing says which certificates to accept; set",
        ),
    ],
)
def test_listeners_that_cannot_be_served_are_refused(pairs: list[str], expected: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{expected}"):
        check_listeners(settings(*pairs))


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("tls.client_auth=always", "client_auth: 'always' is unknown; expected none, requested, required"),
        ("tls.client_auth=none,required", "client_auth has two values for all listeners, none and required"),
        ("tls.protocols=TLSv1.1", "protocols: 'TLSv1.1' is unknown; expected TLSv1.2 or TLSv1.3"),
        ("tls.principal_mapping_rules=RULE:x", r"principal_mapping_rules: expected DEFAULT or RULE:PATTERN"),
        (
            "tls.principal_mapping_rules=RULE:(/x/",
            r"principal_mapping_rules: the pattern '\(' is not a regular",
        ),
    ],
)
def test_malformed_tls_settings_are_refused(pair: str, expected: str) -> None:
    with pytest.raises(SettingsError, match=expected):
        settings(pair)


def test_start_with_a_certificate_that_cannot_be_used_names_the_file(issued: Issued) -> None:
    issued.key.write_text("no key")

    async def start() -> None:
        given = certified(
            issued, "broker.listen=SSL://127.0.0.1:0", "metadata.url=memory:", "storage.url=memory:"
        )
        async with running_broker(given, process_context()):
            raise AssertionError

    with pytest.raises(StartupError, match=rf"^{issued.key} is not PEM"):
        asyncio.run(start())


def test_client_certificates_are_asked_for_by_listener(issued: Issued, tmp_path: Path) -> None:
    given = certified(
        issued,
        "broker.listen=SSL://127.0.0.1:1,IN://127.0.0.1:2,PLAINTEXT://127.0.0.1:3",
        "broker.listener_protocols=IN:SSL",
        "tls.client_auth=required,IN:none",
        f"tls.client_ca_file={tmp_path / 'authority.pem'}",
    )
    found = listeners_of(given, SystemClock(), lambda _, begin: begin)
    assert [one.protocol for one in found.plans] == [Protocol.SSL, Protocol.SSL, Protocol.PLAINTEXT]
    auth = [None if one.tls is None else one.tls.auth for one in found.specs]
    assert auth == [ClientAuth.REQUIRED, ClientAuth.NONE, None]


def test_commands_refuse_in_one_line_with_the_exit_code_of_wrong_settings() -> None:
    for command in (["up"], ["up", "--brokers", "2"]):
        result = invoke(*command, "--listen", "10.0.0.1:9092")
        assert (result.code, len(result.err.splitlines())) == (2, 1)
        assert "--insecure" in result.err


def test_clients_are_given_the_addresses_of_their_listener() -> None:
    listen = "IN://127.0.0.1:0,OUT://localhost:0"
    given = {"broker.listen": listen, "broker.listener_protocols": "IN:PLAINTEXT,OUT:PLAINTEXT"}
    with broker(given) as running:
        assert list(running.listeners) == ["IN", "OUT"]
        admins = [AdminClient({"bootstrap.servers": address}) for address in running.listeners.values()]
        seen = [one for admin in admins for one in admin.list_topics(timeout=10).brokers.values()]
        assert [f"{one.host}:{one.port}" for one in seen] == list(running.listeners.values())
        admin, resource = admins[0], ConfigResource("broker", str(seen[0].id))
        configs = admin.describe_configs([resource])[resource].result(10)
        both = ",".join(f"{name}://{address}" for name, address in running.listeners.items())
        assert configs["listeners"].value == configs["advertised.listeners"].value == both
        assert configs["listener.security.protocol.map"].value == "IN:PLAINTEXT,OUT:PLAINTEXT"


def test_http_endpoint_with_tls_uses_the_certificate(issued: Issued, tmp_path: Path) -> None:
    given = {
        "broker.http": "https://127.0.0.1:0",
        "tls.certificate_file": str(issued.certificate),
        "tls.key_file": str(issued.key),
    }
    with broker(given) as running:
        assert running.http.startswith("https://127.0.0.1:")
        port = int(running.http.rpartition(":")[2])
        context = ssl.create_default_context(cafile=str(tmp_path / "authority.pem"))
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
        with closing(connection):
            connection.request("GET", "/readyz")
            assert connection.getresponse().status == 200
    assert address_line("a:1", running.http).endswith(f"metrics on {running.http}")


@pytest.mark.parametrize(("http_address", "lines"), [("127.0.0.2:0", 0), ("0.0.0.0:0", 1)])
def test_http_endpoint_that_others_can_reach_without_tls_is_logged(
    http_address: str, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    with broker({"broker.http": http_address}):
        logged = [one.msg for one in caplog.records if isinstance(one.msg, dict)]
    assert len([line for line in logged if line["event"] == "http_without_tls"]) == lines
