"""Certificates for tests: an authority, and certificates that it signs, as PEM files."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


def named(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key, in files."""

    certificate: Path
    key: Path
    content: x509.Certificate

    @property
    def der(self) -> bytes:
        return self.content.public_bytes(Encoding.DER)


class Authority:
    """Signs certificates for `localhost` and addresses, with its own certificate in `file`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = named(name)
        self.file = folder / f"{name}.pem"
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        self._certificate = self._signed(self._name, self._key.public_key(), 3650 * DAY, constraints)
        self.file.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def issue(
        self,
        name: str,
        *,
        subject: x509.Name | None = None,
        password: str | None = None,
        valid_for: timedelta = DAY,
        addresses: Sequence[str] = ("127.0.0.1",),
    ) -> Issued:
        """Write NAME.pem and NAME.key; files of that name are replaced."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = self._signed(subject or named(name), key.public_key(), valid_for, addresses=addresses)
        certificate, key_file = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        encryption = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
        exported = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
        _replace(certificate, made.public_bytes(Encoding.PEM))
        _replace(key_file, exported)
        return Issued(certificate, key_file, made)

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        valid_for: timedelta,
        constraints: x509.BasicConstraints | None = None,
        addresses: Sequence[str] = (),
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        names = [*(x509.IPAddress(ip_address(one)) for one in addresses), x509.DNSName("localhost")]
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * DAY)
            .not_valid_after(now + valid_for)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
        )
        if constraints is not None:
            builder = builder.add_extension(constraints, critical=True)
        return builder.sign(self._key, SHA256())


def _replace(path: Path, data: bytes) -> None:
    """Replace a file in one step, as deployment tools do."""
    new = path.with_suffix(".new")
    new.write_bytes(data)
    new.chmod(0o600)
    new.rename(path)
