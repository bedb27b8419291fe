"""`format("dray")` in a real Spark: batch and streaming reads, across restarts.

One module for all, because a session takes seconds to start. Tests without Spark are in `test_reading`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.spark.source.clusters import START_MS, DiskCluster
from tests.spark.source.reads import row_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real("java"),
    # Spark's `collect` leaves its socket to the garbage collector.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.fixture
def cluster(tmp_path: Path) -> DiskCluster:
    """Return a topic with two partitions: one all in Parquet, one with its end in the WAL."""
    made = DiskCluster(tmp_path / "data")
    made.create("t")
    made.append("t", 0, batches=3)
    made.append("t", 1, batches=5)
    made.compact("t")
    made.append("t", 1, batches=2)
    return made


def _read(spark: "SparkSession", cluster: DiskCluster, **options: str) -> "DataFrame":
    return spark.read.format("dray").option("data_dir", str(cluster.folder)).options(**options).load("t")


def test_records_round_trip_before_and_after_compaction(spark: "SparkSession", cluster: DiskCluster) -> None:
    frame = _read(spark, cluster, maxPartitionBytes="600KiB").orderBy("partition", "offset")
    before = [row_of(row.asDict(recursive=True)) for row in frame.collect()]
    assert before == cluster.sent["t"]
    cluster.compact("t")
    after = [row_of(row.asDict(recursive=True)) for row in frame.collect()]
    assert after == before


def test_schema_and_range_of_the_user_are_applied(spark: "SparkSession", cluster: DiskCluster) -> None:
    frame = (
        spark.read.format("dray")
        .schema("value binary, headers array<struct<key: string, value: binary>>, offset bigint")
        .option("DATA_DIR", str(cluster.folder))
        .option("StartingOFFSETS", '{"1": 48}')
        .option("ENDINGTIMESTAMP", str(START_MS + 53_000))
        .option("partitions", "1")
        .load("t")
    )
    expected = [
        (row[4], list(row[5]), row[1]) for row in cluster.sent["t"] if row[0] == 1 and 48 <= row[1] < 53
    ]
    found = [(row[0], [tuple(header) for header in row[1]], row[2]) for row in frame.collect()]
    assert found == expected
    assert _read(spark, cluster, startingOffsets='{"0": 30, "1": 70}').collect() == []


def test_temporary_view_is_queried_in_sql(spark: "SparkSession", cluster: DiskCluster) -> None:
    options = f"USING dray OPTIONS (topic 't', data_dir '{cluster.folder}')"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW clicks {options}")
    (row,) = spark.sql("SELECT count(*), max(offset), count(get(headers, 0)) FROM clicks").collect()
    sent = cluster.sent["t"]
    assert tuple(row) == (len(sent), 69, sum(1 for one in sent if one[5]))


def test_frame_keeps_the_plan_of_its_first_action_and_load_plans_again(
    spark: "SparkSession", cluster: DiskCluster
) -> None:
    """Spark plans a Python source once per `load` and per temporary view."""
    frame, unused = _read(spark, cluster), _read(spark, cluster)
    view = (
        f"CREATE OR REPLACE TEMPORARY VIEW again USING dray OPTIONS (topic 't', data_dir '{cluster.folder}')"
    )
    spark.sql(view)
    before = len(cluster.sent["t"])
    assert [frame.count(), spark.table("again").count()] == [before, before]
    cluster.append("t", 0)
    assert [frame.count(), frame.select("offset").count(), spark.table("again").count()] == [before] * 3
    assert frame.join(frame.select("partition", "offset"), ["partition", "offset"]).count() == before
    spark.sql(view)
    later = [unused.count(), _read(spark, cluster).count(), spark.table("again").count()]
    assert later == [before + 10] * 3
    cluster.compact("t")
    cluster.sweep()
    assert frame.count() == before


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"startingOfsets": "latest"}, "did you mean startingOffsets?"),
        ({"storage": "ftp://x"}, "option storage: storage.url"),
        ({"startingOffsets": '{"0": 0, "1": 500}'}, "failOnDataLoss to false"),
    ],
)
def test_error_reaches_the_user(
    spark: "SparkSession", cluster: DiskCluster, options: dict[str, str], error: str
) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as raised:
        _read(spark, cluster, **options).collect()
    assert error in str(raised.value)


class Table:
    """Streaming query that writes the topic to files; may be restarted from its checkpoint."""

    def __init__(self, spark: "SparkSession", cluster: DiskCluster, folder: Path) -> None:
        self._spark = spark
        self._cluster = cluster
        self._folder = folder

    def start(self, *, once: bool = False, **options: str) -> "StreamingQuery":
        reader = self._spark.readStream.format("dray").option("data_dir", str(self._cluster.folder))
        frame = reader.options(**{"startingOffsets": "earliest"} | options).load("t")
        writer = frame.writeStream.option("checkpointLocation", str(self._folder / "state"))
        trigger = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="0 seconds")
        return trigger.format("parquet").start(str(self._folder / "rows"))

    def catch_up(self, **options: str) -> int:
        """Read everything available; returns the number of micro-batches."""
        query = self.start(once=True, **options)
        query.awaitTermination()
        return len([one for one in query.recentProgress if one["numInputRows"]])

    def offsets(self) -> list[tuple[int, int]]:
        found = pq.read_table(self._folder / "rows", columns=["partition", "offset"]).to_pylist()
        return sorted((row["partition"], row["offset"]) for row in found)


@pytest.fixture
def table(spark: "SparkSession", cluster: DiskCluster, tmp_path: Path) -> Table:
    return Table(spark, cluster, tmp_path)


def _sent(cluster: DiskCluster) -> list[tuple[int, int]]:
    return sorted((row[0], row[1]) for row in cluster.sent["t"])


def test_stream_resumes_from_its_checkpoint(cluster: DiskCluster, table: Table) -> None:
    assert table.catch_up() == 1
    assert table.offsets() == _sent(cluster)
    cluster.compact("t")
    cluster.append("t", 1, batches=2)
    cluster.sweep()
    assert table.catch_up() == 1
    assert table.offsets() == _sent(cluster)
    assert table.catch_up() == 0


def test_new_partitions_are_read_from_their_beginning_and_deletion_ends_the_query(
    cluster: DiskCluster, table: Table
) -> None:
    from pyspark.errors import StreamingQueryException

    query = table.start()
    query.processAllAvailable()
    cluster.grow("t", 4)
    cluster.append("t", 3, batches=2)
    cluster.append("t", 0)
    query.processAllAvailable()
    assert table.offsets() == _sent(cluster)
    cluster.delete("t")
    with pytest.raises(StreamingQueryException, match="there is no topic t in this cluster"):
        query.awaitTermination(60)
    cluster.create("t")
    cluster.append("t", 0)
    with pytest.raises(StreamingQueryException, match="the topic t was deleted and created again"):
        table.catch_up()


def test_expired_records_end_the_query_unless_data_loss_is_allowed(
    cluster: DiskCluster, table: Table
) -> None:
    from pyspark.errors import StreamingQueryException

    table.catch_up()
    cluster.append("t", 0, batches=2)
    cluster.trim("t", 0, 35)
    with pytest.raises(StreamingQueryException, match="offsets 30 to 34 are no longer in the log"):
        table.catch_up()
    table.catch_up(failOnDataLoss="false")
    assert [at for partition, at in table.offsets() if partition == 0] == [*range(30), *range(35, 50)]


def test_trigger_limit_needs_spark_4_2(cluster: DiskCluster, table: Table) -> None:
    from pyspark.errors import StreamingQueryException

    from dray.spark.source.stream import LIMITS

    if LIMITS is None:
        with pytest.raises(StreamingQueryException, match=r"needs Spark 4\.2 or later"):
            table.catch_up(maxRecordsPerTrigger="40")
        return
    assert table.catch_up(maxRecordsPerTrigger="40") == 3
    cluster.append("t", 1, batches=5)
    assert table.catch_up(maxRecordsPerTrigger="40") == 2
    assert table.offsets() == _sent(cluster)
