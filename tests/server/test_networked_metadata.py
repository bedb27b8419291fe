"""Brokers on etcd and Oxia, opened from settings."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.server.access import cluster_access
from dray.server.errors import StartupError
from dray.settings import load_settings
from dray.testing import broker
from dray.testing.ports import free_port
from tests.cli.invoking import invoke_ok, new_topic
from tests.meta.etcd_cluster import EtcdCluster, enable_authentication
from tests.meta.etcd_harness import QUICK_ELECTIONS


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with EtcdCluster(tmp_path_factory.mktemp("etcd"), options=QUICK_ELECTIONS) as cluster:
        enable_authentication(cluster, "/dray")
        yield cluster


@pytest.fixture
def oxia_server() -> Iterator[str]:
    command = [sys.executable, "-m", "dray.testing.oxia_server", "--port=0", "--shards=4"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def secret(folder: Path, text: str) -> str:
    (folder / "password").write_text(text)
    return f"file:{folder}/password"


def test_broker_without_a_networked_store_imports_no_grpc() -> None:
    script = (
        "import sys, dray.cli.commands.up, dray.server.broker, dray.server.stores; "
        "print('grpc' in sys.modules, 'google.protobuf' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@pytest.mark.real("etcd")
def test_two_brokers_share_a_cluster_on_etcd(members: EtcdCluster, tmp_path: Path) -> None:
    _two_brokers(
        {
            "metadata.url": f"etcd://{','.join(members.addresses)}/dray",
            "metadata.username": "dray",
            "metadata.password": secret(tmp_path, "right"),
            "storage.url": f"file:{tmp_path}/objects",
        }
    )


def test_two_brokers_share_a_cluster_on_oxia(oxia_server: str, tmp_path: Path) -> None:
    _two_brokers({"metadata.url": f"oxia://{oxia_server}", "storage.url": f"file:{tmp_path}/objects"})


async def _domains(settings: dict[str, str]) -> int:
    pairs = [f"{key}={value}" for key, value in settings.items()]
    async with cluster_access(load_settings(None, {}, {}, pairs).settings)() as cluster:
        return cluster.domains


def _two_brokers(settings: dict[str, str]) -> None:
    with broker(settings) as first, broker(settings) as second:
        assert asyncio.run(_domains(settings)) == 16
        topic = new_topic(first, partitions=12)
        invoke_ok("produce", topic, "-q", stdin=b"a\nb\nc\n", kafka=second)
        for kafka in (first, second):
            assert sorted(invoke_ok("consume", topic, "--no-follow", kafka=kafka).lines) == ["a", "b", "c"]
        (described,) = json.loads(invoke_ok("topics", "describe", topic, "--json", kafka=first).out)
        assert {one["leader"] for one in described["partitions"]} == {1, 2}


@pytest.mark.real("etcd")
def test_refused_password_ends_the_start_with_one_line(members: EtcdCluster, tmp_path: Path) -> None:
    settings = {
        "metadata.url": f"etcd://{members.addresses[0]}/dray",
        "metadata.username": "dray",
        "metadata.password": secret(tmp_path, "hunter2"),
    }
    with (
        pytest.raises(StartupError, match="refused the password of user 'dray'") as refused,
        broker(settings),
    ):
        raise AssertionError
    assert "hunter2" not in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("store", ["etcd", "oxia"])
def test_unreachable_store_ends_the_start_with_one_line(store: str) -> None:
    port = free_port()
    settings = {"metadata.url": f"{store}://127.0.0.1:{port}/dray", "metadata.commit_timeout_ms": "500ms"}
    why = rf"127\.0\.0\.1:{port}"
    with pytest.raises(StartupError, match=why) as refused, broker(settings):
        raise AssertionError
    assert len(str(refused.value).splitlines()) == 1
