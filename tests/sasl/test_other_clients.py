"""SASL code of kafka-python and aiokafka, which others have written, against our exchanges."""

import importlib
import warnings
from typing import Any

import pytest

from dray.sasl import Accepted, Challenge, Claims, InvalidToken, Rejected
from tests.sasl.hosts import Host, users

HOST = Host(
    users(alice="secret"),
    validate=lambda token: Claims("alice", 5) if token == "a.b.c" else InvalidToken("not the one"),
)
each_scram = pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])


def imported(module: str) -> Any:
    """Import a module; kafka-python calls what Python 3.11 deprecates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return importlib.import_module(module)


def finished(client: Any, mechanism: str) -> Accepted | Rejected:
    """Run a client of kafka-python to the end."""
    exchange = HOST.open(mechanism)
    while True:
        event = HOST.send(exchange, client.auth_bytes())
        if isinstance(event, Rejected):
            return event
        client.receive(event.message)
        if isinstance(event, Accepted):
            assert client.is_done()
            assert client.is_authenticated()
            return event


def scram(mechanism: str, password: str) -> Any:
    return imported("kafka.net.sasl.scram").SaslMechanismScram(
        sasl_mechanism=mechanism, sasl_plain_username="alice", sasl_plain_password=password
    )


@each_scram
def test_scram_of_kafka_python(mechanism: str) -> None:
    assert isinstance(finished(scram(mechanism, "secret"), mechanism), Accepted)
    assert isinstance(finished(scram(mechanism, "wrong"), mechanism), Rejected)


@pytest.mark.parametrize(("password", "end"), [("secret", Accepted), ("wrong", Rejected)])
def test_plain_of_kafka_python(password: str, end: type) -> None:
    plain = imported("kafka.net.sasl.plain")
    client = plain.SaslMechanismPlain(sasl_plain_username="alice", sasl_plain_password=password)
    assert isinstance(finished(client, "PLAIN"), end)


@pytest.mark.parametrize(("token", "end"), [("a.b.c", Accepted), ("d.e.f", Rejected)])
def test_oauthbearer_of_kafka_python(token: str, end: type) -> None:
    oauth = imported("kafka.net.sasl.oauth")
    extensions = {"logicalCluster": "lkc-1", "identityPoolId": "pool 1"}
    provider = type(
        "Provider",
        (oauth.AbstractTokenProvider,),
        {"token": lambda _: token, "extensions": lambda _: extensions},
    )
    client = oauth.SaslMechanismOAuth(sasl_oauth_token_provider=provider())
    assert isinstance(finished(client, "OAUTHBEARER"), end)


@each_scram
def test_scram_of_aiokafka(mechanism: str) -> None:
    for password, expected in (("secret", Accepted), ("wrong", Rejected)):
        client = imported("aiokafka.conn").ScramAuthenticator(
            loop=None,
            sasl_plain_password=password,
            sasl_plain_username="alice",
            sasl_mechanism=mechanism,
        )
        exchange = HOST.open(mechanism)
        challenge = HOST.send(exchange, client.first_message().encode())
        assert isinstance(challenge, Challenge)
        client.process_server_first_message(challenge.message.decode())
        end = HOST.send(exchange, client.final_message().encode())
        assert isinstance(end, expected)
        if isinstance(end, Accepted):
            client.process_server_final_message(end.message.decode())
