"""Apache Kafka's own SASL servers, called through a small Java program."""

import base64
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from tests.oracle import jars
from tests.oracle.environment import unmeasured

_SOURCE: Final = Path(__file__).parent / "java" / "SaslServers.java"


@dataclass(frozen=True)
class KafkaChallenge:
    message: bytes


@dataclass(frozen=True)
class KafkaAccepted:
    message: bytes
    principal_name: str


@dataclass(frozen=True)
class KafkaFailed:
    exception: str
    message: str

    @property
    def closes(self) -> bool:
        """Whether a broker closes the connection without a response."""
        return not self.exception.startswith(("Sasl", "IllegalSasl"))

    def for_the_client(self, mechanism: str) -> str:
        """Return what a broker sends: the message of a `SaslException` is replaced."""
        if self.exception != "SaslException":
            return self.message
        return (
            "Authentication failed during authentication due to invalid credentials "
            f"with SASL mechanism {mechanism}"
        )


KafkaEvent = KafkaChallenge | KafkaAccepted | KafkaFailed


class KafkaServers:
    """The running program; it serves one exchange at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._requests: IO[bytes] = process.stdin
        self._responses: IO[bytes] = process.stdout

    def open(self, mechanism: str) -> None:
        self._requests.write(f"open {mechanism}\n".encode())

    def send(self, message: bytes) -> KafkaEvent:
        self._requests.write(b"send " + base64.b64encode(message) + b"\n")
        self._requests.flush()
        line = self._responses.readline().decode()
        assert line, "the Java program has exited; its output is above"
        kind, *values = line.rstrip("\n").split(" ")
        if kind == "failed":
            return KafkaFailed(values[0], base64.b64decode(values[1]).decode())
        message = base64.b64decode(values[0])
        if kind == "accepted":
            return KafkaAccepted(message, base64.b64decode(values[1]).decode())
        return KafkaChallenge(message)


@contextmanager
def kafka_servers(
    folder: Path, key_set: Mapping[str, Any], issuer: str, audience: str, passwords: Mapping[str, str]
) -> Iterator[KafkaServers]:
    classes = jars.compiled("java-sasl-servers", [_SOURCE])
    keys = folder / "keys.json"
    keys.write_text(json.dumps(key_set))
    options = (*jars.QUICK, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}")
    users = [text for pair in passwords.items() for text in pair]
    command = jars.java(
        "SaslServers", keys.as_uri(), issuer, audience, *users, extra=str(classes), options=options
    )
    with subprocess.Popen(
        command, env=unmeasured(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield KafkaServers(process)
