"""Tables as the catalog and the log describe them, and how other engines open them.

Imports PyIceberg, so only commands about tables import this module.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dray.cluster.topics import find_topic
from dray.compaction.topic_tables import table_of
from dray.ids import meta_domain
from dray.index import StreamHead
from dray.keyspace import log_domain
from dray.log import StreamUnknown
from dray.log.states import read_head
from dray.maintenance.recorded_differences import known_differences
from dray.objects.url import parse_storage_url
from dray.runtime import Threads
from dray.scan.access import OpenCluster
from dray.server.catalog import iceberg_settings, open_tables
from dray.server.store_urls import GLUE, SQLITE
from dray.settings import DraySettings
from dray.settings.storage import StorageSettings
from dray.settings.tables import TablesSettings
from dray.tables.iceberg import IcebergTables
from dray.tables.iceberg.inspection import TableLocation, rows_of, table_location
from dray.tables.names import table_name
from dray.tables.port import LiveFile, Mark, Permanent, TableMissing, TableState, TopicTable


@dataclass(frozen=True, slots=True)
class TablePartition:
    """A partition in the table, compared with the log. Without a log, its topic is deleted."""

    partition: int
    rows: int
    files: int
    size_bytes: int
    mark: int | None
    """All offsets below it have been committed to the table."""
    log_start: int | None
    log_end: int | None
    differing: int = 0
    """Records that the last audit found missing or duplicated in the table."""

    @property
    def lag(self) -> int | None:
        """How many offsets of the log are not in the table yet."""
        if self.log_start is None or self.log_end is None:
            return None
        return max(0, self.log_end - max(self.mark or 0, self.log_start))


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table and its partitions."""

    topic: str
    topic_id: str
    name: str
    snapshot_id: int | None
    partitions: list[TablePartition]

    @property
    def lag(self) -> int | None:
        each = [one.lag for one in self.partitions]
        return None if None in each else sum(one or 0 for one in each)


@dataclass(frozen=True, slots=True)
class BrokenTable:
    """A table that cannot be read, and why."""

    topic: str
    name: str
    error: str


@dataclass(frozen=True, slots=True)
class FoundTables:
    """All tables, by topic."""

    listed: list[ListedTable]
    broken: list[BrokenTable]


@dataclass(frozen=True, slots=True)
class Engines:
    """Lines that open a table in other engines. They contain no secret."""

    duckdb: str
    pyiceberg: str
    spark: str


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """A table in full."""

    listed: ListedTable
    place: TableLocation
    engines: Engines


async def listed(cluster: OpenCluster, settings: DraySettings) -> FoundTables:
    """Describe every table; one that cannot be read does not hide the others."""
    found: list[ListedTable] = []
    async with _opened(cluster, settings) as tables:
        known = await tables.listing()
        wrong = dict(known.unreadable)
        for table in known:
            try:
                found.append(await _listed(cluster, settings, tables, table))
            except Permanent as error:
                wrong[table.topic] = error
    broken = [BrokenTable(topic, _name(settings, topic), str(error)) for topic, error in wrong.items()]
    return FoundTables(sorted(found, key=lambda one: one.topic), sorted(broken, key=lambda one: one.topic))


def rows(settings: DraySettings, cluster_id: str, table: TopicTable) -> list[dict[str, Any]]:
    """Read all rows of a table through the catalog, as any engine would; blocks, and raises `TablesError`."""
    found = rows_of(iceberg_settings(settings.tables, settings.storage, cluster_id), table)
    return list(found.to_pylist())


async def described(cluster: OpenCluster, settings: DraySettings, topic: str) -> DescribedTable | None:
    """Describe the table of a topic, if there is one; raises `TablesError`."""
    async with _opened(cluster, settings) as tables:
        known = await tables.listing()
        if (error := known.unreadable.get(topic)) is not None:
            raise error
        wanted = [one for one in known if one.topic == topic]
        if not wanted:
            await _check_unclaimed(cluster, tables, topic)
            return None
        found = await _listed(cluster, settings, tables, wanted[0])
    iceberg = iceberg_settings(settings.tables, settings.storage, cluster.cluster_id)
    threads = Threads("place", 1)
    try:
        place = await threads.run(table_location, iceberg, wanted[0])
    finally:
        await threads.stop()
    return DescribedTable(found, place, engines_of(settings, iceberg.root, place))


async def _check_unclaimed(cluster: OpenCluster, tables: IcebergTables, name: str) -> None:
    """Raise `NotOurs` if a table has the name of this topic's table but belongs to something else."""
    topic = await find_topic(cluster.meta, name)
    if topic is not None:
        with suppress(TableMissing):
            await tables.check(table_of(topic.ref))


@asynccontextmanager
async def _opened(cluster: OpenCluster, settings: DraySettings) -> AsyncIterator[IcebergTables]:
    tables = open_tables(
        settings.tables, settings.storage, cluster.cluster_id, cluster.clock, cluster.entropy
    )
    try:
        yield tables
    finally:
        await tables.close()


async def _listed(
    cluster: OpenCluster, settings: DraySettings, tables: IcebergTables, table: TopicTable
) -> ListedTable:
    state = await tables.current(table)
    heads = await _heads(cluster, table)
    differing: Counter[int] = Counter()
    for one in await known_differences(cluster.meta, bytes.fromhex(table.topic_id)):
        differing[one.partition] += one.records
    partitions = _partitions(state, heads, differing)
    name = _name(settings, table.topic)
    return ListedTable(table.topic, table.topic_id, name, state.snapshot_id, partitions)


def _name(settings: DraySettings, topic: str) -> str:
    return f"{settings.tables.namespace}.{table_name(topic)}"


async def _heads(cluster: OpenCluster, table: TopicTable) -> dict[int, StreamHead]:
    topic = await find_topic(cluster.meta, table.topic)
    if topic is None or topic.topic_id.hex() != table.topic_id:
        return {}
    heads = {}
    for partition, stream in enumerate(topic.streams):
        domain = log_domain(meta_domain(stream, cluster.domains))
        try:
            heads[partition], _ = await read_head(cluster.meta, domain, stream)
        except StreamUnknown:
            return {}
    return heads


def _partitions(
    state: TableState, heads: Mapping[int, StreamHead], differing: Counter[int]
) -> list[TablePartition]:
    by_partition: dict[int, list[LiveFile]] = {}
    for file in state.files:
        if file.partition is not None:
            by_partition.setdefault(file.partition, []).append(file)
    numbers = sorted({*by_partition, *state.marks, *heads})
    return [
        _partition(
            number,
            by_partition.get(number, []),
            state.marks.get(number),
            heads.get(number),
            differing[number],
        )
        for number in numbers
    ]


def _partition(
    number: int, files: list[LiveFile], mark: Mark | None, head: StreamHead | None, differing: int
) -> TablePartition:
    return TablePartition(
        number,
        sum(file.records for file in files),
        len(files),
        sum(file.size_bytes for file in files),
        None if mark is None else mark.offset,
        None if head is None else head.log_start,
        None if head is None else head.high_watermark,
        differing,
    )


def engines_of(settings: DraySettings, root: str, place: TableLocation) -> Engines:
    # DuckDB takes the path of a local file, not its URL.
    path = place.metadata_location.removeprefix("file://")
    scheme = parse_storage_url(settings.storage.url).scheme
    s3 = settings.storage if scheme == "s3" else None
    properties = _catalog(settings.tables, root) + (_s3_properties(s3) if s3 else "")
    if scheme == "az":
        properties += f", **{json.dumps({'adls.account-name': settings.storage.account})}"
    return Engines(
        duckdb=f"{_s3_secret(s3) if s3 else ''}FROM iceberg_scan('{_quoted(path)}');",
        pyiceberg=("import os; " if "os.environ" in properties else "")
        + "from pyiceberg.catalog import load_catalog; "
        f'load_catalog("dray", {properties}).load_table("{place.name}")',
        spark=f'spark.read.format("iceberg").load("{place.metadata_location}")',
    )


def _catalog(tables: TablesSettings, root: str) -> str:
    """Return PyIceberg's properties of the catalog; its secrets are references to the environment."""
    if tables.catalog.startswith(SQLITE):
        path = Path(tables.catalog.removeprefix(SQLITE)).absolute()
        return f'type="sql", uri="sqlite:///{path}", warehouse="{root}"'
    region = tables.aws_region or ""
    if tables.catalog.startswith(GLUE):
        named = {"glue.id": tables.catalog.removeprefix(GLUE), "client.region": region}
        return 'type="glue"' + _properties(named)
    signing = {
        "rest.sigv4-enabled": "true" if tables.signing_name else "",
        "rest.signing-name": tables.signing_name or "",
        "rest.signing-region": region,
        "scope": tables.scope or "",
        "oauth2-server-uri": tables.oauth2_uri or "",
    }
    return (
        f'type="rest", uri="{tables.catalog}"'
        + (f', warehouse="{tables.warehouse}"' if tables.warehouse else "")
        + (', credential=os.environ["DRAY_TABLES_CREDENTIAL"]' if tables.credential else "")
        + (', token=os.environ["DRAY_TABLES_TOKEN"]' if tables.token else "")
        + _properties(signing)
    )


def _s3_properties(storage: StorageSettings) -> str:
    """Return PyIceberg's properties of S3; it takes credentials from `AWS_*` variables and the machine."""
    given = {
        "s3.endpoint": storage.endpoint,
        "s3.region": _region(storage),
        "s3.force-virtual-addressing": "true" if storage.virtual_hosted else None,
    }
    return _properties(given)


def _properties(given: Mapping[str, str | None]) -> str:
    return f", **{json.dumps(known)}" if (known := {key: text for key, text in given.items() if text}) else ""


def _s3_secret(storage: StorageSettings) -> str:
    """Return the statement that directs DuckDB to S3; it takes credentials from `AWS_*` variables."""
    options = []
    if region := _region(storage):
        options.append(f"REGION '{_quoted(region)}'")
    if storage.endpoint is not None:
        scheme, _, address = storage.endpoint.rstrip("/").partition("://")
        style = "vhost" if storage.virtual_hosted else "path"
        options.append(
            f"ENDPOINT '{_quoted(address)}', URL_STYLE '{style}', USE_SSL {str(scheme == 'https').lower()}"
        )
    if not options:
        return ""
    bucket = parse_storage_url(storage.url).bucket
    return f"CREATE SECRET (TYPE s3, SCOPE 's3://{bucket}', {', '.join(options)}); "


def _region(storage: StorageSettings) -> str | None:
    """Return the region, which servers other than AWS ignore but clients require."""
    return storage.region or ("us-east-1" if storage.endpoint else None)


def _quoted(text: str) -> str:
    return text.replace("'", "''")
