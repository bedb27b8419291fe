"""Metadata stores of a cluster: etcd with three members, Oxia with one server, or a SQLite file.

Oxia is the real program `oxia` if it is on PATH, or else the server of our test kit. Either is one process
that keeps a log, so killing it is an outage and no failover; ours has three nodes, between which the leaders
of all shards move on SIGUSR1. All brokers open the same SQLite file: namespaces share the file system.
"""

import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from tests.chaos.cluster.disk import Disk
from tests.chaos.cluster.network import Network
from tests.chaos.cluster.servers import Server
from tests.chaos.cluster.topology import ETCD, NODES, OXIA
from tests.meta.etcd_cluster import EtcdCluster, Member

Kind = Literal["etcd", "oxia", "sqlite"]
_CLIENT_PORT, _PEER_PORT = 2379, 2380
_OXIA_PORTS: Final = (6648, 6649, 6650)
_SHARDS: Final = 4
_START_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Metadata:
    """A running store; of etcd and Oxia, at most one is there."""

    url: str
    note: str
    etcd: EtcdCluster | None = None
    disks: dict[str, Disk] = field(default_factory=dict)
    oxia: Server | None = None

    @property
    def members(self) -> list[Member]:
        """The members of etcd."""
        assert self.etcd is not None
        return self.etcd.members

    def member(self, name: str) -> Member:
        return next(member for member in self.members if member.name == name)

    def move_leaders(self) -> None:
        """Let other nodes lead the shards of Oxia."""
        assert self.oxia is not None
        self.oxia.send(signal.SIGUSR1)


@contextmanager
def running_metadata(kind: Kind, directory: Path, network: Network) -> Iterator[Metadata]:
    with ExitStack() as ending:
        if kind == "sqlite":
            yield Metadata(f"sqlite:{directory}/metadata.sqlite", "metadata: SQLite")
        elif kind == "oxia":
            yield _oxia(directory, network, ending)
        else:
            yield _etcd(directory, network, ending)


def has_real_oxia() -> bool:
    return shutil.which("oxia") is not None


def _etcd(directory: Path, network: Network, ending: ExitStack) -> Metadata:
    disks = {name: Disk(name, directory) for name in ETCD}
    for disk in disks.values():
        ending.callback(disk.remove)
    members = [
        Member(
            name,
            _CLIENT_PORT,
            _PEER_PORT,
            disks[name].directory,
            host=NODES[name].address,
            launcher=[*disks[name].launcher, *network.command(name, [])],
        )
        for name in ETCD
    ]
    etcd = ending.enter_context(EtcdCluster(directory / "etcd", members=members))
    url = f"etcd://{','.join(etcd.addresses)}/dray/chaos"
    return Metadata(url, f"slow disk: {disks[ETCD[0]].how}", etcd=etcd, disks=disks)


def _oxia(directory: Path, network: Network, ending: ExitStack) -> Metadata:
    home, host = directory / OXIA, NODES[OXIA].address
    home.mkdir()
    addresses = [f"{host}:{port}" for port in _OXIA_PORTS]
    if has_real_oxia():
        addresses = addresses[:1]
        what = "the program `oxia`"
        data = ["--data-dir", str(home / "db"), "--wal-dir", str(home / "wal")]
        listeners = ["-p", addresses[0], "-m", f"{host}:8080"]
        command = ["oxia", "standalone", *listeners, *data, "--shards", str(_SHARDS)]
    else:
        what = "the server of the test kit"
        ports = [f"--port={port}" for port in _OXIA_PORTS]
        options = [f"--host={host}", *ports, f"--shards={_SHARDS}", f"--file={home / 'log'}"]
        command = [sys.executable, "-m", "dray.testing.oxia_server", *options]
    server = Server(OXIA, network.command(OXIA, command), directory, {})
    ending.callback(server.kill)
    server.start()
    server.wait_serving(addresses[0], _START_S)
    return Metadata(f"oxia://{','.join(addresses)}/default", f"metadata: Oxia, {what}", oxia=server)
