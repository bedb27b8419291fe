"""A cluster on etcd and S3 that demand TLS, certificates and passwords, as every kind of process reaches it.

Executors run in a standalone cluster of Spark: they have nothing but what the driver sends them.
"""

import asyncio
import json
import ssl
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dray.runtime import SystemClock, SystemEntropy, Tasks
from dray.server.access import storage_access
from dray.server.catalog import iceberg_settings
from dray.spark.settings import SparkSettings
from dray.tables.iceberg.inspection import rows_of
from dray.tables.port import TopicTable
from dray.testing import broker, seaweedfs
from dray.testing.seaweedfs import SECRET, ServerTls
from tests.cli.clusters import FileCluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import Result, invoke, invoke_ok
from tests.meta.certificates import Authority
from tests.meta.etcd_cluster import EtcdCluster, enable_authentication
from tests.meta.etcd_harness import QUICK_ELECTIONS
from tests.spark.cluster import standalone
from tests.spark.conftest import CACHE_FOLDER
from tests.spark.test_cluster import CONF, executors

if TYPE_CHECKING:
    from dray.spark.engine import SparkEngine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.real("java", "spark", "etcd", "seaweedfs", "openssl"),
    # Spark's `collect` leaves its socket to the garbage collector.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
    ),
]
PASSWORD = "marker-of-the-metadata"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates", "ours")


@pytest.fixture
def metadata(tmp_path: Path, authority: Authority) -> Iterator[dict[str, str]]:
    server, client = authority.issue("server"), authority.issue("client")
    options = ["--cert-file", server.certificate, "--key-file", server.key]
    options += ["--client-cert-auth", "--trusted-ca-file", authority.certificate]
    tls = ssl.create_default_context(cafile=authority.certificate)
    tls.load_cert_chain(client.certificate, client.key)
    (tmp_path / "password").write_text(PASSWORD)
    given = (*QUICK_ELECTIONS, *map(str, options))
    with EtcdCluster(tmp_path / "etcd", scheme="https", options=given) as cluster:
        enable_authentication(cluster, "/dray", PASSWORD, tls)
        yield {
            "metadata.url": f"etcd://{cluster.addresses[0]}/dray",
            "metadata.tls_ca_file": str(authority.certificate),
            "metadata.tls_certificate_file": str(client.certificate),
            "metadata.tls_key_file": str(client.key),
            "metadata.username": "dray",
            "metadata.password_file": str(tmp_path / "password"),
            "metadata.session_ttl_ms": "10000",
        }


@pytest.fixture
def storage(tmp_path: Path, authority: Authority) -> Iterator[dict[str, str]]:
    issued = authority.issue("s3")
    (tmp_path / "seaweedfs").mkdir()
    (tmp_path / "secret").write_text(SECRET)
    tls = ServerTls(issued.certificate, issued.key, authority.certificate)
    with seaweedfs.serve(tmp_path / "seaweedfs", tls) as server:
        server.make_bucket("dray")
        yield {
            "storage.url": "s3://dray/cluster",
            "storage.endpoint": server.endpoint,
            "storage.tls_ca_file": str(authority.certificate),
            "storage.region": "us-east-1",
            "storage.access_key_id": "writer",
            "storage.secret_access_key_file": str(tmp_path / "secret"),
            "storage.server_side_encryption": "AES256",
        }


@pytest.fixture
def stores(metadata: dict[str, str], storage: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return {**metadata, **storage, "tables.catalog": f"sqlite:{tmp_path}/tables.sqlite"}


@pytest.fixture
def spark_cluster(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "spark").mkdir()
    with standalone(tmp_path / "spark") as url:
        yield url


@pytest.fixture
def engine(spark_cluster: str) -> "Iterator[SparkEngine]":
    from dray.spark.engine import EngineDeps, SparkEngine

    settings = SparkSettings(master=spark_cluster, conf=CONF)
    made = SparkEngine(EngineDeps(SystemClock(), SystemEntropy(), Tasks(), settings, CACHE_FOLDER))
    yield made
    asyncio.run(made.close())


def command(stores: Mapping[str, str], *arguments: str) -> Result:
    """Run a command on the stores; it must succeed."""
    result = invoke(*arguments, *(f"--set={key}={value}" for key, value in stores.items()))
    assert result.code == 0, result.err
    return result


def test_every_process_reaches_secured_stores(
    stores: dict[str, str], engine: "SparkEngine", tmp_path: Path
) -> None:
    from pyspark.sql import SparkSession

    expected = {f"v{number}" for number in range(100)}
    lines = b"".join(b"k%d\tv%d\n" % (number, number) for number in range(100))
    with broker(stores) as kafka:
        invoke_ok("topics", "create", "t", "--partitions=2", kafka=kafka)
        invoke_ok("produce", "t", "-q", r"--key-separator=\t", stdin=lines, kafka=kafka)
        settings = settings_of(FileCluster(kafka, tmp_path), stores)
        report = compact(settings, "t", partial(engine.run_tasks, storage=storage_access(settings)))
        assert (report.records, report.failures) == (100, [])
        invoke_ok("produce", "t", "-q", r"--key-separator=\t", stdin=b"k100\tv100\n", kafka=kafka)
        expected.add("v100")
        spark = SparkSession.builder.getOrCreate()  # the engine's
        frame = spark.read.format("dray").options(**stores).load("t")
        assert {bytes(row.value).decode() for row in frame.select("value").collect()} == expected
        assert not shown(frame._jdf.queryExecution().toString())
        rows = spark.createDataFrame([(b"k", b"from Spark")], "key binary, value binary")
        rows.write.format("dray").mode("append").options(**stores).save("t")
        expected.add("from Spark")
        consumed = invoke_ok("consume", "t", "--no-follow", kafka=kafka).lines
        assert set(consumed) == expected
    queried = command(stores, "sql", "SELECT DISTINCT utf8(value) AS value FROM t", "--json").lines
    assert {json.loads(line)["value"] for line in queried} == expected
    table = TopicTable("t", json.loads(command(stores, "tables", "describe", "t", "--json").out)["topic_id"])
    iceberg = iceberg_settings(settings.tables, settings.storage, kafka.cluster_id)
    assert rows_of(iceberg, table).num_rows == 100
    command(stores, "metadata", "backup", "--to=objects")
    command(stores, "check", "--deep")
    assert executors(tmp_path / "spark")
    assert not [path for path in (tmp_path / "spark").rglob("*") if path.is_file() and shown_in(path)]


def shown(text: str) -> list[str]:
    """Return the secrets in a text."""
    return [secret for secret in (PASSWORD, SECRET) if secret in text]


def shown_in(path: Path) -> list[str]:
    return shown(path.read_bytes().decode(errors="replace"))
