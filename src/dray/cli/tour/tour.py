"""Tour of one topic as stream, table and SQL.

Each step does something real, prints it, and keeps it for the comparison at the end. The module imports
Iceberg's and DuckDB's libraries, so it is imported only where it is used.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from dray.cli.failure import Failure
from dray.cli.render.formats import table
from dray.cli.tour.records import HOT, PARTITIONS, TOPIC, Row, difference, first_rows, of_columns, orders
from dray.client import (
    Admin,
    ClientConfig,
    ClientError,
    Producer,
    ProducerRecord,
    ProducerSettings,
    ReadRange,
    RecordReader,
)
from dray.client.offsets import EARLIEST, LATEST, offsets_at
from dray.client.topics import create_topic
from dray.cluster.topics import find_topic
from dray.compaction.topic_tables import table_of
from dray.runtime import SystemClock, Threads
from dray.server.access import cluster_access, storage_access
from dray.server.broker import running_broker
from dray.server.stores import process_context
from dray.server.table_query import rows as table_rows
from dray.settings import DraySettings
from dray.sql.engine import executing
from dray.tables.port import TablesError

Echo = Callable[[str], None]
Compact = Callable[[DraySettings, Echo], Awaitable[None]]

_SHOWN: Final = 3
_POLL_S: Final = 0.1
_HEADS: Final = ("partition", "offset", "key", "value")
_CITIES: Final = (
    "SELECT utf8(value)->>'$.city' AS city, count(*) AS orders, "
    "sum((utf8(value)->>'$.amount')::INT) AS amount FROM orders GROUP BY ALL ORDER BY amount DESC LIMIT 3"
)


class Tour:
    """One tour; `compact` compacts all topics to Parquet and tables."""

    def __init__(self, settings: DraySettings, records: int, compact: Compact, echo: Echo) -> None:
        self._settings = settings
        self._records = records
        self._compact = compact
        self._echo = echo
        self._clock = SystemClock()
        self._threads = Threads("tour", 1)
        self._steps = 0

    async def run(self) -> bool:
        """Run all steps; raises `Failure` if a result is wrong."""
        async with AsyncExitStack() as ending:
            ending.push_async_callback(self._threads.stop)
            broker = await ending.enter_async_context(running_broker(self._settings, process_context()))
            data_dir = self._settings.broker.data_dir
            self._step(f"Broker: it listens on {broker.kafka} and keeps its data in {data_dir}")
            admin = await self._threads.run(self._connect, broker.kafka)
            try:
                await self._go(admin)
            except (ClientError, TablesError) as error:
                raise Failure(str(error)) from error
        return True

    async def _go(self, admin: Admin) -> None:
        await self._threads.run(create_topic, admin, TOPIC, PARTITIONS, {})
        await self._threads.run(self._produce, admin, orders(0, self._records, self._clock.now_ms()))
        stream = await self._threads.run(self._read, admin)
        self._step(
            f"Stream: {self._records:,} records produced to the topic '{TOPIC}' and read back through Kafka"
        )
        self._show(stream)
        self._step("Compaction: Spark writes them as Parquet and commits the files to the table")
        await self._compact(self._settings, self._detail)
        await self._threads.run(self._produce, admin, orders(self._records, HOT, self._clock.now_ms()))
        table_rows = await self._in_table()
        self._step(f"Table: {len(table_rows):,} rows of the same topic, read by PyIceberg")
        self._show(table_rows)
        sql_rows = await self._threads.run(self._by_sql)
        hot = len(sql_rows) - len(table_rows)
        self._step(f"SQL: {len(sql_rows):,} rows by 'dray sql', {hot} of them produced after the compaction")
        self._lines(await self._threads.run(self._cities))
        self._step("Files")
        self._lines(self._places())
        compare(stream, await self._threads.run(self._read, admin), table_rows, sql_rows)
        self._step("Kafka, the table and SQL agree on every record")

    # Kafka

    def _connect(self, bootstrap: str) -> Admin:
        return Admin.connect(ClientConfig(bootstrap))

    def _produce(self, admin: Admin, records: Iterator[ProducerRecord]) -> None:
        producer = Producer(admin.config, TOPIC, PARTITIONS, ProducerSettings(codec="zstd"))
        for record in records:
            producer.send(record)
        producer.flush()

    def _read(self, admin: Admin) -> list[Row]:
        partitions = range(PARTITIONS)
        starts = offsets_at(admin, TOPIC, partitions, EARLIEST)
        ends = offsets_at(admin, TOPIC, partitions, LATEST)
        ranges = [ReadRange(number, starts[number], ends[number]) for number in partitions]
        reader = RecordReader(admin.config, TOPIC, ranges, self._detail)
        rows: list[Row] = []
        try:
            while not reader.done:
                rows += [Row(*record) for record in reader.poll(_POLL_S)]
        finally:
            reader.close()
        return rows

    # The table

    async def _in_table(self) -> list[Row]:
        async with cluster_access(self._settings)() as opened:
            topic = await find_topic(opened.meta, TOPIC)
            cluster_id = opened.cluster_id
        if topic is None:
            raise Failure(f"the topic {TOPIC} was deleted during the tour")
        rows = await self._threads.run(table_rows, self._settings, cluster_id, table_of(topic.ref))
        return [of_columns(row) for row in rows]

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
        with executing(access, storage, query) as results:
            return [row for result in results for batch in result.batches for row in batch.to_pylist()]

    # Output

    def _places(self) -> list[str]:
        root = Path(self._settings.broker.data_dir)
        kinds = (
            ("WAL objects, until garbage collection deletes the compacted ones", "objects/wal/**/*.wo"),
            (
                "Parquet files: segments of the log and data files of the table",
                "objects/compaction/**/*.parquet",
            ),
            ("metadata files of the table", "objects/iceberg/**/metadata/*"),
            ("offset index and all other metadata", "metadata.sqlite"),
            ("Iceberg catalog", "tables.sqlite"),
        )
        rows = [(len(list(root.glob(pattern))), what, pattern) for what, pattern in kinds]
        return table(("files", "content", "path"), rows)

    def _step(self, title: str) -> None:
        self._steps += 1
        gap = "\n" if self._steps > 1 else ""
        self._echo(f"{gap}{self._steps}. {title}")

    def _show(self, rows: Sequence[Row]) -> None:
        self._lines([*table(_HEADS, first_rows(rows, _SHOWN)), "…"])

    def _lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._detail(line)

    def _detail(self, line: str) -> None:
        self._echo(f"  {line}")


def compare(
    before: Sequence[Row], stream: Sequence[Row], in_table: Sequence[Row], by_sql: Sequence[Row]
) -> None:
    """Check that all three agree, the table on what was compacted and SQL on everything; raises `Failure`."""
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
