"""The port over one SQLite file."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, Self

import apsw

from dray.ids import Domain
from dray.meta.leased_session import LeasedSession, SessionCalls
from dray.meta.port import (
    Check,
    CommitLimits,
    Conflict,
    Entry,
    MetaError,
    OutcomeUnknown,
    Position,
    SessionId,
    Unavailable,
    Versions,
    Watch,
    Write,
)
from dray.meta.rules import require_commit, require_key, require_limits, require_scan
from dray.meta.sqlite import reader as queries
from dray.meta.sqlite.errors import meta_error
from dray.meta.sqlite.feed import ChangeFeed
from dray.meta.sqlite.reader import Reader
from dray.meta.sqlite.requests import (
    CommitRequest,
    EndSession,
    OpenSession,
    PendingRequest,
    RenewSession,
    Request,
    Response,
)
from dray.meta.sqlite.schema import connect, create_file, create_tables
from dray.meta.sqlite.session_sweeper import SessionSweeper
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.meta.sqlite.snapshot import SqliteSnapshot
from dray.meta.sqlite.write_lock import WriteLock
from dray.meta.sqlite.writer import Writer
from dray.runtime import Clock, Entropy, Tasks, Threads

_OPERATIONS_MAX: Final = 1_000_000


class SqliteMetaStore:
    """A `MetaStore`, created by `open`."""

    def __init__(
        self, path: Path, settings: SqliteMetaSettings, *, clock: Clock, entropy: Entropy, tasks: Tasks
    ) -> None:
        self._path = path
        self._settings = settings
        self._clock = clock
        self._entropy = entropy
        self._tasks = tasks
        self._threads = Threads("dray-meta-reader", 2)
        self._reader = Reader(path, settings, self._threads)
        self._feed = ChangeFeed(
            self._reader,
            settings,
            tasks,
            own_commits_follow=lambda: self._writer is not None and self._writer.delivers_soon,
        )
        self._sweeper = SessionSweeper(self._reader, clock, self._send)
        self._sweeping: asyncio.Task[None] | None = None
        self._sessions: dict[SessionId, LeasedSession] = {}
        self._blocking = Threads("dray-meta-open", 1)
        self._write_lock: WriteLock | None = None
        self._writer: Writer | None = None
        self._closed = False
        self._limits = CommitLimits(_OPERATIONS_MAX, _OPERATIONS_MAX, settings.commit_bytes_max)

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        clock: Clock,
        entropy: Entropy,
        tasks: Tasks,
        settings: SqliteMetaSettings | None = None,
    ) -> Self:
        """Open the file, created if it does not exist; raises `StoreUnusable` or `Unavailable`."""
        store = cls(path, settings or SqliteMetaSettings(), clock=clock, entropy=entropy, tasks=tasks)
        try:
            await store._start()
        except BaseException:
            await store._stop()
            raise
        return store

    @property
    def limits(self) -> CommitLimits:
        return self._limits

    async def get(self, domain: Domain, key: str) -> Entry | None:
        require_key(key)
        return await self._reader.quick(lambda db: queries.get(db, domain, key))

    async def scan(
        self, domain: Domain, start: str, end: str, *, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        require_scan(start, end, limit)
        query = partial(queries.scan, domain=domain, start=start, end=end, limit=limit, reverse=reverse)
        if limit is not None and limit <= self._settings.inline_rows_max:
            return await self._reader.quick(query)
        return await self._reader.slow(query)

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        require_commit(domain, checks, writes)
        require_limits(self._limits, checks, writes)
        self._require_open()
        response = await self._send(CommitRequest(domain, tuple(checks), tuple(writes)))
        assert isinstance(response, (Versions, Conflict))
        return response

    @asynccontextmanager
    async def watch(self, domain: Domain, prefix: str, after: Position | None = None) -> AsyncIterator[Watch]:
        self._require_open()
        watcher = await self._feed.add(domain, prefix)
        try:
            if after is not None:
                await self._feed.catch_up(watcher, after)
            yield watcher
        finally:
            self._feed.remove(watcher)

    async def session(self, ttl_ms: int) -> LeasedSession:
        self._require_open()
        session = SessionId(self._entropy.token(16).hex())
        opened_at = self._clock.monotonic()
        await self._send(OpenSession(session, ttl_ms))
        calls = SessionCalls(self._renew_session, self._end_session)
        leased = LeasedSession(session, ttl_ms, opened_at, self._clock, calls)
        self._sessions[session] = leased
        leased.start(self._tasks)
        return leased

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[SqliteSnapshot]:
        self._require_open()
        snapshot = SqliteSnapshot(self._path, self._settings)
        try:
            await snapshot.open()
            yield snapshot
        finally:
            await snapshot.close()

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._end_sessions()
            await self._stop()

    async def _start(self) -> None:
        db = await self._blocking.run(self._open_files)
        assert self._write_lock is not None
        self._writer = Writer(
            self._path,
            self._write_lock,
            self._settings,
            self._clock,
            incarnation=self._entropy.token(8),
            on_served=self._feed.committed,
        )
        self._writer.start(db)
        self._sweeping = self._tasks.every(
            self._settings.sweep_ms / 1000,
            self._sweeper.sweep,
            name="sweep metadata sessions",
            clock=self._clock,
        )

    def _open_files(self) -> apsw.Connection:
        try:
            create_file(self._path)
            db = connect(self._path, self._settings)
            self._write_lock = WriteLock(self._path)
            self._require_free(self._write_lock)
            with self._write_lock.held():
                create_tables(db, self._path)
            self._reader.open()
        except (apsw.Error, OSError) as error:
            raise meta_error(error, self._path) from error
        return db

    def _require_free(self, write_lock: WriteLock) -> None:
        """Raise rather than hang if a paused process holds the write lock."""
        if not write_lock.is_free_within(self._settings.wait_ms / 1000):
            raise Unavailable(
                f"another process holds the write lock on {self._path} and does not release it; "
                f"find the process that has {self._path}-lock open, and end or resume it"
            )

    async def _stop(self) -> None:
        """Release everything; the writer's connection last, because closing it makes a checkpoint."""
        self._closed = True
        self._feed.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._reader.refuse()
        await self._threads.stop()
        self._reader.close()
        if self._writer is not None:
            await self._blocking.run(self._writer.close)
        elif self._write_lock is not None:
            self._write_lock.close()
        await self._blocking.stop()

    async def _end_sessions(self) -> None:
        for session, leased in list(self._sessions.items()):
            leased.invalidate()
            try:
                await self._end_session(session)
            except MetaError:
                return  # they expire

    async def _renew_session(self, session: SessionId) -> bool:
        return await self._send(RenewSession(session)) is True

    async def _end_session(self, session: SessionId) -> None:
        await self._send(EndSession(session))
        self._sessions.pop(session, None)

    async def _send(self, request: Request) -> Response:
        """Send a request to the writer and return its response, or raise it if it is an error."""
        assert self._writer is not None
        queue = self._writer.queue
        pending = PendingRequest(request, asyncio.get_running_loop().create_future())
        queue.put(pending)
        try:
            async with asyncio.timeout(self._settings.wait_ms / 1000):
                response = await pending.response
        except TimeoutError:
            if queue.withdraw(pending):
                raise Unavailable(f"timed out waiting for the write lock on {self._path}") from None
            raise OutcomeUnknown(f"a commit to {self._path} began and timed out") from None
        except asyncio.CancelledError:
            queue.withdraw(pending)
            raise
        if isinstance(response, MetaError):
            raise type(response)(*response.args)  # a group shares one error; each caller gets a copy
        return response

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("the metadata store is closed")
