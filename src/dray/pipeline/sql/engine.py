"""Statements to results: finds what they mention, opens it, and lets DuckDB do the rest.

All statements of one call see the same offsets. Should compaction rewrite objects and the sweep delete them
before they were read, the same rows are looked up again and the statement begins anew; once rows have been
handed out it cannot.

DuckDB may read neither files nor the network, nor Python's variables, and nobody can change that afterwards.
What it makes is in memory and goes with it.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb
import pyarrow as pa

from dray.objects.port import NotFound
from dray.pipeline.access import ClusterAccess
from dray.pipeline.blocking import BlockingStore, StorageAccess
from dray.pipeline.reading.pieces import missing
from dray.pipeline.reading.stretches import Stretch
from dray.pipeline.sql.damage import damage_in
from dray.pipeline.sql.errors import RowsMoved, SqlError
from dray.pipeline.sql.files import Troubles
from dray.pipeline.sql.functions import add_functions
from dray.pipeline.sql.interrupting import Interruptible, interruptible
from dray.pipeline.sql.naming import TopicNames, mentioned
from dray.pipeline.sql.snapshot import Bounds, bounds_of, stretches_of
from dray.pipeline.sql.views import TopicRows, show_columns
from dray.pipeline.stored_topics import all_topics

_SETTINGS: Final = (
    "CREATE SCHEMA dray",  # what other engines call it, unless its namespace is another
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
"""What DuckDB says when rows that it is handed cannot be read."""
_NOISE: Final = ("Detail: Python exception", "Stack Trace:")
_FAILURES: Final = (duckdb.Error, pa.ArrowException, OSError, NotFound)


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement returns; the rows come as they are asked for."""

    columns: Sequence[str]
    batches: Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the statements of a call see."""

    names: TopicNames
    shown: dict[str, str]
    """Names that the statements use, to topics."""
    bounds: Bounds
    stretches: dict[str, list[Stretch]]


@contextmanager
def answering(access: ClusterAccess, storage: StorageAccess, text: str) -> Iterator[Iterator[Result]]:
    """Answer the statements of a text, one result for each that has one.

    Raises `SqlError`, and what the stores and the log raise.
    """
    with duckdb.connect() as connection, TemporaryDirectory(prefix="dray-sql-") as folder:
        _prepare(connection, folder)
        with _told():
            words, statements = mentioned(connection, text), connection.extract_statements(text)
        if not statements:
            raise SqlError("there is no statement in the query")
        plan = asyncio.run(_planned(access, words))
        with BlockingStore(storage) as store, interruptible(connection, store.cancel) as duck:
            yield _Session(duck, access, store, plan, Path(folder)).answers(statements)


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
        return _Plan(names, shown, bounds, await stretches_of(cluster, bounds))


class _Session:
    """The statements of one call, one after the other."""

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
        self._troubles = Troubles()
        self._rows: dict[str, TopicRows] = {}
        self._opened = 0

    def answers(self, statements: Sequence[duckdb.Statement]) -> Iterator[Result]:
        for statement in statements:
            result = self._answer(statement)
            if statement.expected_result_type[0] == duckdb.ExpectedResultType.QUERY_RESULT:
                yield result

    def _answer(self, statement: duckdb.Statement) -> Result:
        for _ in range(_LOOKS_MAX):
            try:
                self._open()
                reader = self._duck.run(partial(self._begin, statement))
                first = self._next(reader)
            except _FAILURES as error:
                self._look_again(error)
                continue
            return Result(reader.schema.names, self._batches(first, reader))
        raise RowsMoved("compaction was faster than the query, several times; run it again")

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
        """See to it that there is a view for everything that the statements name."""
        for name, topic in self._plan.shown.items():
            if topic not in self._rows:
                self._opened += 1
                spill = self._folder / f"hot-{self._opened}"
                self._rows[topic] = TopicRows(self._store, self._plan.stretches[topic], self._troubles, spill)
            self._rows[topic].show(self._duck.connection, name)
        if not self._plan.shown:
            for table in self._plan.names.tables:
                show_columns(self._duck.connection, table)

    def _look_again(self, error: Exception) -> None:
        """Find out where the same rows are now, if they have moved; raises if that is not what is wrong."""
        if not self._has_moved(error):
            raise self._failure(error) from error
        before, self._plan = self._plan, asyncio.run(self._looked_up())
        if self._plan.stretches == before.stretches:
            raise self._failure(error) from error
        self._troubles.noted.clear()
        self._rows.clear()

    async def _looked_up(self) -> _Plan:
        async with self._access() as cluster:
            plan = self._plan
            return _Plan(plan.names, plan.shown, plan.bounds, await stretches_of(cluster, plan.bounds))

    def _has_moved(self, error: Exception) -> bool:
        return any(isinstance(one, NotFound) for one in (error, *self._troubles.noted))

    def _failure(self, error: Exception) -> Exception:
        """Return what is to be told: what was noted, or DuckDB's own words."""
        told = self._troubles.noted[0] if self._troubles.noted else error
        if isinstance(told, NotFound):
            return self._located(told)
        if told is not error:
            return told
        if _SCAN in str(error) and (damaged := damage_in(self._store, self._stretches())) is not None:
            return damaged
        unknown = _UNKNOWN_TABLE.search(str(error))
        if unknown is not None:
            return SqlError(f"there is no topic '{unknown[1]}'; {self._plan.names.near(unknown[1])}")
        return SqlError(one_line(error))

    def _located(self, error: NotFound) -> Exception:
        """Say which records are in an object that is not there."""
        at = (stretch for stretch in self._stretches() if stretch.entry.path in str(error))
        return next(map(missing, at), error)

    def _stretches(self) -> Iterator[Stretch]:
        return chain.from_iterable(self._plan.stretches.values())


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise SqlError(one_line(error)) from error


def one_line(error: Exception) -> str:
    """Return what DuckDB says as one line: without the statement, but with the number of its line."""
    said, _, where = str(error).partition("\n\nLINE ")
    for noise in _NOISE:
        said = said.partition(noise)[0]
    line = where.partition(":")[0]
    place = f" (line {line})" if line.isdecimal() and line != "1" else ""
    return " ".join(said.split()) + place
