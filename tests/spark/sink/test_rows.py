"""Rows to records: fields, partitions as any Kafka client chooses them, and the topic's limits."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import murmur2

from dray.formats import wal_v1
from dray.records import Codec, Record, parse_header
from dray.spark.sink import CannotWrite
from tests.spark.sink.folders import FolderCluster, new_cluster
from tests.spark.sink.loading import FULL, Row, Write, arrow, values

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(tmp_path: Path) -> FolderCluster:
    return new_cluster(tmp_path / "cluster")


def test_every_field_round_trips(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 2)
    moment = datetime(2024, 5, 6, 7, 8, 9, 123_000, UTC)
    rows: list[Row] = [
        {"value": None, "key": b"", "headers": None, "timestamp": moment, "partition": 1},
        {"value": b"", "key": None, "headers": [], "timestamp": moment, "partition": 1},
        {
            "value": b"v",
            "key": b"k",
            "headers": [{"key": "a", "value": b"1"}, {"key": "a", "value": None}, {"key": "é", "value": b""}],
            "timestamp": moment,
            "partition": 1,
        },
    ]
    write = Write.to(cluster, "t", FULL)
    write.task(rows)
    write.commit()
    ms = round(moment.timestamp() * 1000)
    assert cluster.records(topic) == [
        [],
        [
            Record(0, ms, b"", None, ()),
            Record(1, ms, None, b"", ()),
            Record(2, ms, b"k", b"v", (("a", b"1"), ("a", None), ("é", b""))),
        ],
    ]


def test_rows_go_to_the_partition_of_their_key_in_order(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 5)
    write = Write.to(cluster, "t", "key string, value string")
    keys = [f"key-{number % 40}" for number in range(1_000)]
    batches = [
        pa.record_batch(
            [keys[at : at + 100], [f"{number}" for number in range(at, at + 100)]], names=["key", "value"]
        )
        for at in range(0, 1_000, 100)
    ]
    write.task(*batches[:5])
    write.task(*batches[5:])
    write.commit()
    for partition, records in enumerate(cluster.records(topic)):
        mine = [n for n, key in enumerate(keys) if murmur2(key.encode(), 5) == partition]
        assert values(records) == [str(number).encode() for number in mine]
        assert [record.offset for record in records] == list(range(len(mine)))


def test_null_partition_falls_back_to_the_key(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 3)
    write = Write.to(cluster, "t", "value binary, key binary, partition bigint")
    write.task(
        [
            {"value": b"by column", "key": b"k", "partition": 1},
            {"value": b"by key", "key": b"k", "partition": None},
        ]
    )
    write.commit()
    found = {value: number for number, part in enumerate(cluster.records(topic)) for value in values(part)}
    assert found == {b"by column": 1, b"by key": murmur2(b"k", 3)}


def test_rows_without_a_key_are_spread_evenly(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 4)
    write = Write.to(cluster, "t")
    for _ in range(2):
        write.task([{"value": b"%d" % number} for number in range(1_000)])
    write.commit()
    assert [len(records) for records in cluster.records(topic)] == [500] * 4


def test_null_timestamp_becomes_the_start_of_the_load(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 1)
    write = Write.to(cluster, "t", "value binary, timestamp bigint")
    given = pa.record_batch(
        [[b"a", b"b"], pa.array([1_700_000_000_001, None], pa.int64())], ["value", "timestamp"]
    )
    write.task(given)
    write.commit()
    assert write.writer._load is not None
    times = [record.timestamp for record in cluster.records(topic)[0]]
    assert times == [1_700_000_000_001, write.writer._load.created_at_ms]


def test_log_append_time_overrides_timestamps_of_rows(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 1, message_timestamp_type="LogAppendTime")
    write = Write.to(cluster, "t", "value binary, timestamp timestamp")
    write.task(
        [{"value": b"%d" % year, "timestamp": datetime(year, 1, 1, tzinfo=UTC)} for year in (2001, 2002)]
    )
    write.commit()
    assert [record.timestamp for record in cluster.records(topic)[0]] == [
        write.writer._load.created_at_ms
    ] * 2
    (batch,) = _batches(cluster)
    assert parse_header(batch).timestamp_type == 1


@pytest.mark.parametrize(
    ("option", "config", "codec"),
    [
        (None, "producer", Codec.ZSTD),
        ("none", "producer", Codec.NONE),
        ("LZ4", "producer", Codec.LZ4),
        ("snappy", "producer", Codec.SNAPPY),
        ("gzip", "producer", Codec.GZIP),
        (None, "lz4", Codec.LZ4),
        ("none", "gzip", Codec.GZIP),
        ("zstd", "uncompressed", Codec.NONE),
    ],
)
def test_codec_follows_option_and_topic_config(
    cluster: FolderCluster, option: str | None, config: str, codec: Codec
) -> None:
    topic = cluster.make_topic("t", 1, compression_type=config)
    write = Write.to(cluster, "t", **({} if option is None else {"compression": option}))
    write.task([{"value": b"the same again " * 20}] * 100)
    write.commit()
    assert {parse_header(batch).codec for batch in _batches(cluster)} == {codec}
    assert values(cluster.records(topic)[0]) == [b"the same again " * 20] * 100


def test_batches_do_not_exceed_max_message_bytes(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 1, max_message_bytes="2000")
    write = Write.to(cluster, "t", compression="none")
    write.task([{"value": b"x" * 300}] * 50)
    write.commit()
    sizes = [len(batch) for batch in _batches(cluster)]
    assert max(sizes) <= 2000
    assert len(sizes) == 9
    assert len(cluster.records(topic)[0]) == 50


def test_large_task_writes_several_objects(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 3)
    write = Write.to(cluster, "t", compression="none", objectBytes=str(1 << 20))
    batches = [
        arrow([{"value": b"%06d" % (at + number) * 40} for number in range(1_000)])
        for at in range(0, 20_000, 1_000)
    ]
    write.task(*batches)
    write.commit()
    assert len(cluster.objects()) == 4
    records = cluster.records(topic)
    assert sorted(value for part in records for value in values(part) if value) == [
        b"%06d" % number * 40 for number in range(20_000)
    ]


def _batches(cluster: FolderCluster) -> list[memoryview]:
    found = []
    for path in cluster.objects():
        for chunk in wal_v1.decode(path.name, path.read_bytes()).chunks:
            found += [batch for _, batch in chunk.batches]
    return found


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([{"value": b"x", "partition": 2}], r"partition 2; the topic has 2"),
        ([{"value": b"x", "partition": -1}], "partition -1"),
        (
            [{"value": b"x" * 10_000_000, "partition": 1}],
            r"partition 1 makes a record of 10\d+ bytes.*1048588",
        ),
        ([{"value": b"x", "headers": [{"key": None, "value": b"1"}]}], "has no key"),
        ([{"value": b"x", "headers": [None]}], "header is null"),
        ([{"value": b"x", "timestamp": datetime(1969, 1, 1, tzinfo=UTC)}], "expected 0"),
        ([{"value": b"x", "timestamp": datetime(2999, 1, 1, tzinfo=UTC)}], "out of range"),
    ],
)
def test_invalid_row_fails_the_write(cluster: FolderCluster, rows: list[Row], error: str) -> None:
    topic = cluster.make_topic("t", 2)
    write = Write.to(cluster, "t", FULL, compression="none")
    write.task([{"value": b"valid"}])
    with pytest.raises(CannotWrite, match=error):
        write.task(rows)
    write.writer.abort([*write.messages, None])
    assert cluster.objects() == []
    assert cluster.records(topic) == [[], []]


def test_compacted_topic_requires_keys(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 1, cleanup_policy="compact")
    write = Write.to(cluster, "t", "value binary, key binary")
    with pytest.raises(CannotWrite, match="1 rows for partition 0 have no key"):
        write.task([{"value": b"x", "key": b"k"}, {"value": b"y", "key": None}])
    write.task([{"value": None, "key": b"k"}])
    write.commit()
    assert [(record.key, record.value) for record in cluster.records(topic)[0]] == [(b"k", None)]
