"""Cluster of an experiment: all servers on their nodes, and what the clients need to begin."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dray.testing.seaweedfs import SECRET
from tests.chaos.cluster import store
from tests.chaos.cluster.clock import MovableClock
from tests.chaos.cluster.metadata import Kind, Metadata, running_metadata
from tests.chaos.cluster.network import Network
from tests.chaos.cluster.security import PASSWORD, USER, Security, with_tls
from tests.chaos.cluster.servers import Server, Watchdog
from tests.chaos.cluster.topology import (
    BROKERS,
    CLIENTS,
    COMPACTOR,
    HTTP_PORT,
    KAFKA_PORT,
    NODES,
    OXIA,
    STORE,
    STORE_PORT,
    TOPICS,
    kafka,
)
from tests.chaos.groups.members import HEARTBEAT_S, SESSION_S
from tests.oracle.environment import ROOT

_START_S: Final = 120.0
_SHORT_INTERVALS: Final[dict[str, dict[str, Any]]] = {
    "log": {"wal_gc_grace_ms": 10_000, "file_gc_grace_ms": 10_000, "producer_snapshot_entries": 16},
    "compaction": {"interval_ms": 1_000, "wal_age_ms_max": 5_000, "file_bytes_target": 2_000_000},
    "spark": {"master": "local[1,3]"},
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """The parts of a running cluster."""

    directory: Path
    network: Network
    metadata: Metadata
    store: Server
    brokers: dict[str, Server]
    clocks: dict[str, MovableClock]
    config: Path
    security: Security
    compactor: Server | None = None

    @property
    def store_home(self) -> Path:
        return self.directory / "store"

    @property
    def servers(self) -> dict[str, Server]:
        """The processes of Dray by their nodes."""
        return self.brokers | ({COMPACTOR: self.compactor} if self.compactor else {})

    def server(self, name: str) -> Server:
        """Return the process on a node, except members of etcd."""
        if name == OXIA:
            assert self.metadata.oxia is not None
            return self.metadata.oxia
        return self.servers[name]

    def wait_serving(self, within_s: float = _START_S) -> None:
        for name, broker in self.brokers.items():
            broker.wait_serving(kafka(name), within_s)


@contextmanager
def running_cluster(
    directory: Path, seed: int, *, compacting: bool, bug: str, kind: Kind = "etcd", tls: bool = False
) -> Iterator[Cluster]:
    """Run the servers with their files in `directory`; the process must be isolated."""
    network = Network({node.name: node.address for node in NODES.values()})
    network.create()
    with ExitStack() as ending:
        objects = _store(directory, network, seed)
        ending.callback(objects.kill)
        objects.start()
        metadata = ending.enter_context(running_metadata(kind, directory, network))
        objects.wait_serving(f"{NODES[STORE].address}:{STORE_PORT}", _START_S)
        clocks = {name: MovableClock(directory / f"{name}.clock") for name in BROKERS}
        security, secure = with_tls(directory) if tls else (Security(), {})
        config = _config(directory, metadata, secure)
        program = ["tests.chaos.broken", bug, str(directory / "never-armed")] if bug else ["dray"]
        brokers = {
            name: Server(
                name,
                network.command(name, _broker_command(name, program, config, security)),
                directory,
                clocks[name].environment,
            )
            for name in BROKERS
        }
        compactor = _compactor(directory, network, config) if compacting else None
        cluster = Cluster(directory, network, metadata, objects, brokers, clocks, config, security, compactor)
        for server in cluster.servers.values():
            ending.callback(server.kill)
            server.start()
        cluster.wait_serving()
        watchdog = Watchdog(list(cluster.servers.values()))
        watchdog.start()
        ending.callback(watchdog.stop)
        if tls:
            _add_user(network, config)
        _make_topics(security)
        yield cluster


def _store(directory: Path, network: Network, seed: int) -> Server:
    home = directory / "store"
    home.mkdir()
    command = [sys.executable, "-m", store.__name__, str(home), str(seed)]
    return Server(STORE, network.command(STORE, command), directory, {})


def _broker_command(name: str, program: Sequence[str], config: Path, security: Security) -> list[str]:
    node = NODES[name]
    listen = f"{security.protocol}://{node.address}:{KAFKA_PORT}"
    return [
        *(sys.executable, "-m", *program, "broker", "--config", str(config)),
        *("--broker-id", name.removeprefix("broker"), "--zone", node.zone),
        *("--listen", listen, "--insecure", "--http", f"{node.address}:{HTTP_PORT}"),
    ]


def _add_user(network: Network, config: Path) -> None:
    """Add the user of all clients, which works on the metadata store."""
    command = [sys.executable, "-m", "dray", "users", "add", USER, "--config", str(config)]
    subprocess.run(
        network.command(BROKERS[0], command),
        input=f"{PASSWORD}\n",
        cwd=ROOT,
        text=True,
        check=True,
        timeout=_START_S,
    )


def compaction_command(network: Network, config: Path, *options: str) -> list[str]:
    command = [sys.executable, "-m", "dray", "compactor", "--config", str(config), *options]
    return network.command(COMPACTOR, command)


def _compactor(directory: Path, network: Network, config: Path) -> Server:
    return Server(COMPACTOR, compaction_command(network, config), directory, {})


def _config(directory: Path, metadata: Metadata, secure: Mapping[str, Any]) -> Path:
    storage = {
        "url": f"s3://{store.BUCKET}/chaos",
        "endpoint": f"http://{NODES[STORE].address}:{STORE_PORT}",
        "allow_http": True,
        "region": "us-east-1",
        "access_key_id": "writer",
        "secret_access_key": SECRET,
    }
    settings: dict[str, Any] = {
        "metadata": {"url": metadata.url},
        "storage": storage,
        "groups": _group_settings(),
        "tables": {"catalog": f"sqlite:{directory}/tables.sqlite"},
        **_SHORT_INTERVALS,
        **secure,
    }
    config = directory / "dray.yaml"
    config.write_text(json.dumps(settings))  # JSON is YAML; a secret cannot be a flag
    return config


def _group_settings() -> dict[str, int]:
    """Return the timeouts that clients set in the classic protocol, for the other one."""
    session_ms, heartbeat_ms = int(SESSION_S * 1000), int(HEARTBEAT_S * 1000)
    return {
        f"consumer_{least}{what}": value
        for least in ("", "min_")
        for what, value in (("session_timeout_ms", session_ms), ("heartbeat_interval_ms", heartbeat_ms))
    }


def _make_topics(security: Security) -> None:
    admin = AdminClient({"bootstrap.servers": kafka(BROKERS[0]), **security.settings()})
    wanted = [NewTopic(topic, num_partitions=count) for topic, count in TOPICS.items()]
    for created in admin.create_topics(wanted).values():
        created.result(60)


class Clients(NamedTuple):
    """The client processes, one of each kind in each zone."""

    producing: list[Server]
    reading: list[Server]


def start_clients(cluster: Cluster, pause_s: float) -> Clients:
    """Start producers, and readers of the brokers of their zone."""
    clients = Clients([], [])
    for node in CLIENTS:
        zone = NODES[node].zone
        near = [broker for broker in BROKERS if NODES[broker].zone == zone]
        clients.producing.append(_client(cluster, node, "producing", str(pause_s)))
        clients.reading.append(_client(cluster, node, "reading", f"member-{zone}", *near))
    return clients


def _client(cluster: Cluster, node: str, module: str, *arguments: str) -> Server:
    """Start a client process, which writes its journal in the end."""
    zone = NODES[node].zone
    journal = cluster.directory / f"{module}-{zone}.journal"
    command = [sys.executable, "-m", f"tests.chaos.cluster.{module}", zone, str(journal), *arguments]
    client = Server(
        f"{module}-{zone}",
        cluster.network.command(node, command),
        cluster.directory,
        cluster.security.environment,
    )
    client.start()
    return client
