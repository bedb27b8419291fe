"""Errors of etcd and gRPC as errors of the port, by what they say about the request.

A refusal is definite: nothing happened. Everything else, such as a timeout, a broken connection or a change
of the leader, is `Unanswered`: the request may have been executed, or may still be.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import grpc
import grpc.aio

from dray.meta.grpc_tls import tls_failure
from dray.meta.port import CommitTooLarge, MetaError, SessionExpired, StoreUnusable, Unavailable

_NOISE: Final = re.compile(r"^((UNKNOWN|UNAVAILABLE|INTERNAL): )?(ipv[46]:\S+: )?")
_NEVER_SENT: Final = "failed to connect to all addresses"


class Unanswered(Unavailable):
    """No response came. Unless `sent` is false, the request may have been executed, or may still be."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class Untrusted(Unanswered):
    """No TLS connection: the message says what is wrong with a certificate."""


class Compacted(MetaError):
    """The revision is older than etcd's history; the adapter starts over."""


class TokenRefused(MetaError):
    """The authentication token is unknown to the server; the adapter authenticates again."""


class PermissionDenied(StoreUnusable):
    """The user may not do this."""


class StoreClosed(MetaError):
    """Ends a call that would otherwise be repeated."""


@dataclass(frozen=True, slots=True)
class Place:
    """What an error message names: the store, and who uses it."""

    address: str
    prefix: str
    username: str | None

    def __str__(self) -> str:
        return f"etcd at {self.address}"


def meta_error(error: grpc.aio.AioRpcError, place: Place) -> MetaError:
    """Return the port's error for a failed call."""
    return refusal(error.details() or "", place) or _unanswered(error, place)


def refusal(details: str, place: Place) -> MetaError | None:
    """Return the definite refusal that the server's text denotes, if any."""
    for text, of in _REFUSALS.items():
        if text in details:
            return of(place)
    return None


def _unanswered(error: grpc.aio.AioRpcError, place: Place) -> MetaError:
    details = error.details() or error.code().name
    if (wrong := tls_failure(details)) is not None:
        return Untrusted(f"no TLS connection to {place}: {wrong}", sent=False)
    if error.code() is grpc.StatusCode.UNIMPLEMENTED:
        return StoreUnusable(f"the server at {place.address} is not etcd; check metadata.url")
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Unanswered(f"{place} did not answer in time")
    return Unanswered(f"{place} is unavailable: {_reason(details)}", sent=not details.startswith(_NEVER_SENT))


def _reason(details: str) -> str:
    """Return the part of gRPC's text that says something."""
    return _NOISE.sub("", details.rpartition("last error: ")[2])


def _permission(place: Place) -> MetaError:
    return PermissionDenied(
        f"{place} denies user {place.username!r} access to {place.prefix}/; "
        f"grant it: etcdctl role grant-permission ROLE --prefix=true readwrite {place.prefix}/"
    )


def _no_user(place: Place) -> MetaError:
    if place.username is not None:
        return TokenRefused(f"{place} requires authentication since this client connected")
    return StoreUnusable(f"{place} requires authentication; set metadata.username and metadata.password")


def _too_many_operations(place: Place) -> MetaError:
    return CommitTooLarge(
        f"{place} allows fewer operations per transaction than when it was opened; "
        "raise --max-txn-ops on all members, or restart this process"
    )


_REFUSALS: Final[Mapping[str, Callable[[Place], MetaError]]] = {
    "etcdserver: too many operations in txn request": _too_many_operations,
    "etcdserver: request is too large": lambda place: CommitTooLarge(
        f"{place} allows smaller requests than metadata.etcd_request_bytes_max; lower that, "
        "or raise --max-request-bytes on all members"
    ),
    "received message larger than max": lambda place: CommitTooLarge(
        f"{place} allows smaller requests than metadata.etcd_request_bytes_max; lower that, "
        "or raise --max-request-bytes on all members"
    ),
    "etcdserver: requested lease not found": lambda _: SessionExpired(
        "the session has ended; open a new one"
    ),
    "etcdserver: mvcc: database space exceeded": lambda place: StoreUnusable(
        f"{place} is out of space (alarm NOSPACE): run etcdctl defrag on each member, then "
        "etcdctl alarm disarm; or raise --quota-backend-bytes"
    ),
    "etcdserver: corrupt cluster": lambda place: StoreUnusable(
        f"{place} has detected corruption (alarm CORRUPT); replace the corrupt member"
    ),
    "etcdserver: mvcc: required revision has been compacted": lambda place: Compacted(
        f"{place} has compacted the revision"
    ),
    "etcdserver: permission denied": _permission,
    "etcdserver: user name is empty": _no_user,
    "etcdserver: authentication failed": lambda place: StoreUnusable(
        f"{place} refused the password of user {place.username!r}; check metadata.username and "
        "metadata.password"
    ),
    "etcdserver: invalid auth token": lambda place: TokenRefused(f"{place} refused the token"),
    "etcdserver: revision of auth store is old": lambda place: TokenRefused(f"{place} refused the token"),
    "etcdserver: too many requests": lambda place: Unavailable(f"{place} is overloaded"),
    "etcdserver: no leader": lambda place: Unanswered(f"{place} has no leader", sent=False),
    "etcdserver: rpc not supported for learner": lambda place: Unanswered(
        f"{place} is a learner", sent=False
    ),
}
