"""The port over one SQLite file, put together from its parts."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Self

import apsw

from dray.meta.kept_session import KeptSession, SessionCalls
from dray.meta.port import (
    ChangeBatch,
    Check,
    CommitTooLarge,
    Conflict,
    Domain,
    Entry,
    MetaError,
    OutcomeUnknown,
    Position,
    Put,
    SessionId,
    Unavailable,
    Versions,
    Write,
)
from dray.meta.rules import require_commit, require_key, require_scan
from dray.meta.sqlite import reader as queries
from dray.meta.sqlite.errors import meta_error
from dray.meta.sqlite.feed import ChangeFeed
from dray.meta.sqlite.jobs import Job
from dray.meta.sqlite.reader import Reader
from dray.meta.sqlite.requests import Answer, CommitRequest, EndSession, OpenSession, RenewSession, Request
from dray.meta.sqlite.schema import connect, create_file, create_tables
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.meta.sqlite.sweeper import Sweeper
from dray.meta.sqlite.turn import Turn
from dray.meta.sqlite.writer import Writer
from dray.runtime import Clock, Entropy, Tasks, Threads


class SqliteMetaStore:
    """A `MetaStore`; make it with `open`."""

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
        self._feed = ChangeFeed(self._reader, settings, tasks)
        self._sweeper = Sweeper(self._reader, clock, self._ask)
        self._sweeping: asyncio.Task[None] | None = None
        self._sessions: dict[SessionId, KeptSession] = {}
        self._blocking = Threads("dray-meta-open", 1)
        self._turn: Turn | None = None
        self._writer: Writer | None = None
        self._closed = False

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
        """Open the file, made if it is not there; raises `StoreUnusable` or `Unavailable`."""
        store = cls(path, settings or SqliteMetaSettings(), clock=clock, entropy=entropy, tasks=tasks)
        try:
            await store._start()
        except BaseException:
            await store._stop()
            raise
        return store

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
        self._require_size(writes)
        self._require_open()
        answer = await self._ask(CommitRequest(domain, tuple(checks), tuple(writes)))
        assert isinstance(answer, (Versions, Conflict))
        return answer

    @asynccontextmanager
    async def watch(
        self, domain: Domain, prefix: str, after: Position | None = None
    ) -> AsyncIterator[AsyncIterator[ChangeBatch]]:
        self._require_open()
        watcher = await self._feed.add(domain, prefix)
        try:
            if after is not None:
                await self._feed.catch_up(watcher, after)
            yield watcher
        finally:
            self._feed.remove(watcher)

    async def session(self, ttl_ms: int) -> KeptSession:
        self._require_open()
        session = SessionId(self._entropy.token(16).hex())
        opened_at = self._clock.monotonic()
        await self._ask(OpenSession(session, ttl_ms))
        calls = SessionCalls(self._renew_session, self._end_session)
        kept = KeptSession(session, ttl_ms, opened_at, self._clock, calls)
        self._sessions[session] = kept
        kept.start(self._tasks)
        return kept

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._end_sessions()
            await self._stop()

    async def _start(self) -> None:
        db = await self._blocking.run(self._open_files)
        assert self._turn is not None
        self._writer = Writer(
            self._path,
            self._turn,
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
            self._turn = Turn(self._path)
            self._await_turn(self._turn)
            with self._turn.held():
                create_tables(db, self._path)
            self._reader.open()
        except (apsw.Error, OSError) as error:
            raise meta_error(error, self._path) from error
        return db

    def _await_turn(self, turn: Turn) -> None:
        """Opening must not hang behind a process that was stopped while it had the turn."""
        if not turn.come_within(self._settings.wait_ms / 1000):
            raise Unavailable(
                f"{self._path} is held by another process that does not let go of it; "
                f"see who has {self._path}-lock open, and end or resume it"
            )

    async def _stop(self) -> None:
        """Let go of everything; the writer's connection last, because closing it tidies the file up."""
        self._closed = True
        self._feed.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._reader.refuse()
        await self._threads.stop()
        self._reader.close()
        if self._writer is not None:
            await self._blocking.run(self._writer.close)
        elif self._turn is not None:
            self._turn.close()
        await self._blocking.stop()

    async def _end_sessions(self) -> None:
        for session, kept in list(self._sessions.items()):
            kept.give_up()
            try:
                await self._end_session(session)
            except MetaError:
                return  # they run out by themselves

    async def _renew_session(self, session: SessionId) -> bool:
        return await self._ask(RenewSession(session)) is True

    async def _end_session(self, session: SessionId) -> None:
        await self._ask(EndSession(session))
        self._sessions.pop(session, None)

    async def _ask(self, request: Request) -> Answer:
        """Give the writer a job and return its answer, or raise it if it is an error."""
        assert self._writer is not None
        queue = self._writer.queue
        job = Job(request, asyncio.get_running_loop().create_future())
        queue.put(job)
        try:
            async with asyncio.timeout(self._settings.wait_ms / 1000):
                answer = await job.answer
        except TimeoutError:
            if queue.withdraw(job):
                raise Unavailable(f"a commit's turn to write {self._path} did not come in time") from None
            raise OutcomeUnknown(f"a commit to {self._path} was begun and did not end in time") from None
        except asyncio.CancelledError:
            queue.withdraw(job)
            raise
        if isinstance(answer, MetaError):
            raise type(answer)(*answer.args)  # a group shares one error; each caller gets its own
        return answer

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("the metadata store is closed")

    def _require_size(self, writes: Sequence[Write]) -> None:
        size = sum(len(write.value) for write in writes if isinstance(write, Put))
        if size > self._settings.commit_bytes_max:
            raise CommitTooLarge(
                f"a commit may hold {self._settings.commit_bytes_max} bytes of values, got {size}"
            )
