"""The tour itself: each step does something real, shows it, and keeps it for the comparison at the end.

Imports Iceberg's and DuckDB's libraries, so it is imported only where it is used.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from dray.cli.access import cluster_access, storage_access
from dray.cli.addresses import parse_bootstrap
from dray.cli.assembly import running_broker
from dray.cli.catalog import iceberg_settings
from dray.cli.client import ClientError, ClientParts, Cluster
from dray.cli.client.drafts import Draft
from dray.cli.client.offsets import EARLIEST, LATEST, offsets_at
from dray.cli.client.producer import Producer, ProducerSettings
from dray.cli.client.reading import Reading, Span
from dray.cli.client.topic_admin import create_topic
from dray.cli.demo_orders import HOT, PARTITIONS, TOPIC, orders
from dray.cli.demo_rows import Row, difference, of_columns, of_kafka, shown
from dray.cli.failure import Failure
from dray.cli.settings import DraySettings
from dray.cli.tables import table
from dray.cli.wiring import surroundings
from dray.pipeline.sql.engine import answering
from dray.pipeline.stored_topics import find_topic
from dray.pipeline.topic_tables import table_of
from dray.records import Codec
from dray.runtime import SystemClock, SystemEntropy, Tasks, Threads
from dray.tables.iceberg.outside import rows_of
from dray.tables.port import TablesError

Tell = Callable[[str], None]
Compact = Callable[[DraySettings, Tell], Awaitable[None]]

_SHOWN: Final = 3
_HEADS: Final = ("partition", "offset", "key", "value")
_CITIES: Final = (
    "SELECT utf8(value)->>'$.city' AS city, count(*) AS orders, "
    "sum((utf8(value)->>'$.amount')::INT) AS amount FROM orders GROUP BY ALL ORDER BY amount DESC LIMIT 3"
)


class Tour:
    """One tour; `compact` makes Parquet and tables of what is in the stores."""

    def __init__(self, settings: DraySettings, records: int, compact: Compact, tell: Tell) -> None:
        self._settings = settings
        self._records = records
        self._compact = compact
        self._tell = tell
        self._clock = SystemClock()
        self._threads = Threads("tour", 1)
        self._steps = 0

    async def run(self) -> bool:
        """Go through all steps; raises `Failure` where something is not as it should be."""
        async with AsyncExitStack() as ending:
            ending.push_async_callback(self._threads.stop)
            broker = await ending.enter_async_context(running_broker(self._settings, surroundings()))
            data_dir = self._settings.broker.data_dir
            self._step(f"A Kafka: the broker is on {broker.kafka}, and all it keeps is in {data_dir}")
            cluster = await self._connected(broker.kafka, ending)
            try:
                await self._go(cluster)
            except (ClientError, TablesError) as error:
                raise Failure(str(error)) from error
        return True

    async def _go(self, cluster: Cluster) -> None:
        await create_topic(cluster, TOPIC, PARTITIONS, {})
        await self._produce(cluster, orders(0, self._records, self._clock.now_ms()))
        stream = await self._read(cluster)
        self._step(f"A stream: {self._records:,} records sent to the topic '{TOPIC}', and read through Kafka")
        self._show(stream)
        self._step("Compaction: Spark writes them as Parquet, and the table gets the files")
        await self._compact(self._settings, self._detail)
        await self._produce(cluster, orders(self._records, HOT, self._clock.now_ms()))
        table_rows = await self._in_table()
        self._step(f"A table: {len(table_rows):,} rows of the same topic, read by PyIceberg")
        self._show(table_rows)
        sql_rows = await self._threads.run(self._by_sql)
        hot = len(sql_rows) - len(table_rows)
        self._step(f"SQL: {len(sql_rows):,} rows by 'dray sql', {hot} of them produced after the compaction")
        self._lines(await self._threads.run(self._cities))
        self._step("What is where")
        self._lines(self._places())
        compare(stream, await self._read(cluster), table_rows, sql_rows)
        self._step("Kafka, the table and SQL agree, record by record")

    # Kafka

    async def _connected(self, address: str, ending: AsyncExitStack) -> Cluster:
        tasks = Tasks()
        cluster = Cluster(parse_bootstrap(address), ClientParts(self._clock, SystemEntropy(), tasks))
        ending.push_async_callback(tasks.stop)
        ending.push_async_callback(cluster.close)
        await cluster.any()
        return cluster

    async def _produce(self, cluster: Cluster, drafts: Iterator[Draft]) -> None:
        layout = await cluster.layout(TOPIC)
        producer = await Producer.open(cluster, layout, ProducerSettings(codec=Codec.ZSTD), lambda _: None)
        for draft in drafts:
            await producer.add(draft)
        await producer.flush()

    async def _read(self, cluster: Cluster) -> list[Row]:
        partitions = (await cluster.layout(TOPIC)).partitions
        starts = await offsets_at(cluster, TOPIC, partitions, EARLIEST)
        ends = await offsets_at(cluster, TOPIC, partitions, LATEST)
        spans = [Span(number, starts[number], ends[number]) for number in partitions]
        reading = Reading(cluster, TOPIC, spans, self._detail)
        reading.start()
        rows: list[Row] = []
        while (chunk := await reading.next()) is not None:
            rows += [of_kafka(chunk.partition, record) for record in chunk.records]
        return rows

    # The table

    async def _in_table(self) -> list[Row]:
        async with cluster_access(self._settings)() as opened:
            topic = await find_topic(opened.meta, TOPIC)
            cluster_id = opened.cluster_id
        if topic is None:
            raise Failure(f"the topic {TOPIC} is gone")
        iceberg = iceberg_settings(self._settings.tables, self._settings.storage, cluster_id)
        found = await self._threads.run(rows_of, iceberg, table_of(topic.ref))
        return [of_columns(row) for row in found.to_pylist()]

    # SQL

    def _by_sql(self) -> list[Row]:
        return [of_columns(row) for row in self._answer(f"FROM {TOPIC}")]

    def _cities(self) -> list[str]:
        rows = self._answer(_CITIES)
        return table(
            ("city", "orders", "amount"), [(row["city"], row["orders"], int(row["amount"])) for row in rows]
        )

    def _answer(self, query: str) -> list[dict[str, Any]]:
        access, storage = cluster_access(self._settings), storage_access(self._settings)
        with answering(access, storage, query) as results:
            return [row for result in results for batch in result.batches for row in batch.to_pylist()]

    # What is told

    def _places(self) -> list[str]:
        root = Path(self._settings.broker.data_dir)
        kinds = (
            ("WAL objects, until the sweep deletes those that were compacted", "objects/wal/**/*.wo"),
            (
                "Parquet files: segments of the log and data files of the table",
                "objects/compaction/**/*.parquet",
            ),
            ("metadata files of the table", "objects/iceberg/**/metadata/*"),
            ("the offset index and all other metadata", "metadata.sqlite"),
            ("the catalogue of tables", "tables.sqlite"),
        )
        rows = [(len(list(root.glob(pattern))), what, pattern) for what, pattern in kinds]
        return table(("files", "what", "where"), rows)

    def _step(self, what: str) -> None:
        self._steps += 1
        gap = "\n" if self._steps > 1 else ""
        self._tell(f"{gap}{self._steps}. {what}")

    def _show(self, rows: Sequence[Row]) -> None:
        self._lines([*table(_HEADS, shown(rows, _SHOWN)), "…"])

    def _lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._detail(line)

    def _detail(self, line: str) -> None:
        self._tell(f"  {line}")


def compare(
    before: Sequence[Row], stream: Sequence[Row], in_table: Sequence[Row], by_sql: Sequence[Row]
) -> None:
    """See that all three show the same: the table what was compacted, SQL everything; raises `Failure`."""
    compacted = {(row.partition, row.offset) for row in before}
    pairs = {
        "the stream after compaction": ([row for row in stream if row[:2] in compacted], before),
        "the table": (in_table, before),
        "SQL": (by_sql, stream),
    }
    for what, (found, expected) in pairs.items():
        differs = difference(expected, found)
        if differs:
            raise Failure(f"{what} differs from the stream: {differs}")
    if len(stream) != len(before) + HOT:
        raise Failure(f"the stream has {len(stream)} records, not {len(before) + HOT}")
