"""Metadata stores to measure on: SQLite, one etcd server, and a server of Oxia's protocol.

etcd is a real server on this machine. For Oxia the real one is measured where `DRAY_TEST_OXIA` names it, and
must be empty. Elsewhere it is the test kit's server, in Python and in memory: only the ratios of its figures
mean something, not how large they are.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from tests.meta.etcd_cluster import EtcdCluster
from tests.oracle.environment import ROOT, unmeasured
from tests.parts import PARTS

SQLITE: Final = "SQLite"
ETCD: Final = "etcd, 1 node"
OXIA: Final = "Oxia"
KIT_OXIA: Final = "Oxia's protocol, test server"
_OXIA_VARIABLE: Final = "DRAY_TEST_OXIA"
_SHARDS: Final = "4"


@dataclass(frozen=True, slots=True)
class Backend:
    """A metadata store; `url` returns one of a new cluster, given the cluster's directory."""

    name: str
    url: Callable[[Path], str]


Opener = Callable[[Path], AbstractContextManager[Backend]]


@contextmanager
def sqlite(home: Path) -> Iterator[Backend]:
    del home
    yield Backend(SQLITE, lambda cluster: f"sqlite:{cluster / 'metadata.sqlite'}")


@contextmanager
def etcd(home: Path) -> Iterator[Backend]:
    numbers = count()
    with EtcdCluster(home / "etcd") as servers:
        yield Backend(ETCD, lambda _: f"etcd://{servers.addresses[0]}/growth-{next(numbers)}")


@contextmanager
def oxia(home: Path) -> Iterator[Backend]:
    """Serve a namespace for each cluster: a namespace belongs to one."""
    named = os.environ.get(_OXIA_VARIABLE)
    if named:
        yield Backend(OXIA, lambda _: f"oxia://{named}/default")
        return
    running: list[subprocess.Popen[str]] = []
    try:
        yield Backend(KIT_OXIA, lambda _: f"oxia://{_serve(home, running)}/default")
    finally:
        for server in running:
            server.kill()
            server.communicate()


def _serve(home: Path, running: "list[subprocess.Popen[str]]") -> str:
    """Start a server of the test kit; returns its address."""
    for before in running:
        before.kill()
    home.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "dray.testing.oxia_server", "--shards", _SHARDS]
    with (home / "oxia.log").open("ab") as log:
        server = subprocess.Popen(
            command, cwd=ROOT, env=unmeasured(), stdout=subprocess.PIPE, stderr=log, text=True
        )
    running.append(server)
    assert server.stdout is not None
    return server.stdout.readline().split()[0]


def backends_here() -> tuple[list[Opener], list[str]]:
    """Return the stores that can be measured here, and a sentence about each that cannot."""
    part = PARTS["etcd"]
    if part.find():
        return [sqlite, etcd, oxia], []
    return [sqlite, oxia], [f"left out: etcd: {part.what} is missing. To have it: {part.install}"]
