"""TLS contexts of the listeners, made from PEM files that are read again when they change.

A listener asks for the context at every handshake. So a new certificate is used from the next handshake on,
and open connections keep the one that they began with. Files that cannot be used leave the present contexts
in place; the error is logged once, and the files are read again when they change again. A certificate and
its key that are replaced one after the other therefore do not match for a moment, and do no harm.

A failed handshake is answered with TLS's alert, which names the reason; event loops would close the
connection before it is sent, and a client could not distinguish a missing certificate from a network error.
"""

import ssl
import stat
from collections.abc import Collection
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from dray.observe import get_logger
from dray.runtime import Clock, LazyModule

if TYPE_CHECKING:
    from dray.net import certificates
else:
    certificates = LazyModule("dray.net.certificates")  # most brokers run without TLS

_log = get_logger("net")

VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"

accepted_socket: Final[ContextVar[socket | None]] = ContextVar("accepted_socket", default=None)
"""The socket of the handshake that the present task does."""


class ClientAuth(StrEnum):
    """Whether clients present certificates, by Kafka's names."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


_VERIFIES: Final = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


class TlsError(Exception):
    """The files or options cannot be used; the message says which and why."""


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """The files, and what is negotiated."""

    certificate_file: str
    key_file: str
    key_password: str | None = None
    client_ca_file: str | None = None
    versions: tuple[ssl.TLSVersion, ...] = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    ciphers: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, (self.certificate_file, self.key_file, self.client_ca_file))))


class TlsContexts:
    """One context for each way of client authentication; raises `TlsError` if there is none at the start."""

    def __init__(self, options: TlsOptions, wanted: Collection[ClientAuth], clock: Clock) -> None:
        self._options = options
        self._wanted = frozenset(wanted)
        self._clock = clock
        self._seen = _fingerprint(options.files)
        self.expires_at_s = 0.0
        """When the broker's certificate expires, in seconds since 1970."""
        self._contexts = self._load()

    def context(self, auth: ClientAuth) -> ssl.SSLContext:
        """Return the context for the next handshake."""
        return self._contexts[auth]

    async def reload(self) -> None:
        """Read the files again if they have changed."""
        seen = _fingerprint(self._options.files)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._contexts = self._load()
        except TlsError as error:
            _log.error("tls_reload_failed", error=str(error), remedy="the previous certificate stays in use")
        else:
            _log.info("tls_reloaded", files=list(self._options.files), expires_at_s=int(self.expires_at_s))

    def _load(self) -> dict[ClientAuth, ssl.SSLContext]:
        options = self._options
        expires_at_s = certificates.check_pair(
            options.certificate_file,
            options.key_file,
            options.key_password,
            now_s=self._clock.now_ms() / 1000,
        )
        if options.client_ca_file is not None:
            certificates.check_authorities(options.client_ca_file)
        contexts = {auth: _context(options, auth) for auth in self._wanted}
        self.expires_at_s = expires_at_s
        _warn_if_exposed(options.key_file)
        return contexts


def _context(options: TlsOptions, auth: ClientAuth) -> ssl.SSLContext:
    context = _AlertingContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslobject_class = _AlertingObject
    context.minimum_version, context.maximum_version = options.versions[0], options.versions[-1]
    context.options |= ssl.OP_NO_RENEGOTIATION
    try:
        context.set_ciphers(options.ciphers or _CIPHERS)
    except ssl.SSLError as error:
        raise TlsError(f"tls.ciphers: OpenSSL has no cipher suite of {options.ciphers!r}") from error
    password = options.key_password or ""  # never None: OpenSSL would ask on the terminal
    try:
        context.load_cert_chain(options.certificate_file, options.key_file, password)
        if options.client_ca_file is not None:
            context.load_verify_locations(options.client_ca_file)
    except (ssl.SSLError, OSError) as error:
        raise TlsError(f"cannot use {', '.join(options.files)}: {error}") from error
    context.verify_mode = _VERIFIES[auth]
    return context


def _warn_if_exposed(key_file: str) -> None:
    """Warn of a key that every user of the machine can read; Kubernetes mounts secrets so by default."""
    with suppress(OSError):  # it has been read a moment ago
        if Path(key_file).stat().st_mode & stat.S_IROTH:
            _log.warning("secret_file_exposed", path=key_file, remedy=f"chmod o-r {key_file}")


def _fingerprint(files: Collection[str]) -> tuple[tuple[int, int, int] | None, ...]:
    """Return what changes when a file is written or replaced, also by a symbolic link to another one."""
    return tuple(_state(path) for path in files)


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class _AlertingObject(ssl.SSLObject):
    """One side of a connection, which sends its alert when the handshake fails."""

    outgoing: ssl.MemoryBIO

    @override
    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            alert, connection = self.outgoing.read(), accepted_socket.get()
            if alert and connection is not None:
                with suppress(OSError):  # the client has closed, or reads nothing
                    connection.send(alert)
            raise


class _AlertingContext(ssl.SSLContext):
    """A context whose objects can send their alerts."""

    @override
    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **kwargs: Any) -> Any:
        made = super().wrap_bio(incoming, outgoing, *args, **kwargs)
        assert isinstance(made, _AlertingObject)
        made.outgoing = outgoing
        return made
