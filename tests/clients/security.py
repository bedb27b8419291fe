"""Security settings of a client program: a JSON file, whose path is its second argument.

    {"ca_file", "certificate_file", "key_file", "mechanism", "username", "password", "token_file"}

With such a file a program connects with TLS, and with SASL if there is a mechanism. The token of OAUTHBEARER
is read from its file whenever the library needs one, so that it may be renewed.
"""

import base64
from pathlib import Path
from typing import Final, Literal

import msgspec

from tests.net.authority import Issued

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]

PASSWORDS: Final[tuple[Mechanism, ...]] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""Mechanisms with a user name and a password."""
_LOGIN_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class Security(msgspec.Struct, frozen=True, kw_only=True):
    """All files are PEM."""

    ca_file: str
    certificate_file: str | None = None
    key_file: str | None = None
    mechanism: Mechanism | None = None
    username: str | None = None
    password: str | None = None
    token_file: str | None = None

    @property
    def protocol(self) -> str:
        return "SASL_SSL" if self.mechanism else "SSL"

    def written(self, file: Path) -> Path:
        """Write the file that a program reads, and return its path."""
        file.write_bytes(msgspec.json.encode(self))
        return file

    def properties(self, file: Path) -> Path:
        """Write the same as a properties file of Kafka's tools, and return its path."""
        lines = {
            "security.protocol": self.protocol,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.ca_file,
        }
        if self.certificate_file and self.key_file:
            both = file.with_suffix(".pem")
            both.write_text(Path(self.key_file).read_text() + Path(self.certificate_file).read_text())
            lines |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(both)}
        if self.mechanism:
            module = _LOGIN_MODULES[self.mechanism]
            login = f'{module} required username="{self.username}" password="{self.password}";'
            lines |= {"sasl.mechanism": self.mechanism, "sasl.jaas.config": login}
        file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        return file


def with_certificate(ca_file: Path, issued: Issued) -> Security:
    return Security(ca_file=str(ca_file), certificate_file=str(issued.certificate), key_file=str(issued.key))


def read(file: str) -> Security:
    return msgspec.json.decode(Path(file).read_bytes(), type=Security)


def token_of(security: Security) -> tuple[str, float]:
    """Return the token and the time when it expires, in seconds."""
    assert security.token_file is not None
    token = Path(security.token_file).read_text()
    claims = token.split(".")[1]
    decoded = msgspec.json.decode(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    return token, float(decoded["exp"])
