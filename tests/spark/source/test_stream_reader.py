"""Stream readers as Spark's processes call them, without Spark, for all supported versions."""

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dray.scan.topic import TopicDeleted
from dray.server.errors import StartupError
from dray.spark.errors import DataLost
from dray.spark.source.columns import SCHEMA
from dray.spark.source.options import stream_options
from dray.spark.source.stream import BoundedStreamReader, DrayStreamReader
from tests.spark.source.clusters import START_MS, DiskCluster
from tests.spark.source.reads import connection


@dataclass
class ReadMaxRows:
    """Stands for the class of Spark 4.2."""

    max_rows: int


class ReadAllAvailable:
    """Stands for the class of Spark 4.2."""


@pytest.fixture
def cluster(tmp_path: Path) -> DiskCluster:
    made = DiskCluster(tmp_path / "data")
    made.create("t")
    made.append("t", 0, batches=3)
    made.append("t", 1, batches=1)
    return made


class Readers:
    """Creates readers of a cluster, and stops them at the end."""

    def __init__(self, cluster: DiskCluster) -> None:
        self._connection = connection(cluster)
        self._made: list[DrayStreamReader] = []

    def bounded(self, **options: str) -> BoundedStreamReader:
        read = stream_options({"topic": "t", "startingOffsets": "earliest"} | options, limits=True)
        made = BoundedStreamReader(read, SCHEMA, self._connection)
        self._made.append(made)
        return made

    def plain(self, **options: str) -> DrayStreamReader:
        made = DrayStreamReader(
            stream_options({"topic": "t"} | options, limits=False), SCHEMA, self._connection
        )
        self._made.append(made)
        return made

    def stop(self) -> None:
        for made in self._made:
            made.stop()


@pytest.fixture
def readers(cluster: DiskCluster) -> Iterator[Readers]:
    made = Readers(cluster)
    yield made
    made.stop()


def _at(stored: Mapping[str, Any]) -> dict[str, int]:
    return {key: value for key, value in stored.items() if key != "topic_id"}


def _rows(
    reader: DrayStreamReader, start: Mapping[str, Any], end: Mapping[str, Any]
) -> list[tuple[int, int]]:
    """Read a trigger as Spark does: with a pickled reader."""
    unpickled = pickle.loads(pickle.dumps(type(reader)(reader._options, SCHEMA, reader._connection)))
    return [
        (row["partition"], row["offset"])
        for one in reader.partitions(start, end)
        for batch in unpickled.read(pickle.loads(pickle.dumps(one)))
        for row in batch.to_pylist()
    ]


def test_initial_offset_follows_the_options(cluster: DiskCluster, readers: Readers) -> None:
    assert _at(readers.plain().initialOffset()) == {"0": 30, "1": 10}
    assert _at(readers.plain(startingOffsets="earliest").initialOffset()) == {"0": 0, "1": 0}
    assert _at(readers.plain(startingOffsets='{"0": 7, "1": -1}').initialOffset()) == {"0": 7, "1": 10}
    by_time = readers.plain(startingTimestamp=str(START_MS + 8_400))
    assert _at(by_time.initialOffset()) == {"0": 9, "1": 8}
    with pytest.raises(DataLost, match="offset 31 was requested, but the log ends at 30"):
        readers.plain(startingOffsets='{"0": 31, "1": 0}').initialOffset()
    cluster.trim("t", 0, 5)
    assert _at(readers.plain(startingOffsets="earliest").initialOffset()) == {"0": 5, "1": 0}


def test_trigger_reads_new_records(cluster: DiskCluster, readers: Readers) -> None:
    reader = readers.plain()
    start, _ = reader.initialOffset(), cluster.append("t", 1)
    end = reader.latestOffset()
    assert _rows(reader, start, end) == [(1, at) for at in range(10, 20)]
    assert reader.partitions(end, reader.latestOffset()) == []
    reader.commit(end)


def test_new_partitions_are_read_from_their_beginning(cluster: DiskCluster, readers: Readers) -> None:
    reader = readers.plain()
    start = reader.initialOffset()
    cluster.grow("t", 3)
    cluster.append("t", 2)
    end = reader.latestOffset()
    assert _at(end) == {"0": 30, "1": 10, "2": 10}
    assert _rows(reader, start, end) == [(2, at) for at in range(10)]


def test_read_limit_bounds_each_trigger(cluster: DiskCluster, readers: Readers) -> None:
    reader = readers.bounded(maxRecordsPerTrigger="16")
    start, read = reader.initialOffset(), []
    steps = []
    while (end := reader.latestOffset(start, ReadMaxRows(16))) != start:
        read += _rows(reader, start, end)
        steps.append(_at(end))
        start = end
    assert steps == [{"0": 12, "1": 4}, {"0": 24, "1": 8}, {"0": 30, "1": 10}]
    assert sorted(read) == sorted((row[0], row[1]) for row in cluster.sent["t"])


def test_read_all_available_ignores_the_limit(cluster: DiskCluster, readers: Readers) -> None:
    reader = readers.bounded(maxRecordsPerTrigger="16")
    assert _at(reader.latestOffset(reader.initialOffset(), ReadAllAvailable())) == {"0": 30, "1": 10}
    assert _at(reader.reportLatestOffset()) == {"0": 30, "1": 10}


def test_available_now_ends_at_the_offsets_of_its_start(cluster: DiskCluster, readers: Readers) -> None:
    reader = readers.bounded()
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    cluster.append("t", 0)
    end = reader.latestOffset(start, ReadAllAvailable())
    assert _at(end) == {"0": 30, "1": 10}
    assert reader.latestOffset(end, ReadAllAvailable()) == end


def test_partition_dropped_from_the_options_is_data_loss(cluster: DiskCluster, readers: Readers) -> None:
    start = readers.bounded().initialOffset()
    for strict in (True, False):
        reader = readers.bounded(partitions="1", failOnDataLoss=str(strict).lower())
        end = reader.latestOffset(start, ReadAllAvailable())
        assert _at(end) == {"1": 10}
        if strict:
            with pytest.raises(DataLost, match="partition 0 was read by this query"):
                reader.partitions(start, end)
        else:
            assert _rows(reader, start, end) == [(1, at) for at in range(10)]


def test_recreated_topic_is_refused(cluster: DiskCluster, readers: Readers) -> None:
    for reader in (readers.plain(startingOffsets="earliest"), bounded := readers.bounded()):
        start = reader.initialOffset()
        cluster.delete("t")
        cluster.create("t")
        end = bounded.latestOffset(start, ReadAllAvailable()) if reader is bounded else reader.latestOffset()
        with pytest.raises(TopicDeleted, match="was deleted and created again"):
            reader.partitions(start, end)


def test_missing_cluster_is_reported_on_every_call(tmp_path: Path) -> None:
    made = Readers(DiskCluster(tmp_path / "absent"))
    reader = made.plain()
    for _ in range(2):
        with pytest.raises(StartupError, match="there is nothing at"):
            reader.latestOffset()
    made.stop()
