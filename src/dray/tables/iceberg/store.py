"""Iceberg adapter of the tables port. PyIceberg blocks, so each call runs in a thread.

Commits are retried a few times, because other engines commit too and responses get lost. Each attempt checks
for the job first (`commits`), so a retry is always safe. Once the outcome of an attempt is unknown, it stays
unknown until a later attempt succeeds: `Unavailable` would claim that nothing was changed.
"""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TypeVar

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from dray.runtime import Clock, Entropy, Threads, retry
from dray.tables.iceberg import commits, expiry, jobs, ownership, version_hint
from dray.tables.iceberg.catalogs import CatalogFile, file_of, open_catalog
from dray.tables.iceberg.data_files import Root, live_files
from dray.tables.iceberg.errors import committing, reading, reading_files
from dray.tables.iceberg.listing import listing
from dray.tables.iceberg.settings import IcebergSettings, SqlCatalogSettings
from dray.tables.port import (
    ANY_SNAPSHOT,
    Committed,
    Conflict,
    DataFile,
    Expired,
    Job,
    Listing,
    OutcomeUnknown,
    TableMissing,
    TableState,
    TopicTable,
    Unavailable,
)

T = TypeVar("T")


class IcebergTables:
    """One client of a catalog. Nothing is sent until the first call."""

    def __init__(
        self, settings: IcebergSettings, clock: Clock, entropy: Entropy, *, forgets_moved: bool = False
    ) -> None:
        """`forgets_moved`: drop tables of a moved directory from the catalog; the caller rebuilds them."""
        self._settings = settings
        self._clock = clock
        self._entropy = entropy
        self._forgets_moved = forgets_moved
        self._root = Root(settings.root)
        self._has_hints = isinstance(settings.catalog, SqlCatalogSettings)
        self._threads = Threads("tables", settings.threads)
        self._opening = Lock()
        self._catalog: Catalog | None = None
        self._file: CatalogFile = None

    async def create_if_missing(self, table: TopicTable, folder: str) -> None:
        await self._retried(lambda: self._create_if_missing(table, folder))

    async def folder(self, table: TopicTable) -> str:
        return await self._threads.run(lambda: self._root.folder(self._load(table).location()))

    async def check(self, table: TopicTable) -> None:
        await self._threads.run(lambda: ownership.check_fit(self._load(table)))

    async def snapshot_id(self, table: TopicTable) -> int | None:
        return await self._threads.run(lambda: commits.snapshot_id(self._load(table)))

    async def append(
        self,
        table: TopicTable,
        files: Sequence[DataFile],
        job: Job,
        expected_snapshot_id: int | None = ANY_SNAPSHOT,
    ) -> Committed:
        return await self._retried(
            partial(commits.append, self._target(table), tuple(files), job, expected_snapshot_id)
        )

    async def replace(
        self,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        job: Job,
        expected_snapshot_id: int | None = ANY_SNAPSHOT,
    ) -> Committed:
        target = self._target(table)
        return await self._retried(
            partial(commits.replace, target, tuple(removed), tuple(added), job, expected_snapshot_id)
        )

    async def current(self, table: TopicTable) -> TableState:
        return await self._threads.run(self._current, table)

    async def find_job(self, table: TopicTable, job: Job) -> Committed | None:
        return await self._threads.run(lambda: jobs.find(self._load(table).metadata, job))

    async def expire(self, table: TopicTable, older_than_ms: int) -> Expired:
        return await self._retried(
            partial(expiry.expire, self._target(table), older_than_ms, self._clock.now_ms())
        )

    async def reachable(self, table: TopicTable, *, data: bool = True) -> frozenset[str]:
        return await self._threads.run(
            lambda: expiry.reachable(self._load(table), self._root, data=data, has_hint=self._has_hints)
        )

    async def drop(self, table: TopicTable) -> bool:
        return await self._retried(lambda: self._drop(table))

    async def listing(self) -> Listing:
        return await self._threads.run(lambda: listing(self._opened(), self._settings))

    async def close(self) -> None:
        await self._threads.stop()
        if self._catalog is not None:
            self._catalog.close()

    async def _retried(self, attempt: Callable[[], T]) -> T:
        is_unknown = False

        async def once() -> T:
            nonlocal is_unknown
            try:
                return await self._threads.run(attempt)
            except OutcomeUnknown:
                is_unknown = True
                raise
            except Unavailable as error:
                if is_unknown:
                    raise OutcomeUnknown(f"{error}; an earlier attempt may have succeeded") from error
                raise

        return await retry(
            once,
            on=(Conflict, OutcomeUnknown),
            clock=self._clock,
            entropy=self._entropy,
            settings=self._settings.attempts,
        )

    def _opened(self) -> Catalog:
        with self._opening:
            if self._catalog is not None and file_of(self._settings) != self._file:
                self._catalog.close()  # calls in progress keep their connections
                self._catalog = None
            if self._catalog is None:
                with reading("the catalog"):
                    self._catalog = open_catalog(self._settings, forgets_moved=self._forgets_moved)
                self._file = file_of(self._settings)
            return self._catalog

    def _load(self, table: TopicTable) -> Table:
        return ownership.load(self._opened(), self._settings, table)

    def _target(self, table: TopicTable) -> commits.Target:
        load = partial(self._load, table)
        return commits.Target(
            load=load, check_fit=ownership.check_fit, root=self._root, has_hint=self._has_hints
        )

    def _create_if_missing(self, table: TopicTable, folder: str) -> None:
        found = ownership.create_if_missing(self._opened(), self._settings, table, folder)
        if self._has_hints:
            version_hint.refresh(found)

    def _current(self, table: TopicTable) -> TableState:
        found = self._load(table)
        with reading_files(f"table {'.'.join(found.name())}"):
            files = live_files(found, self._root)
        return TableState(
            snapshot_id=commits.snapshot_id(found),
            files=files,
            marks=jobs.marks(found.properties),
            properties=dict(found.properties),
        )

    def _drop(self, table: TopicTable) -> bool:
        try:
            found = self._load(table)
        except TableMissing:
            return False
        with committing(f"dropping table {'.'.join(found.name())}"):
            try:
                self._opened().drop_table(found.name())
            except NoSuchTableError:
                return False
        if self._has_hints:
            version_hint.remove(found)
        return True
