"""Queries on the metadata file, in the event loop or in a thread.

In WAL mode a reader waits neither for a writer nor for its fsync, so a query of microseconds runs in the
event loop itself, on a connection that never waits; that is several times faster than a hop to a thread.
Longer queries run in a thread, and so do those that find the file busy while another process recovers it.
"""

from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeVar, cast

import apsw

from dray.ids import Domain
from dray.meta.port import Entry, Unavailable, Version
from dray.meta.rules import depth
from dray.meta.sqlite.errors import meta_error
from dray.meta.sqlite.schema import connect_reader, disconnect, rows
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.runtime import Threads

T = TypeVar("T")
Query = Callable[[apsw.Connection], T]

_THREADS: Final = 2
_GET: Final = "SELECT value, version FROM entries WHERE domain = ? AND depth = ? AND key = ?"
_SCAN: Final = (
    "SELECT key, value, version FROM entries WHERE domain = ? AND depth = ? AND key >= ? AND key < ? "
    "ORDER BY key {order} LIMIT ?"
)
_SCANS: Final = {False: _SCAN.format(order="ASC"), True: _SCAN.format(order="DESC")}


class Reader:
    """Runs queries; each sees all commits from before it began."""

    def __init__(self, path: Path, settings: SqliteMetaSettings, threads: Threads) -> None:
        self._path = path
        self._settings = settings
        self._threads = threads
        self._refusing = False
        self._inline: apsw.Connection | None = None
        self._free: SimpleQueue[apsw.Connection] = SimpleQueue()

    def open(self) -> None:
        """Open the connections. Blocks."""
        self._inline = connect_reader(self._path, self._settings, busy_ms=0)
        for _ in range(_THREADS):
            self._free.put(connect_reader(self._path, self._settings, busy_ms=self._settings.busy_ms))

    def refuse(self) -> None:
        """Refuse further queries."""
        self._refusing = True

    def close(self) -> None:
        """Close the connections; no query may be running."""
        if self._inline is not None:
            disconnect(self._inline)
            self._inline = None
        while not self._free.empty():
            disconnect(self._free.get())

    def now(self, query: Query[T]) -> T:
        """Run a short query in the event loop; raises `apsw.BusyError` instead of waiting."""
        if self._refusing or self._inline is None:
            raise Unavailable("the metadata store is closed")
        try:
            return query(self._inline)
        except apsw.BusyError:
            raise
        except apsw.Error as error:
            raise meta_error(error, self._path, self._inline.system_errno) from error

    async def quick(self, query: Query[T]) -> T:
        """Run a query that takes microseconds."""
        try:
            return self.now(query)
        except apsw.BusyError:
            return await self.slow(query)

    async def slow(self, query: Query[T]) -> T:
        """Run a query in a thread."""
        if self._refusing:
            raise Unavailable("the metadata store is closed")
        return await self._threads.run(self._run, query)

    def _run(self, query: Query[T]) -> T:
        db = self._free.get()
        try:
            return query(db)
        except apsw.Error as error:
            raise meta_error(error, self._path, db.system_errno) from error
        finally:
            self._free.put(db)


def get(db: apsw.Connection, domain: Domain, key: str) -> Entry | None:
    found = cast("list[tuple[bytes, Version]]", rows(db, _GET, (domain, depth(key), key)))
    return Entry(key, *found[0]) if found else None


def scan(
    db: apsw.Connection, domain: Domain, start: str, end: str, limit: int | None, *, reverse: bool
) -> list[Entry]:
    values = (domain, depth(start), start, end, -1 if limit is None else limit)
    found = cast("list[tuple[str, bytes, Version]]", rows(db, _SCANS[reverse], values))
    return [Entry(*row) for row in found]
