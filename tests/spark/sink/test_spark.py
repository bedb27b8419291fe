"""Writes by a real Spark: every row once, whichever tasks fail."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from confluent_kafka import murmur2

from tests.spark.sink.folders import FolderCluster, make_active, new_cluster
from tests.spark.sink.loading import values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.real("java")]


@pytest.fixture
def cluster(tmp_path: Path) -> FolderCluster:
    return new_cluster(tmp_path / "cluster")


def _append(frame: "DataFrame", cluster: FolderCluster, topic: str, **options: str) -> None:
    frame.write.format("dray").options(**cluster.options, **options).mode("append").save(topic)


def test_frame_round_trips_to_consumers(spark: "SparkSession", cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 3)
    frame = spark.range(0, 5_000, 1, 4).selectExpr(
        "if(id % 3 = 0, null, concat('value ', id)) AS value",
        "concat('key ', id % 100) AS key",
        "array(named_struct('key', 'h', 'value', encode(string(id), 'utf-8'))) AS headers",
        "timestamp_millis(1700000000000 + id) AS timestamp",
    )
    _append(frame, cluster, "t")
    records = cluster.records(topic)
    for partition, found in enumerate(records):
        mine = [n for n in range(5_000) if murmur2(b"key %d" % (n % 100), 3) == partition]
        assert [(r.key, r.value, r.timestamp, r.headers) for r in found] == [_expected(n) for n in mine]
        assert [record.offset for record in found] == list(range(len(mine)))


def _expected(number: int) -> tuple[bytes, bytes | None, int, tuple[tuple[str, bytes], ...]]:
    value = None if number % 3 == 0 else b"value %d" % number
    headers = (("h", b"%d" % number),)
    return b"key %d" % (number % 100), value, 1_700_000_000_000 + number, headers


def test_empty_frame_creates_its_topic(spark: "SparkSession", cluster: FolderCluster) -> None:
    frame = spark.range(10).selectExpr("cast(id AS string) AS value").where("value = 'no'")
    _append(frame, cluster, "made", createTopic="true", partitions="2")
    assert cluster.records(cluster.find_topic("made")) == [[], []]


def test_invalid_write_is_refused_before_any_task(spark: "SparkSession", cluster: FolderCluster) -> None:
    cluster.make_topic("t", 1)
    frame = spark.range(1).selectExpr("cast(id AS string) AS value", "id AS number")
    with pytest.raises(Exception, match="unknown column number"):
        _append(frame, cluster, "t")
    with pytest.raises(Exception, match="can only be appended to"):
        frame.drop("number").write.format("dray").options(**cluster.options).mode("overwrite").save("t")
    assert cluster.objects() == []


class Failing:
    """Passes rows on, and fails at its second batch, once for each file in `marks`."""

    def __init__(self, marks: Path) -> None:
        self._marks = marks

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches):
            for mark in self._marks.glob("*") if number else ():
                mark.unlink()
                raise ValueError("this task fails halfway")
            yield batch


def _marks(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / str(number)).touch()
    return folder


def _wide(spark: "SparkSession", rows: int, tasks: int) -> "DataFrame":
    """Return rows so wide that a task puts an object before its input ends."""
    return spark.range(0, rows, 1, tasks).selectExpr("concat(id, repeat('x', 200)) AS value")


def _once_each(cluster: FolderCluster, rows: int) -> None:
    found = Counter(
        value for records in cluster.records(cluster.find_topic("t")) for value in values(records)
    )
    assert found == Counter(b"%d" % number + b"x" * 200 for number in range(rows))


def test_task_that_fails_halfway_is_retried(
    spark: "SparkSession", cluster: FolderCluster, tmp_path: Path
) -> None:
    cluster.make_topic("t", 2)
    marks = _marks(tmp_path / "marks", 1)
    frame = _wide(spark, 24_000, 2).mapInArrow(Failing(marks), "value string")
    _append(frame, cluster, "t", objectBytes=str(1 << 20))
    assert not list(marks.iterdir()), "no task failed"
    _once_each(cluster, 24_000)
    assert len(cluster.objects()) == len(cluster.committed_paths())


def test_rows_are_written_once_despite_a_worker_killed_after_its_put(
    spark: "SparkSession", cluster: FolderCluster, tmp_path: Path
) -> None:
    cluster.make_topic("t", 2)
    marks = _marks(tmp_path / "marks", 2)
    _append(_wide(spark, 24_000, 2), cluster, "t", objectBytes=str(1 << 20), marks=str(marks))
    assert not list(marks.iterdir()), "no worker was killed"
    _once_each(cluster, 24_000)
    assert len(cluster.objects()) == len(cluster.committed_paths())


def test_failed_write_leaves_no_objects(
    spark: "SparkSession", cluster: FolderCluster, tmp_path: Path
) -> None:
    topic = cluster.make_topic("t", 2)
    marks = _marks(tmp_path / "marks", 20)
    frame = _wide(spark, 24_000, 2).mapInArrow(Failing(marks), "value string")
    with pytest.raises(Exception, match="this task fails halfway"):
        _append(frame, cluster, "t", objectBytes=str(1 << 20))
    assert cluster.records(topic) == [[], []]
    assert cluster.objects() == []


def test_concurrent_writes_do_not_interleave(spark: "SparkSession", cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 1)

    def write(name: str) -> None:
        make_active(spark)
        frame = spark.range(0, 2_000, 1, 2).selectExpr(f"concat('{name}', id) AS value")
        _append(frame, cluster, "t")

    async def both() -> None:
        await asyncio.gather(asyncio.to_thread(write, "a"), asyncio.to_thread(write, "b"))

    asyncio.run(both())
    found = values(cluster.records(topic)[0])
    written = {name: [f"{name}{number}".encode() for number in range(2_000)] for name in "ab"}
    assert found in (written["a"] + written["b"], written["b"] + written["a"])
