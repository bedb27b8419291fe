"""Checks of PEM files, with messages that say what is wrong; OpenSSL's own are the same for most mistakes."""

from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from dray.net.tls import TlsError

_BEGIN: Final = b"-----BEGIN "
_KEYSTORES: Final = {b"\xfe\xed\xfe\xed": "a JKS keystore", b"\x30": "DER or a PKCS12 keystore"}
_CONVERT: Final = (
    "Dray reads PEM: keytool -importkeystore -srckeystore STORE -destkeystore store.p12, then "
    "openssl pkcs12 -in store.p12 -nodes"
)


def check_pair(certificate_file: str, key_file: str, password: str | None, *, now_s: float) -> float:
    """Check a certificate and its key; returns when the certificate expires, in seconds since 1970."""
    certificate = _certificates(certificate_file)[0]
    key = _key(key_file, password)
    if _public(certificate.public_key()) != _public(key.public_key()):
        raise TlsError(f"the key in {key_file} is not that of the certificate in {certificate_file}")
    starts, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now_s < starts.timestamp():
        raise TlsError(
            f"the certificate in {certificate_file} is not valid before {starts:%Y-%m-%d %H:%M} UTC"
        )
    if now_s >= ends.timestamp():
        raise TlsError(
            f"the certificate in {certificate_file} expired at {ends:%Y-%m-%d %H:%M} UTC; renew it"
        )
    return ends.timestamp()


def check_authorities(path: str) -> None:
    """Check a file with the certificates of authorities."""
    _certificates(path)


def _certificates(path: str) -> list[x509.Certificate]:
    data = _read(path)
    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError as error:
        raise TlsError(f"{path} contains no certificate that can be read: {error}") from error


def _key(path: str, password: str | None) -> PrivateKeyTypes:
    data = _read(path)
    encrypted = b"ENCRYPTED" in data
    if encrypted and password is None:
        raise TlsError(f"the key in {path} is encrypted; set tls.key_password")
    try:
        return load_pem_private_key(data, password.encode() if encrypted and password is not None else None)
    except (ValueError, TypeError) as error:
        if encrypted:
            raise TlsError(f"the key in {path} cannot be decrypted with tls.key_password") from error
        raise TlsError(f"{path} contains no private key that can be read: {error}") from error


def _read(path: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise TlsError(f"cannot read {path}: {error.strerror}") from error
    if _BEGIN not in data:
        kind = next((name for magic, name in _KEYSTORES.items() if data.startswith(magic)), "not PEM")
        raise TlsError(f"{path} is {kind}. {_CONVERT}")
    return data


def _public(key: object) -> bytes:
    exported: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]
    return exported
