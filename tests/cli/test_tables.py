"""`dray tables` and `dray compaction status`, over a real catalogue."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import msgpack, structs
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from dray.cli import cluster_look
from dray.cli.access import cluster_access
from dray.cli.compaction_pages import duration
from dray.cluster.keys import CLUSTER_DOMAIN
from dray.ids import TopicRef
from dray.index import CompactionJob, JobState, encode_job, job_key, lease_key
from dray.meta.port import Delete, Put
from dray.objects.port import StoreUnusable
from dray.pipeline.care.audit import differs_key
from dray.pipeline.care.differences import Difference
from dray.pipeline.job_store import JobStore
from dray.pipeline.stored_topics import find_topic
from dray.pipeline.troubles import Trouble, failed_key
from tests.cli.calling import Called, call, good
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.compaction_here import compact, settings_of
from tests.tables.duck import reading_iceberg


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileCluster]:
    """A cluster with a topic that is a table, but for its last ten records, and one that is none yet."""
    with file_cluster(tmp_path_factory.mktemp("tables")) as running:
        for topic in ("web.clicks", "later"):
            good("topics", "create", topic, "--partitions=2", kafka=running.kafka)
        produce(running, "web.clicks", 100)
        assert compact(settings_of(running), "web.clicks").records == 100
        produce(running, "web.clicks", 10)
        produce(running, "later", 5)
        yield running


def produce(cluster: FileCluster, topic: str, count: int) -> None:
    lines = b"".join(b"k%d\tv%d\n" % (number, number) for number in range(count))
    good("produce", topic, "-q", r"--key-separator=\t", stdin=lines, kafka=cluster.kafka)


def ask(cluster: FileCluster, *arguments: str) -> Called:
    return call(*arguments, *cluster.flags, f"--catalog=sqlite:{cluster.data_dir}/tables.sqlite")


def told(called: Called) -> list[dict[str, object]]:
    assert called.code == 0, called.err
    found = json.loads(called.out)
    return found if isinstance(found, list) else [found]


def test_the_list(cluster: FileCluster) -> None:
    [listed] = told(ask(cluster, "tables", "list", "--json"))
    assert listed["topic"] == "web.clicks"
    assert listed["table"] == "dray.web_x2e_clicks"
    assert (listed["rows"], listed["files"], listed["behind"]) == (100, 2, 10)
    sizes = [path.stat().st_size for path in cluster.data_dir.rglob("*.parquet")]
    assert listed["bytes"] == sum(sizes)
    heads, row = ask(cluster, "tables", "list").lines
    assert heads.split() == ["topic", "table", "rows", "files", "bytes", "behind", "differing", "snapshot"]
    assert row.split()[:7] == ["web.clicks", "dray.web_x2e_clicks", "100", "2", str(sum(sizes)), "10", "0"]


def test_a_table_in_full(cluster: FileCluster) -> None:
    [described] = told(ask(cluster, "tables", "describe", "web.clicks", "--json"))
    partitions = described["partitions"]
    assert isinstance(partitions, list)
    assert [one["partition"] for one in partitions] == [0, 1]
    assert sum(one["rows"] for one in partitions) == 100
    for one in partitions:
        assert (one["mark"], one["log_start"]) == (one["rows"], 0)
        assert one["behind"] == one["log_end"] - one["mark"]
    assert sum(one["behind"] for one in partitions) == 10
    text = ask(cluster, "tables", "describe", "web.clicks").lines
    assert text[0] == "table dray.web_x2e_clicks of topic web.clicks"
    assert f"  metadata  {described['metadata_location']}" in text


async def test_what_a_compactor_has_found_differing(cluster: FileCluster) -> None:
    async with cluster_access(settings_of(cluster))() as opened:
        topic = await find_topic(opened.meta, "web.clicks")
        assert topic is not None
        key = differs_key(topic.topic_id)
        found = msgpack.encode((Difference(1, 0, 4, 5, "somebody deleted rows"), Difference(1, 7, 8, 2, "")))
        await opened.meta.commit(CLUSTER_DOMAIN, [], [Put(key, found)])
        try:
            listed = await asyncio.to_thread(ask, cluster, "tables", "list", "--json")
            described = await asyncio.to_thread(ask, cluster, "tables", "describe", "web.clicks", "--json")
        finally:
            await opened.meta.commit(CLUSTER_DOMAIN, [], [Delete(key)])
    assert [(one["differing"], one["behind"]) for one in told(listed)] == [(7, 10)]
    partitions = told(described)[0]["partitions"]
    assert isinstance(partitions, list)
    assert [one["differing"] for one in partitions] == [0, 7]


def test_what_other_engines_are_told_is_true(cluster: FileCluster) -> None:
    from pyiceberg.catalog import load_catalog

    [described] = told(ask(cluster, "tables", "describe", "web.clicks", "--json"))
    engines = described["engines"]
    assert isinstance(engines, dict)
    with reading_iceberg() as duck:
        assert len(duck.execute(engines["duckdb"]).fetchall()) == 100
    table = eval(engines["pyiceberg"], {"load_catalog": load_catalog})
    assert table.scan().to_arrow().num_rows == 100
    table.catalog.close()
    assert engines["spark"] == f'spark.read.format("iceberg").load("{described["metadata_location"]}")'


def test_tables_that_are_not_there(cluster: FileCluster) -> None:
    none = ask(cluster, "tables", "describe", "later")
    assert (none.code, none.err) == (
        1,
        "dray: topic 'later' has no table; compaction makes one for each topic with records\n",
    )
    near = ask(cluster, "tables", "describe", "webclicks")
    assert near.err == "dray: there is no topic 'webclicks'; did you mean web.clicks?\n"


def test_a_table_that_does_not_say_whose_it_is_is_told(cluster: FileCluster) -> None:
    catalog = SqlCatalog("dray", uri=f"sqlite:///{cluster.data_dir}/tables.sqlite")
    schema = Schema(NestedField(1, "x", LongType()))
    catalog.create_table("dray.later", schema, location=(cluster.data_dir / "theirs").as_uri())
    try:
        described = ask(cluster, "tables", "describe", "later")
        assert described.code == 1
        assert "table dray.later lacks properties that say whose it is" in described.err
    finally:
        catalog.drop_table("dray.later")
        catalog.close()


def test_a_store_that_cannot_be_used_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused:
        async def __aenter__(self) -> None:
            raise StoreUnusable("the bucket says that access is denied")

        async def __aexit__(self, *_: object) -> None: ...

    monkeypatch.setattr(cluster_look, "cluster_access", lambda _: Refused)
    called = call("compaction", "status")
    assert (called.code, called.err) == (1, "dray: the bucket says that access is denied\n")


def test_a_look_makes_no_catalogue(cluster: FileCluster, tmp_path: Path) -> None:
    catalog = f"--catalog=sqlite:{tmp_path}/none.sqlite"
    called = call("tables", "list", *cluster.flags, catalog)
    assert called.lines == ["there are no tables yet; compaction makes one for each topic with records"]
    assert call("tables", "describe", "web.clicks", *cluster.flags, catalog).code == 1
    assert list(tmp_path.iterdir()) == []
    nowhere = call("tables", "list", f"--data-dir={tmp_path}/none")
    assert nowhere.code == 1
    assert "there is nothing at" in nowhere.err
    assert list(tmp_path.iterdir()) == []


def test_status_of_all_topics(cluster: FileCluster) -> None:
    later, clicks = told(ask(cluster, "compaction", "status", "--json"))
    assert (later["topic"], clicks["topic"]) == ("later", "web.clicks")
    partitions = clicks["partitions"]
    assert isinstance(partitions, list)
    assert sum(one["wal_records"] for one in partitions) == 10
    for one in partitions:
        job = one["job"]
        assert (job["state"], job["failure"], job["start_offset"]) == ("done", None, 0)
        assert job["end_offset"] + one["wal_records"] == one["high_watermark"]
        assert [(cluster.data_dir / "objects" / path).is_file() for path in job["files"]] == [True]
        assert one["wal_entries"] == 1
        assert one["wal_bytes"] > 0
        assert one["wal_age_ms"] >= 0
    waiting = later["partitions"]
    assert isinstance(waiting, list)
    assert [one["job"] for one in waiting] == [None, None]
    assert sum(one["wal_records"] for one in waiting) == 5


async def test_who_is_at_it_and_what_failed(cluster: FileCluster) -> None:
    settings = settings_of(cluster)
    async with cluster_access(settings)() as opened:
        topic = await find_topic(opened.meta, "later")
        assert topic is not None
        jobs = JobStore(opened.meta, opened.domains)
        failed = CompactionJob(
            "j", "c", TopicRef(topic.name, topic.topic_id), 0, JobState.DONE, 1, 2_000, 3, 9
        )
        failed = structs.replace(failed, outcome="the disk is full")
        key, domain = job_key(topic.streams[0]), jobs.store_domain(topic.streams[0])
        lease = lease_key(topic.topic_id)
        await opened.meta.commit(domain, [], [Put(key, encode_job(failed))])
        await opened.meta.commit(CLUSTER_DOMAIN, [], [Put(lease, b"host-1-ab")])
        try:
            text = (await asyncio.to_thread(ask, cluster, "compaction", "status", "later")).lines
        finally:
            await opened.meta.commit(CLUSTER_DOMAIN, [], [Delete(lease)])
            await opened.meta.commit(domain, [], [Delete(key)])
    assert text[0] == "topic later, host-1-ab is at it"
    assert "failed" in text[2]
    assert "1970-01-01T00:00:02.000Z  3-8" in text[2]
    assert text[-1] == "  partition 0 failed: the disk is full"


async def test_why_a_topic_is_not_compacted(cluster: FileCluster) -> None:
    async with cluster_access(settings_of(cluster))() as opened:
        topic = await find_topic(opened.meta, "web.clicks")
        assert topic is not None
        key = failed_key(topic.topic_id)
        trouble = Trouble(2_000, 3_000, "table dray.main was altered")
        await opened.meta.commit(CLUSTER_DOMAIN, [], [Put(key, msgpack.encode(trouble))])
        try:
            text = (await asyncio.to_thread(ask, cluster, "compaction", "status", "web.clicks")).lines
            found = await asyncio.to_thread(ask, cluster, "compaction", "status", "--json")
        finally:
            await opened.meta.commit(CLUSTER_DOMAIN, [], [Delete(key)])
    assert text[:2] == [
        "topic web.clicks",
        "  not compacted since 1970-01-01T00:00:02.000Z: table dray.main was altered",
    ]
    later, clicks = told(found)
    assert later["not_compacted"] is None
    assert clicks["not_compacted"] == {
        "since_ms": 2_000,
        "changed_at_ms": 3_000,
        "why": "table dray.main was altered",
    }


def test_status_of_a_topic_that_is_not_there(cluster: FileCluster) -> None:
    called = ask(cluster, "compaction", "status", "web-clicks")
    assert (called.code, called.err) == (
        1,
        "dray: there is no topic 'web-clicks'; did you mean web.clicks?\n",
    )


@pytest.mark.parametrize(
    ("ms", "text"),
    [(-5, "0.0 s"), (1_500, "1.5 s"), (119_000, "119.0 s"), (120_000, "2.0 min"), (7_200_000, "2.0 h")],
)
def test_durations(ms: int, text: str) -> None:
    assert duration(ms) == text
