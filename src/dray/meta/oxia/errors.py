"""Errors of Oxia's servers and of gRPC, as errors of the port.

Oxia's own status codes are outside gRPC's range in some versions and arrive as `UNKNOWN`, so its errors are
recognized by their text. A failed *write* may have been executed whatever the error says; the callers of a
write treat every `Unavailable` as an unknown outcome.
"""

from typing import Final

import grpc

from dray.meta.grpc_tls import tls_failure
from dray.meta.port import MetaError, StoreUnusable, Unavailable
from dray.observe import get_logger

_log = get_logger("meta")


class SessionNotFound(Exception):
    """The server does not have the session, or no longer. Never leaves the adapter."""


class StoreClosed(MetaError):
    """The store was closed; ends a call that would otherwise be retried. Never leaves the adapter."""


class Untrusted(Unavailable):
    """No TLS connection: the message says what is wrong with a certificate."""


_POISON: Final = "failed to apply batch"
_UNUSABLE: Final = {
    grpc.StatusCode.UNIMPLEMENTED: "the server does not speak Oxia's protocol",
    grpc.StatusCode.PERMISSION_DENIED: "Oxia refuses access",
    grpc.StatusCode.INVALID_ARGUMENT: "Oxia refuses the request as invalid",
}


def meta_error(error: grpc.aio.AioRpcError, address: str) -> MetaError | SessionNotFound:
    """Return the error to raise instead."""
    text = error.details() or ""
    code = error.code()
    if "session not found" in text:
        return SessionNotFound(text)
    if "namespace not found" in text:
        return StoreUnusable(
            f"{address} does not have the namespace ({text}); create it in Oxia's configuration"
        )
    if "notifications not enabled" in text:
        return StoreUnusable(f"notifications are disabled ({text}); enable them for the namespace")
    if code in _UNUSABLE and "authority" not in text:
        return StoreUnusable(f"{_UNUSABLE[code]}: {address} answered {code.name}: {text}")
    if (wrong := tls_failure(text)) is not None:
        return Untrusted(f"no TLS connection to Oxia at {address}: {wrong}")
    if _POISON in text:
        _log.error("oxia_request_not_applied", address=address, error=text)
    return Unavailable(f"Oxia at {address} does not serve the request: {code.name}: {text}")


def token_refused(error: grpc.aio.AioRpcError, address: str, *, sent: bool) -> StoreUnusable:
    """Return the error of a call without a token, or with one that is not valid."""
    if not sent:
        return StoreUnusable(
            f"Oxia at {address} requires authentication; set metadata.token or metadata.token_file"
        )
    return StoreUnusable(
        f"Oxia at {address} refused the token ({error.details()}); check metadata.token or "
        "metadata.token_file, and that the token has not expired"
    )
