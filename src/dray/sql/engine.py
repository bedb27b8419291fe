"""Query engine: resolves the topics that statements name, opens their rows, and lets DuckDB do the rest.

All statements of one call see the same offsets. The high watermarks of all partitions are read first and fix
the offsets; the index entries below them are looked up afterwards. No row is added or changed below a high
watermark. Only the log start offset may advance, and rows before it are no longer visible to the query.

Compaction moves rows between objects. If it rewrites objects and garbage collection deletes them before they
are read, the same rows are looked up again and the statement is restarted; after its first rows have been
returned, it fails instead.

DuckDB has no access to files, to the network or to Python variables, and statements cannot change that. What
they create is in memory and is dropped with the connection.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb
import pyarrow as pa

from dray.cluster.topics import all_topics
from dray.objects.port import NotFound
from dray.scan.access import ClusterAccess, OpenCluster, StorageAccess
from dray.scan.blocking import BlockingStore
from dray.scan.pieces import object_missing
from dray.scan.ranges import EntryRange, OffsetRange
from dray.scan.topic import TopicDeleted, TopicIndex
from dray.sql.files import Failures, damage_in
from dray.sql.functions import add_functions
from dray.sql.interrupting import Interruptible, interruptible
from dray.sql.naming import TopicNames, mentioned
from dray.sql.results import Result, RowsMoved, SqlError
from dray.sql.views import TopicRows, show_columns

_SETTINGS: Final = (
    "CREATE SCHEMA dray",  # the default namespace of the tables in other engines
    "USE dray",
    "SET TimeZone = 'UTC'",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
)
_LOCK: Final = "SET lock_configuration = true"
_ROWS_AT_ONCE: Final = 2_000
_LOOKS_MAX: Final = 3
_UNKNOWN_TABLE: Final = re.compile(r"Table with name (\S+) does not exist")
_SCAN: Final = "arrow_scan: get_next failed"
"""DuckDB's message when it cannot read the rows handed to it."""
_NOISE: Final = ("Detail: Python exception", "Stack Trace:")
_FAILURES: Final = (duckdb.Error, pa.ArrowException, OSError, NotFound)
Bounds = Mapping[str, list[OffsetRange]]
"""The offset ranges that a query sees, by topic."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The topics and offsets that the statements of a call see."""

    names: TopicNames
    shown: dict[str, str]
    """Names in the statements, to topics."""
    bounds: Bounds
    entry_ranges: dict[str, list[EntryRange]]


@contextmanager
def executing(access: ClusterAccess, storage: StorageAccess, text: str) -> Iterator[Iterator[Result]]:
    """Execute the statements of a text; one result for each statement that returns rows.

    Raises `SqlError` and errors of the stores and the log.
    """
    with duckdb.connect() as connection, TemporaryDirectory(prefix="dray-sql-") as folder:
        _prepare(connection, folder)
        with _translated():
            words, statements = mentioned(connection, text), connection.extract_statements(text)
        if not statements:
            raise SqlError("the query has no statement")
        plan = asyncio.run(_planned(access, words))
        with BlockingStore(storage) as store, interruptible(connection, store.cancel) as duck:
            yield _Session(duck, access, store, plan, Path(folder)).results(statements)


async def bounds_of(cluster: OpenCluster, topics: Iterable[str]) -> Bounds:
    """Return the current offset ranges of all partitions of these topics."""
    return {name: await _offset_ranges(TopicIndex(cluster, name)) for name in topics}


async def entry_ranges_of(cluster: OpenCluster, bounds: Bounds) -> dict[str, list[EntryRange]]:
    """Look up the index entries of the rows; raises `LogDamaged` if the index has a gap."""
    try:
        return {name: await TopicIndex(cluster, name).entry_ranges(wanted) for name, wanted in bounds.items()}
    except TopicDeleted as error:
        raise SqlError(str(error)) from error


async def _offset_ranges(index: TopicIndex) -> list[OffsetRange]:
    try:
        topic = await index.topic()
        partitions = await index.partitions(topic, range(len(topic.streams)))
    except TopicDeleted as error:
        raise SqlError(str(error)) from error
    return [partition.everything() for partition in partitions]


def _prepare(connection: duckdb.DuckDBPyConnection, folder: str) -> None:
    connection.execute(f"SET temp_directory = '{folder}'")
    for statement in _SETTINGS:
        connection.execute(statement)
    add_functions(connection)
    connection.execute(_LOCK)


async def _planned(access: ClusterAccess, words: set[str]) -> _Plan:
    async with access() as cluster:
        names = TopicNames(topic.name for topic in await all_topics(cluster.meta))
        shown = {word: topic for word in sorted(words) if (topic := names.find(word)) is not None}
        bounds = await bounds_of(cluster, sorted(set(shown.values())))
        return _Plan(names, shown, bounds, await entry_ranges_of(cluster, bounds))


class _Session:
    """Executes the statements of one call in order."""

    def __init__(
        self,
        duck: Interruptible,
        access: ClusterAccess,
        store: BlockingStore,
        plan: _Plan,
        folder: Path,
    ) -> None:
        self._duck = duck
        self._access = access
        self._store = store
        self._plan = plan
        self._folder = folder
        self._failures = Failures()
        self._rows: dict[str, TopicRows] = {}
        self._opened = 0

    def results(self, statements: Sequence[duckdb.Statement]) -> Iterator[Result]:
        for statement in statements:
            result = self._result(statement)
            if statement.expected_result_type[0] == duckdb.ExpectedResultType.QUERY_RESULT:
                yield result

    def _result(self, statement: duckdb.Statement) -> Result:
        for _ in range(_LOOKS_MAX):
            try:
                self._open()
                reader = self._duck.run(partial(self._begin, statement))
                first = self._next(reader)
            except _FAILURES as error:
                self._look_again(error)
                continue
            return Result(reader.schema.names, self._batches(first, reader))
        raise RowsMoved("objects were rewritten and deleted repeatedly while the query ran; run it again")

    def _begin(self, statement: duckdb.Statement) -> pa.RecordBatchReader:
        return self._duck.connection.execute(statement).to_arrow_reader(_ROWS_AT_ONCE)

    def _next(self, reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
        return self._duck.run(partial(next, reader, None))

    def _batches(
        self, first: pa.RecordBatch | None, reader: pa.RecordBatchReader
    ) -> Iterator[pa.RecordBatch]:
        batch = first
        try:
            while batch is not None:
                yield batch
                batch = self._next(reader)
        except _FAILURES as error:
            if self._has_moved(error):
                raise RowsMoved(
                    "objects were rewritten and deleted while they were being read; run it again"
                ) from error
            raise self._failure(error) from error

    def _open(self) -> None:
        """Create the missing views for the topics that the statements name."""
        for name, topic in self._plan.shown.items():
            if topic not in self._rows:
                self._opened += 1
                spill = self._folder / f"hot-{self._opened}"
                self._rows[topic] = TopicRows(
                    self._store, self._plan.entry_ranges[topic], self._failures, spill
                )
            self._rows[topic].show(self._duck.connection, name)
        if not self._plan.shown:
            for table in self._plan.names.tables:
                show_columns(self._duck.connection, table)

    def _look_again(self, error: Exception) -> None:
        """Locate the same rows again if they have moved; raises if the error has another cause."""
        if not self._has_moved(error):
            raise self._failure(error) from error
        before, self._plan = self._plan, asyncio.run(self._looked_up())
        if self._plan.entry_ranges == before.entry_ranges:
            raise self._failure(error) from error
        self._failures.recorded.clear()
        self._rows.clear()

    async def _looked_up(self) -> _Plan:
        async with self._access() as cluster:
            plan = self._plan
            return _Plan(plan.names, plan.shown, plan.bounds, await entry_ranges_of(cluster, plan.bounds))

    def _has_moved(self, error: Exception) -> bool:
        return any(isinstance(one, NotFound) for one in (error, *self._failures.recorded))

    def _failure(self, error: Exception) -> Exception:
        """Return the error to raise: the first recorded failure, or DuckDB's own message."""
        cause = self._failures.recorded[0] if self._failures.recorded else error
        if isinstance(cause, NotFound):
            return self._located(cause)
        if cause is not error:
            return cause
        if _SCAN in str(error) and (damaged := damage_in(self._store, self._entry_ranges())) is not None:
            return damaged
        unknown = _UNKNOWN_TABLE.search(str(error))
        if unknown is not None:
            return SqlError(f"there is no topic '{unknown[1]}'; {self._plan.names.near(unknown[1])}")
        return SqlError(one_line(error))

    def _located(self, error: NotFound) -> Exception:
        """Name the records of a missing object."""
        at = (entry_range for entry_range in self._entry_ranges() if entry_range.entry.path in str(error))
        return next(map(object_missing, at), error)

    def _entry_ranges(self) -> Iterator[EntryRange]:
        return chain.from_iterable(self._plan.entry_ranges.values())


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise SqlError(one_line(error)) from error


def one_line(error: Exception) -> str:
    """Return DuckDB's message as one line, without the statement but with the line number."""
    message, _, where = str(error).partition("\n\nLINE ")
    for noise in _NOISE:
        message = message.partition(noise)[0]
    line = where.partition(":")[0]
    place = f" (line {line})" if line.isdecimal() and line != "1" else ""
    return " ".join(message.split()) + place
