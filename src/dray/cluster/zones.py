"""Zones: what a client says of its own, and which broker of a zone serves which stream.

A client names its zone in its client id, as Ursa's do: `zone_id=eu-1a,anything=else`. Brokers of that zone
are all it is told of, so it talks to nobody else; where there are none, or none was named, it is told of
all. Which of them is called a partition's leader is only a hint that keeps caches warm: any broker serves
any stream.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from dray.cluster.brokers import BrokerInfo

_ZONE = "zone_id"


def zone_of(client_id: str | None) -> str | None:
    """Return the zone a client id names, if it names one."""
    for pair in (client_id or "").split(","):
        name, equals, value = pair.partition("=")
        if equals and name.strip() == _ZONE and value.strip():
            return value.strip()
    return None


def visible_brokers(brokers: Sequence[BrokerInfo], zone: str | None) -> Sequence[BrokerInfo]:
    """Return the brokers a client of `zone` is told of."""
    local = [broker for broker in brokers if broker.zone == zone] if zone is not None else []
    return local or brokers


def preferred(brokers: Iterable[BrokerInfo], what: bytes) -> BrokerInfo:
    """Return the broker that all agree on for `what`: the one that scores highest (rendezvous hashing)."""
    return max(brokers, key=lambda broker: (_score(broker.broker_id, what), broker.broker_id))


def _score(broker_id: int, what: bytes) -> bytes:
    return blake2b(what, digest_size=8, key=broker_id.to_bytes(8, "big")).digest()
