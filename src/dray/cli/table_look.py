"""What the catalogue and the log tell of tables. Imports PyIceberg; imported only where it is used."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from dray.cli.catalog import iceberg_settings, open_tables
from dray.cli.settings import DraySettings
from dray.cli.table_engines import Engines, engines_of
from dray.ids import meta_domain
from dray.index import StreamHead, domain_name
from dray.log import StreamUnknown
from dray.log.states import read_head
from dray.meta.port import Domain
from dray.pipeline.access import OpenCluster
from dray.pipeline.care.audit import known_differences
from dray.pipeline.stored_topics import find_topic
from dray.pipeline.topic_tables import table_of
from dray.runtime import Threads
from dray.tables.iceberg import IcebergTables
from dray.tables.iceberg.outside import Place, place_of
from dray.tables.names import table_name
from dray.tables.port import GiveUp, LiveFile, Mark, TableMissing, TableState, TopicTable


@dataclass(frozen=True, slots=True)
class TablePartition:
    """A partition in the table, beside the log. Without a log, its topic is deleted."""

    partition: int
    rows: int
    files: int
    size_bytes: int
    mark: int | None
    """Offsets before it have been put into the table."""
    log_start: int | None
    log_end: int | None
    differing: int = 0
    """Records that a compactor has found missing or twice in the table, where it is not behind."""

    @property
    def behind(self) -> int | None:
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
    def behind(self) -> int | None:
        each = [one.behind for one in self.partitions]
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
class DescribedTable:
    """A table in full."""

    listed: ListedTable
    place: Place
    engines: Engines


async def listed(cluster: OpenCluster, settings: DraySettings) -> FoundTables:
    """Look at every table; what is wrong with one is told beside the others."""
    found: list[ListedTable] = []
    async with _opened(cluster, settings) as tables:
        known = await tables.listing()
        wrong = dict(known.unreadable)
        for table in known:
            try:
                found.append(await _listed(cluster, settings, tables, table))
            except GiveUp as error:
                wrong[table.topic] = error
    broken = [BrokenTable(topic, _name(settings, topic), str(error)) for topic, error in wrong.items()]
    return FoundTables(sorted(found, key=lambda one: one.topic), sorted(broken, key=lambda one: one.topic))


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
        told = await _listed(cluster, settings, tables, wanted[0])
    iceberg = iceberg_settings(settings.tables, settings.storage, cluster.cluster_id)
    threads = Threads("place", 1)
    try:
        place = await threads.run(place_of, iceberg, wanted[0])
    finally:
        await threads.stop()
    return DescribedTable(told, place, engines_of(settings, iceberg.root, place))


async def _check_unclaimed(cluster: OpenCluster, tables: IcebergTables, name: str) -> None:
    """See that no table has the name of a topic's and does not say that it is; raises `NotOurs`."""
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
        domain = Domain(domain_name(meta_domain(stream, cluster.domains)))
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
