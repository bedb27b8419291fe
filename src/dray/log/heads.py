"""Cached stream heads, kept current by a watch on the metadata store.

A cached head may be a moment old. That is enough to serve records below its high watermark, which never
change. To answer that there is *nothing more*, the head is read from the store, so that a reader sees every
record that any broker acknowledged to it.

While the watch is broken nothing is cached, and every lookup goes to the store.

The same watch reports that key compaction removed records of a stream, whose cached index entries are then
dropped, and that another broker cannot commit to a stream because this one is always faster.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress

from dray.ids import Domain, StreamId
from dray.index import CorruptValue, StreamHead
from dray.keyspace import (
    STREAMS_PREFIX,
    is_entry_key,
    stream_of_contended_key,
    stream_of_head_key,
    stream_of_key_compacted_key,
)
from dray.log.alternation import Alternation
from dray.log.errors import LogError
from dray.log.index_cache import IndexCache
from dray.log.states import StreamStates, read_head
from dray.log.stream_watch import StreamWatch
from dray.meta.port import ChangeBatch, MetaStore, Watch
from dray.meta.reading import follow
from dray.runtime import Clock, Tasks

_HEADS_MAX = 50_000
_READ_ONE_BY_ONE_MAX = 4
"""More streams than these are compared with the store by one sync of the watch."""
_SYNC_S = 0.2
"""After this time streams are read instead: the watch is late."""


class Heads:
    """The heads of one domain's streams."""

    def __init__(
        self, meta: MetaStore, domain: Domain, states: StreamStates, index: IndexCache, clock: Clock
    ) -> None:
        self._meta = meta
        self._domain = domain
        self._states = states
        self._index = index
        self.alternation = Alternation(clock)
        self._clock = clock
        self._watching = asyncio.Event()
        self._watch: Watch | None = None
        self._heads: OrderedDict[StreamId, StreamHead] = OrderedDict()
        self._forgotten = 0
        self._forgotten_at: OrderedDict[StreamId, int] = OrderedDict()
        self._forgotten_at_least = 0
        self._watches: dict[StreamId, dict[StreamWatch, None]] = {}

    async def start(self, tasks: Tasks) -> None:
        """Start the watch; returns when it delivers changes."""
        following = follow(
            self._meta,
            self._domain,
            STREAMS_PREFIX,
            self._clock,
            take=self._take,
            lost=self._lose,
            opened=self._follow,
        )
        tasks.start(following, name=f"watch-{self._domain}")
        await self._watching.wait()

    def known(self, stream: StreamId) -> StreamHead | None:
        return self._heads.get(stream) if self._watching.is_set() else None

    async def fresh(self, stream: StreamId) -> StreamHead:
        """Read the head from the store."""
        version = self.version()
        head, _ = await read_head(self._meta, self._domain, stream)
        return self.update(stream, head, version)

    def version(self) -> int:
        """Return the version of the cache, for `update`: take it before a head is read or committed."""
        return self._forgotten

    def update(self, stream: StreamId, head: StreamHead, version: int) -> StreamHead:
        """Cache a head that was read or committed; returns the newest one known, and reports it to watches.

        A head that was in flight when the watch reported a change may be older than the change, and nothing
        would ever correct it; such a head is not cached.
        """
        old = self._heads.get(stream)
        if old is not None and _newer(old, head):
            return old
        if version >= self._forgotten_at.get(stream, self._forgotten_at_least):
            self._keep(stream, head)
        if old is None or _newer(head, old):
            self._report(stream)
        return head

    def _keep(self, stream: StreamId, head: StreamHead) -> None:
        self._heads[stream] = head  # the streams that were read first are evicted first, as in `StreamStates`
        if len(self._heads) > _HEADS_MAX:
            self._heads.popitem(last=False)

    def forget(self, stream: StreamId) -> None:
        """Drop a cached head: the next lookup goes to the store."""
        self._heads.pop(stream, None)
        self._forgotten += 1
        self._forgotten_at[stream] = self._forgotten
        self._forgotten_at.move_to_end(stream)
        if len(self._forgotten_at) > _HEADS_MAX:
            _, self._forgotten_at_least = self._forgotten_at.popitem(last=False)

    def _forget_all(self) -> None:
        self._heads.clear()
        self._forgotten += 1
        self._forgotten_at.clear()
        self._forgotten_at_least = self._forgotten

    def subscribe(self, stream: StreamId, watch: StreamWatch) -> None:
        self._watches.setdefault(stream, {})[watch] = None

    def unsubscribe(self, stream: StreamId, watch: StreamWatch) -> None:
        watches = self._watches.get(stream)
        if watches is not None:
            watches.pop(watch, None)
            if not watches:
                del self._watches[stream]

    async def catch_up(self, streams: Sequence[StreamId]) -> None:
        if len(streams) <= _READ_ONE_BY_ONE_MAX or not await self.sync():
            await self._read_all(streams)

    async def sync(self) -> bool:
        if self._watch is None or not self._watching.is_set():
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(_SYNC_S):
                return await self._watch.sync() and self._watching.is_set()
        return False

    async def _read_all(self, streams: Sequence[StreamId]) -> None:
        for stream in streams:
            known = self.known(stream)
            with suppress(LogError, CorruptValue):
                if await self.fresh(stream) == known:
                    continue
            self._report(stream)

    def _report(self, stream: StreamId) -> None:
        if self._watches:
            for watch in self._watches.get(stream, ()):
                watch.report(stream)

    async def _take(self, batch: ChangeBatch, missed: bool) -> None:
        if missed:
            self._states.forget_all()
            self._index.drop_all()
            self._forget_all()
            self._watching.set()
            for watched in list(self._watches):
                self._report(watched)
        for key, version in [(change.key, change.version) for change in batch.changes]:
            # A commit of this process has updated the head, and has reported it to watches.
            if not is_entry_key(key) and not self._states.is_own(key, version):
                self._take_foreign(key)

    def _take_foreign(self, key: str) -> None:
        """Take a change that is not known to be of this process."""
        stream = stream_of_head_key(key)
        if stream is not None:
            self._states.forget((stream,))
            self.forget(stream)
            self.alternation.changed(stream)
            self._report(stream)
        elif (cleaned := stream_of_key_compacted_key(key)) is not None:
            self._index.drop(cleaned)
        elif (contended := stream_of_contended_key(key)) is not None:
            self.alternation.share(contended)

    def _follow(self, watch: Watch) -> None:
        self._watch = watch

    def _lose(self) -> None:
        """Drop everything: without the watch, nothing cached can be trusted."""
        self._watching.clear()
        self._watch = None
        self._forget_all()


def _newer(one: StreamHead, other: StreamHead) -> bool:
    return (one.high_watermark, one.log_start) > (other.high_watermark, other.log_start)
