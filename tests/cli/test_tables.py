"""`dray tables` and `dray compaction status` with a real catalog."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import msgpack, structs
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from dray.cli.render.formats import duration
from dray.cluster.topics import find_topic
from dray.compaction.failures import TopicFailure
from dray.compaction.index_files import IndexFiles
from dray.compaction.job_store import JobStore
from dray.ids import StreamId, TopicRef
from dray.index import CompactionJob, IndexEntry, JobState, SkippedRange, encode_job
from dray.keyspace import CLUSTER_DOMAIN, differences_key, failure_key, job_key, lease_key
from dray.maintenance.differences import Difference
from dray.meta.port import Delete, Put
from dray.objects.port import StoreUnusable
from dray.scan.access import OpenCluster
from dray.server import cluster_query, table_query
from dray.server.access import cluster_access
from dray.settings import load_settings
from dray.tables.iceberg.inspection import TableLocation
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import Result, invoke, invoke_ok, pasted
from tests.tables.duck import reading_iceberg


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileCluster]:
    """A cluster with a topic whose table lags by ten records, and a topic without a table."""
    with file_cluster(tmp_path_factory.mktemp("tables")) as running:
        for topic in ("web.clicks", "later"):
            invoke_ok("topics", "create", topic, "--partitions=2", kafka=running.kafka)
        produce(running, "web.clicks", 100)
        assert compact(settings_of(running), "web.clicks").records == 100
        produce(running, "web.clicks", 10)
        produce(running, "later", 5)
        yield running


def produce(cluster: FileCluster, topic: str, count: int) -> None:
    lines = b"".join(b"k%d\tv%d\n" % (number, number) for number in range(count))
    invoke_ok("produce", topic, "-q", r"--key-separator=\t", stdin=lines, kafka=cluster.kafka)


def tables(cluster: FileCluster, *arguments: str) -> Result:
    catalog = f"--catalog=sqlite:{cluster.data_dir}/tables.sqlite"
    return invoke("tables", *arguments, *cluster.flags, catalog)


def status(cluster: FileCluster, *arguments: str) -> Result:
    return invoke("compaction", "status", *arguments, *cluster.flags)


def parsed(result: Result) -> list[dict[str, object]]:
    assert result.code == 0, result.err
    found = json.loads(result.out)
    return found if isinstance(found, list) else [found]


def test_list_shows_sizes_and_lag(cluster: FileCluster) -> None:
    [listed] = parsed(tables(cluster, "list", "--json"))
    assert listed["topic"] == "web.clicks"
    assert listed["table"] == "dray.web_x2e_clicks"
    assert (listed["rows"], listed["files"], listed["lag"]) == (100, 2, 10)
    sizes = [path.stat().st_size for path in cluster.data_dir.rglob("*.parquet")]
    assert listed["bytes"] == sum(sizes)
    heads, row = tables(cluster, "list").lines
    assert heads.split() == ["topic", "table", "rows", "files", "bytes", "lag", "differing", "snapshot"]
    assert row.split()[:7] == ["web.clicks", "dray.web_x2e_clicks", "100", "2", str(sum(sizes)), "10", "0"]


def test_describe_shows_location_and_progress(cluster: FileCluster) -> None:
    [described] = parsed(tables(cluster, "describe", "web.clicks", "--json"))
    partitions = described["partitions"]
    assert isinstance(partitions, list)
    assert [one["partition"] for one in partitions] == [0, 1]
    assert sum(one["rows"] for one in partitions) == 100
    for one in partitions:
        assert (one["mark"], one["log_start"]) == (one["rows"], 0)
        assert one["lag"] == one["log_end"] - one["mark"]
    assert sum(one["lag"] for one in partitions) == 10
    text = tables(cluster, "describe", "web.clicks").lines
    assert text[0] == "table dray.web_x2e_clicks of topic web.clicks"
    assert f"  metadata  {described['metadata_location']}" in text


async def test_differing_records_are_listed(cluster: FileCluster) -> None:
    async with cluster_access(settings_of(cluster))() as opened:
        topic = await find_topic(opened.meta, "web.clicks")
        assert topic is not None
        key = differences_key(topic.topic_id)
        found = msgpack.encode(
            (Difference(1, 0, 4, 5, "another engine deleted rows"), Difference(1, 7, 8, 2, ""))
        )
        await opened.meta.commit(CLUSTER_DOMAIN, [], [Put(key, found)])
        try:
            listed = await asyncio.to_thread(tables, cluster, "list", "--json")
            described = await asyncio.to_thread(tables, cluster, "describe", "web.clicks", "--json")
        finally:
            await opened.meta.commit(CLUSTER_DOMAIN, [], [Delete(key)])
    assert [(one["differing"], one["lag"]) for one in parsed(listed)] == [(7, 10)]
    partitions = parsed(described)[0]["partitions"]
    assert isinstance(partitions, list)
    assert [one["differing"] for one in partitions] == [0, 7]


def test_commands_for_other_engines_work(cluster: FileCluster) -> None:
    [described] = parsed(tables(cluster, "describe", "web.clicks", "--json"))
    engines = described["engines"]
    assert isinstance(engines, dict)
    with reading_iceberg() as duck:
        assert len(duck.execute(engines["duckdb"]).fetchall()) == 100
    table = pasted(str(engines["pyiceberg"]))
    assert table.scan().to_arrow().num_rows == 100
    table.catalog.close()
    assert engines["spark"] == f'spark.read.format("iceberg").load("{described["metadata_location"]}")'


def test_commands_for_other_engines_refer_to_secrets_in_the_environment() -> None:
    pairs = (
        "storage.url=s3://bucket/a",
        "storage.endpoint=https://s3.internal/",
        "storage.virtual_hosted=true",
        "tables.catalog=https://catalog",
        "tables.warehouse=w",
    )
    secrets = {"DRAY_TABLES_TOKEN": "hunter2", "DRAY_TABLES_CREDENTIAL": "id:hunter3"}
    settings = load_settings(None, secrets, {}, pairs).settings
    place = TableLocation("dray.t", "s3://bucket/a/t", "s3://bucket/a/t/1.metadata.json", None)
    engines = table_query.engines_of(settings, "s3://bucket/a", place)
    assert engines.pyiceberg == (
        'import os; from pyiceberg.catalog import load_catalog; load_catalog("dray", type="rest", '
        'uri="https://catalog", warehouse="w", credential=os.environ["DRAY_TABLES_CREDENTIAL"], '
        'token=os.environ["DRAY_TABLES_TOKEN"], **{"s3.endpoint": "https://s3.internal/", '
        '"s3.region": "us-east-1", "s3.force-virtual-addressing": "true"}).load_table("dray.t")'
    )
    assert engines.duckdb == (
        "CREATE SECRET (TYPE s3, SCOPE 's3://bucket', REGION 'us-east-1', ENDPOINT 's3.internal', "
        "URL_STYLE 'vhost', USE_SSL true); FROM iceberg_scan('s3://bucket/a/t/1.metadata.json');"
    )
    on_azure = load_settings(None, {}, {"--storage": "az://con"}, ("storage.account=acc",)).settings
    assert ', **{"adls.account-name": "acc"})' in table_query.engines_of(on_azure, "", place).pyiceberg
    on_aws = load_settings(None, {}, {"--storage": "s3://bucket"}, ()).settings
    assert "SECRET" not in table_query.engines_of(on_aws, "s3://bucket", place).duckdb


def test_missing_tables_are_reported(cluster: FileCluster) -> None:
    none = tables(cluster, "describe", "later")
    assert (none.code, none.err) == (
        1,
        "dray: topic 'later' has no table yet; compaction creates one for each topic with records\n",
    )
    near = tables(cluster, "describe", "webclicks")
    assert near.err == "dray: there is no topic 'webclicks'; did you mean web.clicks?\n"


def test_foreign_table_is_reported(cluster: FileCluster) -> None:
    catalog = SqlCatalog("dray", uri=f"sqlite:///{cluster.data_dir}/tables.sqlite")
    schema = Schema(NestedField(1, "x", LongType()))
    catalog.create_table("dray.later", schema, location=(cluster.data_dir / "theirs").as_uri())
    try:
        described = tables(cluster, "describe", "later")
        assert described.code == 1
        assert "table dray.later lacks properties that identify its topic" in described.err
    finally:
        catalog.drop_table("dray.later")
        catalog.close()


def test_store_error_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class DeniedStore:
        async def __aenter__(self) -> None:
            raise StoreUnusable("the bucket denies access")

        async def __aexit__(self, *_: object) -> None: ...

    monkeypatch.setattr(cluster_query, "cluster_access", lambda _: DeniedStore)
    result = invoke("compaction", "status")
    assert (result.code, result.err) == (1, "dray: the bucket denies access\n")


def test_list_creates_no_catalog(cluster: FileCluster, tmp_path: Path) -> None:
    catalog = f"--set=tables.catalog=sqlite:{tmp_path}/none.sqlite"
    result = invoke("tables", "list", *cluster.flags, catalog)
    assert result.lines == ["there are no tables yet; compaction creates one for each topic with records"]
    assert invoke("tables", "describe", "web.clicks", *cluster.flags, catalog).code == 1
    assert list(tmp_path.iterdir()) == []
    nowhere = invoke("tables", "list", f"--data-dir={tmp_path}/none")
    assert nowhere.code == 1
    assert "there is nothing at" in nowhere.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["list"], ["describe", "web.clicks"]])
def test_missing_catalog_that_a_flag_names_is_reported(
    cluster: FileCluster, tmp_path: Path, command: list[str]
) -> None:
    result = invoke("tables", *command, *cluster.flags, f"--catalog=sqlite:{tmp_path}/nodir/x.sqlite")
    assert (result.code, result.err) == (
        1,
        f"dray: there is no catalog at {tmp_path}/nodir/x.sqlite; compaction creates it\n",
    )


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:1", "Connection refused"),
        ("http://nohost.invalid", "Name or service not known"),
    ],
)
def test_unreachable_catalog_is_reported_in_one_line(cluster: FileCluster, url: str, reason: str) -> None:
    result = invoke("tables", "list", *cluster.flags, f"--catalog={url}")
    assert (result.code, result.err) == (1, f"dray: the catalog: cannot reach {url}: {reason}\n")


def test_compaction_status_of_all_topics(cluster: FileCluster) -> None:
    later, clicks = parsed(status(cluster, "--json"))
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


async def test_status_shows_the_compactor_and_failed_jobs(cluster: FileCluster) -> None:
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
            text = (await asyncio.to_thread(status, cluster, "later")).lines
        finally:
            await opened.meta.commit(CLUSTER_DOMAIN, [], [Delete(lease)])
            await opened.meta.commit(domain, [], [Delete(key)])
    assert text[0] == "topic later, being compacted by host-1-ab"
    assert "failed" in text[2]
    assert "1970-01-01T00:00:02.000Z  3-8" in text[2]
    assert text[-1] == "  partition 0 failed: the disk is full"


async def test_status_shows_why_a_topic_is_not_compacted(cluster: FileCluster) -> None:
    async with cluster_access(settings_of(cluster))() as opened:
        topic = await find_topic(opened.meta, "web.clicks")
        assert topic is not None
        key = failure_key(topic.topic_id)
        trouble = TopicFailure(2_000, 3_000, "table dray.main was altered")
        await opened.meta.commit(CLUSTER_DOMAIN, [], [Put(key, msgpack.encode(trouble))])
        try:
            text = (await asyncio.to_thread(status, cluster, "web.clicks")).lines
            found = await asyncio.to_thread(status, cluster, "--json")
        finally:
            await opened.meta.commit(CLUSTER_DOMAIN, [], [Delete(key)])
    assert text[:2] == [
        "topic web.clicks",
        "  not compacted since 1970-01-01T00:00:02.000Z: table dray.main was altered",
    ]
    later, clicks = parsed(found)
    assert later["failure"] is None
    assert clicks["failure"] == {
        "since_ms": 2_000,
        "changed_at_ms": 3_000,
        "reason": "table dray.main was altered",
    }


async def test_status_shows_skipped_records(cluster: FileCluster) -> None:
    async with cluster_access(settings_of(cluster))() as opened:
        topic = await find_topic(opened.meta, "later")
        assert topic is not None
        jobs = JobStore(opened.meta, opened.domains)
        found = [await _entries(opened, jobs, stream) for stream in topic.streams]
        (at, entry) = next((at, entries[0]) for at, entries in enumerate(found) if entries)
        stream = topic.streams[at]
        skipped = SkippedRange(0, entry.end_offset, entry.path, "there is no such object", 2_000)
        job = CompactionJob("j", "c", TopicRef(topic.name, topic.topic_id), at, JobState.DONE, 1, 2_000, 0, 5)
        put = Put(job_key(stream), encode_job(structs.replace(job, skipped=(skipped,))))
        await opened.meta.commit(jobs.store_domain(stream), [], [put])
        try:
            text = (await asyncio.to_thread(status, cluster, "later")).lines
            json_of = await asyncio.to_thread(status, cluster, "later", "--json")
        finally:
            await opened.meta.commit(jobs.store_domain(stream), [], [Delete(put.key)])
    last = entry.end_offset - 1
    assert text[-1] == (
        f"  partition {at}, offsets 0 to {last}: skipped since 1970-01-01T00:00:02.000Z and kept in "
        f"{entry.path}: there is no such object"
    )
    (later,) = parsed(json_of)
    assert isinstance(later["partitions"], list)
    one = later["partitions"][at]
    assert (one["wal_records"], one["skipped_records"]) == (0, entry.end_offset)
    assert one["skipped"] == [
        {
            "first_offset": 0,
            "last_offset": last,
            "entries": 1,
            "path": entry.path,
            "reason": "there is no such object",
            "since_ms": 2_000,
        }
    ]


async def _entries(opened: OpenCluster, jobs: JobStore, stream: StreamId) -> list[IndexEntry]:
    return [entry async for entry in IndexFiles(opened.meta, jobs).entries(stream)]


def test_status_of_unknown_topic_is_reported_in_one_line(cluster: FileCluster) -> None:
    result = status(cluster, "web-clicks")
    assert (result.code, result.err) == (
        1,
        "dray: there is no topic 'web-clicks'; did you mean web.clicks?\n",
    )


@pytest.mark.parametrize(
    ("ms", "text"),
    [(-5, "0.0 s"), (1_500, "1.5 s"), (119_000, "119.0 s"), (120_000, "2.0 min"), (7_200_000, "2.0 h")],
)
def test_duration_uses_the_largest_unit(ms: int, text: str) -> None:
    assert duration(ms) == text
