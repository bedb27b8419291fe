"""Snapshots of the metadata file: one read transaction on a connection of its own.

In WAL mode the transaction blocks no writer, and no writer changes what it sees. Until it ends, a checkpoint
cannot reuse the WAL file, which grows by what is committed meanwhile.
"""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final, cast

import apsw

from dray.ids import Domain
from dray.meta.port import Entry, Version
from dray.meta.sqlite.errors import meta_error
from dray.meta.sqlite.history import last_revision
from dray.meta.sqlite.schema import connect_reader, disconnect, rows
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.runtime import Threads

_PAGE_ROWS: Final = 500
_PAGE: Final = (
    "SELECT depth, key, value, version FROM entries WHERE domain = ?1 AND (depth, key) > (?2, ?3) "
    "AND session IS NULL ORDER BY depth, key LIMIT ?4"
)


class SqliteSnapshot:
    """One read transaction, in a thread of its own."""

    def __init__(self, path: Path, settings: SqliteMetaSettings) -> None:
        self._path = path
        self._settings = settings
        self._threads = Threads("dray-meta-snapshot", 1)
        self._db: apsw.Connection | None = None
        self._revision = 0

    @property
    def position(self) -> int:
        return self._revision

    async def open(self) -> None:
        await self._threads.run(self._begin)

    async def read(self, domain: Domain) -> AsyncGenerator[list[Entry], None]:
        depth, key = -1, ""
        while True:
            depth, key, page = await self._threads.run(self._page, domain, depth, key)
            if page:
                yield page
            if len(page) < _PAGE_ROWS:
                return

    async def close(self) -> None:
        await self._threads.stop()
        if self._db is not None:
            disconnect(self._db)
            self._db = None

    def _begin(self) -> None:
        try:
            self._db = connect_reader(self._path, self._settings, busy_ms=self._settings.busy_ms)
            rows(self._db, "BEGIN")
            self._revision = last_revision(self._db)  # the first read begins the transaction
        except (apsw.Error, OSError) as error:
            raise meta_error(error, self._path) from error

    def _page(self, domain: Domain, depth: int, key: str) -> tuple[int, str, list[Entry]]:
        """Return the keys after (`depth`, `key`), and the last one's place."""
        assert self._db is not None
        try:
            found = rows(self._db, _PAGE, (domain, depth, key, _PAGE_ROWS))
        except apsw.Error as error:
            raise meta_error(error, self._path, self._db.system_errno) from error
        page = cast("list[tuple[int, str, bytes, Version]]", found)
        entries = [Entry(key, value, version) for _, key, value, version in page]
        return (*page[-1][:2], entries) if page else (depth, key, entries)
