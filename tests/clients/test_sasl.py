"""Real clients that authenticate with SASL, and what ACLs let them do: librdkafka and aiokafka."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from joserfc import jwt
from joserfc.jwk import RSAKey

from dray.testing import EmbeddedBroker, broker

PASSWORD: Final = "alice's password"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
KEY: Final = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """A broker with one listener for an administrator, and one that authenticates; alice may use `orders`."""
    keys = tmp_path_factory.mktemp("keys") / "jwks.json"
    keys.write_text(json.dumps({"keys": [KEY.as_dict(private=False)]}))
    settings = {
        "broker.listen": "ADMIN://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
        "broker.listener_protocols": "ADMIN:PLAINTEXT",
        "sasl.enabled_mechanisms": ",".join((*MECHANISMS, "OAUTHBEARER")),
        "sasl.oauthbearer_jwks": str(keys),
        "sasl.oauthbearer_expected_audience": "dray",
        "sasl.connection_failed_authentication_delay_ms": "10",
        "security.authorizer_enable": "true",
        "security.super_users": "User:ANONYMOUS",
    }
    with broker(settings) as running:
        admin = AdminClient({"bootstrap.servers": running.listeners["ADMIN"]})
        _done(admin.create_topics([NewTopic("orders", 1), NewTopic("secret", 1)]))
        _done(
            admin.alter_user_scram_credentials(
                [
                    UserScramCredentialUpsertion("alice", ScramCredentialInfo(kind, 4096), PASSWORD.encode())
                    for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
                ]
            )
        )
        _done(
            admin.create_acls(
                [
                    _allow(ResourceType.TOPIC, "orders", AclOperation.WRITE),
                    _allow(ResourceType.TOPIC, "orders", AclOperation.READ),
                    _allow(ResourceType.GROUP, "g", AclOperation.READ),
                ]
            )
        )
        yield running


def _allow(kind: ResourceType, name: str, operation: AclOperation) -> AclBinding:
    literal, allowed = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    return AclBinding(kind, name, literal, "User:alice", "*", operation, allowed)


def _done(futures: dict[Any, Any]) -> None:
    for future in futures.values():
        future.result(10)


def _settings(secured: EmbeddedBroker, mechanism: str, password: str = PASSWORD) -> dict[str, Any]:
    return {
        "bootstrap.servers": secured.listeners["SASL_PLAINTEXT"],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": password,
    }


def _produced(settings: dict[str, Any], topic: str) -> KafkaError | None:
    """Return the error of one record; None if it was stored."""
    outcome: list[KafkaError | None] = []
    producer = Producer(settings | {"enable.idempotence": True, "message.timeout.ms": 10_000})
    producer.produce(topic, b"x", on_delivery=lambda error, _: outcome.append(error))
    producer.flush(15)
    return outcome[0]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_authenticates_and_uses_what_it_may(secured: EmbeddedBroker, mechanism: str) -> None:
    settings = _settings(secured, mechanism)
    assert _produced(settings, "orders") is None
    denied = _produced(settings, "secret")
    assert denied is not None
    assert denied.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    consumer = Consumer(settings | {"group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    try:
        record = consumer.poll(15)
        assert record is not None
        assert record.error() is None
    finally:
        consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_is_refused_with_a_wrong_password(secured: EmbeddedBroker, mechanism: str) -> None:
    reported: list[KafkaError] = []
    client = Producer(_settings(secured, mechanism, "guessed") | {"error_cb": reported.append})
    deadline = time.monotonic() + 10
    while not any(error.code() == KafkaError._AUTHENTICATION for error in reported):
        assert time.monotonic() < deadline, reported
        client.poll(0.05)
    with pytest.raises(KafkaException):
        client.list_topics(timeout=1)


def test_librdkafka_authenticates_with_a_token(secured: EmbeddedBroker) -> None:
    def signed(_: str) -> tuple[str, float]:
        now = int(time.time())
        claims = {"sub": "alice", "aud": "dray", "iat": now, "exp": now + 300}
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, KEY), now + 300

    settings = {
        "bootstrap.servers": secured.listeners["SASL_PLAINTEXT"],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": signed,
    }
    assert _produced(settings, "orders") is None


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_aiokafka_authenticates(secured: EmbeddedBroker, mechanism: str) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=secured.listeners["SASL_PLAINTEXT"],
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_plain_username="alice",
        sasl_plain_password=PASSWORD,
    )
    await producer.start()
    try:
        assert (await producer.send_and_wait("orders", b"x")).topic == "orders"
    finally:
        await producer.stop()


def test_a_deleted_user_cannot_authenticate_again(secured: EmbeddedBroker) -> None:
    admin = AdminClient({"bootstrap.servers": secured.listeners["ADMIN"]})
    added = UserScramCredentialUpsertion("bob", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"b")
    _done(admin.alter_user_scram_credentials([added]))
    bob = _settings(secured, "PLAIN", "b") | {"sasl.username": "bob"}
    assert AdminClient(bob).list_topics(timeout=10).topics == {}, "bob may not see any topic"
    deletion = UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_256)
    _done(admin.alter_user_scram_credentials([deletion]))
    with pytest.raises(KafkaException):
        AdminClient(bob).list_topics(timeout=2)


def test_users_are_described_without_secrets(secured: EmbeddedBroker) -> None:
    admin = AdminClient({"bootstrap.servers": secured.listeners["ADMIN"]})
    asked = admin.describe_user_scram_credentials(["alice"])
    assert isinstance(asked, dict)
    described = asked["alice"].result(10)
    infos = {(one.mechanism, one.iterations) for one in described.scram_credential_infos}
    assert infos == {(ScramMechanism.SCRAM_SHA_256, 4096), (ScramMechanism.SCRAM_SHA_512, 4096)}
