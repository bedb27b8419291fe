"""Assembly of a broker, and cleanup when it fails."""

import asyncio
import socket
from pathlib import Path

import pytest

from dray.keyspace import CLUSTER_DOMAIN, CLUSTER_KEY
from dray.meta.port import Check, Put
from dray.server.access import cluster_access
from dray.server.errors import StartupError
from dray.server.stores import open_stores, process_context
from dray.settings import DraySettings, load_settings
from dray.testing import broker


async def _rewrite_record(settings: DraySettings, wanted: int) -> None:
    """Make a cluster look like one that a Dray with another format created."""
    async with open_stores(settings, process_context()) as stores:
        stored = await stores.meta.get(CLUSTER_DOMAIN, CLUSTER_KEY)
        assert stored is not None
        other = stored.value.replace(b'"format":2', b'"format":%d' % wanted)
        assert other != stored.value
        check = Check(CLUSTER_KEY, stored.version)
        await stores.meta.commit(CLUSTER_DOMAIN, [check], [Put(CLUSTER_KEY, other)])


async def _open(settings: DraySettings) -> None:
    async with cluster_access(settings)():
        pytest.fail("it opened a data directory of another layout")


def test_failed_start_releases_the_address(tmp_path: Path) -> None:
    stores = {"metadata.url": f"sqlite:{tmp_path}/m.sqlite", "storage.url": f"file:{tmp_path}/objects"}
    with broker(stores) as made:
        assert made.cluster_id
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    other = {**stores, "cluster.id": "AAAAAAAAAAAAAAAAAAAAAA", "broker.listen": f"127.0.0.1:{port}"}
    with pytest.raises(StartupError, match="AAAAAAAAAAAAAAAAAAAAAA") as failure, broker(other):
        pytest.fail("it started on the stores of another cluster")
    with socket.socket() as again:
        again.bind(("127.0.0.1", port))
    assert failure.value.exit_code == 1


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (1, r"an older Dray \(format 1, this build reads 2 only\): start with an empty"),
        (3, r"a newer Dray \(format 3, this build knows 2\): upgrade Dray"),
    ],
)
def test_data_directory_of_another_layout_is_refused_by_name(tmp_path: Path, found: int, words: str) -> None:
    stores = {"metadata.url": f"sqlite:{tmp_path}/m.sqlite", "storage.url": f"file:{tmp_path}/objects"}
    with broker(stores):
        pass
    pairs = [f"{key}={value}" for key, value in stores.items()]
    settings = load_settings(None, {}, {}, pairs).settings
    asyncio.run(_rewrite_record(settings, found))
    words = rf"the metadata store sqlite:{tmp_path}/m.sqlite was written by {words}"
    with pytest.raises(StartupError, match=words) as refused, broker(stores):
        pytest.fail("it started on a data directory of another layout")
    assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(StartupError, match=words):
        asyncio.run(_open(settings))
