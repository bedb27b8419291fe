"""What is counted of connections, and why they end."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from dray.observe import Counter, Gauge, Metrics


class Cause(StrEnum):
    """Why a connection was closed."""

    CLIENT = "client"
    """The other end closed it, or it broke."""
    REFUSED = "refused"
    """A request that could not be read, is not served, or asked for no answer and failed."""
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    SLOW = "slow"
    IDLE = "idle"
    STOPPING = "stopping"
    BROKEN = "broken"
    """Our own fault; the log has the traceback."""


@dataclass(frozen=True, slots=True)
class NetMetrics:
    """Instruments of the sockets."""

    open: Gauge
    closed: Counter
    waiting: Gauge
    in_flight_bytes: Gauge

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        net = metrics.room("net")
        return cls(
            open=net.gauge("open_connections", "Connections that are open."),
            closed=net.counter(
                "closed_connections", f"Connections that ended, by cause ({', '.join(Cause)}).", ["cause"]
            ),
            waiting=net.gauge(
                "waiting_connections", "Connections that are not read because the broker has no room."
            ),
            in_flight_bytes=net.gauge(
                "in_flight_bytes",
                "Bytes of requests that wait for their answers or have come in part, of all connections.",
            ),
        )
