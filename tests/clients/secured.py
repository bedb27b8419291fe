"""Brokers that admit only known users: listeners SASL_SSL and SSL (client certificates), and an authorizer.

The same on Dray and on Apache Kafka. Every client library has a user of its own name, a certificate and a
token, and may do with the topics of the tests what they do, and nothing else. Users and ACLs are made over
the socket, by an administrator.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

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
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)
from joserfc import jwt
from joserfc.jwk import ECKey

from dray.testing.ports import free_ports
from tests.brokers import running_brokers
from tests.cli.invoking import invoke
from tests.clients.librdkafka.settings import Settings, connection
from tests.clients.process import ClientProcess
from tests.clients.registry import CLIENTS
from tests.clients.security import Mechanism, Security, with_certificate
from tests.net.authority import Authority
from tests.oracle import kafka

ADMIN: Final = "admin"
AUDIENCE: Final = "the tests"
CERTIFICATE: Final = "broker"
"""Name of the broker's certificate."""
DENIED: Final = "denied"
"""A topic that no client may use."""
TOKEN_S: Final = 3600
TOPICS: Final = "matrix-"
GROUPS: Final = {"kafkajs": "reader-", "librdkafka": "none", "rust-rdkafka": "none"}
"""Prefixes of the groups of clients that cannot read without one; librdkafka looks for its coordinator."""
MEMBERS: Final = "group-of-"
_OPERATIONS: Final = (AclOperation.CREATE, AclOperation.READ, AclOperation.WRITE)
_SUBJECT: Final = "RULE:^CN=([^,]+).*$/$1/"
_WAIT_S: Final = 30.0


def password_of(user: str) -> str:
    return f"the password of {user}"


@dataclass(frozen=True, slots=True)
class Secrets:
    """The authority of all certificates, and the key that signs tokens."""

    folder: Path
    authority: Authority
    key: ECKey

    @classmethod
    def made(cls, folder: Path) -> "Secrets":
        folder.mkdir(exist_ok=True)
        key = ECKey.generate_key("P-256", {"kid": "one", "use": "sig"})
        (folder / "jwks.json").write_text(json.dumps({"keys": [key.as_dict(private=False)]}))
        return cls(folder, Authority(folder), key)

    def with_password(self, mechanism: Mechanism, user: str, password: str | None = None) -> Security:
        return Security(
            ca_file=str(self.authority.file),
            mechanism=mechanism,
            username=user,
            password=password or password_of(user),
        )

    def with_token(self, user: str, lifetime_s: int = TOKEN_S) -> Security:
        now = int(time.time())
        claims = {"sub": user, "aud": AUDIENCE, "iat": now, "exp": now + lifetime_s}
        file = self.folder / f"{user}.token"
        file.write_text(jwt.encode({"alg": "ES256", "kid": "one"}, claims, self.key))
        return Security(ca_file=str(self.authority.file), mechanism="OAUTHBEARER", token_file=str(file))

    def by(self, way: Mechanism | None, user: str) -> Security:
        """Return how a user logs in with a mechanism; without one, with a certificate."""
        if way is None:
            return with_certificate(self.authority.file, self.authority.issue(user))
        return self.with_token(user) if way == "OAUTHBEARER" else self.with_password(way, user)

    def expired(self, user: str) -> Security:
        issued = self.authority.issue(f"{user}-expired", valid_for=timedelta(days=-1))
        return with_certificate(self.authority.file, issued)

    def foreign(self, user: str) -> Security:
        """Return a login with a certificate of an authority that the broker does not know."""
        return with_certificate(
            self.authority.file, Authority(self.folder, "foreign").issue(f"{user}-foreign")
        )


@dataclass(frozen=True, slots=True)
class SecuredBroker:
    """A broker with its users.

    `admin` are librdkafka's settings of the administrator, and `http` is where Dray has its metrics.
    """

    secrets: Secrets
    listeners: Mapping[str, str]
    admin: Settings
    http: str = ""

    def bootstrap(self, security: Security) -> str:
        return self.listeners[security.protocol]

    def login(self, client: str) -> Security:
        return self.secrets.with_password("SCRAM-SHA-512", client)

    def program(self, client: str, security: Security, folder: Path) -> ClientProcess:
        """Start a program with its files in a folder."""
        folder.mkdir(exist_ok=True)
        file = security.written(folder / f"{client}.json")
        command = [*CLIENTS[client].command(self.bootstrap(security)), str(file)]
        return ClientProcess(command, folder / f"{client}.log")

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        admin = AdminClient(self.admin)  # must outlive its futures
        _done(admin.create_topics([NewTopic(topic, partitions, 1)]))


@contextmanager
def secured_dray(
    folder: Path, settings: Mapping[str, str] | None = None, options: Sequence[str] = ()
) -> Iterator[SecuredBroker]:
    """Run a broker; its first user is added to the metadata store, the others over the socket."""
    secrets, data = Secrets.made(folder), folder / "data"
    issued = secrets.authority.issue(CERTIFICATE)
    sasl, ssl, http = (f"127.0.0.1:{port}" for port in free_ports(3))
    flags = [*options, "--http", http, "--listen", f"SASL_SSL://{sasl},SSL://{ssl}"]
    given = {
        "tls.certificate_file": str(issued.certificate),
        "tls.key_file": str(issued.key),
        "tls.client_ca_file": str(secrets.authority.file),
        "tls.client_auth": "none,SSL:required",
        "tls.principal_mapping_rules": _SUBJECT,
        "sasl.enabled_mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "sasl.oauthbearer_jwks": str(secrets.folder / "jwks.json"),
        "sasl.oauthbearer_expected_audience": AUDIENCE,
        "security.authorizer_enable": "true",
        "security.super_users": f"User:{ADMIN}",
        **(settings or {}),
    }
    for name, value in given.items():
        flags += ["--set", f"{name}={value}"]
    with running_brokers(1, data, flags):
        added = invoke("users", "add", ADMIN, "--data-dir", str(data), stdin=password_of(ADMIN).encode())
        assert added.code == 0, added.err
        admin = connection(sasl, secrets.with_password("SCRAM-SHA-512", ADMIN))
        _populate(admin)
        yield SecuredBroker(secrets, {"SASL_SSL": sasl, "SSL": ssl}, admin, http)


@contextmanager
def secured_kafka(folder: Path) -> Iterator[SecuredBroker]:
    """Run Apache Kafka, where a listener in plain text is the administrator's."""
    secrets = Secrets.made(folder)
    settings = _kafka_settings(secrets)
    with kafka.serve(folder / "kafka", settings, ("SASL_SSL", "SSL")) as running:
        admin: Settings = {"bootstrap.servers": running.bootstrap}
        _populate(admin)
        yield SecuredBroker(secrets, running.listeners, admin)


def _kafka_settings(secrets: Secrets) -> dict[str, str]:
    issued = secrets.authority.issue(CERTIFICATE)
    both = secrets.folder / "broker-both.pem"
    both.write_bytes(issued.key.read_bytes() + issued.certificate.read_bytes())
    security = "org.apache.kafka.common.security"
    users = " ".join(f'user_{name}="{password_of(name)}"' for name in (ADMIN, *CLIENTS))
    plain = f"{security}.plain.PlainLoginModule required {users};"
    scram = f"{security}.scram.ScramLoginModule required;"
    listeners = ("PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT", "SSL:SSL", "SASL_SSL:SASL_SSL")
    return {
        "listener.security.protocol.map": ",".join(listeners),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(secrets.authority.file),
        "listener.name.ssl.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": _SUBJECT,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": plain,
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": scram,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN};User:ANONYMOUS",
    }


def _populate(settings: Settings) -> None:
    """Create the users of the clients, their ACLs, and the topic that is denied to them."""
    admin = AdminClient(settings)
    for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):  # Kafka wants one a request
        credentials: list[UserScramCredentialAlteration] = [
            UserScramCredentialUpsertion(name, ScramCredentialInfo(kind, 4096), password_of(name).encode())
            for name in (ADMIN, *CLIENTS)
        ]
        _done(admin.alter_user_scram_credentials(credentials))
    _done(admin.create_acls([acl for name in CLIENTS for acl in _acls(name)]))
    _done(admin.create_topics([NewTopic(DENIED, 1, 1)]))


def _acls(user: str) -> list[AclBinding]:
    groups = [MEMBERS, GROUPS[user]] if user in GROUPS else [MEMBERS]
    return [
        *(_allowed(user, ResourceType.TOPIC, TOPICS, operation) for operation in _OPERATIONS),
        *(_allowed(user, ResourceType.GROUP, prefix, AclOperation.READ) for prefix in groups),
    ]


def _allowed(user: str, kind: ResourceType, prefix: str, operation: AclOperation) -> AclBinding:
    prefixed, allow = ResourcePatternType.PREFIXED, AclPermissionType.ALLOW
    return AclBinding(kind, prefix, prefixed, f"User:{user}", "*", operation, allow)


def _done(futures: dict[Any, Any]) -> None:
    for future in futures.values():
        future.result(_WAIT_S)
