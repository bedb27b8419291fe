"""Metrics of connections."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from dray.observe import Counter, Gauge, Metrics


class Cause(StrEnum):
    """Why a connection was closed."""

    CLIENT = "client"
    """The client closed it, or the network failed."""
    REFUSED = "refused"
    """A request could not be decoded, is not supported, or was a produce with acks=0 that failed."""
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    TOO_FAST = "too_fast"
    """Its address connects too often."""
    UNEXPECTED_TLS = "unexpected_tls"
    """It speaks TLS to a listener that does not."""
    SLOW = "slow"
    IDLE = "idle"
    UNAUTHENTICATED = "unauthenticated"
    """The client did not authenticate in time."""
    STOPPING = "stopping"
    BROKEN = "broken"
    """An unexpected error of the broker; the log has the traceback."""


class Login(StrEnum):
    """The outcome of an authentication."""

    SUCCEEDED = "succeeded"
    REPEATED = "repeated"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LoginMetrics:
    """Instruments of authentication."""

    logins: Counter

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        net = metrics.package("net")
        return cls(
            net.counter(
                "authentications",
                f"Authentications with SASL, by mechanism and outcome ({', '.join(Login)}).",
                ["mechanism", "outcome"],
            )
        )

    def count(self, mechanism: str, outcome: Login) -> None:
        self.logins.labels(mechanism, outcome).inc()


class HandshakeOutcome(StrEnum):
    """How a TLS handshake ended."""

    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class NetMetrics:
    """Instruments of the sockets."""

    open: Gauge
    closed: Counter
    waiting: Gauge
    in_flight_bytes: Gauge
    handshaking: Gauge
    handshakes: Counter
    certificate_expires: Gauge

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        net = metrics.package("net")
        return cls(
            open=net.gauge("open_connections", "Open connections, by listener.", ["listener"]),
            closed=net.counter(
                "closed_connections", f"Closed connections, by cause ({', '.join(Cause)}).", ["cause"]
            ),
            waiting=net.gauge(
                "waiting_connections", "Connections not read because the request memory limit is reached."
            ),
            in_flight_bytes=net.gauge(
                "in_flight_bytes", "Bytes of partly received and unanswered requests, of all connections."
            ),
            handshaking=net.gauge(
                "handshaking_connections", "Connections whose TLS handshake is in progress."
            ),
            handshakes=net.counter(
                "tls_handshakes",
                f"TLS handshakes, by listener and outcome ({', '.join(HandshakeOutcome)}).",
                ["listener", "outcome"],
            ),
            certificate_expires=net.gauge(
                "certificate_expiry_seconds",
                "When the TLS certificate expires, in seconds since 1970; 0 without one.",
            ),
        )
