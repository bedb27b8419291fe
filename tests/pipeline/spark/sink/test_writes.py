"""How a write begins and ends: what is refused before any work, and that it ends once and as a whole."""

from pathlib import Path

import pytest
from pyspark.sql.types import ArrayType, BinaryType, StringType, StructType

from dray.ids import meta_domain
from dray.log import NotStored
from dray.pipeline.access import OpenCluster
from dray.pipeline.spark.options import OptionWrong
from dray.pipeline.spark.sink import CannotWrite, open_writer
from dray.pipeline.spark.sink.columns import check_schema
from tests.pipeline.spark.sink.folders import FolderCluster, new_cluster
from tests.pipeline.spark.sink.loading import Write, schema_of, values

pytestmark = pytest.mark.slow


@pytest.fixture(params=[1, 4])
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> FolderCluster:
    """Of one meta domain and of several."""
    return new_cluster(tmp_path / "cluster", request.param)


@pytest.mark.parametrize(
    ("ddl", "told"),
    [
        ("key string", "no column value"),
        ("value int", "value is int; it must be string or binary"),
        ("value string, key bigint", "key is bigint"),
        ("value string, headers string", "headers is string.*array<struct<key:string,value:binary>>"),
        ("value headers", "value is array"),
        ("value string, timestamp date", "timestamp is date"),
        ("value string, partition string", "partition is string"),
        ("value string, offset bigint", "no place for the column offset"),
        ("value string, value string", "comes twice"),
    ],
)
def test_frames_that_cannot_be_written(tmp_path: Path, ddl: str, told: str) -> None:
    cluster = new_cluster(tmp_path / "nobody looks into it")
    with pytest.raises(CannotWrite, match=told):
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
def test_headers_of_another_shape(element: StringType | StructType) -> None:
    schema = StructType().add("value", BinaryType()).add("headers", ArrayType(element))
    with pytest.raises(CannotWrite, match="headers is array"):
        check_schema(schema)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "no topic is given"),
        (
            {"topic": "t", "compresion": "zstd"},
            "no option of the writer; did you mean compression",
        ),
        ({"topic": "a/b"}, "not the name of a topic"),
        ({"topic": "t", "compression": "brotli"}, "expected one of none, gzip"),
        ({"topic": "t", "createTopic": "true"}, "number of partitions"),
        ({"topic": "t", "createTopic": "maybe"}, "true or false"),
        ({"topic": "t", "createTopic": "true", "partitions": "0"}, "from 1 to 10000"),
        ({"topic": "t", "objectBytes": "much"}, "objectBytes is 'much'; expected a size"),
        ({"topic": "t", "objectBytes": "1kB"}, "from 1MiB to 256MiB"),
        ({"topic": "t", "loadHours": "0"}, "loadHours"),
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, options: dict[str, str], told: str) -> None:
    cluster = new_cluster(tmp_path / "cluster")
    schema = schema_of("value string")
    with pytest.raises(OptionWrong, match=told):
        open_writer(options, schema, False, cluster.access, cluster.storage)  # noqa: FBT003 - Spark's order


@pytest.mark.parametrize(
    ("topic", "told"), [("missing", "no topic missing"), ("__consumer_offsets", "a topic of Kafka's own")]
)
def test_topics_that_cannot_be_written(tmp_path: Path, topic: str, told: str) -> None:
    cluster = new_cluster(tmp_path / "cluster")
    with pytest.raises(CannotWrite, match=told):
        Write.to(cluster, topic)


def test_a_topic_cannot_be_overwritten(tmp_path: Path) -> None:
    cluster = new_cluster(tmp_path / "cluster")
    with pytest.raises(CannotWrite, match="append"):
        open_writer({"topic": "t"}, schema_of("value string"), True, cluster.access, cluster.storage)  # noqa: FBT003


def test_a_topic_is_made_when_asked_for(cluster: FolderCluster) -> None:
    for _ in range(2):
        write = Write.to(cluster, "new", createTopic="true", partitions="3")
        write.task([{"value": b"x"}] * 3)
        write.commit()
    topic = cluster.find_topic("new")
    assert [len(records) for records in cluster.records(topic)] == [2, 2, 2]
    cluster.make_topic("a.b", 1)
    with pytest.raises(CannotWrite, match="collides"):
        Write.to(cluster, "a_b", createTopic="true", partitions="3")


def test_nothing_is_seen_before_the_commit_and_everything_after(cluster: FolderCluster) -> None:
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


def test_a_task_done_twice_counts_once(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 2)
    write = Write.to(cluster, "t")
    write.task([{"value": b"first try"}] * 2)
    write.messages.clear()
    write.task([{"value": b"second try"}] * 2)
    before = len(cluster.objects())
    write.commit()
    assert [values(records) for records in cluster.records(topic)] == [[b"second try"]] * 2
    assert len(cluster.objects()) == before // 2


def test_an_empty_frame(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 2)
    write = Write.to(cluster, "t")
    write.task()
    write.commit()
    assert cluster.records(topic) == [[], []]
    assert cluster.objects() == []


def test_what_is_aborted_is_gone_and_stays_gone(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 4)
    write = Write.to(cluster, "t")
    write.task([{"value": b"x"}] * 100)
    write.writer.abort([None])
    assert cluster.objects() == []
    with pytest.raises(NotStored):
        write.commit()
    assert cluster.records(topic) == [[]] * 4


def test_a_task_that_told_nothing_stops_the_commit(cluster: FolderCluster) -> None:
    cluster.make_topic("t", 1)
    write = Write.to(cluster, "t")
    with pytest.raises(CannotWrite, match="0 of 1 tasks"):
        write.writer.commit([None])


def test_a_topic_deleted_meanwhile(cluster: FolderCluster) -> None:
    topic = cluster.make_topic("t", 2)
    write = Write.to(cluster, "t")
    write.task([{"value": b"x"}] * 10)

    async def delete(opened: OpenCluster) -> None:
        await cluster.topics(opened).delete("t", topic.topic_id)

    cluster.within(delete)
    with pytest.raises(Exception, match="the topic t was deleted while it was written to"):
        write.commit()
    write.writer.abort(write.messages)
    assert cluster.objects() == []
