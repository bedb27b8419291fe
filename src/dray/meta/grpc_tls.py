"""TLS of gRPC clients, shared by etcd and Oxia: the files, and what the text of a failure means."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc

from dray.meta.port import StoreUnusable

_FAILURES: Final = (
    ("certificate has expired", "its certificate has expired; renew it"),
    ("Hostname Verification", "its certificate is for another host name; use a name that it contains"),
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not signed by metadata.tls_ca_file"),
    ("TSI_DATA_CORRUPTED", "it requires another client certificate; check metadata.tls_certificate_file"),
    ("WRONG_VERSION_NUMBER", "it does not speak TLS; unset metadata.tls_ca_file"),
)
_CLOSED: Final = "Socket closed"
_HINTS: Final = {
    "Handshake read failed": "if it does not speak TLS, unset metadata.tls_ca_file",
    _CLOSED: "if it requires TLS, set metadata.tls_ca_file",
}


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files: the authorities that sign servers, and this client's certificate."""

    authorities: str
    certificate: str | None = None
    key: str | None = None


def channel_credentials(tls: TlsFiles, store: str) -> grpc.ChannelCredentials:
    """Read the files; raises `StoreUnusable`."""
    return grpc.ssl_channel_credentials(
        root_certificates=_pem(tls.authorities, store),
        private_key=None if tls.key is None else _pem(tls.key, store),
        certificate_chain=None if tls.certificate is None else _pem(tls.certificate, store),
    )


def tls_failure(details: str) -> str | None:
    """Return what is wrong with a server's certificate or the client's, if a call failed for that."""
    return next((meaning for text, meaning in _FAILURES if text in details), None)


def connection_hint(error: str, otherwise: str, *, with_tls: bool = False) -> str:
    """Return what to check when a store does not answer."""
    if with_tls and _CLOSED in error:
        return "if it requires a client certificate, check metadata.tls_certificate_file"
    return next((hint for text, hint in _HINTS.items() if text in error), otherwise)


def _pem(path: str, store: str) -> bytes:
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise StoreUnusable(f"cannot read {path}, which is for TLS with {store}: {error.strerror}") from error
    if b"-----BEGIN" not in text:
        raise StoreUnusable(f"{path}, which is for TLS with {store}, is not a PEM file")
    return text
