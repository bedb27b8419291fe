"""The port over an etcd cluster."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from dray.ids import Domain
from dray.meta.etcd.commits import Commits
from dray.meta.etcd.endpoints import Endpoints
from dray.meta.etcd.feed import ChangeFeeds
from dray.meta.etcd.history import HistoryCompactor
from dray.meta.etcd.keys import Layout
from dray.meta.etcd.opening import limits, open_prefix
from dray.meta.etcd.reads import EtcdSnapshot, Reads
from dray.meta.etcd.sessions import Sessions
from dray.meta.etcd.settings import EtcdAccess, EtcdMetaSettings
from dray.meta.etcd.slots import Slots
from dray.meta.etcd.stream import StreamContext
from dray.meta.leased_session import LeasedSession
from dray.meta.port import (
    Check,
    CommitLimits,
    Conflict,
    Entry,
    Position,
    Unavailable,
    Versions,
    Watch,
    Write,
)
from dray.meta.rules import require_commit, require_domain, require_key, require_limits, require_scan
from dray.runtime import Clock, Entropy, Tasks


class EtcdMetaStore:
    """A `MetaStore`, created by `open`."""

    def __init__(
        self,
        endpoints: Endpoints,
        layout: Layout,
        allowed: CommitLimits,
        settings: EtcdMetaSettings,
        *,
        clock: Clock,
        entropy: Entropy,
        tasks: Tasks,
    ) -> None:
        self._endpoints = endpoints
        self._limits = allowed
        self._reads = Reads(endpoints, layout, settings.page_keys)
        self._sessions = Sessions(endpoints, clock, tasks, settings.attempt_ms)
        client = entropy.token(8).hex()
        slots = Slots(endpoints, layout, self._sessions, client, settings.slot_ttl_ms)
        self._commits = Commits(endpoints, layout, slots, clock, settings)
        streams = StreamContext(endpoints, layout, settings, clock, entropy, tasks)
        self._feeds = ChangeFeeds(streams, self._reads)
        history = HistoryCompactor(endpoints, layout, clock, settings.history_ms)
        self._compacting = (
            tasks.start(history.run(), name="compact etcd's history") if settings.history_ms else None
        )
        self._closed = False

    @classmethod
    async def open(
        cls,
        access: EtcdAccess,
        *,
        clock: Clock,
        entropy: Entropy,
        tasks: Tasks,
        settings: EtcdMetaSettings | None = None,
    ) -> Self:
        """Connect, and create the prefix if it is empty; raises `StoreUnusable` or `Unavailable`."""
        settings = settings or EtcdMetaSettings()
        layout = Layout(access.prefix)
        endpoints = Endpoints(access, settings, clock, entropy)
        try:
            await open_prefix(endpoints, layout)
            allowed = await limits(endpoints, layout, settings.request_bytes_max)
        except BaseException:
            await endpoints.close()
            raise
        return cls(endpoints, layout, allowed, settings, clock=clock, entropy=entropy, tasks=tasks)

    @property
    def limits(self) -> CommitLimits:
        return self._limits

    async def get(self, domain: Domain, key: str) -> Entry | None:
        require_key(key)
        return await self._reads.get(domain, key)

    async def scan(
        self, domain: Domain, start: str, end: str, *, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        require_scan(start, end, limit)
        self._require_open()
        return await self._reads.scan(domain, start, end, limit, reverse=reverse)

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        require_commit(domain, checks, writes)
        require_limits(self._limits, checks, writes)
        self._require_open()
        return await self._commits.commit(domain, checks, writes)

    @asynccontextmanager
    async def watch(self, domain: Domain, prefix: str, after: Position | None = None) -> AsyncIterator[Watch]:
        require_domain(domain)
        self._require_open()
        watcher = await self._feeds.add(domain, prefix)
        try:
            if after is not None:
                await self._feeds.catch_up(watcher, after)
            yield watcher
        finally:
            self._feeds.remove(watcher)

    async def session(self, ttl_ms: int) -> LeasedSession:
        self._require_open()
        return await self._sessions.open(ttl_ms)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[EtcdSnapshot]:
        self._require_open()
        yield EtcdSnapshot(self._reads, await self._reads.revision())

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._compacting is not None:
            self._compacting.cancel()
        self._feeds.close()
        await self._sessions.close()
        await self._endpoints.close()

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("the metadata store is closed")
