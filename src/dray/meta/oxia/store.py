"""The port over a namespace of Oxia.

A domain is a partition key, so its keys are in one shard. Reads are single requests; commits are
transactions of `dray.meta.oxia.transaction`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Self, TypeVar

from dray.ids import Domain
from dray.meta.grpc_tls import connection_hint
from dray.meta.leased_session import LeasedSession
from dray.meta.oxia.client import OxiaClient, Stored
from dray.meta.oxia.commits import Context, DomainCommits
from dray.meta.oxia.errors import StoreClosed, Untrusted
from dray.meta.oxia.feeds import Feeds
from dray.meta.oxia.keys import data_key, data_prefix, head_key, key_of
from dray.meta.oxia.namespace import open_namespace
from dray.meta.oxia.plan import CommitRequest, Request, exists, port_version
from dray.meta.oxia.records import decode_record
from dray.meta.oxia.sessions import Sessions
from dray.meta.oxia.settings import OxiaMetaSettings
from dray.meta.oxia.snapshot import OxiaSnapshot
from dray.meta.oxia.watcher import Watcher
from dray.meta.port import (
    Check,
    CommitLimits,
    Conflict,
    Entry,
    Position,
    StoreUnusable,
    Unavailable,
    Versions,
    Watch,
    Write,
)
from dray.meta.rules import require_commit, require_key, require_limits, require_scan
from dray.runtime import Clock, Entropy, Tasks

T = TypeVar("T")
_UNREACHABLE: Final = "check metadata.url, and that Oxia is running"


class OxiaMetaStore:
    """A `MetaStore`, created by `open`."""

    def __init__(self, settings: OxiaMetaSettings, *, clock: Clock, entropy: Entropy, tasks: Tasks) -> None:
        self._settings = settings
        self._client = OxiaClient(settings, clock)
        self._context = Context(self._client, settings, entropy.token(8), clock, entropy, tasks)
        self._domains: dict[Domain, DomainCommits] = {}
        self._sessions = Sessions(self._context, self._submit)
        self._feeds = Feeds(self._context)
        self._sweeping: asyncio.Task[None] | None = None
        self._limits = CommitLimits(
            settings.commit_writes_max, settings.commit_writes_max, settings.commit_bytes_max
        )
        self._closed = False

    @property
    def limits(self) -> CommitLimits:
        return self._limits

    @classmethod
    async def open(cls, settings: OxiaMetaSettings, *, clock: Clock, entropy: Entropy, tasks: Tasks) -> Self:
        """Connect; raises `Unavailable` if no server answers, or `StoreUnusable`."""
        store = cls(settings, clock=clock, entropy=entropy, tasks=tasks)
        try:
            await store._start()
        except BaseException:
            await store.close()
            raise
        return store

    async def get(self, domain: Domain, key: str) -> Entry | None:
        require_key(key)
        name = data_key(domain, key)

        async def attempt() -> Entry | None:
            (stored,) = await self._client.read(await self._client.shard_of(head_key(domain)), [name])
            return _entry(stored, key)

        return await self._retried(attempt)

    async def scan(
        self, domain: Domain, start: str, end: str, *, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        require_scan(start, end, limit)
        if start >= end:  # code points sort like their UTF-8 encoding
            self._require_open()
            return []
        found = await self._retried(lambda: self._scan(domain, (start, end), None if reverse else limit))
        if reverse:
            found.reverse()
        return found[:limit]

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        require_commit(domain, checks, writes)
        require_limits(self._limits, checks, writes)
        self._require_open()
        request = CommitRequest(tuple(checks), tuple(writes))
        for session in request.sessions():
            self._sessions.used(session, domain)
        return await self._submit(domain, request)

    @asynccontextmanager
    async def watch(self, domain: Domain, prefix: str, after: Position | None = None) -> AsyncIterator[Watch]:
        self._require_open()
        watcher = Watcher(domain, prefix)
        feed = await self._while_open(self._feeds.add(domain, watcher, after))
        try:
            yield watcher
        finally:
            feed.remove(watcher)

    async def session(self, ttl_ms: int) -> LeasedSession:
        self._require_open()
        return await self._while_open(self._sessions.open(ttl_ms))

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[OxiaSnapshot]:
        self._require_open()
        yield OxiaSnapshot(self._context)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._feeds.close(Unavailable("the metadata store was closed during the watch"))
        try:
            async with asyncio.timeout(self._settings.request_ms / 1000):
                await self._sessions.close()
        except TimeoutError:
            pass  # they expire
        for commits in self._domains.values():
            commits.close()
        await self._client.close()

    async def _start(self) -> None:
        self._client.start(self._context.tasks)
        await self._require_trusted()
        try:
            await self._context.with_retries(self._client.shards)
        except Unavailable as error:
            with_tls = self._settings.access.tls is not None
            hint = connection_hint(str(error), _UNREACHABLE, with_tls=with_tls)
            raise Unavailable(f"{error}; {hint}") from error
        await self._context.with_retries(lambda: open_namespace(self._client, self._settings.namespace))
        self._sweeping = self._context.tasks.every(
            self._settings.sweep_ms / 1000,
            self._sessions.sweep_ended,
            name="sweep metadata sessions",
            clock=self._context.clock,
        )

    async def _require_trusted(self) -> None:
        """Ask the servers once; raise `StoreUnusable` if they cannot be trusted, which no retry changes."""
        try:
            await self._client.shards()
        except Untrusted as error:
            raise StoreUnusable(str(error)) from error
        except Unavailable:
            return  # retried

    async def _scan(self, domain: Domain, bounds: tuple[str, str], limit: int | None) -> list[Entry]:
        prefix = data_prefix(domain)
        found: list[Entry] = []

        def take(stored: Stored) -> bool:
            entry = _entry(stored, key_of(stored.key, prefix))
            if entry is not None:
                found.append(entry)
            return limit is None or len(found) < limit

        shard = await self._client.shard_of(head_key(domain))
        start, end = (data_key(domain, bound) for bound in bounds)
        await self._client.scan(shard, start, end, take)
        return found

    async def _submit(self, domain: Domain, request: Request) -> Versions | Conflict:
        if domain not in self._domains:
            self._domains[domain] = DomainCommits(self._context, domain)
        return await self._domains[domain].commit(request)

    async def _retried(self, attempt: Callable[[], Awaitable[T]]) -> T:
        self._require_open()
        return await self._while_open(self._context.with_retries(attempt))

    async def _while_open(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except StoreClosed as error:
            raise Unavailable("the metadata store was closed during the call") from error

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("the metadata store is closed")


def _entry(stored: Stored, key: str) -> Entry | None:
    if stored.value is None:
        return None
    record = decode_record(stored.value)
    return Entry(key, record.value, port_version(stored.version)) if exists(stored, record) else None
