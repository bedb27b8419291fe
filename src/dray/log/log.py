"""The log of a cluster as one process sees it: append, read, watch, find, trim.

The truth is in two stores; this object holds only caches and work in progress, and may die at any time.

    log = Log(deps)
    await log.start()
    await log.create_stream(stream)
    appended = await (await log.append(stream, batch))
    found = await log.read(stream, appended.base_offset, max_bytes=1 << 20)
    await log.close()
"""

import asyncio
from asyncio import Future
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from dray.ids import MetaDomain, StreamId, meta_domain
from dray.index import CorruptValue, StreamHead
from dray.log.chunks import BoundedReads, Chunks, RecentChunks
from dray.log.commit_limits import within
from dray.log.deps import LogDeps
from dray.log.domain import DomainLog
from dray.log.errors import (
    RESTORE_METADATA,
    LogClosed,
    LogDamaged,
    OffsetOutOfRange,
    OutcomeUncertain,
    StoreUnavailable,
    StreamUnknown,
)
from dray.log.flushes import Flushes
from dray.log.index_cache import IndexCache
from dray.log.offsets import TimedOffset
from dray.log.reader import FetchSlice
from dray.log.reporting import ErrorReporter
from dray.log.row_groups import RowGroups
from dray.log.stages import BATCH_OVERHEAD_BYTES, Appended, Pending, own_memory
from dray.log.states import read_state
from dray.log.stream_watch import StreamWatch
from dray.log.streams import StreamWriter
from dray.meta.port import MetaError, OutcomeUnknown
from dray.objects.cached import Cached
from dray.objects.port import ObjectError
from dray.producers import ProducerState, unexpired
from dray.records import BatchHeader, ValidBatch
from dray.runtime import ByteBudget


class Log:
    """All streams of a cluster."""

    def __init__(self, deps: LogDeps) -> None:
        settings = within(deps.settings, deps.meta.limits)
        deps = replace(deps, settings=settings)
        self._deps = deps
        self._streams = StreamWriter(deps.meta, deps.domains, deps.clock, settings)
        self._budget = ByteBudget(settings.buffer_bytes_max)
        self._recent = RecentChunks(settings.tail_cache_bytes_max)
        self._errors = ErrorReporter(deps.clock)
        self._index = IndexCache(settings.index_cache_bytes_max)
        cached = Cached(deps.objects, deps.tasks, settings.range_cache_bytes_max)
        reading = ByteBudget(settings.read_in_flight_bytes_max)
        reads = BoundedReads(cached, reading)
        groups = RowGroups(deps.encode_group, reads.get_ranges, deps.tasks, settings.parquet_cache_bytes_max)
        chunks = Chunks(self._recent, cached, groups, reads=reads, tasks=deps.tasks, metrics=deps.metrics)
        deps.metrics.buffered_bytes.set_function(lambda: self._budget.held)
        deps.metrics.reading_bytes.set_function(lambda: reading.held)
        flushes = Flushes()
        self._domains = [
            DomainLog(
                MetaDomain(number),
                deps,
                index=self._index,
                recent=self._recent,
                chunks=chunks,
                budget=self._budget,
                errors=self._errors,
                flushes=flushes,
            )
            for number in range(deps.domains)
        ]

    async def start(self) -> None:
        """Start to watch the metadata store; returns when reads and appends may begin."""
        for domain in self._domains:
            await domain.heads.start(self._deps.tasks)

    async def close(self) -> None:
        """Take no more batches and answer those that were taken.

        The caller stops the tasks and the stores.
        """
        for domain in self._domains:
            domain.writer.stop_accepting()
        for domain in self._domains:
            await domain.writer.close()

    async def create_stream(self, stream: StreamId) -> None:
        """Create an empty stream; an existing one is left as it is."""
        await self.create_streams((stream,))

    async def create_streams(self, streams: Sequence[StreamId]) -> None:
        """Create empty streams; existing ones are left as they are."""
        with _store_errors():
            await self._streams.create_streams(streams)

    async def condemn_stream(self, stream: StreamId) -> None:
        """End appends to a stream and reads of it; `delete_stream` removes what is left."""
        with _store_errors():
            domain = self._domain(stream)
            await domain.trimmer.condemn(stream)
            domain.heads.forget(stream)

    async def delete_stream(self, stream: StreamId) -> None:
        """Delete a stream and everything in it."""
        with _store_errors():
            domain = self._domain(stream)
            await domain.trimmer.delete(stream)
            domain.heads.forget(stream)

    async def append(
        self, stream: StreamId, batch: ValidBatch, *, together_bytes: int = 0
    ) -> "Future[Appended]":
        """Take a batch, and return the future of its offset.

        Returns when the budget admits the batch; batches of one stream get their offsets in the order in
        which these calls returned. The future fails with a `LogError`. The batch's bytes must not change
        until it is done. If more batches of the same buffer are appended with it, `together_bytes` is the
        size of them all: the buffer is then worth keeping as it is.
        """
        done = self.try_append(stream, batch, together_bytes=together_bytes)
        if done is None:
            view = own_memory(memoryview(batch.buffer), together_bytes)
            await self._budget.acquire(len(view) + BATCH_OVERHEAD_BYTES)
            done = self._append(stream, view, batch.header)
        return done

    def try_append(
        self, stream: StreamId, batch: ValidBatch, *, together_bytes: int = 0
    ) -> "Future[Appended] | None":
        """As `append`, without a coroutine; returns None if the batch would have to wait for the budget."""
        view = own_memory(memoryview(batch.buffer), together_bytes)
        if not self._budget.try_acquire(len(view) + BATCH_OVERHEAD_BYTES):
            return None
        return self._append(stream, view, batch.header)

    def _append(self, stream: StreamId, view: memoryview, header: BatchHeader) -> "Future[Appended]":
        """Pass on a batch that the budget has admitted."""
        done: Future[Appended] = asyncio.get_running_loop().create_future()
        try:
            self._domain(stream).writer.append(stream, Pending(view, header, done))
        except LogClosed:
            self._budget.release(len(view) + BATCH_OVERHEAD_BYTES)
            raise
        return done

    async def read(
        self,
        stream: StreamId,
        offset: int,
        max_bytes: int,
        *,
        whole_first: bool = True,
        caught_up: bool = False,
    ) -> FetchSlice:
        """Return batches from `offset` on.

        At least one if there is one, and no more than `max_bytes` otherwise. With `caught_up`, a watch of the
        caller has caught up with the stream, so that its end is not read again.
        """
        try:
            with _store_errors():
                reader = self._domain(stream).reader
                return await reader.read(
                    stream, offset, max_bytes, whole_first=whole_first, caught_up=caught_up
                )
        except (LogDamaged, StoreUnavailable) as error:
            self._errors.report(error)
            raise

    async def head(self, stream: StreamId) -> StreamHead:
        """Return the stream's head from the store."""
        with _store_errors():
            return await self._domain(stream).heads.fresh(stream)

    async def recent_head(self, stream: StreamId) -> StreamHead:
        """Return a cached head, at most a moment old; reads the store only if none is cached."""
        known = self._domain(stream).heads.known(stream)
        return known if known is not None else await self.head(stream)

    def watch(self) -> StreamWatch:
        """Return a watch to which streams can be added; close it."""
        return StreamWatch(lambda stream: self._domain(stream).heads)

    @contextmanager
    def watched(self, streams: Sequence[StreamId]) -> Iterator[StreamWatch]:
        """Yield an event that is set whenever one of the streams may have changed.

        Clear it, then read, then wait for it: what is committed after the read began sets it.
        """
        watch = self.watch()
        for stream in streams:
            watch.add(stream)
        try:
            yield watch
        finally:
            watch.close()

    async def find_time(self, stream: StreamId, time_ms: int) -> TimedOffset | None:
        """Return the first record whose timestamp is not before `time_ms`."""
        with _store_errors():
            finder = self._domain(stream).finder
            return await self._as_trimmed(stream, lambda head: finder.at_or_after(stream, head, time_ms))

    async def find_newest(self, stream: StreamId) -> TimedOffset | None:
        """Return the first record that has the greatest timestamp."""
        with _store_errors():
            finder = self._domain(stream).finder
            return await self._as_trimmed(stream, lambda head: finder.newest(stream, head))

    async def size_bytes(self, stream: StreamId) -> int:
        """Return how much the stream's readable records take in the object store.

        The chunk of the first record may hold others that are no longer readable; it counts as a whole.
        """
        with _store_errors():
            domain = self._domain(stream)
            head = await domain.heads.fresh(stream)
            if head.log_start == head.high_watermark:
                return 0
            first = await domain.reader.entry_at(stream, head.log_start)
            return head.cumulative_size - first.cumulative_size + first.ingested_bytes

    async def producers(self, stream: StreamId) -> list[ProducerState]:
        """Return the idempotent producers that the stream remembers, by id."""
        with _store_errors():
            state = await read_state(self._deps.meta, self._domain(stream).name, stream)
        expiry_ms = self._deps.settings.producer_id_expiration_ms
        remembered = unexpired(state.producers, self._deps.clock.now_ms(), expiry_ms)
        return [remembered[producer_id] for producer_id in sorted(remembered)]

    async def trim(self, stream: StreamId, before: int) -> int:
        """Remove everything before an offset; returns the new log start."""
        with _store_errors():
            domain = self._domain(stream)
            start = await domain.trimmer.trim(stream, before)
            domain.heads.forget(stream)
            return start

    async def _as_trimmed(
        self, stream: StreamId, find: Callable[[StreamHead], Awaitable[TimedOffset | None]]
    ) -> TimedOffset | None:
        """Retry when the log start has moved meanwhile."""
        while True:
            head = await self._domain(stream).heads.fresh(stream)
            try:
                return await find(head)
            except OffsetOutOfRange as error:
                if error.log_start == head.log_start:
                    raise

    def _domain(self, stream: StreamId) -> DomainLog:
        return self._domains[meta_domain(stream, len(self._domains))]


class LogStreams:
    """Streams for topic administration, where a missing stream counts as deleted."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def create_streams(self, streams: Sequence[StreamId]) -> None:
        await self._log.create_streams(streams)

    async def condemn_stream(self, stream: StreamId) -> None:
        with suppress(StreamUnknown):
            await self._log.condemn_stream(stream)

    async def delete_stream(self, stream: StreamId) -> None:
        with suppress(StreamUnknown):
            await self._log.delete_stream(stream)


@contextmanager
def _store_errors() -> Iterator[None]:
    try:
        yield
    except OutcomeUnknown as error:
        raise OutcomeUncertain(f"the change may or may not have been committed: {error}") from error
    except (MetaError, ObjectError) as error:
        raise StoreUnavailable(f"store unavailable, retry: {error}") from error
    except CorruptValue as error:
        raise LogDamaged(str(error), RESTORE_METADATA) from error
