"""A cluster whose log and tables are in Google Cloud Storage or Azure: produced to, compacted, and read.

The stores are emulators; the broker, Spark, DuckDB and PyIceberg are real. One module for both, because Spark
takes seconds to start.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dray.server.access import storage_access
from dray.server.catalog import iceberg_settings
from dray.settings import DraySettings
from dray.tables.iceberg.inspection import rows_of
from dray.tables.port import TopicTable
from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.clusters import FileCluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import invoke, invoke_ok
from tests.objects.emulators import serve_azure, serve_gcs

if TYPE_CHECKING:
    from dray.spark.engine import SparkEngine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real("java", "spark"),
    # Spark's `collect` leaves its socket to the garbage collector.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.fixture(
    params=[
        pytest.param(serve_gcs, id="gcs", marks=pytest.mark.real("gcs")),
        pytest.param(serve_azure, id="azure", marks=pytest.mark.real("azure")),
    ]
)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    with request.param() as server:
        yield {
            "metadata.url": f"sqlite:{tmp_path}/metadata.sqlite",
            "tables.catalog": f"sqlite:{tmp_path}/tables.sqlite",
            **server.pairs("cluster", tmp_path),
        }


def produce(kafka: EmbeddedBroker, first: int) -> None:
    lines = b"".join(b"k%d\tv%d\n" % (number, number) for number in range(first, first + 100))
    invoke_ok("produce", "t", "-q", r"--key-separator=\t", stdin=lines, kafka=kafka)


def values(kafka: EmbeddedBroker) -> set[str]:
    lines = invoke_ok("consume", "t", "--no-follow", "--json", kafka=kafka).lines
    return {json.loads(line)["value"] for line in lines}


def compact_with(engine: "SparkEngine", settings: DraySettings) -> None:
    report = compact(settings, "t", partial(engine.run_tasks, storage=storage_access(settings)))
    assert (report.records, report.failures) == (100, [])


def test_log_and_tables_in_a_cloud(stores: dict[str, str], engine: "SparkEngine", tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    flags = [f"--set={key}={value}" for key, value in stores.items()]
    expected = {f"v{number}" for number in range(200)}
    with broker(stores) as kafka:
        settings = settings_of(FileCluster(kafka, tmp_path), stores)
        invoke_ok("topics", "create", "t", "--partitions=2", kafka=kafka)
        produce(kafka, 0)
        compact_with(engine, settings)
        produce(kafka, 100)
        assert values(kafka) == expected
    with broker(stores) as kafka:  # which has nothing in memory
        assert values(kafka) == expected
    queried = invoke("sql", "SELECT DISTINCT utf8(value) AS value FROM t", "--json", *flags)
    assert queried.code == 0, queried.err
    assert {json.loads(line)["value"] for line in queried.lines} == expected
    described = invoke("tables", "describe", "t", "--json", *flags)
    assert described.code == 0, described.err
    table = TopicTable("t", json.loads(described.out)["topic_id"])
    iceberg = iceberg_settings(settings.tables, settings.storage, kafka.cluster_id)
    assert rows_of(iceberg, table).num_rows == 100
    spark = SparkSession.builder.getOrCreate()  # the engine's
    rows = spark.read.format("dray").options(**stores).load("t").select("value").collect()
    assert {bytes(row.value).decode() for row in rows} == expected
    assert len(rows) == 200
