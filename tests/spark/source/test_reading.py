"""Batch reads without Spark: every record once, whatever happens to the log between planning and reading."""

from pathlib import Path

import pyarrow as pa
import pytest

from dray.log.errors import LogDamaged
from dray.scan.topic import TopicDeleted
from dray.spark.errors import DataLost, InvalidOption
from tests.compaction.damage import unreadable
from tests.spark.source.clusters import START_MS, DiskCluster
from tests.spark.source.reads import plan

WAL, PARQUET = "WalEntry", "ParquetEntry"


@pytest.fixture
def cluster(tmp_path: Path) -> DiskCluster:
    """Return a topic with two partitions of 60 and 40 records."""
    made = DiskCluster(tmp_path / "data")
    made.create("t")
    made.append("t", 0, batches=6)
    made.append("t", 1, batches=4)
    return made


def test_rows_are_the_same_before_during_and_after_compaction(cluster: DiskCluster) -> None:
    assert plan(cluster).kinds() == {WAL}
    assert plan(cluster).rows() == cluster.sent["t"]
    cluster.compact("t")
    assert plan(cluster).kinds() == {PARQUET}
    assert plan(cluster).rows() == cluster.sent["t"]
    for files in (1, 2):  # the last one is partition 1's three files, merged
        cluster.append("t", 1, batches=3)
        mixed = plan(cluster)
        assert mixed.kinds() == {WAL, PARQUET}
        assert mixed.rows() == cluster.sent["t"]
        assert cluster.compact("t").files == files
        assert plan(cluster).rows() == cluster.sent["t"]


def test_records_appended_after_planning_are_not_read(cluster: DiskCluster) -> None:
    planned, sent = plan(cluster), list(cluster.sent["t"])
    cluster.append("t", 0)
    assert planned.rows() == sent


@pytest.mark.parametrize("compacted", [False, True])
def test_read_is_limited_by_offsets(cluster: DiskCluster, compacted: bool) -> None:
    if compacted:
        cluster.compact("t")
    found = plan(
        cluster, startingOffsets='{"0": 13, "1": -2}', endingOffsets='{"0": 27, "1": 5}', minPartitions="7"
    )
    assert found.offsets() == [(0, at) for at in range(13, 27)] + [(1, at) for at in range(5)]
    one = plan(cluster, partitions="1", startingOffsets='{"1": 39}')
    assert one.offsets() == [(1, 39)]
    assert plan(cluster, partitions="0", startingOffsets='{"0": 60}').tasks == []


@pytest.mark.parametrize("compacted", [False, True])
def test_read_is_limited_by_timestamps(cluster: DiskCluster, compacted: bool) -> None:
    """Record 20 of partition 0 has 20,000 ms, that of partition 1 has 20,500 ms."""
    if compacted:
        cluster.compact("t")
    found = plan(cluster, startingTimestamp=str(START_MS + 20_001), endingTimestamp=str(START_MS + 22_500))
    assert found.offsets() == [(0, 21), (0, 22), (1, 20), (1, 21)]
    late = plan(cluster, startingTimestamp=str(START_MS + 45_000))
    assert late.offsets() == [(0, at) for at in range(45, 60)]
    assert plan(cluster, startingTimestamp=str(START_MS + 10**9)).tasks == []
    assert len(plan(cluster, endingTimestamp=str(START_MS + 10**9)).offsets()) == 100


def test_only_requested_columns_are_returned(cluster: DiskCluster) -> None:
    wanted = pa.schema([("value", pa.binary()), ("partition", pa.int32())])
    expected = [{"value": row[4], "partition": row[0]} for row in cluster.sent["t"]]
    for _ in range(2):
        found = plan(cluster).batches(wanted)
        assert [row for batch in found for row in batch.to_pylist()] == expected
        assert {batch.schema for batch in found} == {wanted}
        cluster.compact("t")


def test_topic_compacted_and_swept_after_planning_is_read(cluster: DiskCluster) -> None:
    planned = plan(cluster)
    before = cluster.objects("wal")
    cluster.compact("t")
    cluster.sweep()
    assert not before & cluster.objects("wal")
    assert planned.rows() == cluster.sent["t"]


def test_files_merged_and_swept_after_planning_are_read(cluster: DiskCluster) -> None:
    cluster.compact("t")
    cluster.append("t", 0, batches=4)
    cluster.compact("t")
    cluster.append("t", 0, batches=4)
    planned = plan(cluster, startingOffsets='{"0": 55, "1": 2}', endingOffsets='{"0": 75, "1": 9}')
    before = cluster.objects("compaction")
    assert cluster.compact("t").files == 2  # one from the WAL, and one of that and the two before
    cluster.sweep()
    assert before - cluster.objects("compaction")
    assert planned.offsets() == [(0, at) for at in range(55, 75)] + [(1, at) for at in range(2, 9)]


def test_objects_swept_during_a_task_are_replaced_by_their_files(cluster: DiskCluster) -> None:
    """The topic has more objects than are prefetched."""
    cluster.append("t", 1, batches=30)
    planned = plan(cluster, minPartitions="1")
    (task,) = planned.tasks
    reading = iter(planned.reading(task))
    rows = [next(reading)]
    cluster.compact("t")
    cluster.sweep()
    rows += list(reading)
    assert [row["offset"] for one in rows for row in one.to_pylist()] == [*range(60), *range(340)]


def test_records_expired_after_planning_are_an_error_or_skipped(cluster: DiskCluster) -> None:
    strict, lenient = plan(cluster), plan(cluster, failOnDataLoss="false")
    cluster.trim("t", 0, 30)
    cluster.sweep()
    with pytest.raises(DataLost, match="partition 0: offsets 0 to 29 are no longer in the log"):
        strict.rows()
    assert lenient.rows() == cluster.sent["t"]
    assert len(cluster.sent["t"]) == 70


def test_records_expired_before_planning_are_not_missed(cluster: DiskCluster) -> None:
    cluster.trim("t", 0, 33)
    assert plan(cluster).rows() == cluster.sent["t"]
    early = plan(cluster, startingTimestamp=str(START_MS + 5_000), partitions="0")
    assert early.offsets()[0] == (0, 33)
    with pytest.raises(DataLost, match="offsets 3 to 32"):
        plan(cluster, partitions="0", startingOffsets='{"0": 3}')


def test_topic_deleted_after_planning_is_an_error(cluster: DiskCluster) -> None:
    planned = plan(cluster)
    cluster.delete("t")
    for path in cluster.objects("wal"):
        (cluster.folder / "objects" / path).unlink()
    with pytest.raises(TopicDeleted, match="the topic t is being deleted"):
        planned.rows()


def test_missing_object_is_reported_as_damage(cluster: DiskCluster) -> None:
    planned = plan(cluster)
    for path in cluster.objects("wal"):
        (cluster.folder / "objects" / path).unlink()
    with pytest.raises(LogDamaged, match=r"partition 0: offsets 0 to 9 are in wal/.*there is no such object"):
        planned.rows()


@pytest.mark.parametrize("compacted", [False, True])
def test_damaged_bytes_are_reported_and_not_skipped(cluster: DiskCluster, compacted: bool) -> None:
    if compacted:
        cluster.compact("t")
    for path in cluster.objects("compaction" if compacted else "wal"):
        file = cluster.folder / "objects" / path
        whole = bytearray(file.read_bytes())
        middle = len(whole) // 2
        whole[middle : middle + 8] = b"\xff" * 8
        file.chmod(0o600)
        file.write_bytes(whole)
    with pytest.raises(LogDamaged, match="partition 0: offsets 0 to"):
        plan(cluster, partitions="0").rows()


def test_records_skipped_by_compaction_are_read_from_the_wal(cluster: DiskCluster) -> None:
    path = sorted(cluster.objects("wal"))[3]
    lost = cluster.folder / "objects" / path
    content = lost.read_bytes()
    lost.unlink()
    report = cluster.compact("t")
    assert (report.records, report.skipped_records) == (90, 10)
    planned = plan(cluster)
    assert planned.kinds() == {WAL, PARQUET}
    with pytest.raises(LogDamaged, match=f"are in {path}, and there is no such object"):
        planned.rows()
    lost.write_bytes(content)
    assert planned.rows() == plan(cluster).rows() == cluster.sent["t"]


def test_unreadable_batch_is_reported_and_not_skipped(cluster: DiskCluster) -> None:
    cluster.append_batch("t", 0, unreadable(START_MS))
    for _ in range(2):
        with pytest.raises(LogDamaged, match=r"partition 0: offsets 60 to 61 .*cannot become rows"):
            plan(cluster).rows()
        cluster.compact("t")
    assert len(plan(cluster, partitions="0", endingOffsets='{"0": 60}').rows()) == 60


def test_unknown_topic_or_partition_is_refused(cluster: DiskCluster) -> None:
    with pytest.raises(TopicDeleted, match="there is no topic absent"):
        plan(cluster, "absent")
    with pytest.raises(InvalidOption, match="topic 't' has no partition 2"):
        plan(cluster, partitions="2")


def test_empty_topic_has_no_tasks(cluster: DiskCluster) -> None:
    cluster.create("empty", 3)
    assert plan(cluster, "empty").tasks == []
    assert plan(cluster, "empty", startingTimestamp="5").tasks == []
