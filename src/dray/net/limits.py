"""Limits of connections: how many there are, and how fast new ones are accepted. Pure.

Numbers are limited in all, for each listener, and for each address of a client; a connection above a limit is
closed at once. Addresses of IPv6 count by network (/64), because a client may use any address of its network;
one that has a limit of its own counts by itself.

Rates are limited in all and for each listener by accepting later, so that clients wait in the system's queue;
a connection from an address that connects too often is held for as long and then closed, as in Kafka, because
it cannot be known before it is accepted.

A rate is a bucket with the connections of one second: so many may come at once. Of the addresses only those
that connected last have buckets; those of others would be full again in most cases.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from dray.net.settings import NetSettings
from dray.quotas import AddressShare, network_of

RateOf = Callable[[str], AddressShare | None]
"""Returns how many connections a second an address may make with others; None for any number."""

_BUCKETS_MAX: Final = 10_000
_IPV6: Final = ":"


def unlimited(_: str) -> AddressShare | None:
    return None


class Bucket:
    """Tokens that come at a rate, one for each connection, up to those of a second."""

    __slots__ = ("_tokens", "at", "rate")

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self._tokens = max(rate, 1.0)
        self.at = now

    def wait_s(self, now: float) -> float:
        """Return how long until there is a token."""
        return 0.0 if self._left(now) >= 1 else (1 - self._left(now)) / self.rate

    def take(self, now: float) -> None:
        self._tokens, self.at = self._left(now) - 1, now

    def _left(self, now: float) -> float:
        return min(max(self.rate, 1.0), self._tokens + (now - self.at) * self.rate)


class Slot:
    """The place of one connection among those that are allowed."""

    __slots__ = ("_release",)

    def __init__(self, release: Callable[[], None]) -> None:
        self._release: Callable[[], None] | None = release

    def release(self) -> None:
        """Give the place to another connection; further calls have no effect."""
        release, self._release = self._release, None
        if release is not None:
            release()


@dataclass(slots=True)
class ConnectionLimits:
    """Counts connections; times are seconds of one monotonic clock."""

    settings: NetSettings
    rate_of: RateOf = unlimited
    full: str = "the broker takes no more connections (net.connections_max)"
    """Why one more is refused at the limit of all connections."""
    _total: int = 0
    _by_listener: Counter[str] = field(default_factory=Counter)
    _by_network: Counter[str] = field(default_factory=Counter)
    _rates: dict[str, Bucket] = field(default_factory=dict)
    _network_rates: OrderedDict[str, Bucket] = field(default_factory=OrderedDict)
    _per_ip: Mapping[str, int] = field(init=False)
    _per_listener: Mapping[str, int] = field(init=False)
    _rate_per_listener: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._per_ip = self.settings.ip_overrides()
        self._per_listener = self.settings.listener_maxima()
        self._rate_per_listener = self.settings.listener_rates()

    def accept_wait_s(self, listener: str, now: float) -> float:
        """Return for how long the listener must accept nothing, because of the rates."""
        return max((bucket.wait_s(now) for bucket in self._buckets(listener, now)), default=0.0)

    def accepted(self, listener: str, now: float) -> None:
        """Count an accepted connection towards the rates."""
        for bucket in self._buckets(listener, now):
            bucket.take(now)

    def ip_wait_s(self, ip: str, now: float) -> float:
        """Count a connection of an address towards its rate; returns by how much it is too early."""
        share = self.rate_of(ip)
        if share is None:
            return 0.0
        bucket = self._network_rates.get(share.network)
        if bucket is None or bucket.rate != share.limit:
            bucket = self._network_rates[share.network] = Bucket(share.limit, now)
        self._network_rates.move_to_end(share.network)
        if len(self._network_rates) > _BUCKETS_MAX:
            self._network_rates.popitem(last=False)
        wait_s = bucket.wait_s(now)
        if not wait_s:
            bucket.take(now)
        return wait_s

    def refusal(self, listener: str, ip: str) -> str | None:
        """Return why one more connection is too many, if it is."""
        if self._total >= self.settings.connections_max:
            return self.full
        if self._by_listener[listener] >= self._per_listener.get(listener, self._total + 1):
            return f"listener {listener} takes no more connections (net.connections_per_listener_max)"
        network = self._network(ip)
        if self._by_network[network] >= self._per_ip.get(ip, self.settings.connections_per_ip_max):
            return f"{network} has too many connections (net.connections_per_ip_max)"
        return None

    def open(self, listener: str, ip: str) -> "Slot":
        """Count one more connection until its slot is released."""
        self._total += 1
        self._by_listener[listener] += 1
        network = self._network(ip)
        self._by_network[network] += 1
        return Slot(partial(self._close, listener, network))

    def _close(self, listener: str, network: str) -> None:
        self._total -= 1
        self._by_listener[listener] -= 1
        self._by_network[network] -= 1
        if not self._by_network[network]:
            del self._by_network[network]

    def _network(self, ip: str) -> str:
        """Return the address or network whose connections count with those of an address."""
        return network_of(ip) if _IPV6 in ip and ip not in self._per_ip else ip

    def of(self, listener: str) -> int:
        """Return how many connections a listener has."""
        return self._by_listener[listener]

    def _buckets(self, listener: str, now: float) -> list[Bucket]:
        """Return the buckets of all connections and of the listener, as far as there are such limits."""
        if not self._rates:
            rates = {name: float(rate) for name, rate in self._rate_per_listener.items()}
            if self.settings.connection_rate_max is not None:
                rates[""] = float(self.settings.connection_rate_max)
            self._rates = {name: Bucket(rate, now) for name, rate in rates.items()}
        return [self._rates[name] for name in ("", listener) if name in self._rates]
