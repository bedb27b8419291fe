"""A stream's reader as Spark's processes call it, without Spark: also what only some versions ask for."""

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dray.cli.failure import Failure
from dray.pipeline.reading.errors import TopicGone
from dray.pipeline.spark.source.columns import SCHEMA
from dray.pipeline.spark.source.errors import DataLost
from dray.pipeline.spark.source.options import stream_options
from dray.pipeline.spark.source.stream import BoundedStreamReader, DrayStreamReader
from tests.pipeline.spark.source.clusters import START_MS, DiskCluster
from tests.pipeline.spark.source.reads import connection


@dataclass
class ReadMaxRows:
    """As Spark 4.2 has it."""

    max_rows: int


class ReadAllAvailable:
    """As Spark 4.2 has it."""


@pytest.fixture
def cluster(tmp_path: Path) -> DiskCluster:
    made = DiskCluster(tmp_path / "data")
    made.create("t")
    made.append("t", 0, batches=3)
    made.append("t", 1, batches=1)
    return made


class Readers:
    """Makes readers of a cluster, and stops them in the end."""

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


def _at(told: Mapping[str, Any]) -> dict[str, int]:
    return {key: value for key, value in told.items() if key != "topic_id"}


def _rows(
    reader: DrayStreamReader, start: Mapping[str, Any], end: Mapping[str, Any]
) -> list[tuple[int, int]]:
    """Read a trigger the way Spark does: with a reader that has travelled."""
    travelled = pickle.loads(pickle.dumps(type(reader)(reader._options, SCHEMA, reader._connection)))
    return [
        (row["partition"], row["offset"])
        for one in reader.partitions(start, end)
        for batch in travelled.read(pickle.loads(pickle.dumps(one)))
        for row in batch.to_pylist()
    ]


def test_a_stream_begins_where_it_is_told(cluster: DiskCluster, readers: Readers) -> None:
    assert _at(readers.plain().initialOffset()) == {"0": 30, "1": 10}
    assert _at(readers.plain(startingOffsets="earliest").initialOffset()) == {"0": 0, "1": 0}
    assert _at(readers.plain(startingOffsets='{"0": 7, "1": -1}').initialOffset()) == {"0": 7, "1": 10}
    by_time = readers.plain(startingTimestamp=str(START_MS + 8_400))
    assert _at(by_time.initialOffset()) == {"0": 9, "1": 8}
    with pytest.raises(DataLost, match="offset 31 was asked for, and the log ends at 30"):
        readers.plain(startingOffsets='{"0": 31, "1": 0}').initialOffset()
    cluster.trim("t", 0, 5)
    assert _at(readers.plain(startingOffsets="earliest").initialOffset()) == {"0": 5, "1": 0}


def test_a_trigger_takes_what_is_there(cluster: DiskCluster, readers: Readers) -> None:
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


def test_triggers_are_bounded(cluster: DiskCluster, readers: Readers) -> None:
    reader = readers.bounded(maxRecordsPerTrigger="16")
    start, read = reader.initialOffset(), []
    steps = []
    while (end := reader.latestOffset(start, ReadMaxRows(16))) != start:
        read += _rows(reader, start, end)
        steps.append(_at(end))
        start = end
    assert steps == [{"0": 12, "1": 4}, {"0": 24, "1": 8}, {"0": 30, "1": 10}]
    assert sorted(read) == sorted((row[0], row[1]) for row in cluster.sent["t"])


def test_all_that_is_there_is_taken_if_spark_says_so(cluster: DiskCluster, readers: Readers) -> None:
    reader = readers.bounded(maxRecordsPerTrigger="16")
    assert _at(reader.latestOffset(reader.initialOffset(), ReadAllAvailable())) == {"0": 30, "1": 10}
    assert _at(reader.reportLatestOffset()) == {"0": 30, "1": 10}


def test_available_now_ends_where_it_began(cluster: DiskCluster, readers: Readers) -> None:
    reader = readers.bounded()
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    cluster.append("t", 0)
    end = reader.latestOffset(start, ReadAllAvailable())
    assert _at(end) == {"0": 30, "1": 10}
    assert reader.latestOffset(end, ReadAllAvailable()) == end


def test_partitions_left_out_since_are_missed_unless_they_may_be(
    cluster: DiskCluster, readers: Readers
) -> None:
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


def test_a_topic_made_again_is_another(cluster: DiskCluster, readers: Readers) -> None:
    for reader in (readers.plain(startingOffsets="earliest"), bounded := readers.bounded()):
        start = reader.initialOffset()
        cluster.delete("t")
        cluster.create("t")
        end = bounded.latestOffset(start, ReadAllAvailable()) if reader is bounded else reader.latestOffset()
        with pytest.raises(TopicGone, match="was deleted and made again"):
            reader.partitions(start, end)


def test_a_cluster_that_is_not_there_is_told_each_time(tmp_path: Path) -> None:
    made = Readers(DiskCluster(tmp_path / "absent"))
    reader = made.plain()
    for _ in range(2):
        with pytest.raises(Failure, match="there is nothing at"):
            reader.latestOffset()
    made.stop()
