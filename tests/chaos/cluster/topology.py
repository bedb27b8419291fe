"""Topology of the cluster: nodes, the zone and the address of each, and the topics that clients use.

zone a      broker1  broker2  etcd1  clients-a
zone b      broker3           etcd2  clients-b
elsewhere   etcd3  store  compactor

With other metadata, oxia is elsewhere, or all brokers share a SQLite file; then no etcd runs.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple


class Node(NamedTuple):
    """A machine of the cluster."""

    name: str
    zone: str
    address: str


def _nodes(names: Mapping[str, str]) -> dict[str, Node]:
    return {
        name: Node(name, zone, f"10.77.0.{number}") for number, (name, zone) in enumerate(names.items(), 1)
    }


NODES: Final = _nodes(
    {
        "broker1": "a",
        "broker2": "a",
        "broker3": "b",
        "etcd1": "a",
        "etcd2": "b",
        "etcd3": "",
        "store": "",
        "compactor": "",
        "clients-a": "a",
        "clients-b": "b",
        "oxia": "",
    }
)
BROKERS: Final = ("broker1", "broker2", "broker3")
ETCD: Final = ("etcd1", "etcd2", "etcd3")
CLIENTS: Final = ("clients-a", "clients-b")
OXIA: Final = "oxia"
STORE: Final = "store"
COMPACTOR: Final = "compactor"

KAFKA_PORT: Final = 9092
HTTP_PORT: Final = 8090
STORE_PORT: Final = 8333
TOPICS: Final = {"classic": 3, "consumer": 2}
"""Partitions of each topic, which is named as the protocol of the group that consumes it."""


def kafka(broker: str) -> str:
    return f"{NODES[broker].address}:{KAFKA_PORT}"


def bootstrap(zone: str) -> str:
    """Return the addresses of all brokers, those of the zone first."""
    ordered = sorted(BROKERS, key=lambda broker: NODES[broker].zone != zone)
    return ",".join(map(kafka, ordered))


def in_zone(zone: str) -> Sequence[str]:
    return [node.name for node in NODES.values() if node.zone == zone]
