"""Begin, commit and abort of a write: refusals before any work, and an atomic end."""

from pathlib import Path

import pytest
from pyspark.sql.types import ArrayType, BinaryType, StringType, StructType

from dray.ids import meta_domain
from dray.log import NotStored
from dray.scan.access import OpenCluster
from dray.spark.errors import InvalidOption
from dray.spark.sink import CannotWrite, open_writer
from dray.spark.sink.columns import check_schema
from tests.spark.sink.folders import FolderCluster, new_cluster
from tests.spark.sink.loading import Write, schema_of, values

pytestmark = pytest.mark.slow


@pytest.fixture(params=[1, 4])
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> FolderCluster:
    """Return a cluster with one meta domain, and one with several."""
    return new_cluster(tmp_path / "cluster", request.param)


@pytest.mark.parametrize(
    ("ddl", "error"),
    [
        ("key string", "no column value"),
        ("value int", "value is int; it must be string or binary"),
        ("value string, key bigint", "key is bigint"),
        ("value string, headers string", "headers is string.*array<struct<key:string,value:binary>>"),
        ("value headers", "value is array"),
        ("value string, timestamp date", "timestamp is date"),
        ("value string, partition string", "partition is string"),
        ("value string, offset bigint", "unknown column offset"),
        ("value string, value string", "duplicate columns"),
    ],
)
def test_invalid_frame_is_refused_without_opening_the_cluster(tmp_path: Path, ddl: str, error: str) -> None:
    cluster = new_cluster(tmp_path / "unopened")
    with pytest.raises(CannotWrite, match=error):
        Write.to(cluster, "t", ddl)
    assert not (cluster.folder / "meta.db").exists()


@pytest.mark.parametrize(
    "element",
    [
        StringType(),
        StructType().add("value", BinaryType()).add("key", StringType()),
        StructType().add("key", BinaryType()).add("value", BinaryType()),
    ],
)
def test_headers_of_another_type_are_refused(element: StringType | StructType) -> None:
    schema = StructType().add("value", BinaryType()).add("headers", ArrayType(element))
    with pytest.raises(CannotWrite, match="headers is array"):
        check_schema(schema)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, "no topic; set"),
        (
            {"topic": "t", "compresion": "zstd"},
            "not an option of the writer; did you mean compression",
        ),
        ({"topic": "a/b"}, "not a valid topic name"),
        ({"topic": "t", "compression": "brotli"}, "expected one of none, gzip"),
        ({"topic": "t", "createTopic": "true"}, "number of partitions"),
        ({"topic": "t", "createTopic": "maybe"}, "true or false"),
        ({"topic": "t", "createTopic": "true", "partitions": "0"}, "1 to 10000"),
        ({"topic": "t", "objectBytes": "much"}, "objectBytes is 'much'; expected a size"),
        ({"topic": "t", "objectBytes": "1kB"}, "from 1MiB to 256MiB"),
        ({"topic": "t", "loadHours": "0"}, "loadHours"),
    ],
)
def test_invalid_option_is_refused(tmp_path: Path, options: dict[str, str], error: str) -> None:
    cluster = new_cluster(tmp_path / "cluster")
    schema = schema_of("value string")
    with pytest.raises(InvalidOption, match=error):
        open_writer(options, schema, False, cluster.access, cluster.storage)  # noqa: FBT003 - Spark's order


@pytest.mark.parametrize(
    ("topic", "error"), [("missing", "no topic missing"), ("__consumer_offsets", "is an internal topic")]
)
def test_missing_or_internal_topic_is_refused(tmp_path: Path, topic: str, error: str) -> None:
    cluster = new_cluster(tmp_path / "cluster")
    with pytest.raises(CannotWrite, match=error):
        Write.to(cluster, topic)


def test_overwrite_mode_is_refused(tmp_path: Path) -> None:
    cluster = new_cluster(tmp_path / "cluster")
    with pytest.raises(CannotWrite, match="append"):
        open_writer({"topic": "t"}, schema_of("value string"), True, cluster.access, cluster.storage)  # noqa: FBT003


def test_create_topic_option_creates_a_missing_topic(cluster: FolderCluster) -> None:
    for _ in range(2):
        write = Write.to(cluster, "new", createTopic="true", partitions="3")
        write.task([{"value": b"x"}] * 3)
        write.commit()
    topic = cluster.find_topic("new")
    assert [len(records) for records in cluster.records(topic)] == [2, 2, 2]
    cluster.make_topic("a.b", 1)
    with pytest.raises(CannotWrite, match="collides"):
        Write.to(cluster, "a_b", createTopic="true", partitions="3")


def test_commit_makes_the_whole_write_visible_once(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 8)
    domains = {meta_domain(stream, cluster.domains) for stream in topic.streams}
    assert len(domains) > 1 or cluster.domains == 1
    write = Write.to(cluster, "t")
    for _ in range(3):
        write.task([{"value": b"%d" % number} for number in range(80)])
    assert cluster.records(topic) == [[]] * 8
    assert len(cluster.objects()) == 3 * len(domains)
    write.commit()
    assert [len(records) for records in cluster.records(topic)] == [30] * 8
    write.commit()
    write.writer.abort(write.messages)
    assert [len(records) for records in cluster.records(topic)] == [30] * 8


def test_repeated_task_counts_once(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 2)
    write = Write.to(cluster, "t")
    write.task([{"value": b"first attempt"}] * 2)
    write.messages.clear()
    write.task([{"value": b"second attempt"}] * 2)
    before = len(cluster.objects())
    write.commit()
    assert [values(records) for records in cluster.records(topic)] == [[b"second attempt"]] * 2
    assert len(cluster.objects()) == before // 2


def test_empty_frame_writes_nothing(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 2)
    write = Write.to(cluster, "t")
    write.task()
    write.commit()
    assert cluster.records(topic) == [[], []]
    assert cluster.objects() == []


def test_aborted_write_cannot_be_committed(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 4)
    write = Write.to(cluster, "t")
    write.task([{"value": b"x"}] * 100)
    write.writer.abort([None])
    assert cluster.objects() == []
    with pytest.raises(NotStored):
        write.commit()
    assert cluster.records(topic) == [[]] * 4


def test_commit_without_the_message_of_a_task_is_refused(cluster: FolderCluster) -> None:
    cluster.make_topic("t", 1)
    write = Write.to(cluster, "t")
    with pytest.raises(CannotWrite, match="0 of 1 tasks"):
        write.writer.commit([None])


def test_commit_to_a_topic_deleted_during_the_write_is_refused(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 2)
    write = Write.to(cluster, "t")
    write.task([{"value": b"x"}] * 10)

    async def delete(opened: OpenCluster) -> None:
        await cluster.topic_admin(opened).delete("t", topic.topic_id)

    cluster.within(delete)
    with pytest.raises(Exception, match="the topic t was deleted during the write"):
        write.commit()
    write.writer.abort(write.messages)
    assert cluster.objects() == []
