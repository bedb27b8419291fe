"""Origins of clients: their zone and listener, the brokers they see, and the preferred broker of a stream.

A client names its zone in its client id, as Ursa's clients do: `zone_id=eu-1a,anything=else`. Metadata
responses then list the brokers of that zone and the one that answers; without a zone, or with none in it, all
brokers. The broker that is named as a partition's leader is only a hint that keeps caches warm: any broker
serves any stream.

A client is given addresses of the listener that it came by, as in Kafka, because it may be able to connect to
no other. Brokers that do not have this listener are not named to it.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from dray.cluster.brokers import PLAINTEXT, BrokerInfo, Endpoint

_ZONE = "zone_id"
_CLIENT_IDS_MAX = 128


class Origin(NamedTuple):
    """Where a client comes from, which decides what brokers it sees."""

    zone: str | None = None
    listener: str = PLAINTEXT


@lru_cache(maxsize=_CLIENT_IDS_MAX)
def zone_of(client_id: str | None) -> str | None:
    """Return the zone that a client id names, if any."""
    for pair in (client_id or "").split(","):
        name, equals, value = pair.partition("=")
        if equals and name.strip() == _ZONE and value.strip():
            return value.strip()
    return None


def address_for(broker: BrokerInfo, origin: Origin) -> Endpoint:
    """Return the address at which a client reaches a broker that it sees."""
    endpoint = broker.endpoint(origin.listener)
    assert endpoint is not None, f"broker {broker.broker_id} was named to clients of {origin.listener}"
    return endpoint


def with_listener(brokers: Iterable[BrokerInfo], listener: str) -> list[BrokerInfo]:
    """Return the brokers that have a listener of this name."""
    return [broker for broker in brokers if broker.endpoint(listener) is not None]


def visible_brokers(brokers: Sequence[BrokerInfo], zone: str | None) -> Sequence[BrokerInfo]:
    """Return the brokers that a client in `zone` sees."""
    local = [broker for broker in brokers if broker.zone == zone] if zone is not None else []
    return local or brokers


def preferred(brokers: Iterable[BrokerInfo], key: bytes) -> BrokerInfo:
    """Return the broker with the highest score for `key` (rendezvous hashing), the same on every broker."""
    return max(brokers, key=lambda broker: (_score(broker.broker_id, key), broker.broker_id))


def _score(broker_id: int, key: bytes) -> bytes:
    return blake2b(key, digest_size=8, key=broker_id.to_bytes(8, "big")).digest()
