"""A client of the memory server.

Nothing here looks at the server but through the link (save the bell that wakes watchers), so a link that
loses and delays is all that a simulation needs. A commit attempt has an id of its own; when its answer is
lost the id is fenced, which tells whether it happened and makes sure that it will not happen later.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from dray.meta.kept_session import KeptSession, SessionCalls
from dray.meta.memory.link import AnswerLost, Link
from dray.meta.memory.server import CommitId, MemoryMetaServer, Outcome
from dray.meta.memory.watching import MemoryWatch
from dray.meta.port import (
    ChangeBatch,
    Check,
    Conflict,
    Domain,
    Entry,
    MetaError,
    OutcomeUnknown,
    Position,
    SessionId,
    Unavailable,
    Versions,
    Write,
)
from dray.meta.rules import require_commit, require_key, require_scan
from dray.runtime import Clock, Entropy, RetrySettings, Tasks, retry

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryMetaSettings:
    """How long a call goes on trying while the link fails."""

    retry: RetrySettings = field(default_factory=lambda: RetrySettings(first_ms=5.0, max_ms=1_000.0))


class _StoreClosed(MetaError):
    """Ends a call that would otherwise try again."""


class MemoryMetaStore:
    """The port over a `MemoryMetaServer`."""

    def __init__(
        self,
        server: MemoryMetaServer,
        link: Link,
        clock: Clock,
        entropy: Entropy,
        *,
        tasks: Tasks,
        settings: MemoryMetaSettings | None = None,
    ) -> None:
        self._server = server
        self._client = server.new_client()
        self._ids = 0
        self._link = link
        self._clock = clock
        self._entropy = entropy
        self._tasks = tasks
        self._settings = settings or MemoryMetaSettings()
        self._closed = False
        self._watches: dict[MemoryWatch, None] = {}
        self._sessions: dict[SessionId, KeptSession] = {}

    async def get(self, domain: Domain, key: str) -> Entry | None:
        require_key(key)
        return await self._ask(partial(self._server.get, domain, key))

    async def scan(
        self, domain: Domain, start: str, end: str, *, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        require_scan(start, end, limit)
        return await self._ask(partial(self._server.scan, domain, start, end, limit, reverse=reverse))

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        require_commit(domain, checks, writes)
        checks, writes = tuple(checks), tuple(writes)

        async def attempt() -> Versions | Conflict:
            commit_id = self._new_id()
            request = partial(self._server.commit, commit_id, domain, checks, writes)
            try:
                return await self._once(request)
            except AnswerLost:
                outcome = await self.resolve_lost_commit(commit_id)
            if outcome == "fenced":
                raise Unavailable("the commit's request was lost on the way and fenced; it did not happen")
            return outcome

        return await self._trying(attempt)

    async def resolve_lost_commit(self, commit_id: CommitId) -> Outcome:
        """Find out whether a commit happened, and if not, make sure that it never will."""
        try:
            return await self._ask(partial(self._server.fence, commit_id))
        except Unavailable as error:
            raise OutcomeUnknown(
                "the answer to a commit was lost and the store could not be asked for its outcome"
            ) from error

    @asynccontextmanager
    async def watch(
        self, domain: Domain, prefix: str, after: Position | None = None
    ) -> AsyncIterator[AsyncIterator[ChangeBatch]]:
        self._require_open()
        with self._server.woken() as woken:
            watch = MemoryWatch(self._server, woken, self._ask, domain, prefix).start_after(after)
            self._watches[watch] = None
            try:
                yield watch
            finally:
                del self._watches[watch]
                watch.end()

    async def session(self, ttl_ms: int) -> KeptSession:
        session = SessionId(self._new_id())
        opened_at = self._clock.monotonic()
        await self._ask(partial(self._server.open_session, session, ttl_ms))
        kept = KeptSession(
            session, ttl_ms, opened_at, self._clock, SessionCalls(self._renew_session, self._end_session)
        )
        self._sessions[session] = kept
        kept.start(self._tasks)
        return kept

    async def close(self) -> None:
        if self._closed:
            return
        for watch in list(self._watches):
            watch.end(store_closed=True)
        sessions, self._sessions = self._sessions, {}
        try:
            for session, kept in sessions.items():
                kept.give_up()
                await self._once(partial(self._server.end_session, session))
        except (AnswerLost, Unavailable):
            pass  # they run out by themselves
        finally:
            self._closed = True

    def _new_id(self) -> str:
        self._ids += 1
        return f"{self._client}-{self._ids}"

    async def _renew_session(self, session: SessionId) -> bool:
        try:
            return await self._once(partial(self._server.renew_session, session))
        except AnswerLost as error:
            raise Unavailable("the answer to a session's renewal was lost") from error

    async def _end_session(self, session: SessionId) -> None:
        await self._ask(partial(self._server.end_session, session))
        self._sessions.pop(session, None)

    async def _ask(self, request: Callable[[], T]) -> T:
        """Make a call that may be made again when its answer is lost."""

        async def attempt() -> T:
            try:
                return await self._once(request)
            except AnswerLost as error:
                raise Unavailable("the metadata store did not answer") from error

        return await self._trying(attempt)

    async def _trying(self, attempt: Callable[[], Awaitable[T]]) -> T:
        try:
            return await retry(
                attempt,
                on=(Unavailable,),
                clock=self._clock,
                entropy=self._entropy,
                settings=self._settings.retry,
            )
        except _StoreClosed as error:
            raise Unavailable("the metadata store is closed") from error

    async def _once(self, request: Callable[[], T]) -> T:
        if self._closed:
            raise _StoreClosed
        return await self._link.call(request)

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("the metadata store is closed")
