"""Client of the memory server, and the link between them.

The client reaches the server only through the link, apart from the event that wakes watchers; so a
simulation only needs a link that loses and delays. Watches may have a feed of their own, because a networked
store sends changes over streams that lag and break independently of requests.

A request is a call that touches only the server. A link may run it now, later or never, and may lose the
response. An exception of the request itself is a response like any other, and reaches the caller unchanged.

Each attempt of a commit has its own id. If the response is lost, the
client fences the id, which reveals whether the commit happened and prevents that it happens later.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, TypeVar

from dray.ids import Domain
from dray.meta.leased_session import LeasedSession, SessionCalls
from dray.meta.memory.server import CommitId, MemoryMetaServer, Outcome
from dray.meta.memory.watching import MemoryWatch, Receive
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
from dray.runtime import Clock, Entropy, RetrySettings, Tasks, retry

T = TypeVar("T")

_SNAPSHOT_PAGE: Final = 100
_LIMITS: Final = CommitLimits(checks_max=2**31, writes_max=2**31, bytes_max=2**40)


class ResponseLost(Exception):
    """No response came: the request may have been executed, or may still be. Never leaves the adapter."""


class Link(Protocol):
    """Carries requests."""

    async def call(self, request: Callable[[], T]) -> T:
        """Return the response; raises `ResponseLost`, or `Unavailable` if the request was not executed."""
        ...


class DirectLink:
    """Executes every request at once."""

    async def call(self, request: Callable[[], T]) -> T:
        return request()


@dataclass(frozen=True, slots=True)
class MemoryMetaSettings:
    """How long a call is retried while the link fails, and how large a commit may be."""

    retry: RetrySettings = field(default_factory=lambda: RetrySettings(first_ms=5.0, max_ms=1_000.0))
    limits: CommitLimits = _LIMITS


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """A copy of all keys."""

    position: int
    domains: dict[Domain, list[Entry]]

    async def read(self, domain: Domain) -> AsyncGenerator[list[Entry], None]:
        entries = self.domains.get(domain, [])
        for start in range(0, len(entries), _SNAPSHOT_PAGE):
            yield entries[start : start + _SNAPSHOT_PAGE]


class _StoreClosed(MetaError):
    """Ends a call that would otherwise be retried."""


class MemoryMetaStore:
    """The port over a `MemoryMetaServer`."""

    def __init__(
        self,
        server: MemoryMetaServer,
        clock: Clock,
        entropy: Entropy,
        *,
        tasks: Tasks,
        settings: MemoryMetaSettings | None = None,
        link: Link | None = None,
        feed: Receive | None = None,
    ) -> None:
        self._server = server
        self._client = server.new_client()
        self._ids = 0
        self._link = link or DirectLink()
        self._feed: Receive = feed or self._send
        self._clock = clock
        self._entropy = entropy
        self._tasks = tasks
        self._settings = settings or MemoryMetaSettings()
        self._closed = False
        self._watches: dict[MemoryWatch, None] = {}
        self._sessions: dict[SessionId, LeasedSession] = {}

    @property
    def limits(self) -> CommitLimits:
        return self._settings.limits

    async def get(self, domain: Domain, key: str) -> Entry | None:
        require_key(key)
        return await self._send(partial(self._server.get, domain, key))

    async def scan(
        self, domain: Domain, start: str, end: str, *, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        require_scan(start, end, limit)
        return await self._send(partial(self._server.scan, domain, start, end, limit, reverse=reverse))

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        require_commit(domain, checks, writes)
        require_limits(self._settings.limits, checks, writes)
        checks, writes = tuple(checks), tuple(writes)

        async def attempt() -> Versions | Conflict:
            commit_id = self._new_id()
            request = partial(self._server.commit, commit_id, domain, checks, writes)
            try:
                return await self._once(request)
            except ResponseLost:
                outcome = await self.resolve_lost_commit(commit_id)
            if outcome == "fenced":
                raise Unavailable("the request of the commit was lost and then fenced; it did not happen")
            return outcome

        return await self._with_retries(attempt)

    async def resolve_lost_commit(self, commit_id: CommitId) -> Outcome:
        """Return whether a commit happened; if not, fence it."""
        try:
            return await self._send(partial(self._server.fence, commit_id))
        except Unavailable as error:
            raise OutcomeUnknown(
                "the response to a commit was lost, and its outcome could not be looked up"
            ) from error

    @asynccontextmanager
    async def watch(self, domain: Domain, prefix: str, after: Position | None = None) -> AsyncIterator[Watch]:
        self._require_open()
        with self._server.woken() as woken:
            watch = MemoryWatch(self._server, woken, domain, prefix, begin=self._send, receive=self._feed)
            watch.start_after(after)
            self._watches[watch] = None
            try:
                yield watch
            finally:
                del self._watches[watch]
                watch.end()

    async def session(self, ttl_ms: int) -> LeasedSession:
        session = SessionId(self._new_id())
        opened_at = self._clock.monotonic()
        await self._send(partial(self._server.open_session, session, ttl_ms))
        leased = LeasedSession(
            session, ttl_ms, opened_at, self._clock, SessionCalls(self._renew_session, self._end_session)
        )
        self._sessions[session] = leased
        leased.start(self._tasks)
        return leased

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator["MemorySnapshot"]:
        yield MemorySnapshot(*await self._send(self._server.all_lasting))

    async def close(self) -> None:
        if self._closed:
            return
        for watch in list(self._watches):
            watch.end(store_closed=True)
        sessions, self._sessions = self._sessions, {}
        try:
            for session, leased in sessions.items():
                leased.invalidate()
                await self._once(partial(self._server.end_session, session))
        except (ResponseLost, Unavailable):
            pass  # they expire
        finally:
            self._closed = True

    def _new_id(self) -> str:
        self._ids += 1
        return f"{self._client}-{self._ids}"

    async def _renew_session(self, session: SessionId) -> bool:
        try:
            return await self._once(partial(self._server.renew_session, session))
        except ResponseLost as error:
            raise Unavailable("the response to the renewal of a session was lost") from error

    async def _end_session(self, session: SessionId) -> None:
        await self._send(partial(self._server.end_session, session))
        self._sessions.pop(session, None)

    async def _send(self, request: Callable[[], T]) -> T:
        """Send a request that may be repeated when its response is lost."""

        async def attempt() -> T:
            try:
                return await self._once(request)
            except ResponseLost as error:
                raise Unavailable("the metadata store does not respond") from error

        return await self._with_retries(attempt)

    async def _with_retries(self, attempt: Callable[[], Awaitable[T]]) -> T:
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
