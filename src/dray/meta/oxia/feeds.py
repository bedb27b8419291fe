"""Change feeds: one stream of notifications for each watched shard, shared by the watches of its domains.

Every entry of a shard's log has an offset, and every write a batch with its changes, kept for an hour. A
hole in the offsets is either an entry of another kind, such as a recorded checksum, or notifications that
were trimmed. Trimming removes the oldest ones, so if the batch before the hole can still be read, nothing
is missing.

A watch begins at the current offset, which includes writes that are replicated but not executed yet. Such a
write would be neither reported nor visible to a read that follows. So the watch also waits for a write of
its own, which changes nothing: entries are executed in order.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from dray.ids import Domain
from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.client import OxiaClient
from dray.meta.oxia.commits import Context
from dray.meta.oxia.keys import BARRIER, head_key
from dray.meta.oxia.watcher import Watcher
from dray.meta.port import MetaError, Position, Unavailable
from dray.observe import get_logger

_log = get_logger("meta")
_STREAM_S: Final = 60.0
"""A stream is opened again after a minute: the server at its other end may have disappeared silently."""
_STABLE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Past:
    batches: list[api.NotificationBatch]
    gap: bool


class ShardFeed:
    """The watchers of one shard, and the task that receives its notifications."""

    def __init__(self, context: Context, shard: int) -> None:
        self._context = context
        self._client: OxiaClient = context.client
        self._shard = shard
        self._watchers: dict[Watcher, None] = {}
        self._offset: int | None = None
        self._receiving: asyncio.Task[None] | None = None

    async def begin(self, watcher: Watcher, after: Position | None) -> None:
        """Add a watcher that begins now or after a position."""
        self._watchers[watcher] = None
        now = await self._context.with_retries(self._current_offset)
        self._receive_from(now)
        await self._context.with_retries(self._barrier)
        watcher.begin(now)
        if after is not None and after != now:
            past = await self._context.with_retries(lambda: self._past(after, now))
            watcher.prepend(past.batches, gap=past.gap)

    def remove(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)
        watcher.end(StopAsyncIteration())
        if not self._watchers:
            self.stop()

    def stop(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
            self._receiving = None

    def end_all(self, error: MetaError) -> None:
        watchers, self._watchers = self._watchers, {}
        for watcher in watchers:
            watcher.end(error)

    async def _current_offset(self) -> int:
        async with self._client.notifications(self._shard, None) as batches:
            async for batch in batches:
                return batch.offset
        raise Unavailable("Oxia ended a stream of notifications")

    async def _barrier(self) -> None:
        """Wait until all entries up to now are executed."""
        delete = api.DeleteRequest(key=BARRIER)
        await self._client.write(self._shard, api.WriteRequest(deletes=[delete]))

    def _receive_from(self, offset: int) -> None:
        if self._receiving is None or self._receiving.done():
            self._offset = offset
            name = f"receive notifications of shard {self._shard}"
            self._receiving = self._context.tasks.start(self._receive(), name=name)

    async def _receive(self) -> None:
        try:
            while self._watchers:
                await self._context.with_retries(self._receive_stream)
        except MetaError as error:
            _log.warning("watches_broken", shard=self._shard, error=str(error))
            self.end_all(Unavailable(f"the notifications of shard {self._shard} ended: {error}"))

    async def _receive_stream(self) -> None:
        """Receive until the stream breaks. Only one that breaks at once, without a batch, is a failure."""
        opened_at, offset = self._context.clock.monotonic(), self._offset
        try:
            await self._receive_batches()
        except Unavailable:
            if self._offset == offset and self._context.clock.monotonic() - opened_at < _STABLE_S:
                raise

    async def _receive_batches(self) -> None:
        async with self._client.notifications(self._shard, self._offset, _STREAM_S) as batches:
            async for batch in batches:
                await self._pass_on(batch)
        raise Unavailable("Oxia ended a stream of notifications")

    async def _pass_on(self, batch: api.NotificationBatch) -> None:
        assert self._offset is not None
        if batch.offset <= self._offset:
            return
        gap = batch.offset > self._offset + 1 and not await self._is_kept(self._offset)
        self._offset = batch.offset
        for watcher in self._watchers:
            watcher.add(batch, gap=gap)

    async def _is_kept(self, offset: int) -> bool:
        """Whether the notifications after an offset are complete, although the next one is missing."""
        if offset < 0:
            return False
        async with self._client.notifications(self._shard, offset - 1) as batches:
            async for batch in batches:
                return batch.offset == offset
        raise Unavailable("Oxia ended a stream of notifications")

    async def _past(self, after: int, now: int) -> _Past:
        """Return the batches after `after` up to `now`; a later one exists, because of the barrier."""
        if not now - self._context.settings.catch_up_batches_max <= after <= now:
            return _Past([], gap=True)
        batches: list[api.NotificationBatch] = []
        last = after
        async with self._client.notifications(self._shard, after) as received:
            async for batch in received:
                if batch.offset > last + 1 and not await self._is_kept(last):
                    return _Past([], gap=True)
                if batch.offset > now:
                    break
                batches.append(batch)
                last = batch.offset
        return _Past(batches, gap=False)


class Feeds:
    """The feeds of all shards that are watched."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._feeds: dict[int, ShardFeed] = {}

    async def add(self, domain: Domain, watcher: Watcher, after: Position | None) -> ShardFeed:
        """Return the feed that the watcher was added to."""
        shard = await self._context.with_retries(lambda: self._context.client.shard_of(head_key(domain)))
        feed = self._feeds.setdefault(shard, ShardFeed(self._context, shard))
        try:
            await feed.begin(watcher, after)
        except BaseException:
            feed.remove(watcher)
            raise
        return feed

    def close(self, error: MetaError) -> None:
        for feed in self._feeds.values():
            feed.stop()
            feed.end_all(error)
