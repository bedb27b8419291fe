"""Brokers and compactors that are started before their etcd: they wait, log why, and then work."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.invoking import invoke
from tests.cli.up_process import Command, running
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import QUICK_ELECTIONS
from tests.oracle.cache import CACHE

pytestmark = [pytest.mark.slow, pytest.mark.real("etcd"), pytest.mark.timeout(180)]

_FREE = ("--listen=127.0.0.1:0", "--http=127.0.0.1:0")
_JAVA = {"XDG_CACHE_HOME": str(CACHE)}


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[EtcdCluster]:
    """An etcd with a cluster that has a topic; it is not running."""
    with EtcdCluster(tmp_path / "etcd", options=QUICK_ELECTIONS) as cluster:
        with running("broker", *_FREE, *_stores(cluster, tmp_path), cwd=tmp_path) as broker:
            [served] = broker.served(1)
            assert invoke("topics", "create", "t", bootstrap=served.kafka).code == 0
            assert broker.end(signal.SIGTERM) == 0
        cluster.members[0].kill()
        yield cluster


def _stores(etcd: EtcdCluster, folder: Path) -> list[str]:
    return [
        f"--metadata=etcd://{etcd.addresses[0]}/dray",
        f"--storage=file:{folder}/objects",
        f"--set=tables.catalog=sqlite:{folder}/tables.sqlite",
        "--set=metadata.commit_timeout_ms=500",
    ]


def _waits(command: Command, etcd: EtcdCluster, process: str | None) -> None:
    """Read the log until the process has logged what it waits for, and what is wrong."""
    while (blocked := command.logged("startup_blocked")).get("process") != process:
        pass
    assert blocked["reason"] == f"the metadata store etcd://{etcd.addresses[0]}/dray does not respond"
    while (unavailable := command.logged("metadata_unavailable")).get("process") != process:
        pass
    assert f"etcd at {etcd.addresses[0]} is unavailable" in str(unavailable["error"])


def _continues(command: Command, process: str | None) -> None:
    while (unblocked := command.logged("startup_unblocked")).get("process") != process:
        pass
    assert "does not respond" in str(unblocked["reason"])


def test_broker_waits_for_etcd(etcd: EtcdCluster, tmp_path: Path) -> None:
    with running("broker", *_FREE, *_stores(etcd, tmp_path), cwd=tmp_path) as broker:
        _waits(broker, etcd, None)
        etcd.start()
        assert broker.served(1)
        _continues(broker, None)
        assert broker.end(signal.SIGTERM) == 0


@pytest.mark.real("java", "spark")
def test_compactor_waits_for_etcd(etcd: EtcdCluster, tmp_path: Path) -> None:
    with running("compactor", *_stores(etcd, tmp_path), cwd=tmp_path, env=_JAVA) as compactor:
        _waits(compactor, etcd, None)
        etcd.start()
        _continues(compactor, None)
        assert "compacting etcd://" in compactor.line()
        assert compactor.end(signal.SIGTERM) == 0


@pytest.mark.real("java", "spark")
def test_compactor_that_waits_for_etcd_stops_on_request(etcd: EtcdCluster, tmp_path: Path) -> None:
    with running("compactor", *_stores(etcd, tmp_path), cwd=tmp_path, env=_JAVA) as compactor:
        _waits(compactor, etcd, None)
        assert compactor.end(signal.SIGTERM) == 0
    assert not [line for line in compactor.errors if line.startswith("dray: ")]


@pytest.mark.real("java", "spark")
def test_compactor_beside_a_broker_waits_for_etcd(etcd: EtcdCluster, tmp_path: Path) -> None:
    with running("up", *_FREE, *_stores(etcd, tmp_path), cwd=tmp_path, env=_JAVA) as command:
        _waits(command, etcd, "compactor")
        etcd.start()
        assert command.served(1)
        _continues(command, "compactor")
        assert command.end(signal.SIGTERM) == 0
    assert not [line for line in command.errors if "compactor_exited" in line]
