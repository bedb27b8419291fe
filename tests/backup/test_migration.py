"""A cluster moves from SQLite to etcd and on to Oxia: the same records, groups, offsets and tables."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from dray.server.errors import StartupError
from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.clusters import FileCluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import invoke, invoke_ok
from tests.meta.etcd_cluster import EtcdCluster

pytestmark = [pytest.mark.real("etcd"), pytest.mark.slow]


@pytest.fixture
def oxia() -> Iterator[str]:
    command = [sys.executable, "-m", "dray.testing.oxia_server", "--port=0", "--shards=4"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"oxia://{server.stdout.readline().strip()}"
        finally:
            server.kill()


def stores(folder: Path, metadata: str) -> dict[str, str]:
    return {
        "metadata.url": metadata,
        "storage.url": f"file:{folder}/objects",
        "tables.catalog": f"sqlite:{folder}/tables.sqlite",
        "cluster.domains": "3",
    }


def flags_of(settings: dict[str, str]) -> list[str]:
    return [f"--set={key}={value}" for key, value in settings.items()]


def produce(kafka: EmbeddedBroker, first: int, count: int) -> None:
    lines = b"".join(b"k%d\tv%d\n" % (number % 7, number) for number in range(first, first + count))
    invoke_ok("produce", "orders", "-q", r"--key-separator=\t", stdin=lines, kafka=kafka)


def commit_offsets(kafka: EmbeddedBroker, count: int) -> None:
    """Consume as a group member, and commit."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    read = 0
    while read < count:
        message = consumer.poll(5.0)
        assert message is None or message.error() is None
        read += message is not None
    consumer.commit(asynchronous=False)
    consumer.close()


def seen(kafka: EmbeddedBroker, flags: list[str]) -> tuple[list[str], object, object, list[str]]:
    """Return what clients and SQL see: records with offsets, topics, committed offsets, rows."""
    records = invoke_ok("consume", "orders", "--no-follow", "--format", r"%p %o %k %v\n", kafka=kafka).lines
    topics = json.loads(invoke_ok("topics", "describe", "orders", "--json", kafka=kafka).out)
    for one in topics[0]["partitions"]:
        del one["leader"]
    groups = json.loads(invoke_ok("groups", "describe", "readers", "--json", kafka=kafka).out)
    del groups[0]["coordinator"]  # the broker has another port, and therefore another id
    query = 'SELECT "partition", "offset", utf8(value) AS v FROM orders ORDER BY ALL'
    rows = invoke("sql", query, "--json", *flags)
    assert rows.code == 0, rows.err
    return sorted(records), topics, groups, rows.lines


def test_cluster_moves_from_sqlite_to_etcd_to_oxia(etcd: EtcdCluster, oxia: str, tmp_path: Path) -> None:
    urls = [
        f"sqlite:{tmp_path}/metadata.sqlite",
        f"etcd://{','.join(etcd.addresses)}/migrated",
        oxia,
    ]
    before = None
    for step, url in enumerate(urls):
        settings = stores(tmp_path, url)
        flags = flags_of(settings)
        with broker(settings) as kafka:
            if before is None:
                invoke_ok("topics", "create", "orders", "--partitions=4", kafka=kafka)
                produce(kafka, 0, 300)
                commit_offsets(kafka, 200)
            else:
                assert seen(kafka, flags) == before
            report = compact(settings_of(FileCluster(kafka, tmp_path), settings), "orders")
            assert report.failures == []
            produce(kafka, 300 + 50 * step, 50)
            before = seen(kafka, flags)
            assert len(before[0]) == len(before[3]) == 350 + 50 * step
        if step + 1 < len(urls):
            path = str(tmp_path / f"backup-{step}")
            saved = invoke("metadata", "backup", "--to", path, *flags)
            assert saved.code == 0, saved.err
            verified = invoke("metadata", "verify", path)
            assert (verified.code, verified.lines[-1][-9:]) == (0, "all valid"), verified.err
            target = flags_of(stores(tmp_path, urls[step + 1]))
            restored = invoke("metadata", "restore", "--from", path, *target)
            assert restored.code == 0, restored.err
            with pytest.raises(StartupError, match="is superseded"), broker(settings):
                raise AssertionError
