"""A cluster with two topics, made once and copied for each test."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.check.stores import Stores, opened
from tests.cli.clusters import file_cluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import invoke_ok


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`cold` has a Parquet file and a WAL entry, `hot` four WAL entries, `empty` nothing."""
    data_dir = tmp_path_factory.mktemp("cluster")
    with file_cluster(data_dir) as cluster:
        for name in ("cold", "hot", "empty"):
            invoke_ok("topics", "create", name, kafka=cluster.kafka)
        for _ in range(2):
            invoke_ok("produce", "cold", "-q", stdin=b"a\nb\n", kafka=cluster.kafka)
        compact(settings_of(cluster), "cold")
        for number in range(4):
            invoke_ok("produce", "hot", "-q", stdin=b"c%d\nd\n" % number, kafka=cluster.kafka)
        invoke_ok("produce", "cold", "-q", stdin=b"e\n", kafka=cluster.kafka)
    return data_dir


@pytest.fixture
async def stores(template: Path, tmp_path: Path) -> AsyncIterator[Stores]:
    copy = tmp_path / "data"
    shutil.copytree(template, copy)
    async with opened(copy) as stores:
        yield stores
